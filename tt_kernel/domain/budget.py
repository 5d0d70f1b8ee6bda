"""What a notebook may cost: a budget over all its runs."""

from pydantic import Field

from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.turns import Usage


class Budget(Frozen):
    """`budget.json`. None: no limit. Tokens are those sent and those received; US dollars as far as prices are known."""

    schema_version: int = Field(default=1, ge=1, le=1)
    cost_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    tokens: int | None = Field(default=None, ge=0)

    def used_up(self, spent: Usage) -> str | None:
        """Which limit was reached, in words: `2.0137 of 2.00 USD`; None: none was."""
        if self.cost_usd is not None and (spent.cost_usd or 0.0) >= self.cost_usd:
            return f"{amount(spent.cost_usd or 0.0)} of {amount(self.cost_usd)} USD"
        if self.tokens is not None and spent.total_tokens >= self.tokens:
            return f"{spent.total_tokens:,} of {self.tokens:,} tokens"
        return None


def dollars(number: float) -> str:
    """`$2.00`, `$0.0137`; once in a line, because a page takes what stands between two of these signs for mathematics."""
    return f"${amount(number)}"


def amount(number: float) -> str:
    """Cents at least, ten-thousandths at most."""
    return f"{number:,.4f}".removesuffix("00")
