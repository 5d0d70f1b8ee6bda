"""Ends process trees: in the kernel, when a session is stopped; and as a script, when the kernel dies.

Who belongs to a tree: the descendants of its root; while the root lives, the members of its POSIX session; and whoever carries
the tag in the environment, which every descendant inherits: also one that was started with setsid by a parent that has
ended. As a script (`python -P ending.py TAG PARENT`) this is the watchdog: it reads `PID BIRTH` lines of roots, and when the pipe
closes or the parent is gone it ends everything that was started under the tag. Standard library and psutil only.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

import psutil

TAG = "TT_PROCESS_TAG"
"""Environment variable. A session's tag is `<table>.<number>`; a kernel inside a session adds its own after a slash."""

_POLL = 0.02
_PARENT_POLL = 0.5
_SAME_BIRTH = 2.0


def tagged(tag: str) -> set[psutil.Process]:
    """The processes of a session, or of all sessions of a table."""
    return {process for process in map(process_of, psutil.pids()) if process is not None and _has_tag(process, tag)}


def added_tag(own: str) -> str:
    """The tag of something that this process starts; when this process has a tag itself, that one stays valid."""
    return "/".join(filter(None, [os.environ.get(TAG), own]))


def tree(root: psutil.Process) -> set[psutil.Process]:
    """A root, its descendants and, on POSIX, the members of its session. Empty when the root is gone."""
    try:
        return {root, *root.children(recursive=True), *_session_of(root.pid)} if alive(root) else set()
    except psutil.Error:
        return set()


def birth_of(process: psutil.Process) -> float:
    """When it was created, in seconds; 0 when it is gone already."""
    try:
        return process.create_time()
    except psutil.Error:
        return 0.0


def process_of(pid: int) -> psutil.Process | None:
    """The process with this id, if there is one."""
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def alive(process: psutil.Process) -> bool:
    """Whether it still runs; a zombie does not. Never waits for it: its exit status belongs to whoever started it."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def end_all(find: Callable[[], set[psutil.Process]], *, grace: float, limit: float) -> bool:
    """Ask all processes to end, then kill what is left, until none is found.

    Args:
        find: The processes that are to end. Asked again after each round: a dying process may have started another.
        grace: Seconds between the request and the kill.
        limit: Seconds after which this gives up.

    Returns:
        Whether none is left.
    """
    stop_at = time.monotonic() + limit
    victims = {process for process in find() if alive(process)}
    # Parents first: a shell that dies before its child cannot write "Terminated" into the output.
    for process in sorted(victims, key=lambda process: (birth_of(process), process.pid)):
        with contextlib.suppress(psutil.Error, OSError):
            process.terminate()
    _wait(victims, min(stop_at, time.monotonic() + grace))
    while victims := {process for process in victims | find() if alive(process)}:
        for process in victims:
            with contextlib.suppress(psutil.Error, OSError):
                process.kill()
        _wait(victims, min(stop_at, time.monotonic() + grace))
        if time.monotonic() >= stop_at:
            return not any(map(alive, victims))
    return True


def _wait(processes: set[psutil.Process], until: float) -> None:
    while time.monotonic() < until and any(map(alive, processes)):
        time.sleep(_POLL)


def _has_tag(process: psutil.Process, tag: str) -> bool:
    try:
        found = process.environ().get(TAG, "")
    except (psutil.Error, OSError):  # another user's, a system process, or gone
        return False
    return any(part == tag or part.startswith(f"{tag}.") for part in found.split("/"))


def _session_of(leader: int) -> Iterator[psutil.Process]:
    if sys.platform == "win32":
        return
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error, OSError):
            if os.getsid(pid) == leader:
                yield psutil.Process(pid)


def _watch(tag: str, parent: int) -> None:
    """The watchdog. It ignores the signals that end a kernel: they reach it first when a terminal is closed."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    roots: list[psutil.Process] = []
    closed = threading.Event()
    threading.Thread(target=_read_roots, args=(roots, closed), daemon=True).start()
    kernel = process_of(parent)
    while not closed.wait(_PARENT_POLL):
        # A process forked by the kernel may hold the pipe open after the kernel's death.
        if kernel is None or not alive(kernel):
            break

    def left() -> set[psutil.Process]:
        found = tagged(tag).union(*map(tree, list(roots)))
        return {process for process in found if process.pid != os.getpid()}

    end_all(left, grace=0.3, limit=10.0)


def _read_roots(roots: list[psutil.Process], closed: threading.Event) -> None:
    for line in sys.stdin:
        pid, _, birth = line.partition(" ")
        root = process_of(int(pid))
        # The id may be another process's by now. The tolerance is for clocks that are set while this runs.
        if root is not None and abs(birth_of(root) - float(birth)) < _SAME_BIRTH:
            roots.append(root)
    closed.set()


if __name__ == "__main__":
    _watch(sys.argv[1], int(sys.argv[2]))
