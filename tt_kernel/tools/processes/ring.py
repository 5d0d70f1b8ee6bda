"""The output of a session: a bounded ring of chunks under absolute positions (spec liveagent §6.2).

- A position counts bytes since the session began and stays valid for ever; what is no longer kept is told as truncated.
- Chunks hold whole characters only (`cleaning.py` sees to that), so eviction never cuts one.
"""

from collections import deque
from dataclasses import dataclass
from typing import Literal, get_args

Stream = Literal["stdout", "stderr"]

MAX_PIECES = 1000
"""How often a page may tell that the stream changes."""

_GROWN = 16 * 1024
"""A chunk grows up to this size, so that output written byte by byte does not make a million chunks."""
_MAX_CHUNKS = 32_768
"""Bounds what two streams that alternate byte by byte can cost."""


@dataclass
class _Chunk:
    stream: Stream
    start: int
    data: bytearray

    @property
    def end(self) -> int:
        return self.start + len(self.data)


@dataclass(frozen=True)
class Page:
    """Output from `start` to `cursor`. `truncated`: older output was asked for and is gone; `has_more`: there is more now."""

    pieces: tuple[tuple[Stream, bytes], ...]
    start: int
    cursor: int
    truncated: bool
    has_more: bool


class Ring:
    """Keeps the newest `capacity` bytes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._chunks: deque[_Chunk] = deque()
        self._end = 0

    @property
    def start(self) -> int:
        """Position of the oldest byte kept."""
        return self._chunks[0].start if self._chunks else self._end

    @property
    def end(self) -> int:
        """Position after the newest byte: how much was ever written."""
        return self._end

    def unread(self, cursor: int) -> int:
        """Bytes kept after `cursor`."""
        return self._end - max(cursor, self.start)

    def append(self, stream: Stream, data: bytes) -> None:
        """Add whole characters. What is older than the capacity allows is dropped, chunk by chunk."""
        while data:
            cut = cut_before(data, 0, _GROWN)
            self._add(stream, data[:cut])
            data = data[cut:]
        while self._end - self.start > self._capacity or len(self._chunks) > _MAX_CHUNKS:
            self._chunks.popleft()

    def page(self, cursor: int, limit: int) -> Page:
        """At most `limit` bytes from `cursor` on, cut between characters. A cursor beyond the end reads from the end."""
        start = min(max(cursor, self.start), self._end)
        pieces: list[tuple[Stream, bytearray]] = []
        at = start
        for chunk in self._chunks:
            if chunk.end <= at:
                continue
            begin = at - chunk.start
            data = chunk.data[begin : cut_before(chunk.data, begin, begin + limit - (at - start))]
            if not data:
                break
            at += len(data)
            if pieces and pieces[-1][0] == chunk.stream:
                pieces[-1][1].extend(data)
            else:
                pieces.append((chunk.stream, bytearray(data)))
            if at < chunk.end:
                break
        return Page(_joined(pieces), start, at, truncated=cursor < self.start, has_more=at < self._end)

    def _add(self, stream: Stream, data: bytes) -> None:
        last = self._chunks[-1] if self._chunks else None
        if last is not None and last.stream == stream and len(last.data) + len(data) <= _GROWN:
            last.data += data
        else:
            self._chunks.append(_Chunk(stream, self._end, bytearray(data)))
        self._end += len(data)


def _joined(pieces: list[tuple[Stream, bytearray]]) -> tuple[tuple[Stream, bytes], ...]:
    """The pieces in the order of their arrival; by stream when they alternate so often that telling it would be most of the page."""
    if len(pieces) <= MAX_PIECES:
        return tuple((stream, bytes(data)) for stream, data in pieces)
    return tuple((name, b"".join(data for stream, data in pieces if stream == name)) for name in get_args(Stream))


def cut_before(data: bytes | bytearray, start: int, end: int) -> int:
    """Where to cut `data[start:]` so that it ends at `end` or up to three bytes earlier, not inside a UTF-8 character."""
    if end >= len(data):
        return len(data)
    for cut in range(end, max(end - 4, start - 1), -1):
        if not is_continuation(data[cut]):
            return cut
    return end


def is_continuation(byte: int) -> bool:
    """Whether a byte is inside a UTF-8 character, not its first."""
    return byte & 0b1100_0000 == 0b1000_0000  # noqa: PLR2004
