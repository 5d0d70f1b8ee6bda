"""Optional limits of a profile. None is set by default (DESIGN §5.2)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tt_kernel.domain.errors import ProviderError, TTError
from tt_kernel.domain.profiles import Limits
from tt_kernel.domain.turns import ModelReply, Usage


@dataclass
class Meter:
    """Counts what an invocation used; `reached` tells what forbids another turn.

    `number` is the number of the last turn, `earlier` and `earlier_replayed` the usage before; they go on when a run is resumed.
    `replayed` is the part of `usage` that came from recordings.
    `also` may know another reason to stop (toolkit/breaker.py). `budget` knows whether more may be spent.
    """

    limits: Limits
    monotonic: Callable[[], float] = time.monotonic
    number: int = 0
    earlier: Usage = Usage()
    earlier_replayed: Usage = Usage()
    turns: int = 0
    calls: int = 0
    usage: Usage = Usage()
    replayed: Usage = Usage()
    also: Callable[[], str | None] = lambda: None
    budget: Callable[[], TTError | None] = lambda: None
    paid_last: bool = field(default=False, init=False)
    _started: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._started = self.monotonic()

    @property
    def total(self) -> Usage:
        """Of the whole run."""
        return self.earlier.plus(self.usage)

    @property
    def total_replayed(self) -> Usage:
        return self.earlier_replayed.plus(self.replayed)

    def count_turn(self, reply: ModelReply) -> None:
        self.number += 1
        self.turns += 1
        self.paid_last = not reply.recorded
        self.count(reply.usage, reply.usage if reply.recorded else Usage())

    def count(self, usage: Usage, replayed: Usage) -> None:
        """Also of a request that is no turn of the agent."""
        self.usage, self.replayed = self.usage.plus(usage), self.replayed.plus(replayed)

    @property
    def has_paid(self) -> bool:
        return self.usage != self.replayed

    def reached(self) -> TTError | None:
        """The limit of the profile, or, after a turn that was paid for, the budget of the notebook."""
        limit = self._limit()
        if limit is not None:
            return ProviderError("agent.limit_reached", limit)
        return self.budget() if self.paid_last else None

    def _limit(self) -> str | None:
        used: list[tuple[str, float | None, float]] = [
            ("turns", self.limits.turns, self.turns),
            ("tool calls", self.limits.tool_calls, self.calls),
            ("tokens", self.limits.tokens, self.usage.total_tokens),
            ("US dollars", self.limits.cost_usd, self.usage.cost_usd or 0.0),
            ("seconds", self.limits.wall_seconds, self.monotonic() - self._started),
        ]
        for name, limit, value in used:
            if limit is not None and value >= limit:
                return f"The profile's limit of {limit:g} {name} was reached."
        return self.also()
