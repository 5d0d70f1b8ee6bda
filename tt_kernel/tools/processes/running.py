"""One command that was started: its pipes, its state, its end (spec liveagent §6.2).

All of it lives on the loop that started it. Output goes from the pipes through a filter into the ring; nobody has to read it.
The state changes once: when the process has exited and its output ended, or 300 ms after the exit at the latest, since a
process that was left behind may hold the pipes open. What comes later is not kept.
"""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import psutil

from tt_kernel.tools.processes import ending
from tt_kernel.tools.processes.cleaning import OutputFilter
from tt_kernel.tools.processes.limits import Limits, Status
from tt_kernel.tools.processes.ring import Page, Ring, Stream
from tt_kernel.tools.processes.sandbox import SandboxMode
from tt_kernel.tools.processes.shells import Shell
from tt_kernel.tools.processes.watchdog import CREATION_FLAGS, OWN_SESSION

_STREAMS: Mapping[int, Stream] = {1: "stdout", 2: "stderr"}


@dataclass(frozen=True)
class Launch:
    """What is started, and what is told of it.

    Attributes:
        argv: Program and arguments, the sandbox's included.
        folder: Where it runs, on the disk.
        environment: Its environment, without the tag.
        command: The command as the model wrote it.
        cwd: The folder as the model writes it.
        shell: What runs the command.
        sandbox: The mode.
        timeout_ms: The hard limit.
    """

    argv: tuple[str, ...]
    folder: str
    environment: Mapping[str, str]
    command: str
    cwd: str
    shell: Shell
    sandbox: SandboxMode
    timeout_ms: int | None = None


class Running:
    """A process and what became of it.

    Args:
        launch: What to start.
        tag: Put into its environment, so that all its descendants can be found.
        limits: The numbers.
        output: Where output goes; the session's ring, or what the synchronous path keeps.
    """

    def __init__(self, launch: Launch, tag: str, limits: Limits, output: "Callable[[Stream, bytes], None]") -> None:
        self.launch = launch
        self._tag = tag
        self.status: Status = "running"
        self._code: int | None = None
        self.held_open = False
        self.root: psutil.Process | None = None
        self._limits = limits
        self._output = output
        self._filters = {fd: OutputFilter() for fd in _STREAMS}
        self._began = time.monotonic()
        self._ended_at: float | None = None
        self._why: Status | None = None
        self._transport: asyncio.SubprocessTransport | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self._ending: asyncio.Future[bool] | None = None
        self.ended = asyncio.Event()

    async def start(self) -> None:
        """Start the process. Once it exists, a cancellation no longer loses it: it is ended, then CancelledError goes on.

        Raises:
            OSError: The program or the folder cannot be used.
        """
        loop = asyncio.get_running_loop()
        starting = asyncio.ensure_future(
            loop.subprocess_exec(
                lambda: _Pipes(self),
                *self.launch.argv,
                stdin=asyncio.subprocess.DEVNULL,
                cwd=self.launch.folder,
                env={**self.launch.environment, ending.TAG: ending.added_tag(self._tag)},
                start_new_session=OWN_SESSION,
                creationflags=CREATION_FLAGS,
            )
        )
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._end_late)  # also when this wait is cancelled again
            await asyncio.wait({starting})
            if self._ending is not None:
                await self.end("cancelled")
            raise
        if self.launch.timeout_ms is not None:
            self._timers.append(loop.call_later(self.launch.timeout_ms / 1000, self._begin_end, "timed_out"))

    async def end(self, why: Status) -> bool:
        """End the whole tree. Returns when the state has changed, after `limits.stop` seconds at the latest.

        Returns:
            Whether no process of it is left.
        """
        gone = self._begin_end(why)
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(self.ended.wait()), gone]
        try:
            await asyncio.wait(waits, timeout=self._limits.stop)
            return gone.done() and gone.result()
        finally:
            waits[0].cancel()

    @property
    def duration_ms(self) -> int:
        """Since the start; stands still once the state has changed."""
        return round(1000 * ((self._ended_at or time.monotonic()) - self._began))

    @property
    def ended_for(self) -> float:
        """Seconds since the state has changed; 0 while running."""
        return time.monotonic() - self._ended_at if self._ended_at is not None else 0.0

    @property
    def exit_code(self) -> int | None:
        """None while running, and when it was ended by a stop or a time-out; 128 + n for signal n, as shells tell it."""
        return self._code if self._code is None or self._code >= 0 else 128 - self._code

    @property
    def signal_name(self) -> str | None:
        """The signal that ended the process, when one did that nobody here asked for."""
        if self._code is None or self._code >= 0:
            return None
        try:
            return signal.Signals(-self._code).name
        except ValueError:
            return f"signal {-self._code}"

    @property
    def pid(self) -> int | None:
        """Of the process that was started; None when it was gone at once."""
        return self.root.pid if self.root is not None else None

    def release(self) -> None:
        """Let go of the pipes. A process that still runs is killed."""
        self._clear_timers()
        if self._transport is not None:
            self._transport.close()

    # -- told by the pipes

    def began(self, transport: asyncio.SubprocessTransport) -> None:
        self._transport = transport
        self.root = ending.process_of(transport.get_pid())

    def received(self, fd: int, data: bytes) -> None:
        if self._ended_at is None:
            self._take(fd, self._filters[fd].feed(data))

    def exited(self) -> None:
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(self._limits.grace, self._finish, True))

    def all_closed(self) -> None:
        self._finish(False)

    # -- inside

    def _begin_end(self, why: Status) -> "asyncio.Future[bool]":
        if self._ending is None:
            if self._ended_at is None:
                self._why = why
            self._ending = in_thread(self._end_tree)
        return self._ending

    def _end_late(self, starting: "asyncio.Future[Any]") -> None:
        if not starting.cancelled() and starting.exception() is None:
            self._begin_end("cancelled")

    def _end_tree(self) -> bool:
        def find() -> set[psutil.Process]:
            family = ending.tree(self.root) if self.root is not None else set()
            return family | ending.tagged(self._tag)

        return ending.end_all(find, grace=self._limits.grace, limit=self._limits.stop)

    def _take(self, fd: int, data: bytes) -> None:
        if data:
            self._output(_STREAMS[fd], data)

    def _finish(self, held_open: bool) -> None:
        if self._ended_at is not None:
            return
        assert self._transport is not None
        self.held_open = held_open
        for fd, cleaner in self._filters.items():
            self._take(fd, cleaner.flush())
        code = self._transport.get_returncode()
        self._code = code if self._why is None else None
        self.status = self._why or ("completed" if code == 0 else "failed")
        self._ended_at = time.monotonic()
        self._clear_timers()
        if not held_open:
            self._transport.close()
        self.ended.set()

    def _clear_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()


class Session(Running):
    """A command that can be asked again: its output is in a ring, under positions that stay valid."""

    def __init__(self, name: str, launch: Launch, tag: str, limits: Limits) -> None:
        self.id = name
        self.ring = Ring(limits.ring)
        self.told = 0
        self._readers: dict[asyncio.Event, int] = {}
        super().__init__(launch, tag, limits, self._keep)

    async def news(self, cursor: int, seconds: float) -> None:
        """Wait for the end, for a page of output after `cursor`, or for `seconds`. New output alone ends no wait."""
        if self.ended.is_set() or self.ring.unread(cursor) >= self._limits.page:
            return
        full = asyncio.Event()
        self._readers[full] = cursor
        waits = [asyncio.ensure_future(event.wait()) for event in (full, self.ended)]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._readers[full]
            for wait in waits:
                wait.cancel()

    def page(self, cursor: int) -> Page:
        """The next page of output; its end is what `told` is then."""
        page = self.ring.page(cursor, self._limits.page)
        self.told = page.cursor
        return page

    def _keep(self, stream: Stream, data: bytes) -> None:
        self.ring.append(stream, data)
        for full, cursor in self._readers.items():
            if self.ring.unread(cursor) >= self._limits.page:
                full.set()


class _Pipes(asyncio.SubprocessProtocol):
    """Tells a Running what happens."""

    def __init__(self, owner: Running) -> None:
        self._owner = owner

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._owner.began(cast("asyncio.SubprocessTransport", transport))

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        self._owner.received(fd, data)

    def process_exited(self) -> None:
        self._owner.exited()

    def connection_lost(self, exc: Exception | None) -> None:
        """The process has exited and both pipes are at their end."""
        del exc
        self._owner.all_closed()


def in_thread(work: "Callable[[], bool]") -> "asyncio.Future[bool]":
    """Run blocking work on a thread of its own: the loop's shared threads may all be held by functions of the notebook."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[bool] = loop.create_future()

    def settle(done: bool, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(done)

    def run() -> None:
        done, error = False, None
        try:
            done = work()
        except BaseException as caught:  # noqa: BLE001  told to whoever waits
            error = caught
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, done, error)

    threading.Thread(target=run, name="tt-process-end", daemon=True).start()
    return future
