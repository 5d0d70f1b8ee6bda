"""Opening and reading regular files, of any size, in chunks."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace.boundary import locate, os_problem
from tt_kernel.store.workspace.paths import quoted
from tt_kernel.store.workspace.roots import Place

CHUNK = 1 << 20
"""Bytes read at once."""

# O_NONBLOCK: opening a pipe nobody writes to must not hang. Flags that a platform lacks are 0.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


def read_chunks(place: Place, path: str | None = None) -> Iterator[bytes]:
    """The bytes of a file in pieces of at most CHUNK.

    Args:
        place: Which file.
        path: Its path on the disk when a listing just gave it; else it is located.
    """
    with opened(place, path or locate(place)) as (descriptor, size):
        # One byte more than expected tells a whole small file from one that grew, in two calls.
        want = min(max(size + 1, 4096), CHUNK)
        while chunk := os.read(descriptor, want):
            yield chunk


def read_bytes(place: Place, path: str | None = None) -> bytes:
    return b"".join(read_chunks(place, path))


@contextmanager
def opened(place: Place, path: str) -> Iterator[tuple[int, int]]:
    """A file descriptor of a regular file, and its size in bytes. Never hangs at pipes, never follows a link."""
    try:
        # Before opening, because opening a device can already do something; after it, because it may have been swapped.
        check_regular(place, os.lstat(path).st_mode)
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise os_problem(error, place) from error
    try:
        status = os.fstat(descriptor)
        check_regular(place, status.st_mode)
        yield descriptor, status.st_size
    except OSError as error:
        raise os_problem(error, place) from error
    finally:
        os.close(descriptor)


def check_regular(place: Place, mode: int) -> None:
    """Refuse what is no regular file: `workspace.path_is_directory`, `workspace.not_regular_file`."""
    if stat.S_ISDIR(mode):
        raise ToolError("workspace.path_is_directory", f"{quoted(place.logical)} is a folder, not a file.")
    if not stat.S_ISREG(mode):
        raise ToolError(
            "workspace.not_regular_file", f"{quoted(place.logical)} is a pipe, socket or device, not a regular file."
        )
