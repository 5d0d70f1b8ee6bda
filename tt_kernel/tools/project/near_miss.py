"""Why old_string was not found, in one or two lines; bounded in cost."""

from tt_kernel.tools.project.matching import BOM, WHITE_SPACE

MAX_LINES = 100_000
MAX_PLACES = 200
MAX_SHOWN = 160


def near_miss(text: str, old: str) -> str:
    """Where the file comes nearest to `old`: the longest run of equal lines, and the first line that differs. "" for nowhere.

    Starts with a line end, so that it can follow a message.
    """
    wanted = _lines(old)
    lines = _lines(text)
    if len(lines) > MAX_LINES or not any(wanted):
        return ""
    best, at = 0, -1
    first = next(i for i, line in enumerate(wanted) if line)
    places = [number for number, line in enumerate(lines) if line == wanted[first]]
    for place in places[:MAX_PLACES]:
        run = _run(lines[place:], wanted[first:])
        if run > best:
            best, at = run, place
    if at < 0:
        return _contained(lines, wanted[first])
    if first + best == len(wanted):
        return f"\nLine {at + 1} and what follows are the same but for blanks that do not shift uniformly."
    found = lines[at + best] if at + best < len(lines) else "the end of the file"
    return (
        f"\nIt begins as line {at + 1} of the file does, but line {at + best + 1} differs:\n"
        f"file:       {_cut(found)}\nold_string: {_cut(wanted[first + best])}"
    )


def _contained(lines: list[str], first: str) -> str:
    holding = [number for number, line in enumerate(lines, 1) if len(first) > 3 and first in line]  # noqa: PLR2004
    return f"\nIts first line is a part of line {holding[0]} of the file." if holding else ""


def _run(lines: list[str], wanted: list[str]) -> int:
    count = 0
    for line, other in zip(lines, wanted, strict=False):
        if line != other:
            break
        count += 1
    return count


def _lines(text: str) -> list[str]:
    return [line.strip(WHITE_SPACE) for line in text.removeprefix(BOM).split("\n")]


def _cut(line: str) -> str:
    return line if len(line) <= MAX_SHOWN else line[:MAX_SHOWN] + "..."
