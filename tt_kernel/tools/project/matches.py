"""What ripgrep prints in its JSON mode, taken apart as it arrives: matches with the lines around them."""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from tt_kernel.domain.canonical import Json, JsonObject

MAX_RECORD = 8 * 1024 * 1024
"""Longer records (of a line of megabytes) are not kept."""
MAX_LINE_CHARS = 400
LEAD_CHARS = 80
MAX_LINES_OF_MATCH = 20
"""Of a match over several lines."""


@dataclass
class Match:
    """`lines` are (number, text, is a part of the match), with the context; `line` is the first one of the match."""

    path: str
    line: int
    text: str
    lines: list[tuple[int, str, bool]]


@dataclass
class MatchReader:
    """Feed it ripgrep's output; it keeps the matches `offset` to `offset + limit` and then says that it has enough.

    Args:
        relative: From a path as printed to the one that is shown.
        wanted: Whether a path counts.
        offset: How many matches to pass over.
        limit: How many to keep.
        context: Lines around a match.
    """

    relative: Callable[[str], str]
    wanted: Callable[[str], bool]
    offset: int
    limit: int
    context: int
    matches: list[Match] = field(default_factory=list)
    seen: int = 0
    more: bool = False
    too_long: int = 0
    _buffer: bytearray = field(default_factory=bytearray)
    _skipping: bool = False
    _path: str = ""
    _counts: bool = False
    _before: list[tuple[int, str]] = field(default_factory=list)

    def feed(self, piece: bytes) -> bool:
        """False when nothing more is needed."""
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            self._buffer += piece[start:end]
            start = end + 1
            if self._skipping:
                self.too_long += self._counts
            elif not self._take(json.loads(bytes(self._buffer))):
                return False
            self._buffer.clear()
            self._skipping = False
        self._buffer += piece[start:]
        if len(self._buffer) > MAX_RECORD:
            self._skipping = True
            self._buffer.clear()
        return True

    def _take(self, record: JsonObject) -> bool:
        data = record["data"]
        match record["type"]:
            case "begin":
                self._path = self.relative(_text(data["path"]))
                self._counts = self.wanted(self._path)
                self._before = []
            case "context" if self._counts:
                self._context_line(data["line_number"], _text(data["lines"]).rstrip("\r\n"))
            case "match" if self._counts:
                return self._match(data)
        return True

    def _context_line(self, number: int, text: str) -> None:
        text = cut(text)
        last = self.matches[-1] if self.matches else None
        if last is not None and last.path == self._path and 0 < number - _end(last) <= self.context:
            last.lines.append((number, text, False))
        self._before = [*self._before, (number, text)][-self.context :]

    def _match(self, data: JsonObject) -> bool:
        self.seen += 1
        if self.seen <= self.offset:
            return True
        if len(self.matches) == self.limit:
            self.more = True
            return False
        first = data["line_number"]
        shown = _lines(data)
        before = [(n, text, False) for n, text in self._before if first - self.context <= n < first]
        rows = [(first + i, text, True) for i, text in enumerate(shown)]
        self.matches.append(Match(self._path, first, shown[0], [*before, *rows]))
        return True


def _end(match: Match) -> int:
    """The last line of the match itself."""
    return max(number for number, _, hit in match.lines if hit)


def _lines(data: JsonObject) -> list[str]:
    lines = _text(data["lines"]).rstrip("\r\n").split("\n")
    at = data["submatches"][0]["start"] if data["submatches"] else 0
    first = cut(lines[0].removesuffix("\r"), at)
    rest = [cut(line.removesuffix("\r")) for line in lines[1:MAX_LINES_OF_MATCH]]
    more = [f"[{len(lines) - MAX_LINES_OF_MATCH} more lines]"] if len(lines) > MAX_LINES_OF_MATCH else []
    return [first, *rest, *more]


def cut(line: str, at: int = 0) -> str:
    """At most MAX_LINE_CHARS characters of a line, around `at` when that is farther in."""
    if len(line) <= MAX_LINE_CHARS:
        return line
    start = max(min(at - LEAD_CHARS, len(line) - MAX_LINE_CHARS), 0) if at > MAX_LINE_CHARS - LEAD_CHARS else 0
    end = start + MAX_LINE_CHARS
    return ("..." if start else "") + line[start:end] + ("..." if end < len(line) else "")


def _text(value: Json) -> str:
    if "text" in value:
        return str(value["text"])
    # What no UTF-8 is cannot be written down as JSON either.
    return base64.b64decode(value["bytes"]).decode("utf-8", "replace")
