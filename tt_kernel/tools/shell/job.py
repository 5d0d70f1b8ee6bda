"""A command for the child, and how it ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

TIMEOUT_SECONDS = 30.0
"""Wall clock of one command (spec tauritavern §6)."""
MAX_STREAM = 128 * 1024
"""Bytes kept of each output stream (spec tauritavern §6)."""


@dataclass(frozen=True)
class Mount:
    """A host folder that a command sees as `/<name>`.

    Args:
        name: One path segment.
        host_path: The folder; it must exist.
        writable: False makes every change below it fail.
    """

    name: str
    host_path: Path
    writable: bool

    def __post_init__(self) -> None:
        if not self.name or self.name in (".", "..") or any(mark in self.name for mark in "/\\\0"):
            raise ValueError(f"A mount's name is one path segment, not {self.name!r}.")


@dataclass(frozen=True)
class Job:
    """One command. `epoch` is what its clock shows (seconds since 1970 UTC), `seed` where its chance comes from."""

    command: str
    workdir: str
    mounts: Sequence[Mount]
    epoch: float
    seed: int
    timeout: float = TIMEOUT_SECONDS
    limit: int = MAX_STREAM

    def to_wire(self) -> dict[str, Any]:
        mounts = [{"name": m.name, "path": str(m.host_path.absolute()), "writable": m.writable} for m in self.mounts]
        return {**{name: value for name, value in vars(self).items() if name != "mounts"}, "mounts": mounts}


@dataclass
class Printed:
    """What a command has printed so far."""

    stdout: bytearray
    stderr: bytearray

    @classmethod
    def nothing(cls) -> "Printed":
        return cls(bytearray(), bytearray())


@dataclass(frozen=True)
class Ending:
    """How a command ended.

    Attributes:
        reason: `exit`; `timeout`; `cancelled`; `refused` (it could not be started as asked); `died` (the child is gone).
        exit: Exit code, for `exit`.
        code: Error code, for `refused`.
        message: What to say, for `refused` and `died`.
        truncated: Output beyond the limit was dropped.
        leaving: The child ends itself after this command.
    """

    reason: Literal["exit", "timeout", "cancelled", "refused", "died"]
    exit: int = 0
    code: str = ""
    message: str = ""
    truncated: bool = False
    leaving: bool = False
