"""The one daemon thread of a process that runs all agent work, on its own event loop (DESIGN §6).

The user's thread only waits, draws and answers; so nothing here depends on its loop, and nothing patches asyncio.
A coroutine given to `submit` sees the caller's context variables: in a kernel they carry the parent header, so that what it
prints and displays belongs to the cell that started it, also after other cells ran (notes/frontend.md §3).
"""

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

THREAD_NAME = "tt-agent-loop"


class _LoopThread:
    """Starts the thread on first use, again if it died, and anew in a forked child (threads do not survive a fork)."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._inherited: list[asyncio.AbstractEventLoop] = []

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = _new_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name=THREAD_NAME, daemon=True)
                self._thread.start()
            return self._loop

    def forget(self) -> None:
        """In a forked child. The parent's loop is kept unclosed: closing it would take its sockets out of the parent's epoll."""
        if self._loop is not None:
            self._inherited.append(self._loop)
        self._lock, self._loop, self._thread = threading.Lock(), None, None


def _new_loop() -> asyncio.AbstractEventLoop:
    # Kernels on Windows choose the selector loop for the main thread; only the proactor loop can start processes.
    if sys.platform == "win32":
        return asyncio.ProactorEventLoop()
    return asyncio.new_event_loop()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()


_AGENT = _LoopThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_AGENT.forget)


def agent_loop() -> asyncio.AbstractEventLoop:
    """The running loop of the agent thread of this process; started when it is first asked for."""
    return _AGENT.loop()


def submit(coro: Coroutine[Any, Any, T]) -> "tuple[Future[T], Callable[[], None]]":
    """Run a coroutine on the agent loop, in a copy of the caller's context.

    Returns:
        Its future, and `cancel()`: callable from any thread, any number of times. It cancels the task and lets the coroutine
        clean up; the future ends when the coroutine does, with its value if it returns one all the same.
        (`Future.cancel` would end the future before that.)
    """
    loop = agent_loop()
    task: asyncio.Task[Any] | None = None
    cancelled = False

    async def main() -> T:
        nonlocal task
        task = asyncio.current_task()
        if cancelled:
            coro.close()
            raise asyncio.CancelledError
        try:
            return await coro
        except (KeyboardInterrupt, SystemExit) as error:  # would end the thread of everybody
            raise RuntimeError(f"{type(error).__name__} raised by agent work: {error}") from error

    def cancel_on_loop() -> None:
        nonlocal cancelled
        cancelled = True
        if task is not None:
            task.cancel()

    future = asyncio.run_coroutine_threadsafe(main(), loop)
    return future, lambda: _call_soon(loop, cancel_on_loop)


async def aside(work: Callable[[], T]) -> T:
    """Do what waits for the disk on another thread, so that other runs go on. A cancelled task waits for its end all the same,
    and is no longer cancelled then: what has been done cannot be stopped.
    """
    future = asyncio.get_running_loop().run_in_executor(None, work)
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError:
            task = asyncio.current_task()
            assert task is not None, "a coroutine that is cancelled has a task"
            task.uncancel()
    return future.result()


def _call_soon(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(callback)
