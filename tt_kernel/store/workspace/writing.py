"""Atomic, guarded writes: spec tauritavern §7.2."""

# ruff: noqa: PTH104, PTH105, PTH108, PTH120
# Plain strings: building Path objects costs more than the calls that they wrap.

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, RLock
from weakref import WeakValueDictionary

from tt_kernel.domain.canonical import digest_bytes
from tt_kernel.domain.errors import StorageFault, ToolError, TTError
from tt_kernel.domain.ids import Digest
from tt_kernel.store import atomic
from tt_kernel.store.workspace.boundary import locate, os_problem
from tt_kernel.store.workspace.paths import invalid_path, quoted
from tt_kernel.store.workspace.reading import check_regular, read_chunks
from tt_kernel.store.workspace.roots import Place


@dataclass(frozen=True)
class Unchecked:
    """Overwrite whatever is there."""


@dataclass(frozen=True)
class MustNotExist:
    """Create; never overwrite."""


@dataclass(frozen=True)
class MustMatch:
    """Overwrite only these bytes."""

    sha256: Digest


Guard = Unchecked | MustNotExist | MustMatch
UNCHECKED = Unchecked()


class GuardFailed(ToolError):
    """The file is not what the writer believes it to be; nothing was written."""

    default_code = "workspace.write_stale_file"


class _FileLock:
    """An RLock that a WeakValueDictionary can hold."""

    def __init__(self) -> None:
        self.lock = RLock()


class FileLocks:
    """One lock per file, for every workspace of this process that shares this table."""

    def __init__(self) -> None:
        self._table: WeakValueDictionary[str, _FileLock] = WeakValueDictionary()
        self._guard = Lock()

    @contextmanager
    def held(self, path: str) -> Iterator[None]:
        with self._guard:
            entry = self._table.get(path)
            if entry is None:
                entry = self._table[path] = _FileLock()
        with entry.lock:
            yield


def write_bytes(place: Place, data: bytes, guard: Guard, locks: FileLocks) -> Digest:
    """Replace the content of a file in one step, creating missing folders.

    Args:
        place: Which file; its root must have been checked to be writable.
        data: The new content.
        guard: What must be there now.
        locks: The table that serialises writers of this process.

    Returns:
        The digest of `data`.

    Raises:
        GuardFailed: The guard does not hold.
        ToolError: `workspace.path_is_directory`, `workspace.not_regular_file`, `workspace.invalid_path`,
            `workspace.permission_denied`.
        StorageFault: The disk is full or broken.
    """
    path = locate(place)
    with locks.held(path):
        _checked(place, path, guard)
        try:
            if isinstance(guard, MustNotExist):
                _create(path, data)
            else:
                atomic.write_bytes(Path(path), data)
        except StorageFault as fault:
            raise _judged(fault, place, path) from fault
    return digest_bytes(data)


def rewrite(place: Place, pieces: Iterable[bytes], locks: FileLocks) -> None:
    """Replace the content of a file of any size in one step, in memory only a piece of it.

    Args:
        place: Which file; its root must have been checked to be writable.
        pieces: The new content. What the iteration raises (GuardFailed, at the latest at its end) leaves the file as it was.
        locks: The table that serialises writers of this process.
    """
    path = locate(place)
    with locks.held(path):
        try:
            atomic.write_pieces(Path(path), pieces)
        except StorageFault as fault:
            raise _judged(fault, place, path) from fault


def _checked(place: Place, path: str, guard: Guard) -> None:
    """Hold the guard against what is there."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        if isinstance(guard, MustMatch):
            raise GuardFailed(None, f"{quoted(place.logical)} no longer exists.") from None
        return
    except OSError as error:
        raise os_problem(error, place) from error
    check_regular(place, status.st_mode)
    if isinstance(guard, MustNotExist):
        raise GuardFailed(None, f"{quoted(place.logical)} exists by now.")
    if isinstance(guard, MustMatch) and _digest(place, path) != guard.sha256:
        raise GuardFailed(None, f"{quoted(place.logical)} has changed.")


def _digest(place: Place, path: str) -> str:
    """Of a file of any size, in memory only a piece of it."""
    sha = hashlib.sha256()
    for chunk in read_chunks(place, path):
        sha.update(chunk)
    return sha.hexdigest()


def _create(path: str, data: bytes) -> None:
    """Write a whole file under a temporary name, then give it its name unless somebody took that meanwhile."""
    temporary = f"{os.path.dirname(path)}{os.sep}{atomic.TEMPORARY_PREFIX}{secrets.token_hex(6)}"
    try:
        atomic.create_bytes(Path(temporary), data)
        _move_exclusively(temporary, path)
    except OSError as error:
        raise atomic.storage_fault("create", Path(path), error) from error
    finally:
        with suppress(OSError):
            os.unlink(temporary)


def _move_exclusively(temporary: str, path: str) -> None:
    """Raises FileExistsError when the target exists."""
    if os.name == "nt":
        os.rename(temporary, path)
        return
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: a moment between check and rename stays open.
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        os.replace(temporary, path)


def _judged(fault: StorageFault, place: Place, path: str) -> TTError:
    """The error in the words of the model's paths; most of them are the model's to mend, not the end of the run."""
    cause = fault.__cause__
    if isinstance(cause, (FileExistsError, NotADirectoryError)):
        if os.path.lexists(path):
            return GuardFailed(None, f"{quoted(place.logical)} exists by now.")
        return invalid_path(place.logical, "a part of it is a file, not a folder")
    return os_problem(cause, place) if isinstance(cause, OSError) else fault
