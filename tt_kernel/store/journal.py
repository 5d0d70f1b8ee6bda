"""The journal of a run: one line an event, appended before anybody sees the event (spec tauritavern §10.1).

- The file stays open; an event is one system call, without fsync. `close` syncs.
- Without a path the lines wait in memory: a run that turns out to be a full replay never touches the disk.
- A file cut at any byte opens: what is no whole line is dropped, and a gap in `seq` tells of it.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Literal, Self

from tt_kernel.domain.errors import ContractBroken, StorageFault
from tt_kernel.domain.events import ENVELOPE, LIVE, Envelope, Event
from tt_kernel.store.atomic import append_line, decoded, read_if_there, storage_fault
from tt_kernel.store.secrets import Scrubber, literal_words

Level = Literal["debug", "info", "warn", "error"]

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
_LEVELS: dict[str, Level] = {
    "run_failed": "error",
    "agent_invocation_failed": "error",
    "model_call_attempt_failed": "warn",
    "tool_call_failed": "warn",
    "tool_call_drifted": "warn",
}


def now_iso() -> str:
    return iso(datetime.now(UTC))


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, as records and journals have it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Journal:
    """The writer of one `events.jsonl`. Close it; it is also a context manager."""

    def __init__(
        self, run_id: str | None, path: Path | None, scrub: Scrubber, now: Callable[[], str] = now_iso
    ) -> None:
        """Open the journal; an existing file is continued after its last whole line.

        Args:
            run_id: Written into each line; None is possible until `attach`.
            path: The file, or None to keep the lines in memory until `attach`.
            scrub: Takes the secrets out of each line.
            now: The clock: ISO 8601 in UTC.

        Raises:
            StorageFault: the file cannot be opened.
        """
        self._run_id = run_id or ""
        self._scrub = scrub
        self._now = now
        self._lock = Lock()
        self._waiting: list[Envelope] = []
        self._descriptor: int | None = None
        self._path = path
        self._seq = 0
        self._size = 0
        self._torn = False
        if path is not None:
            data = read_if_there(path) if path.is_file() else b""  # a device has no end
            self._seq = max((envelope.seq for envelope in _envelopes(data)), default=0)
            self._size = data.rfind(b"\n") + 1
            self._descriptor = _opened(path, _APPEND)
            self._torn = self._size < len(data) and not _cut(self._descriptor, self._size)

    @property
    def run_id(self) -> str:
        return self._run_id

    @property
    def last_seq(self) -> int:
        return self._seq

    def append(self, event: Event) -> Envelope:
        """Write an event as the next line and return its envelope.

        Raises:
            StorageFault: the line is not in the journal; the next one still is written as a line of its own.
            ContractBroken: the event is of the live projection, which is not journalled.
        """
        if event.type in LIVE:
            raise ContractBroken(message=f"{event.type} is for display only and has no place in the journal.")
        with self._lock:
            envelope = Envelope(
                seq=self._seq + 1,
                run_id=self._run_id,
                timestamp=self._now(),
                level=_LEVELS.get(event.type, "info"),
                event=event,
            )
            if self._descriptor is None:
                self._wait(envelope)
            else:
                self._write(self._line(envelope))
            self._seq += 1
            return envelope

    def attach(self, path: Path, run_id: str) -> None:
        """Write the lines that waited in memory, under the run's id, and go on in the file.

        Args:
            path: The file; it must not exist.
            run_id: The id that the run has now.

        Raises:
            StorageFault: naming the file; the lines still wait.
        """
        with self._lock:
            if self._path is not None:
                raise ContractBroken(message=f"The journal is attached to {self._path} already.")
            renamed = [envelope.model_copy(update={"run_id": run_id}) for envelope in self._waiting]
            lines = b"".join(map(self._line, renamed))
            self._descriptor = _opened(path, _APPEND | os.O_EXCL)
            self._path = path
            try:
                self._write(lines)
            except StorageFault:
                os.close(self._descriptor)
                self._descriptor = self._path = None
                self._torn = False
                path.unlink(missing_ok=True)
                raise
            self._run_id = run_id
            self._waiting = []

    def close(self) -> None:
        """Make the file survive a power failure, and close it. Lines that were never attached are gone."""
        with self._lock:
            self._waiting = []
            if self._descriptor is None:
                return
            descriptor, self._descriptor = self._descriptor, None
            path = self._path or Path()
            try:
                os.fsync(descriptor)
            except OSError as error:
                raise storage_fault("finish", path, error) from error
            finally:
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _wait(self, envelope: Envelope) -> None:
        if self._path is not None:
            raise ContractBroken(message=f"The journal {self._path} is closed.")
        self._waiting.append(envelope)

    def _line(self, envelope: Envelope) -> bytes:
        return self._scrub.line(envelope.model_dump(mode="json"), words=_schema_words)

    def _write(self, lines: bytes) -> None:
        assert self._descriptor is not None
        assert self._path is not None
        try:
            append_line(self._descriptor, b"\n" + lines if self._torn else lines, self._path)
        except StorageFault:
            self._torn = not _cut(self._descriptor, self._size)
            raise
        self._size += len(lines) + self._torn
        self._torn = False


def read_journal(path: Path) -> list[Envelope]:
    """The whole lines of a journal, in order; a missing file is an empty journal.

    Raises:
        StorageFault: it exists and cannot be read.
    """
    return _envelopes(read_if_there(path))


def _envelopes(data: bytes) -> list[Envelope]:
    whole, _, _ = data.rpartition(b"\n")
    return [envelope for line in whole.split(b"\n") if (envelope := decoded(ENVELOPE, line)) is not None]


def _opened(path: Path, flags: int) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o666)
    except OSError as error:
        raise storage_fault("write", path, error) from error


def _cut(descriptor: int, size: int) -> bool:
    """Drop what follows `size` bytes: the beginning of a line that could not be finished."""
    try:
        os.ftruncate(descriptor, size)
    except OSError:
        return False
    return True


@cache
def _schema_words() -> frozenset[str]:
    return literal_words(ENVELOPE.json_schema())
