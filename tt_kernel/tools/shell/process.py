"""The child process itself: started so that it works from a notebook kernel, ended with everything it started."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

import psutil

from tt_kernel.tools.shell.wire import BrokenStream, read_frame

KEPT_VARIABLES = (
    "PATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "PYTHONHOME",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
)
"""What the child inherits of the kernel's environment: nothing that could hold a credential."""

# The packages above the child's modules are entered as bare namespaces: their own code (pydantic and what it brings) is not
# needed there, and would cost more than all the rest. What the kernel can import, the child can import too, but last, so that
# no file next to a notebook hides a module.
_START = """
import json, sys, types
root, path = sys.argv[1], json.loads(sys.argv[2])
sys.path += [entry for entry in path if entry not in sys.path]
for name in ("tt_kernel", "tt_kernel.tools", "tt_kernel.tools.shell"):
    module = types.ModuleType(name)
    module.__path__ = ["/".join([root, *name.split(".")[1:]])]
    sys.modules[name] = module
from tt_kernel.tools.shell.child.serve import main
main()
"""


class Process:
    """A running child. Its frames arrive at `on_frame` in a thread of their own; None is the end of them.

    Raises OSError when it cannot be started.
    """

    def __init__(self, on_frame: Callable[["Process", tuple[int, bytes] | None], None]) -> None:
        self._on_frame = on_frame
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the process
        try:
            self._popen = _popen(self._stderr)
        except OSError:
            self._stderr.close()
            raise
        self._lock = threading.Lock()
        self._waited = False
        threading.Thread(target=self._listen, name="tt-kernel-shell", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._popen.pid

    def send(self, frame: bytes) -> None:
        """Write a frame. Raises OSError when the child is gone."""
        with self._lock:
            stdin = self._popen.stdin
            if stdin is None or stdin.closed:
                raise BrokenPipeError
            stdin.write(frame)
            stdin.flush()

    def kill(self) -> None:
        """End the child and what it started, at once. Harmless when it is gone."""
        if not hasattr(os, "killpg"):
            self._kill_tree()
        elif not self._waited:
            # The child leads its own group; until we have waited for it, the number is nobody else's.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)

    def _kill_tree(self) -> None:
        try:
            family = psutil.Process(self._popen.pid).children(recursive=True)
        except psutil.Error:
            family = []
        self._popen.kill()
        for member in family:
            try:
                member.kill()
            except psutil.Error:
                continue

    def close(self) -> None:
        """Kill, and give back what the process held. May take some milliseconds."""
        self.kill()
        self._popen.wait()
        self._waited = True
        with self._lock:
            if self._popen.stdin is not None:
                with contextlib.suppress(OSError):  # a frame may be left in the buffer
                    self._popen.stdin.close()
        self._stderr.close()

    def obituary(self) -> str:
        """Why it ended, for a person: signal or exit code."""
        try:
            code = self._popen.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "it stopped answering"
        self._waited = True
        if code < 0:
            return f"signal {_signal_name(-code)}"
        return f"exit code {code}"

    def last_words(self) -> str:
        """The last line of its standard error: why it could not start."""
        if self._stderr.closed:
            return "it was ended"
        size = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, size - 2000))
        lines = self._stderr.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "nothing on its standard error")

    def _listen(self) -> None:
        stream = self._popen.stdout
        if stream is None:
            return
        with stream:
            try:
                while (frame := read_frame(stream.read)) is not None:
                    self._on_frame(self, frame)
            except (OSError, ValueError, BrokenStream):
                pass  # the end, all the same
        self.kill()  # what it started may have outlived it
        self._on_frame(self, None)


def _popen(stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  our own module, no shell
        _command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=_environment(),
        cwd=tempfile.gettempdir(),
        # Out of reach of the terminal's Ctrl-C, and head of a group that can be ended as one.
        start_new_session=sys.platform != "win32",
        creationflags=_window_flags(),
    )


def _command() -> list[str]:
    root = Path(__file__).parents[2]
    path = json.dumps([entry for entry in sys.path if entry])
    return [sys.executable, "-P", "-X", "utf8", "-c", _START, root.as_posix(), path]


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    # JavaScript's local time is the process's.
    return {**kept, "TZ": "UTC"}


def _window_flags() -> int:
    if sys.platform == "win32":
        return subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    return 0


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
