"""Reading a part of a text of any size: one pass, in memory only what was asked for."""

import codecs
import hashlib

from tt_kernel.domain.ids import Digest


class TextScan:
    r"""Feed it the chunks of a UTF-8 file; it counts the whole and keeps the asked part.

    Lines end at `\n`; what follows the last `\n` is a line only when it is not empty. Positions are characters (Unicode
    scalar values) from the start of the file, a BOM included.

    Args:
        first_line: Keep from this line (1-based) ...
        lines: ... at most so many lines.
        first_char: Keep from this character (0-based) instead of a line.
        chars: Keep at most so many characters.

    Attributes (complete after `close`):
        sha256, size: Digest and bytes of the whole file.
        total_chars, line_ends: Of the whole file.
        crlf: How many of the line ends are `\r\n`.
        start: Position of the kept part; None when the file ends before it.
        kept: The kept part.
    """

    def __init__(
        self, *, first_line: int = 1, lines: int | None = None, first_char: int | None = None, chars: int
    ) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._sha = hashlib.sha256()
        self._line_to_find = first_line if first_char is None else None
        self._lines_left = lines
        self._chars_left = chars
        self._pieces: list[str] = []
        self._carry = ""
        self._last = ""
        self.size = 0
        self.total_chars = 0
        self.line_ends = 0
        self.crlf = 0
        self.bom = False
        self.start: int | None = None
        self._first_char = first_char if first_char is not None else (0 if first_line == 1 else None)

    @property
    def sha256(self) -> Digest:
        return Digest(self._sha.hexdigest())

    @property
    def total_lines(self) -> int:
        return self.line_ends + (1 if self._last not in ("", "\n") else 0)

    @property
    def ends_open(self) -> bool:
        """The file does not end with a line end."""
        return self._last not in ("", "\n")

    @property
    def kept(self) -> str:
        return "".join(self._pieces)

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes. Raises UnicodeDecodeError for what is not UTF-8."""
        self._sha.update(chunk)
        self.size += len(chunk)
        self._take(self._decoder.decode(chunk))

    def close(self) -> None:
        self._take(self._decoder.decode(b"", final=True), final=True)

    def _take(self, text: str, *, final: bool = False) -> None:
        text = self._carry + text
        # A \r at the end of a chunk may be half of a line end.
        self._carry = "\r" if text.endswith("\r") and not final else ""
        text = text[: len(text) - len(self._carry)]
        if not text:
            return
        if self.total_chars == 0:
            self.bom = text.startswith("\ufeff")
        self._keep(text)
        self.total_chars += len(text)
        self.line_ends += text.count("\n")
        self.crlf += text.count("\r\n")
        self._last = text[-1]

    def _keep(self, text: str) -> None:
        if self.start is None:
            offset = self._offset_of_start(text)
            if offset is None:
                return
            self.start = self.total_chars + offset
            text = text[offset:]
        text = text[: self._chars_left]
        if self._lines_left is not None:
            text = self._within_lines(text, self._lines_left)
        self._chars_left -= len(text)
        if text:
            self._pieces.append(text)

    def _offset_of_start(self, text: str) -> int | None:
        if self._first_char is not None:
            offset = self._first_char - self.total_chars
            return offset if offset < len(text) else None
        assert self._line_to_find is not None
        ends_to_pass = self._line_to_find - 1 - self.line_ends
        if text.count("\n") < ends_to_pass:
            return None
        offset = _after_line_ends(text, ends_to_pass)
        # The line begins only with a character of its own.
        if offset == len(text):
            self._first_char = self.total_chars + offset
            return None
        return offset

    def _within_lines(self, text: str, lines: int) -> str:
        ends = text.count("\n")
        self._lines_left = max(lines - ends, 0)
        return text if ends < lines else text[: _after_line_ends(text, lines)]


def _after_line_ends(text: str, count: int) -> int:
    """The offset after the `count`-th line end, which must be there."""
    offset = 0
    for _ in range(count):
        offset = text.index("\n", offset) + 1
    return offset
