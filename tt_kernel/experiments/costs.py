"""`costs`: what the runs of a notebook used, by cell, model, day, profile or status. What was replayed cost nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.turns import Usage
from tt_kernel.store.spending import Spent

By = Literal["model", "day", "profile", "prompt", "status"]
PROMPT_CHARS = 60

DELETED = "(deleted runs)"

_KEYS: Mapping[str, Callable[[Spent], str]] = {
    "model": lambda spent: spent.model,
    "day": lambda spent: spent.started_at[:10],
    "profile": lambda spent: spent.profile,
    "prompt": lambda spent: DELETED if spent.prompt is None else spent.prompt,
    "status": lambda spent: spent.status,
}
BY = tuple(_KEYS)


@dataclass(frozen=True)
class Cost:
    """Of some runs.

    Attributes:
        name: What they have in common.
        runs: How many.
        usage: Tokens of all; the dollars of those whose price is known.
        unpriced: Runs with tokens whose price is not known.
    """

    name: str
    runs: int
    usage: Usage
    unpriced: int

    @property
    def dollars(self) -> str:
        """`$0.0123`, with `+ ?` where some price is not known."""
        known = f"${self.usage.cost_usd:,.4f}" if self.usage.cost_usd is not None else ""
        return " + ".join(part for part in (known, "?" if self.unpriced else "") if part) or "$0"


def costs(spent: Sequence[Spent], by: str = "model") -> list[Cost]:
    """What the runs used, the dearest first. A prompt stands for its cell: the same cell asks the same.

    Args:
        spent: Of the runs that were live (`Spending.all`).
        by: `model`, `day`, `profile`, `prompt` or `status`.

    Raises:
        UsageProblem: Another word.
    """
    if by not in _KEYS:
        raise UsageProblem(message=f"Costs are told by {', '.join(BY)}, not by {by!r}.")
    groups: dict[str, list[Spent]] = {}
    for one in spent:
        groups.setdefault(_KEYS[by](one), []).append(one)
    found = [_cost(name, group) for name, group in groups.items()]
    if by == "day":
        return sorted(found, key=lambda cost: cost.name)
    return sorted(found, key=lambda cost: (-(cost.usage.cost_usd or 0.0), -cost.usage.total_tokens, cost.name))


def total(spent: Sequence[Spent]) -> Cost:
    return _cost("all", spent)


def _cost(name: str, spent: Sequence[Spent]) -> Cost:
    usage = Usage()
    for one in spent:
        usage = usage.plus(one.usage)
    unpriced = sum(one.usage.cost_usd is None and one.usage.total_tokens > 0 for one in spent)
    return Cost(name, len(spent), usage, unpriced)
