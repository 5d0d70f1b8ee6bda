"""Edits of files too large to hold: exact matches only, in two passes over the file, in memory only a piece of it."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tt_kernel.domain.ids import Digest
from tt_kernel.store.workspace import GuardFailed, quoted
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.scanning import BOM, CHUNK, Scan
from tt_kernel.tools.project.target import Target
from tt_kernel.tools.project.threads import Stop

LARGE_BYTES = 16 * 1024 * 1024
"""From here on files are edited this way."""


@dataclass(frozen=True)
class Hit:
    """Bytes `start` to `end` (exclusive) of the file."""

    start: int
    end: int


def file_chunks(desk: ProjectDesk, target: Target, stop: Stop) -> Iterator[bytes]:
    with desk.workspace.opened(target.place) as (descriptor, _):
        while chunk := os.read(descriptor, CHUNK):
            stop.check()
            yield chunk


def hits(chunks: Iterable[bytes], needle: bytes) -> Iterator[Hit]:
    """Where `needle` occurs, from left to right, without overlaps; the LF of a CRLF takes its CR along.

    UTF-8 bytes of whole characters occur only where the characters do.
    """
    held, base, free = b"", 0, 0
    for chunk in chunks:
        held += chunk
        at = held.find(needle, max(free - base, 0))
        while at >= 0:
            with_cr = needle.startswith(b"\n") and base + at > free and held[at - 1 : at] == b"\r"
            yield Hit(base + at - with_cr, base + at + len(needle))
            free = base + at + len(needle)
            at = held.find(needle, free - base)
        # One byte more than a needle that may have begun: the CR before it.
        drop = max(len(held) - len(needle), 0)
        held, base = held[drop:], base + drop


def rewritten(chunks: Iterable[bytes], places: Iterable[Hit], new: bytes) -> Iterator[bytes]:
    """The content with `new` at each hit."""
    remaining = iter(places)
    current = next(remaining, None)
    position = 0
    for chunk in chunks:
        end, at = position + len(chunk), position
        while current is not None and current.start < end:
            if current.start >= at:
                yield chunk[at - position : current.start - position]
                yield new
            at = min(max(current.end, at), end)
            if current.end > end:
                break
            current = next(remaining, None)
        yield chunk[at - position :]
        position = end


def keeping_bom(scan: Scan, places: list[Hit], new: bytes) -> tuple[list[Hit], bytes]:
    """A BOM at the start of the file stays: the first hit begins after it."""
    if not scan.bom or not places or places[0].start > 0:
        return places, new
    first = Hit(len(BOM), max(places[0].end, len(BOM)))
    return [first, *places[1:]], new.removeprefix(BOM)


class Rewriting:
    """The second pass: copies, replaces, and makes sure that the source was the one of the first pass.

    `sha256` is the digest of what was written, known when the iteration has ended.
    """

    def __init__(
        self, desk: ProjectDesk, target: Target, scan: Scan, places: list[Hit], new: bytes, stop: Stop
    ) -> None:
        self._source = hashlib.sha256()
        self._written = hashlib.sha256()
        self._expected = scan.version.sha256
        self._target = target
        self._pieces = rewritten(self._read(file_chunks(desk, target, stop)), places, new)

    def _read(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self._source.update(chunk)
            yield chunk

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._written.update(piece)
            yield piece
        if self._source.hexdigest() != self._expected:
            raise GuardFailed(None, f"{quoted(self._target.place.logical)} has changed.")

    @property
    def sha256(self) -> Digest:
        return Digest(self._written.hexdigest())
