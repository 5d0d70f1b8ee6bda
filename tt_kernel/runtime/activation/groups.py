"""Inclusion groups: of the entries of a group that become active, one stays (spec tauritavern §16.2)."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tt_kernel.runtime.activation.candidate import Candidate
from tt_kernel.runtime.activation.checks import Checks


@dataclass(frozen=True)
class Groups:
    """Decides by: sticky members, an active member, the score of keys, priority, weighted chance."""

    checks: Checks
    stream: Callable[[str], random.Random]

    def kept(self, new: Sequence[Candidate], active: Iterable[Candidate]) -> list[Candidate]:
        """The entries of `new` that their groups leave, in their order."""
        members: dict[str, list[Candidate]] = {}
        for candidate in new:
            for name in candidate.entry.groups:
                members.setdefault(name, []).append(candidate)
        taken = {name for candidate in active for name in candidate.entry.groups}
        out: set[Candidate] = set()
        for name, group in members.items():
            left = [candidate for candidate in group if candidate not in out]
            out.update(set(left) - set(self._chosen(name, left, taken=name in taken)))
        return [candidate for candidate in new if candidate not in out]

    def _chosen(self, name: str, group: list[Candidate], *, taken: bool) -> list[Candidate]:
        sticky = [candidate for candidate in group if self.checks.is_sticky(candidate)]
        if sticky:
            return sticky
        if taken:
            return []
        group = self._best(group)
        if len(group) < 2:  # noqa: PLR2004  nothing to choose
            return group
        first = [candidate for candidate in group if candidate.entry.group_override]
        if first:
            return [max(first, key=lambda candidate: candidate.entry.order)]
        return [self._rolled(name, group)]

    def _best(self, group: list[Candidate]) -> list[Candidate]:
        """Without the scored members that have fewer matching keys than the best of the group."""
        scored = [candidate for candidate in group if self._is_scored(candidate)]
        if not scored:
            return group
        scores = {c: self.checks.matcher.score(c.entry, self.checks.text(c.entry)) for c in group}
        best = max(scores.values())
        return [candidate for candidate in group if candidate not in scored or scores[candidate] == best]

    def _is_scored(self, candidate: Candidate) -> bool:
        own = candidate.entry.use_group_scoring
        return self.checks.settings.use_group_scoring if own is None else own

    def _rolled(self, name: str, group: list[Candidate]) -> Candidate:
        weights = [max(float(candidate.entry.group_weight), 0.0) for candidate in group]
        roll = self.stream(f"worldinfo.group:{name}").random() * sum(weights)
        for candidate, weight in zip(group, weights, strict=True):
            roll -= weight
            if roll < 0:
                return candidate
        return group[-1]
