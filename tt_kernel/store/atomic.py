"""Bytes to disk: a reader sees the old file or the new one, never half of either.

- Replaced documents are written beside themselves and moved into place.
- Files that must not exist yet are created exclusively and written once.
- Every error of the operating system leaves here as a StorageFault that names the path and the reason.
"""

import errno
import json
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from tt_kernel.domain.canonical import Json, indented_json
from tt_kernel.domain.errors import StorageFault

T = TypeVar("T")

TEMPORARY_PREFIX = ".tt-"
"""Files of this prefix are unfinished writes of a process that was killed; they may be deleted."""

_BINARY = getattr(os, "O_BINARY", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
_FULL = ("storage.full", "Free some space, then run again.")
_DENIED = ("storage.denied", "Make the folder writable, or move the notebook to one that is.")
_REMEDIES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EROFS: _DENIED,
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.EEXIST: ("storage.exists", "Another process may have written it; nothing was changed."),
}
# Windows refuses to replace a file that somebody else (a virus scanner) has open for a moment.
_REPLACE_PAUSES = (0.01, 0.05, 0.2) if os.name == "nt" else ()


def storage_fault(action: str, path: Path, error: OSError) -> StorageFault:
    """The fault for an error of the operating system.

    Args:
        action: What could not be done, as in "Cannot write": a verb with its preposition.
        path: What it was done to.
        error: The reason.
    """
    code, way_out = _REMEDIES.get(error.errno or 0, (None, ""))
    reason = error.strerror or str(error) or type(error).__name__
    return StorageFault(code, f"Cannot {action} {path}: {reason}. {way_out}".rstrip())


def append_line(descriptor: int, line: bytes, path: Path) -> None:
    """Write all of `line` to an open file, normally by one system call. `path` is for the error message.

    Raises:
        StorageFault: a part of the line may have been written.
    """
    try:
        written = os.write(descriptor, line)
        while written < len(line):
            written += os.write(descriptor, line[written:])
    except OSError as error:
        raise storage_fault("write", path, error) from error


def create_bytes(path: Path, data: bytes) -> None:
    """Create a file that must not exist yet. Missing folders are made.

    A process killed in between leaves a shortened file: record its name only after this has returned.

    Raises:
        StorageFault: code `storage.exists` when it exists.
    """
    try:
        descriptor = _open_new(path)
    except OSError as error:
        raise storage_fault("create", path, error) from error
    try:
        append_line(descriptor, data, path)
    except BaseException:
        os.close(descriptor)
        _remove(path)
        raise
    os.close(descriptor)


def write_bytes(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace the content of a file, or create it; its access rights are kept. Missing folders are made.

    Args:
        path: The file.
        data: Its new content.
        durable: Wait until the disk has it, so that it survives a power failure too (about 1-10 ms).

    Raises:
        StorageFault: the old content is untouched.
    """
    write_pieces(path, (data,), durable=durable)


def write_pieces(path: Path, pieces: Iterable[bytes], *, durable: bool = False) -> None:
    """The same for content that comes in pieces. Whatever the iteration raises leaves the old content untouched too.

    Args:
        path: The file.
        pieces: Its new content, one after the other.
        durable: As for `write_bytes`.

    Raises:
        StorageFault: the old content is untouched.
    """
    temporary = path.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(6)}")
    try:
        descriptor = _open_new(temporary)
    except OSError as error:
        raise storage_fault("write", path, error) from error
    try:
        try:
            for piece in pieces:
                append_line(descriptor, piece, path)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _keep_mode(path, temporary)
        _replace(temporary, path)
    except OSError as error:
        _remove(temporary)
        raise storage_fault("write", path, error) from error
    except BaseException:
        _remove(temporary)
        raise


def write_json(path: Path, value: BaseModel | Json, *, durable: bool = False) -> None:
    """Replace a JSON document: sorted keys, two spaces, a newline at the end, so that git diffs read well."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    write_bytes(path, indented_json(plain), durable=durable)


def read_json(path: Path) -> Json:
    """The JSON value of a file (a byte order mark is accepted: editors write it).

    Raises:
        StorageFault: it cannot be read (`__cause__` is the OSError), or code `storage.not_json`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise storage_fault("read", path, error) from error
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise StorageFault("storage.not_json", f"{path} is not valid JSON: {error}.") from error


def read_if_there(path: Path) -> bytes:
    """The bytes of a file; none where it is missing.

    Raises:
        StorageFault: The file is there and cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise storage_fault("read", path, error) from error


def decoded(kind: TypeAdapter[T], data: bytes) -> T | None:
    """What JSON bytes of the store say, or None when they are no such thing: cut off, damaged, of another version."""
    try:
        return kind.validate_json(data)
    except ValidationError:
        pass
    try:
        # Python's decoder accepts what Rust's refuses: a lone surrogate, as a model may write it.
        return kind.validate_python(json.loads(data))
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _open_new(path: Path) -> int:
    try:
        return os.open(path, _NEW, 0o666)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, _NEW, 0o666)


def _keep_mode(path: Path, temporary: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    temporary.chmod(mode & 0o7777)


def _replace(temporary: Path, path: Path) -> None:
    for pause in _REPLACE_PAUSES:
        try:
            temporary.replace(path)
        except PermissionError:
            time.sleep(pause)
        else:
            return
    temporary.replace(path)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return  # the first error is the one to tell
