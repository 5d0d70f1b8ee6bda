"""The scan: sweeps over all entries until nothing new becomes active (spec tauritavern §16.2).

A sweep: every entry that is not active is checked (checks.py); of those that pass, groups keep some (groups.py), then each rolls
for its probability, and the token budget takes them in their order until it overflows. What became active may be scanned in
turn: another sweep. When nothing new is found, the scan may go further back (min activations), and at last the levels of
delayed recursion are opened one by one.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tt_kernel.domain.chat import ChatMessage
from tt_kernel.domain.worldinfo import ActivatedEntry, Activation, LoreBook, TimedState, WorldInfoSettings
from tt_kernel.runtime.activation.buffer import MAX_DEPTH, ScanBuffer
from tt_kernel.runtime.activation.candidate import Candidate, candidates
from tt_kernel.runtime.activation.checks import Checks, Reason, Sweep
from tt_kernel.runtime.activation.groups import Groups
from tt_kernel.runtime.activation.js_regex import SECONDS
from tt_kernel.runtime.activation.keys import KeyMatcher
from tt_kernel.runtime.activation.macros import Macros
from tt_kernel.runtime.activation.scene import Scene
from tt_kernel.runtime.activation.timed import TimedEffects
from tt_kernel.toolkit.tokens import estimated_tokens

_NOTHING = TimedState()
_ANYWHERE = Scene()


def activate(
    books: Sequence[LoreBook],
    messages: Sequence[ChatMessage],
    settings: WorldInfoSettings,
    chance: Callable[[str], random.Random],
    state: TimedState = _NOTHING,
    *,
    scene: Scene = _ANYWHERE,
    count_tokens: Callable[[str], int] = estimated_tokens,
) -> Activation:
    """Find the active entries. The same arguments give the same result.

    Args:
        books: Those to scan, whatever `settings.books` says.
        messages: The chat, oldest first, with the prompt as the last one.
        settings: Of the scan.
        chance: A stream of random numbers for a name, as `Clockwork.random`. Each entry has its own, so that a change of one
            entry leaves the luck of the others.
        state: What timed effects remember; `remembered` gives the next one.
        scene: The circumstances.
        count_tokens: Measures contents for the budget.
    """
    streams: dict[str, random.Random] = {}

    def stream(name: str) -> random.Random:
        if name not in streams:
            streams[name] = chance(name)
        return streams[name]

    in_keys = Macros(scene.macros)
    checks = Checks(
        settings=settings,
        scene=scene,
        buffer=ScanBuffer(messages, settings, scene),
        matcher=KeyMatcher(settings, in_keys.replace),
        timed=TimedEffects(state, messages),
    )
    scan = _Scan(
        everything=candidates(books, settings.strategy),
        checks=checks,
        groups=Groups(checks, stream),
        macros=Macros(scene.macros, stream),
        stream=stream,
        count_tokens=count_tokens,
    )
    scan.run()
    return scan.activation()


@dataclass
class _Scan:
    everything: Sequence[Candidate]
    checks: Checks
    groups: Groups
    macros: Macros
    stream: Callable[[str], random.Random]
    count_tokens: Callable[[str], int]
    active: dict[Candidate, ActivatedEntry] = field(default_factory=dict)
    unlucky: set[Candidate] = field(default_factory=set)
    tokens: int = 0
    overflowed: bool = False
    levels: list[int] = field(default_factory=list)

    def run(self) -> None:
        self.levels = sorted({c.entry.delay_until_recursion for c in self.everything} - {0})
        # The first level is open to every sweep of recursion; the others wait until nothing new is found.
        self.checks.level = self.levels.pop(0) if self.levels else 0
        sweeps, limit = 0, self.checks.settings.max_recursion_steps
        sweep: Sweep | None = Sweep.FIRST
        while sweep is not None and not (limit and sweeps >= limit):
            self.checks.sweep = sweep
            sweeps += 1
            said = [entry.content for candidate, entry in self._sweep() if not candidate.entry.prevent_recursion]
            sweep = self._next(sweep, found=bool(said))
            self.checks.buffer.add_recursion(said)

    def activation(self) -> Activation:
        """In the order of placement: by insertion order; of equal ones, the one that was considered first is last."""
        ranked = sorted(self.active, key=lambda candidate: -candidate.entry.order)
        slow = self.checks.matcher.regexes.slow
        return Activation(
            trigger=self.checks.scene.trigger,
            entries=tuple(self.active[candidate] for candidate in reversed(ranked)),
            overflowed=self.overflowed,
            notes=tuple(f"The key {key} was stopped after {SECONDS} s and matches nothing." for key in slow),
        )

    def _sweep(self) -> list[tuple[Candidate, ActivatedEntry]]:
        """What becomes active in one sweep."""
        reasons: dict[Candidate, Reason] = {}
        for candidate in self.everything:
            if candidate not in self.active and candidate not in self.unlucky:
                reason = self.checks.reason(candidate)
                if reason is not None:
                    reasons[candidate] = reason
        ordered = sorted(reasons, key=lambda candidate: not self.checks.is_sticky(candidate))
        taken = []
        for candidate in self.groups.kept(ordered, self.active):
            entry = self._admitted(candidate, reasons[candidate])
            if entry is not None:
                self.active[candidate] = entry
                taken.append((candidate, entry))
        return taken

    def _admitted(self, candidate: Candidate, reason: Reason) -> ActivatedEntry | None:
        """The active entry, if luck and the budget allow it."""
        entry = candidate.entry
        if self.overflowed and not entry.ignore_budget:
            return None
        if not self._is_lucky(candidate):
            self.unlucky.add(candidate)
            return None
        content = self.macros.replace(candidate.content, candidate.stream)
        tokens = self.count_tokens(content + "\n")
        if not entry.ignore_budget and self.tokens + tokens > self.checks.settings.budget:
            self.overflowed = True
            return None
        self.tokens += tokens
        return ActivatedEntry(
            world=candidate.world,
            uid=entry.uid,
            display_name=entry.label,
            constant=entry.constant,
            content=content,
            position=entry.place,
            depth=entry.depth,
            role=entry.lore_role,
            outlet=entry.outlet_name.strip(),
            reason=reason,
        )

    def _is_lucky(self, candidate: Candidate) -> bool:
        entry = candidate.entry
        if not entry.use_probability or entry.probability >= 100 or self.checks.is_sticky(candidate):  # noqa: PLR2004
            return True
        return self.stream(candidate.stream).random() * 100 < entry.probability

    def _next(self, sweep: Sweep, *, found: bool) -> Sweep | None:
        """The next sweep, or None when the scan is over."""
        recursive = self.checks.settings.recursive and not self.overflowed
        if recursive and (found or (sweep is Sweep.WIDER and self.checks.buffer.has_recursion)):
            return Sweep.RECURSION
        if self._may_widen():
            self.checks.buffer.widened += 1
            return Sweep.WIDER
        if self.levels:
            self.checks.level = self.levels.pop(0)
            return Sweep.RECURSION
        return None

    def _may_widen(self) -> bool:
        settings, depth = self.checks.settings, self.checks.buffer.depth
        if self.overflowed or len(self.active) >= settings.min_activations:
            return False
        furthest = settings.min_activations_depth or MAX_DEPTH
        return depth < min(furthest, MAX_DEPTH, len(self.checks.buffer.messages))
