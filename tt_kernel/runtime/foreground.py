"""Work that must run on the user's thread while that thread waits for an agent run.

A synchronous notebook function that touches the namespace may not run beside the user's own code. So:

- the agent loop awaits `Foreground.call(fn)`: fn becomes a job in a queue, and a thread that waits is nudged to take one;
- the user's thread waits in `wait` (blocked: it pumps jobs) or in `wait_async` (its own event loop goes on, so that comm
  messages of widgets are handled; a job is one callback of that loop). Which of several waits is nudged: the main thread's
  first, the newest first, so that a job of a run that was started inside a job reaches the innermost wait;
- a job runs in the context of the call, so what it prints belongs to the cell that started the run;
- a job that must stop (time-out, cancelled run) gets an exception raised into it. That needs the main thread and its SIGINT
  handler, which can interrupt a blocking call; elsewhere the job is only given up;
- SIGINT while a thread waits cancels the runs waited for, and interrupts the job that runs. A second SIGINT gives up waiting.
"""

import asyncio
import contextlib
import contextvars
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from types import FrameType
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Cancel = Callable[[], None]

GRACE_SECONDS = 5.0
"""How long a stopped job, or a cancelled run, may take to clean up before it is given up."""
POLL_SECONDS = 0.2 if sys.platform == "win32" else None
"""A lock wait on Windows is deaf to signals, so there it is a short one."""


class _Stopped(BaseException):
    """Raised into a job. Not an Exception, so that a function's own `except Exception` does not swallow it."""

    def __init__(self, job: "_Job[Any]") -> None:
        self.job = job


class _Job(Generic[T]):
    """One function on its way to the user's thread."""

    def __init__(self, fn: Callable[[], T]) -> None:
        self._fn = fn
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self.started: asyncio.Future[None] = self._loop.create_future()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.stopping = False
        self.interrupted = False
        self._dropped = False
        self._thread: int | None = None
        self.value: T | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """On the user's thread. Nothing of fn escapes, except a stop that is meant for a job further out."""
        with self._lock:
            if self._dropped:
                return
            self._thread = threading.get_ident()
        self._tell(self.started)
        try:
            found = _SIGINT.enter(self)
            try:
                self.value = self._context.run(self._fn)
            finally:
                _SIGINT.leave(self, found)
        except _Stopped as stop:
            self.error = stop
            if stop.job is not self:
                raise
        except BaseException as error:  # noqa: BLE001  KeyboardInterrupt and SystemExit too: the caller decides
            self.error = error
        finally:
            _SIGINT.leave(self, None)  # an interrupt may have cut the first short
            with self._lock:
                self._thread = None
            self._tell(self.ended)

    def stop(self) -> None:
        """From the agent loop: never start, or raise `_Stopped` into the running function."""
        with self._lock:
            self._dropped = self.stopping = True
            thread = self._thread
        if thread is not None and thread == threading.main_thread().ident and not self.interrupted:
            _SIGINT.knock(thread)

    def _tell(self, future: "asyncio.Future[None]") -> None:
        with contextlib.suppress(RuntimeError):  # the agent loop is gone: nobody is left to tell
            self._loop.call_soon_threadsafe(_settle, future)


def _settle(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


class _Waiter:
    """A thread that waits for a run. `cancel` cancels the run; None: SIGINT ends the wait at once."""

    def __init__(self, cancel: Cancel | None) -> None:
        self.on_main = threading.current_thread() is threading.main_thread()
        self.cancel = cancel
        self.interrupted = False
        self.gave_up = False

    def wake(self) -> None:
        raise NotImplementedError

    def interrupt(self) -> None:
        """In the signal handler: the first time cancel the run, then give up."""
        if self.interrupted or self.cancel is None:
            self.gave_up = True
        else:
            self.cancel()
        self.interrupted = True
        self.wake()

    def check(self) -> None:
        if self.gave_up:
            raise KeyboardInterrupt


class _BlockedWaiter(_Waiter):
    def __init__(self, cancel: Cancel | None) -> None:
        super().__init__(cancel)
        self._nudges: queue.SimpleQueue[None] = queue.SimpleQueue()  # its put may be called in a signal handler

    def wake(self) -> None:
        self._nudges.put(None)

    def sleep(self) -> None:
        with contextlib.suppress(queue.Empty):
            self._nudges.get(timeout=POLL_SECONDS)


class _LoopWaiter(_Waiter):
    def __init__(self, cancel: Cancel | None) -> None:
        super().__init__(cancel)
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()

    def wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed while the run went on
            self._loop.call_soon_threadsafe(self._woken.set)

    async def sleep(self) -> None:
        await self._woken.wait()
        self._woken.clear()


class _Sigint:
    """SIGINT of this process while its main thread waits or runs a job.

    One handler for all waits: waits of tasks of one loop do not end in the order they began, so each cannot restore what it
    found. A kernel replaces the handler around every message; then a job brings it back for its own time only.
    """

    def __init__(self) -> None:
        self._waiters: list[_Waiter] = []
        self._jobs: list[_Job[Any]] = []
        self._knocked = False
        self._previous: Any = None

    @contextlib.contextmanager
    def waiting(self, waiter: _Waiter) -> Iterator[None]:
        if not waiter.on_main:
            yield
            return
        found = self._install()
        self._previous = self._previous if found is None else found
        self._waiters.append(waiter)
        try:
            yield
        finally:
            self._waiters.remove(waiter)
            if not self._waiters:
                self._restore(self._previous)

    def enter(self, job: "_Job[Any]") -> Any:
        """Around a job on the main thread. Returns what `leave` needs."""
        if threading.current_thread() is not threading.main_thread():
            return None
        found = self._install()
        self._jobs.append(job)
        if job.stopping:  # asked before it could be reached by a signal
            raise _Stopped(job)
        return found

    def leave(self, job: "_Job[Any]", found: Any) -> None:
        if job in self._jobs:
            self._jobs.remove(job)
        self._restore(found)

    def knock(self, thread: int) -> None:
        """From another thread: have the handler run in the main thread, also while that is in a blocking call."""
        self._knocked = True
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(thread, signal.SIGINT)
        else:
            signal.raise_signal(signal.SIGINT)

    def _install(self) -> Any:
        """Put the handler in place; return what was replaced, None when nothing was."""
        found = signal.getsignal(signal.SIGINT)
        if found is None or found == self._handle:  # None: set outside Python, which could not be restored
            return None
        with contextlib.suppress(ValueError):  # not the main interpreter
            signal.signal(signal.SIGINT, self._handle)
            return found
        return None

    def _restore(self, previous: Any) -> None:
        """Only over our own handler: what a kernel put there meanwhile is newer."""
        if previous is not None and signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, previous)

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        del signum, frame
        stopped = next((job for job in self._jobs if job.stopping), None)
        if self._knocked:
            self._knocked = False
            if stopped is not None:
                raise _Stopped(stopped)
            return  # the job ended by itself meanwhile
        for (
            job
        ) in self._jobs:  # first: cancelling the run has the agent thread stop its job, and one exception is enough
            job.interrupted = True
        for waiter in list(self._waiters):
            waiter.interrupt()
        if self._jobs:
            raise KeyboardInterrupt


_SIGINT = _Sigint()


class Foreground:
    """Brings functions to the user's thread. One per session; thread-safe; needs no kernel."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiters: list[_Waiter] = []
        self._jobs: deque[_Job[Any]] = deque()

    async def call(self, fn: Callable[[], T], timeout: float | None = None) -> T:  # noqa: ASYNC109  of fn, not of this
        """Run `fn` on the user's thread and return its value; awaited on the agent loop.

        Args:
            fn: Runs in a copy of this call's context.
            timeout: Seconds it may take to begin, and then to run; None for no limit.

        Raises:
            TimeoutError: fn did not begin, or did not end, in time. It was stopped if it could be.
            asyncio.CancelledError: the run was cancelled, or fn was interrupted by SIGINT.
            RuntimeError: fn raised SystemExit.
            Exception: what fn raised.
        """
        job = _Job(fn)
        self._jobs.append(job)
        self._nudge()
        try:
            if not await _within(job.started, timeout):
                job.stop()
                raise TimeoutError(f"The thread of the notebook was busy for {timeout:g} s.")
            if not await _within(job.ended, timeout):
                job.stop()
                await _within(job.ended, GRACE_SECONDS)
                raise TimeoutError(f"Not finished after {timeout:g} s.")
        except asyncio.CancelledError:
            job.stop()
            if job.started.done():
                await _within(job.ended, GRACE_SECONDS)
            raise
        return _outcome(job)

    @property
    def is_blocked(self) -> bool:
        """Whether the main thread waits in `wait`: a kernel then handles no message on it until the run is over."""
        with self._lock:
            return any(w.on_main and isinstance(w, _BlockedWaiter) for w in self._waiters)

    def wait(self, future: "Future[T]", cancel: Cancel | None = None) -> T:
        """Block this thread until `future` is done, running jobs meanwhile; return its value or raise its error.

        `cancel` (of `loop_thread.submit`) is called on SIGINT, and the wait goes on until the run has cleaned up.

        Raises:
            KeyboardInterrupt: a second SIGINT; or the first when there is no `cancel`.
        """
        waiter = _BlockedWaiter(cancel)
        future.add_done_callback(lambda _: waiter.wake())
        try:
            with self._attending(waiter):
                while not future.done():
                    waiter.check()
                    self._run_jobs()
                    waiter.sleep()
        except BaseException:
            if cancel is not None:
                cancel()
            raise
        return future.result()

    async def wait_async(self, future: "Future[T]", cancel: Cancel | None = None) -> T:
        """Like `wait`, for a coroutine on the user's own loop: the loop goes on, jobs are callbacks of it.

        Raises:
            KeyboardInterrupt: a second SIGINT; or the first when there is no `cancel`.
            asyncio.CancelledError: this task was cancelled; the run was cancelled and had time to clean up.
        """
        waiter = _LoopWaiter(cancel)
        future.add_done_callback(lambda _: waiter.wake())
        with self._attending(waiter):
            try:
                while not future.done():
                    waiter.check()
                    self._run_jobs()
                    await waiter.sleep()
            except asyncio.CancelledError:
                if cancel is not None:
                    cancel()
                    await asyncio.wait([asyncio.ensure_future(_settled(future, waiter))], timeout=GRACE_SECONDS)
                raise
        return future.result()

    @contextlib.contextmanager
    def _attending(self, waiter: _Waiter) -> Iterator[None]:
        with self._lock:
            self._waiters.append(waiter)
        try:
            with _SIGINT.waiting(waiter):
                yield
        finally:
            with self._lock:
                self._waiters.remove(waiter)
            self._nudge()  # what this wait did not take goes to another

    def _nudge(self) -> None:
        with self._lock:
            waiter = next((w for w in reversed(self._waiters) if w.on_main), None)
            waiter = waiter or (self._waiters[-1] if self._waiters else None)
        if waiter is not None and self._jobs:
            waiter.wake()

    def _run_jobs(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._jobs.popleft().run()


async def _within(future: "asyncio.Future[None]", seconds: float | None) -> bool:
    await asyncio.wait([future], timeout=seconds)
    return future.done()


async def _settled(future: "Future[Any]", waiter: _LoopWaiter) -> None:
    while not future.done():
        await waiter.sleep()


def _outcome(job: "_Job[T]") -> T:
    match job.error:
        case None:
            return job.value  # type: ignore[return-value]  # None only where fn gave None
        case Exception() as error:
            raise error
        case SystemExit():
            raise RuntimeError("The function ended the program (SystemExit).")
        case _:
            raise asyncio.CancelledError
