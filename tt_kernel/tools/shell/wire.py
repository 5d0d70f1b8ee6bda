"""What the kernel and the shell's child process say to each other: length-prefixed frames over two pipes.

Both sides import this module, the child before anything heavy: standard library only. No pickle: JSON for what is said, raw
bytes for what a command prints.
"""

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

RUN = 1
"""Kernel to child: a Job as JSON."""
CANCEL = 2
"""Kernel to child: stop the running command."""
READY = 16
"""Child to kernel, once: it can take commands."""
STDOUT = 17
"""Child to kernel: bytes of the running command's standard output."""
STDERR = 18
"""Child to kernel: bytes of its standard error."""
DONE = 19
"""Child to kernel: how the command ended, as JSON."""

MAX_FRAME = 16 * 1024 * 1024
"""Longest payload of a frame, in bytes: a sign of a broken stream beyond it."""

_HEADER = struct.Struct(">IB")


class BrokenStream(Exception):
    """The other side sent something that is no frame."""


def pack(kind: int, payload: bytes = b"") -> bytes:
    return _HEADER.pack(len(payload), kind) + payload


def pack_json(kind: int, value: Mapping[str, Any]) -> bytes:
    return pack(kind, json.dumps(value).encode("ascii"))


def read_frame(read: Callable[[int], bytes]) -> tuple[int, bytes] | None:
    """The next frame of a blocking stream, None at its end.

    Args:
        read: Reads exactly as many bytes as asked, fewer only at the end (`io.BufferedReader.read`).

    Raises:
        BrokenStream: A length beyond MAX_FRAME.
    """
    header = read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    length, kind = _HEADER.unpack(header)
    if length > MAX_FRAME:
        raise BrokenStream(f"a frame of {length} bytes")
    payload = read(length) if length else b""
    return (kind, payload) if len(payload) == length else None
