"""Which of the runs with the same key this one is: the n-th has the n-th recording (DESIGN §7)."""

from dataclasses import dataclass, field


@dataclass
class Slots:
    """Numbers the runs of one session by key.

    A cell that is executed again takes its own numbers again, so that Run All replays however often it is pressed;
    a run without a cell (headless, API) always takes the next number.
    """

    _owners: dict[str, list[str | None]] = field(default_factory=dict)
    _taken: dict[tuple[str, str], int] = field(default_factory=dict)

    def take(self, key: str, cell: str | None, execution: str | None = None) -> int:
        """The slot, counted from 1.

        `execution` tells two executions of a cell apart; the runs of one execution (a loop) take one slot each.
        """
        owners = self._owners.setdefault(key, [])
        if cell is None:
            owners.append(None)
            return len(owners)
        label = f"{cell}@{execution}"
        used = self._taken.get((key, label), 0)
        self._taken[key, label] = used + 1
        own = [number for number, owner in enumerate(owners, start=1) if owner == cell]
        if used < len(own):
            return own[used]
        owners.append(cell)
        return len(owners)
