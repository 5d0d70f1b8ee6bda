"""File work in a thread, so that the loop stays free; a cancelled call knows what became of it."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

CHECKS_PER_PAUSE = 64


class Stopped(Exception):
    """The call was cancelled; raised in the thread, at a point where nothing is half done."""


class Stop:
    """Asked at every step of long work. Before anything is changed for good, `check` is called for the last time."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._checks = 0

    def set(self) -> None:
        self._event.set()

    def check(self) -> None:
        """Raises Stopped when the call was cancelled. Now and then it lets other threads go first, the loop's above all."""
        self._checks += 1
        if self._checks % CHECKS_PER_PAUSE == 0:
            time.sleep(0)
        if self._event.is_set():
            raise Stopped


async def in_thread(work: Callable[[Stop], T]) -> T:
    """Run `work` in a thread.

    When the caller is cancelled, the work is asked to stop and waited for: a write is then either done or not begun, and no
    thread goes on behind a run that has ended.
    """
    stop = Stop()
    future = asyncio.get_running_loop().run_in_executor(None, work, stop)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([future])
        if not future.cancelled():
            future.exception()  # looked at, so that it is not reported as forgotten
        raise
