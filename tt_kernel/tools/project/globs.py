"""File name patterns: `*` and `?` (not `/`), `**`, `[a-z]`, `[!a]`, `{a,b}`; a pattern without `/` is for names at any depth.

Matching never backtracks far, whatever the pattern: braces are expanded first, each `*` takes the first place where what
follows it fits, and `**` is tried segment by segment. (One regular expression for the whole would stop the process for hours on
a pattern made for it, since `re` lets nothing else run.)
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import quoted

INVALID = "project.glob_invalid"
MAX_ALTERNATIVES = 64
MAX_CHARS = 1000

Segment = re.Pattern[str] | None
"""One segment of a pattern; None is `**`."""


@dataclass(frozen=True)
class Glob:
    """A pattern, or several. `names` are patterns of the last segment, that any match must fit; empty when anything may."""

    alternatives: tuple[tuple[Segment, ...], ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, pattern: str) -> "Glob":
        """Raises ToolError `project.glob_invalid`."""
        expanded = _expanded(pattern)
        alternatives = tuple(_segments(one, pattern) for one in expanded)
        lasts = tuple(dict.fromkeys(one.rstrip("/").rpartition("/")[2] for one in expanded))
        return cls(alternatives, () if any(last in ("**", "*") or ":" in last for last in lasts) else lasts)

    def matches(self, path: str) -> bool:
        """Whether a relative path with `/` fits one of the patterns."""
        parts = path.split("/")
        return any(fits(one, parts) for one in self.alternatives)


def any_of(patterns: str) -> Glob:
    """Several patterns, separated by `|`. Raises ToolError `project.glob_invalid`."""
    globs = [Glob.of(one.strip()) for one in patterns.split("|") if one.strip()]
    if not globs:
        raise _invalid(patterns, "it is empty")
    names = tuple(itertools.chain.from_iterable(glob.names for glob in globs))
    return Glob(
        tuple(itertools.chain.from_iterable(glob.alternatives for glob in globs)),
        names if all(glob.names for glob in globs) else (),
    )


def fits(segments: Sequence[Segment], parts: Sequence[str]) -> bool:
    """Whether a path's segments fit those of a pattern.

    Like the matching of `*`, with segments for characters: only the last `**` is ever gone back to.
    """
    at = number = 0
    back: tuple[int, int] | None = None
    while number < len(parts):
        if at < len(segments) and segments[at] is None:
            back = (at, number)
            at += 1
        elif at < len(segments) and _is_like(segments[at], parts[number]):
            at, number = at + 1, number + 1
        elif back is not None:
            back = (back[0], back[1] + 1)
            at, number = back[0] + 1, back[1]
        else:
            return False
    # A `**` at the end stands for something below, not for the folder itself.
    return at == len(segments)


def _is_like(segment: Segment, part: str) -> bool:
    return segment is not None and segment.fullmatch(part) is not None


def _segments(pattern: str, told: str) -> tuple[Segment, ...]:
    anchored = "/" in pattern.strip("/") or pattern.startswith("/")
    parts = [part for part in pattern.split("/") if part not in ("", ".")]
    if not parts:
        raise _invalid(told, "it is empty")
    if ".." in parts:
        raise _invalid(told, "it has a '..' segment")
    compiled = [None if part == "**" else segment(part, told) for part in parts]
    segments = compiled if anchored or compiled == [None] else [None, *compiled]
    if segments[-1] is None:
        segments.append(re.compile(r"(?s:.+)"))
    return tuple(segment for segment, before in zip(segments, [..., *segments], strict=False) if segment or before)


_TOKEN = re.compile(r"\\[\s\S]|\*+|\?|\[[!^]?\]?[^\]]*\]|[\s\S]")


def segment(text: str, told: str) -> re.Pattern[str]:
    """One segment as a regular expression without backtracking: after each `*` the first place that fits is taken.

    Args:
        text: The segment; a backslash before a character takes it as it is.
        told: The whole pattern, for the error message.

    Raises:
        ToolError: `project.glob_invalid`.
    """
    runs = [""]
    for piece in _TOKEN.findall(text):
        if piece.startswith("*"):
            runs.append("")
        elif piece == "[":
            raise _invalid(told, "it has a [ without a ]")
        else:
            runs[-1] += _one(piece)
    if len(runs) == 1:
        return _compiled(f"(?s:{runs[0]})", told)
    middle = "".join(f"(?>.*?{run})" for run in runs[1:-1])
    # The last run must end where the name does, so it is looked for from there.
    return _compiled(f"(?s:{runs[0]}{middle}.*{runs[-1]})", told)


def _one(piece: str) -> str:
    if piece == "?":
        return "."
    if piece.startswith("\\"):
        return re.escape(piece[1:] or piece)
    if not piece.startswith("["):
        return re.escape(piece)
    inside = piece[1:-1]
    negated = inside.startswith(("!", "^"))
    body = (inside[1:] if negated else inside).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    body = body.replace("&", "\\&").replace("~", "\\~").replace("|", "\\|").replace("^", "\\^")
    return f"[{'^' if negated else ''}{body}]"


def _compiled(expression: str, told: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error:
        raise _invalid(told, "it has a range that cannot be") from None


def _expanded(pattern: str) -> list[str]:
    """Braces multiplied out. Raises ToolError for unbalanced ones and for too many combinations."""
    if len(pattern) > MAX_CHARS:
        raise _invalid(pattern, f"it has more than {MAX_CHARS} characters")
    done: list[str] = []
    pending = [pattern.replace("\\", "/")]
    while pending:
        current = pending.pop(0)
        opening = _last_opening(current)
        if opening is None:
            if "}" in current:
                raise _invalid(pattern, "it has a } without a {")
            done.append(current)
        else:
            closing = current.find("}", opening)
            if closing < 0:
                raise _invalid(pattern, "it has a { without a }")
            choices = current[opening + 1 : closing].split(",")
            pending += [current[:opening] + choice + current[closing + 1 :] for choice in choices]
        if len(done) + len(pending) > MAX_ALTERNATIVES:
            raise _invalid(pattern, f"its braces stand for more than {MAX_ALTERNATIVES} patterns")
    return list(dict.fromkeys(done))


def _last_opening(text: str) -> int | None:
    at = text.rfind("{")
    return at if at >= 0 else None


def _invalid(pattern: str, problem: str) -> ToolError:
    return ToolError(INVALID, f"Pattern {quoted(pattern)} is not valid: {problem}.")
