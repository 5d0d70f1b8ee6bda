"""Where a piece of text occurs in a file, if need be tolerantly: the four passes of spec liveagent §5.5.

1. exact: as it is.
2. line-endings: with CRLF and LF taken as the same, and without a BOM.
3. trailing-whitespace: whole lines, blanks at their ends not counting.
4. indentation: whole lines, when one uniform shift of the indentation makes them equal.

The first pass that finds something wins, also when it finds too much. Two rules go beyond the specification (its §22.16): what
is put in has the file's dominant line ends in every pass, and a BOM at the start of the file always stays.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Strategy = Literal["exact", "line-endings", "trailing-whitespace", "indentation"]

BOM = "\ufeff"
WHITE_SPACE = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
"""Unicode's White_Space; `str.strip()` takes U+001C to U+001F as well."""


@dataclass(frozen=True)
class Replacement:
    """Characters `start` to `end` (exclusive) of the file become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Matches:
    """What a pass found. `replacements` do not overlap and are in order."""

    strategy: Strategy
    replacements: tuple[Replacement, ...]


def find(text: str, old: str, new: str) -> Matches | None:
    """All places of `old` in `text`, with what replaces them; None when no pass finds any.

    Args:
        text: The whole file, line ends and BOM as they are.
        old: What to look for; empty finds nothing.
        new: What to put there.
    """
    if not old:
        return None
    passes: tuple[tuple[Strategy, Callable[[str, str, str], list[Replacement]]], ...] = (
        ("exact", _exact),
        ("line-endings", _any_line_ends),
        ("trailing-whitespace", _any_trailing_blanks),
        ("indentation", _any_indentation),
    )
    for strategy, look in passes:
        found = look(text, old, new)
        if found:
            return Matches(strategy, tuple(found))
    return None


def applied(text: str, replacements: Sequence[Replacement]) -> str:
    """`text` with the replacements made; every other character stays."""
    pieces, end = [], 0
    for one in replacements:
        pieces += [text[end : one.start], one.text]
        end = one.end
    return "".join([*pieces, text[end:]])


def dominant(crlf: int, line_ends: int) -> str:
    """The dominant line end: CRLF when there are any, and at least as many as bare LFs."""
    return "\r\n" if crlf > 0 and crlf >= line_ends - crlf else "\n"


def with_line_ends(text: str, line_end: str) -> str:
    plain = text.replace("\r\n", "\n")
    return plain if line_end == "\n" else plain.replace("\n", line_end)


def _line_end(text: str) -> str:
    return dominant(text.count("\r\n"), text.count("\n"))


# Pass 1


def _exact(text: str, old: str, new: str) -> list[Replacement]:
    starts = list(occurrences(text, old))
    if not starts:
        return []
    put = with_line_ends(new, _line_end(text)) if "\n" in text and "\n" in new else new
    return _replacements(text, [(at, at + len(old)) for at in starts], put)


def occurrences(text: str, part: str) -> Iterator[int]:
    """Where `part` begins, from left to right, without overlaps."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def _replacements(text: str, spans: Iterable[tuple[int, int]], put: str) -> list[Replacement]:
    """The spans as replacements. One that begins with the LF of a CRLF takes the CR along, or two CRs might meet."""
    found: list[Replacement] = []
    for start, end in spans:
        free = found[-1].end if found else 0
        half = text[start] == "\n" and start > free and text[start - 1] == "\r"
        found.append(_keeping_bom(text, Replacement(start - half, end, put)))
    return found


def _keeping_bom(text: str, one: Replacement) -> Replacement:
    if one.start > 0 or not text.startswith(BOM):
        return one
    return Replacement(1, max(one.end, 1), one.text.removeprefix(BOM))


# Pass 2


def _any_line_ends(text: str, old: str, new: str) -> list[Replacement]:
    needle = old.removeprefix(BOM).replace("\r\n", "\n")
    if not needle:
        return []
    shift = 1 if text.startswith(BOM) else 0
    plain = text[shift:].replace("\r\n", "\n")
    starts = list(occurrences(plain, needle))
    if not starts:
        return []
    put = with_line_ends(new.removeprefix(BOM), _line_end(text))
    # Where, in `plain`, a CR was dropped before the LF: the offset in the file is larger by how many came before.
    dropped = [at - number - shift for number, at in enumerate(occurrences(text, "\r\n"))]

    def original(offset: int) -> int:
        """The offset in the file of a character of `plain`; of an LF that was a CRLF, of its LF."""
        return offset + shift + bisect_right(dropped, offset)

    return _replacements(text, [(original(at), original(at + len(needle) - 1) + 1) for at in starts], put)


# Passes 3 and 4


@dataclass(frozen=True)
class _Lines:
    """Lines of a text without their ends. `starts[i]` and `ends[i]` bound the content; `starts` has one more, the text's end."""

    contents: list[str]
    starts: list[int]

    @classmethod
    def of(cls, text: str) -> "_Lines":
        shift = 1 if text.startswith(BOM) else 0
        raw = text[shift:].split("\n")
        if raw[-1] == "":
            raw.pop()
        starts, at = [], shift
        for line in raw:
            starts.append(at)
            at += len(line) + 1
        starts.append(min(at, len(text)))
        return cls([line.removesuffix("\r") for line in raw], starts)

    def span(self, first: int, count: int, *, with_end: bool) -> tuple[int, int]:
        last = first + count - 1
        end = self.starts[last + 1] if with_end else self.starts[last] + len(self.contents[last])
        return self.starts[first], end


@dataclass(frozen=True)
class _Pattern:
    """The lines of old_string; `ends` when it ended with a line end."""

    lines: list[str]
    ends: bool

    @classmethod
    def of(cls, old: str) -> "_Pattern":
        plain = old.removeprefix(BOM)
        lines = [line.removesuffix("\r") for line in plain.split("\n")] if plain else []
        ends = len(lines) > 1 and lines[-1] == ""
        return cls(lines[:-1] if ends else lines, ends)


def _any_trailing_blanks(text: str, old: str, new: str) -> list[Replacement]:
    pattern, lines = _Pattern.of(old), _Lines.of(text)
    put = with_line_ends(new.removeprefix(BOM), _line_end(text))
    windows = _windows([c.rstrip(WHITE_SPACE) for c in lines.contents], [p.rstrip(WHITE_SPACE) for p in pattern.lines])
    return [Replacement(*lines.span(at, len(pattern.lines), with_end=pattern.ends), put) for at in windows]


def _any_indentation(text: str, old: str, new: str) -> list[Replacement]:
    pattern, lines = _Pattern.of(old), _Lines.of(text)
    fresh = new.removeprefix(BOM).replace("\r\n", "\n").split("\n")
    line_end = _line_end(text)
    found = []
    windows = _windows([c.strip(WHITE_SPACE) for c in lines.contents], [p.strip(WHITE_SPACE) for p in pattern.lines])
    for at in windows:
        shift = _uniform_shift(lines.contents[at : at + len(pattern.lines)], pattern.lines)
        moved = shift.moved(fresh) if shift else None
        if moved is not None:
            span = lines.span(at, len(pattern.lines), with_end=pattern.ends)
            found.append(Replacement(*span, line_end.join(moved)))
    return found


def _windows(lines: list[str], pattern: list[str]) -> Iterator[int]:
    """Where the pattern's lines follow one another, from the top, without overlaps.

    Looks only around the places of the pattern's rarest line, instead of sliding a window over all lines.
    """
    if not pattern:
        return
    places: dict[str, list[int]] = {line: [] for line in pattern}
    for number, line in enumerate(lines):
        if line in places:
            places[line].append(number)
    anchor = min(range(len(pattern)), key=lambda i: len(places[pattern[i]]))
    free = 0
    for number in places[pattern[anchor]]:
        start = number - anchor
        if start >= free and lines[start : start + len(pattern)] == pattern:
            yield start
            free = start + len(pattern)


@dataclass(frozen=True)
class _Shift:
    """Indentation to add to each line that is not blank, or to take from it."""

    adds: bool
    prefix: str

    def moved(self, lines: list[str]) -> list[str] | None:
        """The lines with the shift applied; None when one of them has not enough indentation to take from."""
        moved = []
        for line in lines:
            if not line.strip(WHITE_SPACE):
                moved.append(line)
            elif self.adds:
                moved.append(self.prefix + line)
            elif line.startswith(self.prefix):
                moved.append(line.removeprefix(self.prefix))
            else:
                return None
        return moved


def _uniform_shift(lines: list[str], pattern: list[str]) -> _Shift | None:
    """The one shift that makes the pattern's lines those of the file; None when there is none."""
    shifts = {
        _shift(_indent(line), _indent(wanted))
        for line, wanted in zip(lines, pattern, strict=True)
        if wanted.strip(WHITE_SPACE)
    }
    if not shifts:
        return _Shift(adds=True, prefix="")
    return shifts.pop() if len(shifts) == 1 else None


def _shift(line: str, pattern: str) -> _Shift | None:
    if line.endswith(pattern):
        return _Shift(adds=True, prefix=line[: len(line) - len(pattern)])
    if pattern.endswith(line):
        return _Shift(adds=False, prefix=pattern[: len(pattern) - len(line)])
    return None


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(WHITE_SPACE))]
