"""Lock files. The operating system lets go of them when their holder dies in whatever way. Read `locks.py` first."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tt_kernel.domain.errors import StorageFault
from tt_kernel.store.atomic import storage_fault

if TYPE_CHECKING:
    from filelock import BaseFileLock

WAIT_SECONDS = 10.0
"""How long somebody else may hold a lock. Readers that only look hold it for an instant."""


def acquire(path: Path, wait: float = WAIT_SECONDS) -> "BaseFileLock":
    """Hold the lock of this file until it is released, on whatever thread.

    Args:
        path: The lock file, by convention `.lock` in the folder that it protects.
        wait: Seconds.

    Raises:
        StorageFault: code `storage.busy`, or the reason why the file cannot be opened.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415  25 ms that reading does not need

    lock = FileLock(path, timeout=wait, thread_local=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise StorageFault("storage.busy", f"Another process is writing {path.parent}.") from error
    except OSError as error:
        raise storage_fault("lock", path, error) from error
    return lock


def let_go(path: Path, lock: "BaseFileLock") -> None:
    """Release a lock that nobody will need again, and delete its file first, while nobody else can hold it."""
    with suppress(OSError):  # Windows does not delete an open file; releasing deletes it there
        path.unlink(missing_ok=True)
    lock.release(force=True)


def is_held(path: Path) -> bool:
    """Whether a process holds the lock now. A lock that may not be opened counts as somebody else's."""
    if not os.path.lexists(path):
        return False
    try:
        acquire(path, wait=0).release()
    except StorageFault as fault:
        return fault.code == "storage.busy" or isinstance(fault.__cause__, PermissionError)
    return False
