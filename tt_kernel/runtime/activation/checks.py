"""Whether an entry becomes active in a sweep: the checks of spec tauritavern §16.2, in their order."""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from tt_kernel.domain.worldinfo import LoreEntry, WorldInfoSettings
from tt_kernel.runtime.activation.buffer import ScanBuffer
from tt_kernel.runtime.activation.candidate import Candidate
from tt_kernel.runtime.activation.keys import KeyMatcher, Text
from tt_kernel.runtime.activation.scene import Scene
from tt_kernel.runtime.activation.timed import TimedEffects


class Sweep(Enum):
    """Why the entries are looked at (once more)."""

    FIRST = "first"
    RECURSION = "recursion"
    WIDER = "wider"


Reason = Literal["decorator", "forced", "constant", "sticky", "key"]


@dataclass
class Checks:
    """One scan's checks.

    Attributes:
        sweep: The sweep that is on.
        level: Entries delayed until a deeper recursion than this are not looked at.
    """

    settings: WorldInfoSettings
    scene: Scene
    buffer: ScanBuffer
    matcher: KeyMatcher
    timed: TimedEffects
    sweep: Sweep = Sweep.FIRST
    level: int = 0

    def reason(self, candidate: Candidate) -> Reason | None:
        """Why the entry becomes active now, or None."""
        entry = candidate.entry
        if entry.disable or not self._is_meant(entry):
            return None
        effects = self.timed.of(candidate.world, entry)
        sticky = "sticky" in effects
        if "delay" in effects or ("cooldown" in effects and not sticky):
            return None
        if not sticky and self._waits(entry):
            return None
        return self._without_keys(candidate, sticky=sticky) or self._by_keys(candidate)

    def text(self, entry: LoreEntry) -> Text:
        """What the entry's keys are looked for in."""
        return self.buffer.text(entry, with_recursion=self.sweep is not Sweep.WIDER)

    def is_sticky(self, candidate: Candidate) -> bool:
        return "sticky" in self.timed.of(candidate.world, candidate.entry)

    def _is_meant(self, entry: LoreEntry) -> bool:
        """Steps 2 and 3: the type of generation, the character's name, its tags."""
        if entry.triggers and self.scene.trigger not in entry.triggers:
            return False
        wanted = entry.character_filter
        return _passes(wanted.names, self.scene.names, excludes=wanted.is_exclude) and _passes(
            wanted.tags, self.scene.tags, excludes=wanted.is_exclude
        )

    def _waits(self, entry: LoreEntry) -> bool:
        """Step 5: the recursion flags."""
        if self.sweep is not Sweep.RECURSION:
            return entry.delay_until_recursion > 0
        return entry.delay_until_recursion > self.level or (self.settings.recursive and entry.exclude_recursion)

    def _without_keys(self, candidate: Candidate, *, sticky: bool) -> Reason | None:
        """Steps 6 to 9. `@@dont_activate` comes before force, constant and sticky, and `_by_keys` heeds it too."""
        if candidate.decorator is not None:
            return "decorator" if candidate.decorator == "activate" else None
        if candidate.ref in self.scene.forced:
            return "forced"
        if candidate.entry.constant:
            return "constant"
        return "sticky" if sticky else None

    def _by_keys(self, candidate: Candidate) -> Reason | None:
        """Steps 10 and 11."""
        entry = candidate.entry
        if candidate.decorator == "dont_activate" or not entry.key:
            return None
        text = self.text(entry)
        return "key" if self.matcher.primary(entry, text) and self.matcher.secondary(entry, text) else None


def _passes(wanted: tuple[str, ...], present: tuple[str, ...], *, excludes: bool) -> bool:
    """Whether a filter lets the entry through; an empty one always does."""
    folded = {name.casefold() for name in present}
    return not wanted or any(name.casefold() in folded for name in wanted) != excludes
