"""The sessions of a notebook: who owns the processes, and ends them when the notebook's session is closed or its kernel dies."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from tt_kernel.domain.errors import ToolError
from tt_kernel.tools.processes import ending
from tt_kernel.tools.processes.limits import Limits
from tt_kernel.tools.processes.running import Launch, Running, Session, in_thread
from tt_kernel.tools.processes.sandbox import Sandbox
from tt_kernel.tools.processes.watchdog import Watchdog

TOO_MANY = "process.too_many_sessions"
START_FAILED = "process.start_failed"


class ProcessTable:
    """Sessions by id. Made anywhere, used from one event loop that can start processes (the agent loop); `aclose` ends everything.

    Args:
        limits: The numbers of spec liveagent §6.
        sandbox: Found once, shared by all sessions.
    """

    def __init__(self, limits: Limits | None = None, sandbox: Sandbox | None = None) -> None:
        self.limits = limits or Limits()
        self.sandbox = sandbox or Sandbox()
        self.slots = asyncio.Semaphore(self.limits.together)
        self.tag = f"tt{os.getpid()}-{secrets.token_hex(6)}"
        self._owner = os.getpid()
        self._watchdog = Watchdog(self.tag)
        self._sessions: dict[str, Session] = {}
        self._count = 0
        self._cleaning: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def sessions(self) -> tuple[Session, ...]:
        """Oldest first."""
        return tuple(self._sessions.values())

    @property
    def watchdog_pid(self) -> int | None:
        """The process that ends what is left when this one dies; None until something was started."""
        return self._watchdog.pid

    def find(self, name: str) -> Session | None:
        self._forget_old()
        return self._sessions.get(name)

    async def open(self, name: str, launch: Launch) -> Session:
        """Start a session.

        Args:
            name: The id it is to have; when a running session has it, `:2` and so on is added.
            launch: What to start.

        Raises:
            ToolError: `process.too_many_sessions`, `process.start_failed`.
        """
        self._make_room()
        session = Session(self._free(name), launch, self.next_tag(), self.limits)
        earlier = self._sessions.get(session.id)
        if earlier is not None:
            self._forget(earlier)
        self._sessions[session.id] = session
        try:
            await self._start(session)
        except BaseException:
            self._sessions.pop(session.id, None)
            session.release()
            raise
        self._clean_later()
        return session

    @asynccontextmanager
    async def borrowed(self, running: Running) -> AsyncIterator[None]:
        """A process that is no session and lives within the block. Raises ToolError `process.start_failed`."""
        try:
            await self._start(running)
            yield
        finally:
            self._watchdog.forget(running.root)
            running.release()

    def next_tag(self) -> str:
        """A tag for a process that is no session."""
        self._count += 1
        return f"{self.tag}.{self._count}"

    async def aclose(self) -> None:
        """End all sessions, what they left behind, and the watchdog. Takes a few seconds at most; may be called again."""
        if os.getpid() != self._owner:
            return  # a forked copy of the kernel owns nothing
        if self._cleaning is not None:
            self._cleaning.cancel()
            self._cleaning = None
        sessions, self._sessions = self.sessions, {}
        running = [session.end("cancelled") for session in sessions if session.status == "running"]
        await asyncio.gather(*running)
        if self._watchdog.pid is not None:
            await in_thread(self._end_rest)
        for session in sessions:
            session.release()

    def _end_rest(self) -> bool:
        gone = ending.end_all(lambda: ending.tagged(self.tag), grace=self.limits.grace, limit=self.limits.stop)
        self._watchdog.close()
        return gone

    async def _start(self, running: Running) -> None:
        try:
            self._watchdog.start()
            await running.start()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise ToolError(START_FAILED, f"The command could not be started: {reason}.") from error
        self._watchdog.watch(running.root)

    def _free(self, name: str) -> str:
        number, free = 1, name
        while (taken := self._sessions.get(free)) is not None and taken.status == "running":
            number += 1
            free = f"{name}:{number}"
        return free

    def _make_room(self) -> None:
        self._forget_old()
        if len(self._sessions) < self.limits.sessions:
            return
        ended = next((session for session in self.sessions if session.status != "running"), None)
        if ended is None:
            raise ToolError(
                TOO_MANY,
                f"{self.limits.sessions} commands are running, which is the most there can be.\n"
                "Stop one of them, or wait until one has ended.",
            )
        self._forget(ended)

    def _forget_old(self) -> None:
        for session in self.sessions:
            if session.ended_for > self.limits.keep:
                self._forget(session)

    def _forget(self, session: Session) -> None:
        self._sessions.pop(session.id, None)
        self._watchdog.forget(session.root)
        session.release()

    def _clean_later(self) -> None:
        if self._cleaning is None:
            loop = asyncio.get_running_loop()
            self._cleaning = loop.call_later(self.limits.clean_every, self._clean)

    def _clean(self) -> None:
        self._cleaning = None
        self._forget_old()
        if self._sessions:
            self._clean_later()
