"""One pass over a text file of any size: the lines that were asked for, and what an edit has to know of the whole."""

import codecs
import hashlib
import os
from dataclasses import dataclass

from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ids import Digest
from tt_kernel.store.workspace import Place, quoted
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.seen import Version
from tt_kernel.tools.project.threads import Stop

CHUNK = 1 << 20
KEPT_BYTES = 1 << 20
"""Of the lines that were asked for; more is never shown."""
SNIFFED = 8192
"""A NUL byte within so many bytes makes a file binary."""
BOM = b"\xef\xbb\xbf"
_WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass
class Scan:
    """Facts of a text file. Lines end at LF; what follows the last LF is a line when it is not empty.

    Attributes:
        version: Digest and time.
        size: Bytes.
        line_ends, crlf: LFs, and how many of them follow a CR.
        is_utf8: Nothing is lost when it is decoded and written again.
        kept: The bytes of the lines that were asked for, cut after KEPT_BYTES.
    """

    version: Version
    size: int
    line_ends: int
    crlf: int
    bom: bool
    is_utf8: bool
    ends_open: bool
    kept: bytes

    @property
    def total_lines(self) -> int:
        return self.line_ends + (1 if self.ends_open else 0)

    @property
    def crlf_rules(self) -> bool:
        """The dominant line end is CRLF (spec liveagent §5.5)."""
        return self.crlf > 0 and self.crlf >= self.line_ends - self.crlf


def scan(
    desk: ProjectDesk, place: Place, stop: Stop, *, first: int = 1, lines: int = 0, any_kind: bool = False
) -> Scan:
    """Read a whole file, keeping `lines` lines from line `first` (1-based) on.

    Args:
        desk: Whose file.
        place: Which file.
        stop: Asked at every chunk.
        first: First line to keep.
        lines: How many to keep.
        any_kind: Take binary files too.

    Raises:
        ToolError: `project.binary_file` for what is no text; those of the file layer.
    """
    reader = _Reader(first, lines)
    with desk.workspace.opened(place) as (descriptor, _):
        before = os.fstat(descriptor)
        while chunk := os.read(descriptor, CHUNK):
            if reader.size == 0 and not any_kind:
                refuse_binary(place, chunk)
            reader.feed(chunk)
            stop.check()
    return reader.result(before.st_mtime_ns)


def refuse_binary(place: Place, start: bytes) -> None:
    """Raise ToolError `project.binary_file` when the start of a file is not that of a text."""
    if start.startswith(_WIDE_BOMS):
        raise ToolError(
            "project.binary_file", f"{quoted(place.logical)} is text in UTF-16, which this tool does not read."
        )
    if b"\0" in start[:SNIFFED]:
        raise ToolError("project.binary_file", f"{quoted(place.logical)} is a binary file, not text.")


class _Reader:
    def __init__(self, first: int, lines: int) -> None:
        self._sha = hashlib.sha256()
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._to_skip = first - 1
        self._left = lines
        self._kept: list[bytes] = []
        self._room = KEPT_BYTES
        self._last = b""
        self._bom = False
        self.size = 0
        self.line_ends = 0
        self.crlf = 0
        self.is_utf8 = True

    def feed(self, chunk: bytes) -> None:
        self._sha.update(chunk)
        if self.size == 0:
            self._bom = chunk.startswith(BOM)
        self.size += len(chunk)
        self.crlf += chunk.count(b"\r\n") + (self._last == b"\r" and chunk[:1] == b"\n")
        ends = chunk.count(b"\n")
        self.line_ends += ends
        self._last = chunk[-1:]
        if self.is_utf8:
            self._decode(chunk)
        if self._left and self._room:
            self._keep(chunk, ends)

    def _decode(self, chunk: bytes, *, final: bool = False) -> None:
        try:
            self._decoder.decode(chunk, final)
        except UnicodeDecodeError:
            self.is_utf8 = False

    def _keep(self, chunk: bytes, ends: int) -> None:
        if self._to_skip:
            if ends < self._to_skip:
                self._to_skip -= ends
                return
            start = _after(chunk, self._to_skip)
            chunk, ends, self._to_skip = chunk[start:], ends - self._to_skip, 0
        if ends >= self._left:
            chunk = chunk[: _after(chunk, self._left)]
            self._left = 0
        else:
            self._left -= ends
        self._kept.append(chunk[: self._room])
        self._room -= len(self._kept[-1])

    def result(self, mtime_ns: int) -> Scan:
        if self.is_utf8:
            self._decode(b"", final=True)
        return Scan(
            version=Version(Digest(self._sha.hexdigest()), mtime_ns),
            size=self.size,
            line_ends=self.line_ends,
            crlf=self.crlf,
            bom=self._bom,
            is_utf8=self.is_utf8,
            ends_open=self._last not in (b"", b"\n"),
            kept=b"".join(self._kept),
        )


def _after(chunk: bytes, count: int) -> int:
    """The offset after the `count`-th LF, which must be there."""
    offset = 0
    for _ in range(count):
        offset = chunk.index(b"\n", offset) + 1
    return offset
