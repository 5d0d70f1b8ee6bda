"""What an invocation knows of each file's content: spec tauritavern §5.9.

A state is bound to the digest of the content that was seen. The specification's observed texts are kept as spans of that
content: the same knowledge, but neighbouring reads join, and a file read piece by piece to its end counts as read in full.
"""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import model_validator

from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.ids import Digest


class Span(Frozen):
    """Characters `start` to `end` (exclusive) of a file."""

    start: int
    end: int


class ReadState(Frozen):
    """Serialisable, for checkpoints.

    Attributes:
        sha256: Of the content that was seen.
        full_read: Everything was seen.
        observed: What was seen, in order, neither touching nor overlapping; empty when `full_read`.
        patch_requires_full_read: A patch after a partial read failed; only a full read lifts it.
    """

    sha256: Digest
    full_read: bool
    observed: tuple[Span, ...] = ()
    patch_requires_full_read: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> "ReadState":
        if self.full_read and (self.observed or self.patch_requires_full_read):
            raise ValueError("a file that was read in full has no observed parts and no patch restriction")
        return self

    def covers(self, start: int, end: int) -> bool:
        """Whether these characters were seen."""
        return self.full_read or any(span.start <= start and end <= span.end for span in self.observed)

    def after_failed_patch(self) -> "ReadState":
        return self if self.full_read else self.model_copy(update={"patch_requires_full_read": True})

    def after_append(self, sha256: Digest, before: int, after: int) -> "ReadState":
        """The invocation appended to the content it knew. `before` and `after` are the file's lengths in characters."""
        if self.full_read:
            return known(sha256)
        return _partial(
            sha256, [*self.observed, Span(start=before, end=after)], after, flag=self.patch_requires_full_read
        )

    def after_patch(self, sha256: Digest, at: int, removed: int, added: int) -> "ReadState":
        """The invocation replaced `removed` characters at `at`, which it had seen, by `added` others."""
        if self.full_read:
            return known(sha256)
        shift = added - removed
        moved = [
            span
            if span.end <= at
            else Span(start=span.start if span.start <= at else span.start + shift, end=span.end + shift)
            for span in self.observed
        ]
        return self.model_copy(update={"sha256": sha256, "observed": tuple(s for s in moved if s.end > s.start)})


def known(sha256: Digest) -> ReadState:
    """The state of content that is known in full."""
    return ReadState(sha256=sha256, full_read=True)


def after_read(before: ReadState | None, sha256: Digest, seen: Span, total: int) -> ReadState:
    """The state after a read that showed `seen` of the `total` characters."""
    same = before if before is not None and before.sha256 == sha256 else None
    if same is not None and same.full_read:
        return same
    flag = before is not None and before.patch_requires_full_read
    return _partial(sha256, [*(same.observed if same else ()), seen], total, flag=flag)


def _partial(sha256: Digest, spans: Iterable[Span], total: int, *, flag: bool) -> ReadState:
    joined = _joined(spans)
    if total == 0 or list(joined) == [Span(start=0, end=total)]:
        return known(sha256)
    return ReadState(sha256=sha256, full_read=False, observed=joined, patch_requires_full_read=flag)


def _joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    joined: list[Span] = []
    for span in sorted((s for s in spans if s.end > s.start), key=lambda s: s.start):
        if joined and span.start <= joined[-1].end:
            joined[-1] = Span(start=joined[-1].start, end=max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return tuple(joined)


class ReadStates:
    """The read states of one invocation, by logical path.

    Args:
        states: To go on from, as `dump` gave them.
    """

    def __init__(self, states: Mapping[str, ReadState] | None = None) -> None:
        self._states = dict(states or {})

    def get(self, path: str) -> ReadState | None:
        return self._states.get(path)

    def put(self, path: str, state: ReadState) -> None:
        self._states[path] = state

    def dump(self) -> dict[str, ReadState]:
        return dict(self._states)

    @property
    def paths(self) -> Sequence[str]:
        return sorted(self._states)
