"""Who writes a folder: one process at a time, and anybody can see whether there is one.

- Where the system can lock a folder itself (Unix), that is done: no file is made, and none is deleted. Deleted files are what
  slows down a file system that is to make many new ones.
- Elsewhere (Windows, some network file systems) it is the lock file of `lock_files.py` in the folder.
- The operating system lets go when the holder dies in whatever way. A forked child does not hold what its parent holds.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tt_kernel.domain.errors import StorageFault
from tt_kernel.store.atomic import storage_fault
from tt_kernel.store.layout import LOCK_NAME
from tt_kernel.store.lock_files import WAIT_SECONDS, acquire, is_held, let_go

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from filelock import BaseFileLock

_PAUSE = 0.01
"""Seconds between two attempts: a reader that looks holds a folder for an instant."""


class Hold:
    """A folder that this process writes, until `release`."""

    def __init__(self, folder: Path, descriptor: int | None, lock: "BaseFileLock | None") -> None:
        self._folder = folder
        self._descriptor = descriptor
        self._lock = lock
        if descriptor is not None:
            _OPEN.add(descriptor)

    def release(self) -> None:
        """On whatever thread; a second time does nothing."""
        lock, self._lock = self._lock, None
        if lock is not None:
            let_go(self._folder / LOCK_NAME, lock)
        descriptor, self._descriptor = self._descriptor, None
        if descriptor in _OPEN:  # else this is a child of the holder
            _OPEN.discard(descriptor)
            os.close(descriptor)


_OPEN: set[int] = set()


def _let_go_in_child() -> None:
    while _OPEN:
        with suppress(OSError):
            os.close(_OPEN.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go_in_child)


def hold(folder: Path, wait: float = WAIT_SECONDS) -> Hold:
    """Be the only writer of a folder that exists.

    Args:
        folder: Of a run.
        wait: Seconds.

    Raises:
        StorageFault: code `storage.busy`, or the reason why it cannot be locked.
    """
    until = time.monotonic() + wait
    while (descriptor := _opened(folder)) is not None:
        found = _locked(descriptor, shared=False)
        if found:
            return Hold(folder, descriptor, None)
        os.close(descriptor)
        if found is None:
            break
        if time.monotonic() >= until:
            raise StorageFault("storage.busy", f"Another process is writing {folder}.")
        time.sleep(_PAUSE)
    return Hold(folder, None, acquire(folder / LOCK_NAME, wait))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only process that changes the shared documents of a folder; it is made if it is missing.

    Raises:
        StorageFault: code `storage.busy` when another process holds it for longer than 10 seconds.
    """
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_fault("create", folder, error) from error
    held = hold(folder)
    try:
        yield
    finally:
        held.release()


def is_written(folder: Path) -> bool:
    """Whether a process, this one included, writes the folder now."""
    descriptor = _opened(folder)
    if descriptor is not None:
        free = _locked(descriptor, shared=True)
        os.close(descriptor)
        if free is False:
            return True
    return is_held(folder / LOCK_NAME)


def _opened(folder: Path) -> int | None:
    if sys.platform == "win32":
        return None  # folders cannot be opened there
    try:
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None


def _locked(descriptor: int, *, shared: bool) -> bool | None:
    """False: somebody else has it. None: folders cannot be locked here."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
