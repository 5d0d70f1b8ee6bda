"""`%agent budget`: what all runs of the notebook together may cost."""

import re
from collections.abc import Sequence

from tt_kernel.domain.budget import Budget, amount
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.ipython.listing import Lines
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.store.budget import BudgetShelf

USAGE = "%agent budget [AMOUNT USD] [N tokens] | off"
_NUMBER = re.compile(r"\$?\d[\d,_]*(?:\.\d+)?")
_UNITS = {"usd": "cost_usd", "dollars": "cost_usd", "$": "cost_usd", "tokens": "tokens"}


def is_budget(words: Sequence[str]) -> bool:
    """Numbers, units and `off`: other words begin a prompt."""
    return all(_NUMBER.fullmatch(word) or word.lower() in (*_UNITS, "off") for word in words)


def budget(notebook: Notebook, words: Sequence[str]) -> Lines:
    """Set it, or end it; then tell what it is and what is left. A limit that is not named stays.

    Raises:
        UsageProblem: Words that make no sense.
    """
    shelf = notebook.session.budget
    if list(words) == ["off"]:
        shelf.save(Budget())
    elif words:
        shelf.save(shelf.load().model_copy(update=_limits(words)))
    return Lines("\n".join(standing(shelf)) or f"This notebook has no budget. Set one: {USAGE}")


def standing(shelf: BudgetShelf) -> list[str]:
    """A line for each limit, as in `budget: 0.25 of 2.00 USD spent, 1.75 USD left`."""
    known = shelf.load()
    if known == Budget():
        return []
    spent = shelf.spent()
    lines = []
    if known.cost_usd is not None:
        paid = spent.cost_usd or 0.0
        left = amount(max(0.0, known.cost_usd - paid))
        lines.append(f"budget: {amount(paid)} of {amount(known.cost_usd)} USD spent, {left} USD left.")
    if known.tokens is not None:
        left = f"{max(0, known.tokens - spent.total_tokens):,}"
        lines.append(f"budget: {spent.total_tokens:,} of {known.tokens:,} tokens used, {left} left.")
    return lines


def _limits(words: Sequence[str]) -> dict[str, float | int]:
    found: dict[str, float | int] = {}
    queue = list(words)
    while queue:
        said = queue.pop(0)
        unit = "$" if said.startswith("$") else queue.pop(0).lower() if queue else ""
        if not _NUMBER.fullmatch(said) or unit not in _UNITS:
            raise UsageProblem(message=f"{' '.join(words)} is no budget. Write: {USAGE}")
        number = float(re.sub(r"[$,_]", "", said))
        if _UNITS[unit] == "tokens" and number != int(number):
            raise UsageProblem(message=f"{said} tokens: a number of tokens is whole. Write: {USAGE}")
        found[_UNITS[unit]] = int(number) if unit == "tokens" else number
    return found
