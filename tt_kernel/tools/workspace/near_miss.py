"""Why an exact text was not found, in one or a few lines. Bounded in cost and in size."""

import difflib
import heapq
from collections.abc import Iterator

from tt_kernel.toolkit.scoring import Query, fold

MAX_LINES = 50_000
"""Files with more lines get no hint about white space or similar lines."""
MAX_COMPARED = 200
"""Lines that are compared letter by letter."""
MAX_LINE_CHARS = 400
MAX_SHOWN_CHARS = 200
SIMILAR = 0.6


def near_miss(text: str, old: str) -> str:
    """What comes nearest to `old` in `text`: other line ends, other white space, or a similar line; "" when nothing does.

    Starts with a line end, so that it can follow a message.
    """
    for hint in (_line_ends, _numbered, _white_space, _similar):
        found = hint(text, old)
        if found:
            return "\n" + found
    return ""


def _line_ends(text: str, old: str) -> str | None:
    lf = old.replace("\r\n", "\n")
    if "\n" not in lf:
        return None
    if lf == old and lf.replace("\n", "\r\n") in text:
        return "The file has CRLF line ends (\\r\\n) there, old_string has LF (\\n). With \\r\\n it occurs."
    if lf != old and lf in text:
        return "The file has LF line ends (\\n) there, old_string has CRLF (\\r\\n). With \\n it occurs."
    if lf not in text and lf in text.replace("\r\n", "\n"):
        return "The file has mixed line ends there, some \\r\\n and some \\n. Replace one line at a time."
    return None


def _numbered(text: str, old: str) -> str | None:
    """The model copied the line numbers of a reading along."""
    lines = old.split("\n")
    bare = [line.split(" | ", 1) for line in lines]
    if not all(len(pair) == 2 and pair[0].strip().isdigit() for pair in bare):  # noqa: PLR2004
        return None
    if "\n".join(pair[1] for pair in bare) not in text.replace("\r\n", "\n"):
        return None
    return 'old_string has line numbers ("12 | "), which are not in the file. Without them it occurs.'


def _white_space(text: str, old: str) -> str | None:
    wanted = [line.strip() for line in old.strip("\n").split("\n")]
    lines = text.split("\n")
    if len(lines) > MAX_LINES or not any(wanted):
        return None
    stripped = [line.strip() for line in lines]
    for first in _positions(stripped, wanted[0]):
        if stripped[first : first + len(wanted)] == wanted:
            where = f"line {first + 1}" if len(wanted) == 1 else f"lines {first + 1}-{first + len(wanted)}"
            rows = [_row(lines, number) for number in range(first, first + min(len(wanted), 3))]
            return "\n".join([f"It differs from {where} only in white space at the start or the end of lines:", *rows])
    return None


def _similar(text: str, old: str) -> str | None:
    wanted = max((line.strip() for line in old.split("\n")), key=len)[:MAX_LINE_CHARS]
    lines = text.split("\n")
    if len(lines) > MAX_LINES or not wanted:
        return None
    best, best_ratio = -1, SIMILAR
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    for number in _worth_comparing(lines, wanted):
        matcher.set_seq1(lines[number].strip()[:MAX_LINE_CHARS])
        if matcher.real_quick_ratio() > best_ratio and matcher.quick_ratio() > best_ratio:
            ratio = matcher.ratio()
            best, best_ratio = (number, ratio) if ratio > best_ratio else (best, best_ratio)
    return None if best < 0 else f"The nearest line is:\n{_row(lines, best)}"


def _worth_comparing(lines: list[str], wanted: str) -> list[int]:
    """The lines that share most words with `wanted`: comparing all of a long file letter by letter would take seconds."""
    query = Query.of(wanted)
    scores = [0] * len(lines)
    folded = [fold(line) for line in lines]
    for token, weight in query.weights.items():
        for index in [i for i, line in enumerate(folded) if token in line]:
            scores[index] += weight
    return heapq.nlargest(
        MAX_COMPARED, [i for i, score in enumerate(scores) if score or not query], key=scores.__getitem__
    )


def _positions(lines: list[str], wanted: str) -> Iterator[int]:
    at = -1
    while True:
        try:
            at = lines.index(wanted, at + 1)
        except ValueError:
            return
        yield at


def _row(lines: list[str], index: int) -> str:
    line = lines[index].removesuffix("\r")
    return f"{index + 1} | {line if len(line) <= MAX_SHOWN_CHARS else line[:MAX_SHOWN_CHARS] + '...'}"
