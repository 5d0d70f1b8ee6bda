"""The kernel's side of the watchdog: a small process that ends what was started here when this process dies, however it dies."""

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

from tt_kernel.tools.processes.ending import birth_of
from tt_kernel.tools.processes.environment import command_environment

OWN_SESSION = os.name == "posix"
CREATION_FLAGS: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""Both take a process out of the reach of the terminal's signals, each on its systems."""

_SCRIPT = Path(__file__).with_name("ending.py")
_CLOSE_SECONDS = 12.0
"""It gives its own work 10 s."""


class Watchdog:
    """Started with the first root that it is told, again if it died. Its only link is a pipe, which any death of this process closes.

    Args:
        tag: What the environment of everything that it is to end carries.
    """

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self._process: subprocess.Popen[bytes] | None = None
        self._roots: dict[psutil.Process, bytes] = {}

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Have it running. Raises OSError when it cannot be started."""
        if self._process is not None and self._process.poll() is None:
            return
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._process = _start(self._tag)
        for line in self._roots.values():
            self._tell(line)

    def watch(self, root: psutil.Process | None) -> None:
        """Tell it of a root; needed where the environment of other processes cannot be read."""
        if root is not None:
            self._roots[root] = f"{root.pid} {birth_of(root)!r}\n".encode()
            self._tell(self._roots[root])

    def forget(self, root: psutil.Process | None) -> None:
        """A root needs not be told to the next watchdog."""
        if root is not None:
            self._roots.pop(root, None)

    def close(self) -> None:
        """End it: it ends what is left first. Blocks for as long as that takes."""
        process, self._process = self._process, None
        self._roots = {}
        if process is None:
            return
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        try:
            process.wait(_CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _tell(self, line: bytes) -> None:
        if self._process is None or self._process.stdin is None:
            return
        with contextlib.suppress(OSError):  # it died: the next start starts another
            self._process.stdin.write(line)
            self._process.stdin.flush()


def _start(tag: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-P", str(_SCRIPT), tag, str(os.getpid())]
    quiet = subprocess.DEVNULL
    folder = tempfile.gettempdir()  # so that it keeps no folder of the user's in use
    return subprocess.Popen(  # noqa: S603
        command,
        stdin=subprocess.PIPE,
        stdout=quiet,
        stderr=quiet,
        cwd=folder,
        env=command_environment(),
        start_new_session=OWN_SESSION,
        creationflags=CREATION_FLAGS,
    )
