"""workspace.read_file: spec tauritavern §5.6.

Two ways to ask: lines (1-based) and, for lines that are too long, characters (0-based). What does not fit is cut with the
position to ask for next; it is never an error.
"""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.text import count_words
from tt_kernel.store.workspace import Place, TextScan, shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.workspace.desk import Desk
from tt_kernel.tools.workspace.read_state import Span, after_read

MAX_WHOLE_BYTES = 256 * 1024
MAX_LINES = 1200
MAX_CHARS = 80_000
"""Of a read of a part, and of the preview of a file that is too large to be shown whole."""


@builtin_tool("workspace.read_file", group="workspace", effect="workspace", read_only=True)
async def read_file(
    desk: Desk,
    path: str,
    start_line: Annotated[int, Field(ge=1)] | None = None,
    line_count: Annotated[int, Field(ge=1, json_schema_extra={"maximum": MAX_LINES})] | None = None,
    start_char: Annotated[int, Field(ge=0)] | None = None,
    max_chars: Annotated[int, Field(ge=1, json_schema_extra={"maximum": MAX_CHARS})] | None = None,
) -> Outcome:
    """Read a UTF-8 text file of the workspace, with line numbers. A large file is shown in part, with what to ask for next.

    Args:
        path: The file, for example output/main.md.
        start_line: First line to show, counted from 1.
        line_count: How many lines to show.
        start_char: First character to show, counted from 0; only for lines too long to be read as lines.
        max_chars: How many characters to show, with start_char.
    """
    asked = Asked.checked(start_line, line_count, start_char, max_chars)
    place = desk.file(desk.workspace.place(path))
    scan = asked.scan()
    for _ in desk.workspace.scan(place, scan):
        # A large file must not keep the loop from hearing an interrupt.
        if scan.size > MAX_WHOLE_BYTES:
            await asyncio.sleep(0)
    part = asked.part(scan, place)
    state = after_read(desk.reads.get(place.logical), scan.sha256, part.span, scan.total_chars)
    desk.reads.put(place.logical, state)
    return part.outcome(place, scan)


@dataclass(frozen=True)
class Asked:
    """Which part was asked for; `chars` is None for a read by lines."""

    line: int
    lines: int | None
    chars: Span | None
    whole: bool

    @classmethod
    def checked(cls, line: int | None, lines: int | None, char: int | None, chars: int | None) -> "Asked":
        """Raises ToolError for ranges that cannot be: mixed, or too large."""
        by_lines, by_chars = (line, lines) != (None, None), (char, chars) != (None, None)
        if by_lines and by_chars:
            message = "start_line and line_count cannot be used together with start_char and max_chars."
            raise ToolError("workspace.mixed_read_range", message)
        if lines is not None and lines > MAX_LINES:
            message = f"line_count is {lines}; this tool shows at most {MAX_LINES} lines at once."
            raise ToolError("workspace.read_line_count_too_large", message)
        if chars is not None and chars > MAX_CHARS:
            message = f"max_chars is {chars}; this tool shows at most {MAX_CHARS} characters at once."
            raise ToolError("workspace.read_char_count_too_large", message)
        start = char or 0
        span = Span(start=start, end=start + (chars or MAX_CHARS)) if by_chars else None
        return cls(line or 1, lines, span, whole=not by_lines and not by_chars)

    def scan(self) -> TextScan:
        if self.chars is not None:
            return TextScan(first_char=self.chars.start, chars=self.chars.end - self.chars.start)
        # One more than may be shown, to tell what fits from what does not.
        chars = MAX_WHOLE_BYTES if self.whole else MAX_CHARS + 1
        return TextScan(first_line=self.line, lines=self.lines or MAX_LINES, chars=chars)

    def part(self, scan: TextScan, place: Place) -> "Part":
        """Raises ToolError `workspace.invalid_line_range`, `workspace.invalid_char_range`: it begins after the end."""
        if scan.start is None and (self.line > 1 or (self.chars is not None and self.chars.start > 0)):
            raise self._beyond(scan, place)
        start = scan.start or 0
        if self.chars is not None:
            return Part(text=scan.kept, start=start, line=None, capped=False)
        if self.whole and scan.size <= MAX_WHOLE_BYTES and scan.total_lines <= MAX_LINES:
            return Part(text=scan.kept, start=start, line=1, capped=False)
        text = _whole_lines(scan.kept)
        end = start + len(text)
        capped = end < scan.total_chars and (self.lines is None or text.count("\n") < self.lines)
        return Part(text=text, start=start, line=self.line, capped=capped)

    def _beyond(self, scan: TextScan, place: Place) -> ToolError:
        name = shown(place.logical)
        if self.chars is None:
            message = f"start_line is {self.line}, but {name} has {scan.total_lines} lines."
            return ToolError("workspace.invalid_line_range", message)
        message = f"start_char is {self.chars.start}, but {name} has {scan.total_chars} characters."
        return ToolError("workspace.invalid_char_range", message)


def _whole_lines(text: str) -> str:
    """As many whole lines as fit; of a first line that does not fit, its beginning."""
    if len(text) <= MAX_CHARS:
        return text
    end = text.rfind("\n", 0, MAX_CHARS) + 1
    return text[: end or MAX_CHARS]


@dataclass(frozen=True)
class Part:
    """What is shown: a piece of the file from character `start`; `line` is the number of its first line, None for characters.

    `capped`: there is more, and it was not left out because the model asked for so little.
    """

    text: str
    start: int
    line: int | None
    capped: bool

    @property
    def span(self) -> Span:
        return Span(start=self.start, end=self.start + len(self.text))

    def outcome(self, place: Place, scan: TextScan) -> Outcome:
        words = count_words(self.text)
        facts: JsonObject = {
            "path": place.logical,
            "sha256": scan.sha256,
            "totalLines": scan.total_lines,
            "totalChars": scan.total_chars,
            "chars": len(self.text),
            "words": words,
            "fullRead": len(self.text) == scan.total_chars,
        }
        measure = f"{len(self.text)} chars, {words} words, sha256 {scan.sha256}{_oddities(scan)}"
        if self.line is None:
            facts |= {"startChar": self.span.start, "endChar": self.span.end}
            header = f"{shown(place.logical)} chars {self.span.start}-{self.span.end} of {scan.total_chars}, {measure}"
            return Outcome("\n".join([header, self.text, *self._next(scan, facts)]), structured=facts)
        rows = _rows(self.text, self.line)
        last = self.line + len(rows) - 1
        facts |= {"startLine": self.line if rows else 0, "endLine": last}
        header = f"{shown(place.logical)} lines {facts['startLine']}-{last} of {scan.total_lines}, {measure}"
        return Outcome("\n".join([header, *rows, *self._next(scan, facts)]), structured=facts)

    def _next(self, scan: TextScan, facts: JsonObject) -> list[str]:
        """What to ask for to go on; adds it to `facts`."""
        left = scan.total_chars - self.span.end
        if not left:
            return []
        if self.line is None or not self.text.endswith("\n"):
            facts["nextChar"] = self.span.end
            return [f"[{left} more characters: go on with start_char {self.span.end}]"]
        facts["nextLine"] = facts["endLine"] + 1
        more = scan.total_lines - facts["endLine"]
        return [f"[{more} more lines: go on with start_line {facts['nextLine']}]"] if self.capped else []


def _rows(text: str, first: int) -> list[str]:
    lines = text.removesuffix("\n").split("\n") if text else []
    width = len(str(first + len(lines) - 1))
    return [f"{number:>{width}} | {_visible(line, number)}" for number, line in enumerate(lines, first)]


def _visible(line: str, number: int) -> str:
    line = line.removesuffix("\r")
    return line.removeprefix("\ufeff") if number == 1 else line


def _oddities(scan: TextScan) -> str:
    """What the rows do not show but an exact edit or an append depends on."""
    odd = []
    if scan.crlf:
        odd.append(
            "CRLF line ends"
            if scan.crlf == scan.line_ends
            else f"mixed line ends ({scan.crlf} of {scan.line_ends} CRLF)"
        )
    if scan.bom:
        odd.append("starts with a BOM")
    if scan.ends_open:
        odd.append("no line end at the end")
    return "".join(f", {fact}" for fact in odd)
