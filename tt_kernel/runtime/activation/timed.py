"""Timed effects: an entry stays active for some messages (sticky), is barred for some (cooldown), or waits for some (delay).

Nothing that expires is stored. A record says that an entry became active when the chat had `at` messages; from that and the
entry's numbers, what counts at `now` messages follows:

    at                        active by its keys
    at < now <= at+sticky     sticky
    ... <= at+sticky+cooldown barred
    now < delay               not yet

So running a cell again, or all cells again, gives the same as the first time: records of the same place are replaced, and those
of places further down do not count. A record finds its place by the prompt it belongs to (`anchor`), so cells may be inserted
above it; when that prompt is gone, or the entry was edited, the record means nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tt_kernel.domain.chat import ChatMessage
from tt_kernel.domain.worldinfo import Activation, LoreBook, LoreEntry, TimedRecord, TimedState, Uid

TimedEffect = Literal["sticky", "cooldown", "delay"]


@dataclass(frozen=True)
class TimedEffects:
    """What earlier activations mean for a scan of these messages (the prompt is the last of them)."""

    state: TimedState
    messages: Sequence[ChatMessage]

    @property
    def now(self) -> int:
        return len(self.messages)

    def of(self, world: str, entry: LoreEntry) -> frozenset[TimedEffect]:
        """The effects on an entry; sticky and cooldown may both be there, of different activations."""
        found: set[TimedEffect] = {"delay"} if self.now < entry.delay else set()
        if not has_consequences(entry) or not self._starts:
            return frozenset(found)
        for at in self._starts.get((world, entry.uid, entry.fingerprint), ()):
            if at < self.now <= at + entry.sticky:
                found.add("sticky")
            elif at + entry.sticky < self.now <= at + entry.sticky + entry.cooldown:
                found.add("cooldown")
        return frozenset(found)

    def elsewhere(self) -> list[TimedRecord]:
        """The records that do not belong to the place where the chat is now."""
        return [record for record in self.state.records if self._place(record) != self.now]

    def _place(self, record: TimedRecord) -> int | None:
        """At how many messages the record's prompt is now; the nearest of several equal ones, None when it is gone."""
        if not record.anchor:
            return record.at
        return min(self._anchors.get(record.anchor, ()), key=lambda at: abs(at - record.at), default=None)

    @cached_property
    def _anchors(self) -> dict[str, list[int]]:
        anchors: dict[str, list[int]] = {}
        for number, message in enumerate(self.messages, 1):
            anchors.setdefault(message.anchor, []).append(number)
        return anchors

    @cached_property
    def _starts(self) -> dict[tuple[str, Uid, str], list[int]]:
        starts: dict[tuple[str, Uid, str], list[int]] = {}
        for record in self.state.records:
            at = self._place(record)
            if at is not None and at < self.now:
                starts.setdefault((record.world, record.uid, record.fingerprint), []).append(at)
        return starts


def has_consequences(entry: LoreEntry) -> bool:
    return entry.uid is not None and (entry.sticky > 0 or entry.cooldown > 0)


def remembered(
    state: TimedState, activation: Activation, books: Iterable[LoreBook], messages: Sequence[ChatMessage]
) -> TimedState:
    """The state after the run whose scan of these books and messages gave this activation.

    An entry that is active because it is sticky does not begin anew.
    """
    effects = TimedEffects(state, messages)
    entries = {(book.name, entry.uid): entry for book in books for entry in book.entries if has_consequences(entry)}
    active = {(found.world, found.uid): entries.get((found.world, found.uid)) for found in activation.entries}
    new = [
        TimedRecord(
            world=world,
            uid=uid,
            at=effects.now,
            anchor=messages[-1].anchor if messages else "",
            fingerprint=entry.fingerprint,
        )
        for (world, uid), entry in active.items()
        if entry is not None and "sticky" not in effects.of(world, entry)
    ]
    return TimedState(records=(*effects.elsewhere(), *new))
