"""One command as the child sees it: its limits, its clock, its chance."""

import hashlib
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True)
class MountPoint:
    """A host folder that the interpreter shows as `/<name>`."""

    name: str
    path: str
    writable: bool


@dataclass
class Call:
    """A command to run, and what its built-in commands share.

    Attributes:
        command: The script.
        workdir: Absolute path in the interpreter.
        mounts: In the order given.
        epoch: What the time is, in seconds since 1970 UTC: the clock of the run stands still (DESIGN §7).
        seed: Where chance comes from.
        timeout: Wall clock seconds.
        limit: Bytes kept of each output stream.
        dirty: Something may still be running that cannot be stopped: the process must not be used again.
    """

    command: str
    workdir: str
    mounts: tuple[MountPoint, ...]
    epoch: float
    seed: int
    timeout: float
    limit: int
    dirty: bool = False
    started: float = field(default_factory=time.monotonic)
    _times: Counter[str] = field(default_factory=Counter)

    @classmethod
    def read(cls, wire: dict[str, Any]) -> "Call":
        mounts = tuple(MountPoint(**mount) for mount in wire.pop("mounts"))
        return cls(mounts=mounts, **wire)

    @property
    def layout(self) -> tuple[Any, ...]:
        """What an interpreter is built from; one made for an equal layout serves this call."""
        return (self.mounts, self.workdir, self.timeout)

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.epoch, UTC)

    @property
    def remaining(self) -> float:
        """Wall clock seconds left, never below a hundredth."""
        return max(0.01, self.timeout - (time.monotonic() - self.started))

    @property
    def overdue(self) -> bool:
        return time.monotonic() - self.started >= self.timeout

    def random(self, *names: str) -> random.Random:
        """A stream for these names; the n-th call with the same names has the n-th stream.

        Two commands of a pipeline run at the same time, so the order in which they ask decides nothing.
        """
        name = "\0".join(names)
        self._times[name] += 1
        text = f"{self.seed}\0{self._times[name]}\0{name}"
        return random.Random(int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()))  # noqa: S311  reproducible on purpose
