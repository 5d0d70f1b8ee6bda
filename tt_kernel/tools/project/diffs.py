"""Unified diffs of bounded cost and size, for approvals and for counting lines."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MAX_COMPARED = 3000
"""Lines on each side, between what is equal at the start and at the end, that are compared one by one."""
MAX_LINES = 400
"""Of a diff."""
MAX_LINE_CHARS = 500
CONTEXT = 3


@dataclass(frozen=True)
class LineDiff:
    """What differs between two texts. `opcodes` are difflib's, of the lines between the equal start and the equal end."""

    old: Sequence[str]
    new: Sequence[str]
    first: int
    groups: Sequence[Sequence[tuple[str, int, int, int, int]]]

    @classmethod
    def of(cls, old: str, new: str) -> "LineDiff":
        a, b = old.splitlines(keepends=True), new.splitlines(keepends=True)
        start, stop = _equal_ends(a, b)
        first = max(start - CONTEXT, 0)
        left, right = a[first : len(a) - max(stop - CONTEXT, 0)], b[first : len(b) - max(stop - CONTEXT, 0)]
        return cls(left, right, first, _groups(left, right, start - first, min(stop, CONTEXT)))

    @property
    def added(self) -> int:
        return sum(j2 - j1 for group in self.groups for tag, _, _, j1, j2 in group if tag != "equal")

    @property
    def removed(self) -> int:
        return sum(i2 - i1 for group in self.groups for tag, i1, i2, _, _ in group if tag != "equal")

    def lines(self) -> Iterator[str]:
        for group in self.groups:
            (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
            yield f"@@ -{_range(self.first, i1, i2)} +{_range(self.first, j1, j2)} @@"
            for tag, a1, a2, b1, b2 in group:
                if tag == "equal":
                    yield from (_row(" ", line) for line in self.old[a1:a2])
                else:
                    yield from (_row("-", line) for line in self.old[a1:a2])
                    yield from (_row("+", line) for line in self.new[b1:b2])


def unified(old_name: str, new_name: str, old: str, new: str) -> str:
    """A unified diff, cut at MAX_LINES; "" when the texts are equal.

    Args:
        old_name: As shown after `---`.
        new_name: As shown after `+++`.
        old: Text before.
        new: Text after.
    """
    if old == new:
        return ""
    diff = LineDiff.of(old, new)
    rows = [f"--- {old_name}", f"+++ {new_name}"]
    for row in diff.lines():
        if len(rows) == MAX_LINES:
            rows.append(f"[cut: {diff.added} lines added, {diff.removed} removed in all]")
            break
        rows.append(row)
    return "\n".join(rows)


def _equal_ends(a: Sequence[str], b: Sequence[str]) -> tuple[int, int]:
    """How many lines are equal at the start and, of the rest, at the end."""
    shorter = min(len(a), len(b))
    start = next((i for i in range(shorter) if a[i] != b[i]), shorter)
    rest = shorter - start
    stop = next((i for i in range(rest) if a[-1 - i] != b[-1 - i]), rest)
    return start, stop


def _groups(
    a: Sequence[str], b: Sequence[str], start: int, stop: int
) -> Sequence[Sequence[tuple[str, int, int, int, int]]]:
    if max(len(a), len(b)) <= MAX_COMPARED:
        matcher = difflib.SequenceMatcher(None, a, b, autojunk=len(a) > MAX_COMPARED // 6)
        return [*matcher.get_grouped_opcodes(CONTEXT)]
    # One change of everything in between: what it costs to do better is not bounded.
    ends = len(a) - stop, len(b) - stop
    return [
        [
            ("equal", 0, start, 0, start),
            ("replace", start, ends[0], start, ends[1]),
            ("equal", ends[0], len(a), ends[1], len(b)),
        ]
    ]


def _range(first: int, start: int, stop: int) -> str:
    count = stop - start
    line = first + start + (1 if count else 0)
    return str(line) if count == 1 else f"{line},{count}"


def _row(sign: str, line: str) -> str:
    text = line.removesuffix("\n").removesuffix("\r")
    cut = (
        text
        if len(text) <= MAX_LINE_CHARS
        else f"{text[:MAX_LINE_CHARS]}[{len(text) - MAX_LINE_CHARS} more characters]"
    )
    return sign + cut + ("" if line.endswith(("\n", "\r")) else "\n\\ No newline at end of file")
