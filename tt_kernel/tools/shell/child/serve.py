"""The child process: frames in, one command at a time, frames out. Ends when the kernel's end of the pipe does."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

from tt_kernel.tools.shell.child.runner import Runner
from tt_kernel.tools.shell.wire import CANCEL, READY, RUN, pack, read_frame

MAX_ADDRESS_SPACE = 4 << 30
"""Bytes of address space of the child, and of each language worker that it starts."""
MAX_FILE_SIZE = 1 << 30
"""Bytes of a file that a command may write."""
STACK = 16 << 20
"""Bytes of stack of each thread: macOS gives half a megabyte."""
PARENT_CHECK = 5.0
"""Seconds between looks at whether the kernel still exists."""


def main() -> None:
    limit_process()
    source = os.fdopen(os.dup(0), "rb")
    sink = os.dup(1)
    # Whatever prints to stdout by mistake must not end up between the frames.
    os.dup2(2, 1)
    asyncio.run(serve(source, sender(sink)))
    end()


async def serve(source: Any, send: Callable[[bytes], None]) -> None:
    """Serve until `source` (the kernel's frames) ends or the process cannot be trusted any more."""
    loop = asyncio.get_running_loop()
    left = asyncio.Event()
    runner = Runner(send, left.set)

    def listen() -> None:
        while (frame := read_frame(source.read)) is not None:
            kind, payload = frame
            if kind == RUN:
                runner.run(payload)
            elif kind == CANCEL:
                loop.call_soon_threadsafe(runner.cancel)
        end()

    threading.Thread(target=listen, name="frames", daemon=True).start()
    _watch_parent(loop, os.getppid())
    send(pack(READY))
    await left.wait()


def sender(sink: int) -> Callable[[bytes], None]:
    """Writes whole pieces to the kernel, whichever thread they come from."""
    lock = threading.Lock()

    def send(data: bytes) -> None:
        rest = memoryview(data)
        try:
            with lock:
                while rest:
                    rest = rest[os.write(sink, rest) :]
        except OSError:
            end()

    return send


def _watch_parent(loop: asyncio.AbstractEventLoop, parent: int) -> None:
    """A copy of the kernel's end of the pipe may live on in a forked process, so its end is not the only sign."""
    if os.getppid() != parent:
        end()
    loop.call_later(PARENT_CHECK, _watch_parent, loop, parent)


def end() -> None:
    """Leave at once, with everything this process started (it leads its own process group)."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def limit_process() -> None:
    """No core dumps, bounded memory and files; Ctrl-C is the kernel's business. What a platform lacks is left out."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.stack_size(STACK)
    try:
        import resource  # noqa: PLC0415  POSIX only
    except ImportError:
        return
    limits = (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, MAX_ADDRESS_SPACE),
        (resource.RLIMIT_FSIZE, MAX_FILE_SIZE),
    )
    for what, size in limits:
        try:
            _, hard = resource.getrlimit(what)
            allowed = size if hard == resource.RLIM_INFINITY else min(size, hard)
            resource.setrlimit(what, (allowed, allowed))
        except (OSError, ValueError):  # macOS refuses some
            continue
