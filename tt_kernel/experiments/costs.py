"""`costs`: what the runs of a notebook used, by cell, model, day, profile or run (issue 6.10). Replays cost nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.runs import RunRecord
from tt_kernel.domain.turns import Usage

By = Literal["model", "day", "profile", "prompt", "status"]
PROMPT_CHARS = 60

_KEYS: Mapping[str, Callable[[RunRecord], str]] = {
    "model": lambda record: record.model,
    "day": lambda record: record.started_at[:10],
    "profile": lambda record: record.profile.id,
    "prompt": lambda record: record.prompt,
    "status": lambda record: record.status,
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


def costs(records: Sequence[RunRecord], by: str = "model") -> list[Cost]:
    """What the runs used, the dearest first. A prompt stands for its cell: the same cell asks the same.

    Args:
        records: Runs that were live; what was replayed has no record.
        by: `model`, `day`, `profile`, `prompt` or `status`.

    Raises:
        UsageProblem: Another word.
    """
    if by not in _KEYS:
        raise UsageProblem(message=f"Costs are told by {', '.join(BY)}, not by {by!r}.")
    groups: dict[str, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(_KEYS[by](record), []).append(record)
    found = [_cost(name, group) for name, group in groups.items()]
    if by == "day":
        return sorted(found, key=lambda cost: cost.name)
    return sorted(found, key=lambda cost: (-(cost.usage.cost_usd or 0.0), -cost.usage.total_tokens, cost.name))


def total(records: Sequence[RunRecord]) -> Cost:
    return _cost("all", records)


def _cost(name: str, records: Sequence[RunRecord]) -> Cost:
    usage = Usage()
    for record in records:
        usage = usage.plus(record.usage)
    unpriced = sum(r.usage.cost_usd is None and r.usage.total_tokens > 0 for r in records)
    return Cost(name, len(records), usage, unpriced)
