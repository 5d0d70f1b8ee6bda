"""The keeper of the child process: starts it when first needed, gives it one command at a time, replaces it when it is gone."""

import asyncio
from types import TracebackType
from typing import Self

from tt_kernel.tools.shell.job import Ending, Job, Printed
from tt_kernel.tools.shell.talk import Talk


class ShellWorker:
    """One child process at most. Commands queue up for it.

    An async context manager; used from one event loop. Nothing is started before the first command, or `start()`.
    """

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._talk: Talk | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def pid(self) -> int | None:
        """Of the child, while there is one."""
        return self._talk.pid if self._talk and not self._talk.over else None

    async def start(self) -> None:
        """Start the child before it is needed. Raises OSError."""
        async with self._turn:
            await self._child()

    async def run(self, job: Job, printed: Printed) -> Ending:
        """Run a command; what it prints is added to `printed` as it comes, also when this is cancelled.

        Cancelling stops the command within half a second; then CancelledError goes on.
        """
        async with self._turn:
            if self._closed:
                return Ending("died", message="The shell is closed.")
            try:
                talk = await self._child()
            except OSError as error:
                return Ending("died", message=f"The shell's process could not be started: {error.strerror or error}.")
            try:
                return await talk.run(job, printed)
            finally:
                if talk.over:
                    await self._drop()

    async def aclose(self) -> None:
        """End the child. A command that runs ends as `died`."""
        self._closed = True
        await self._drop()

    async def _child(self) -> Talk:
        """The child, ready for a command. Raises OSError when there is none to be had."""
        if self._talk is not None and self._talk.over:
            await self._drop()
        if self._talk is None:
            self._talk = Talk()
        try:
            await self._talk.ready()
        except OSError as error:
            await self._drop()
            raise (OSError("the shell was closed meanwhile") if self._closed else error) from None
        return self._talk

    async def _drop(self) -> None:
        talk, self._talk = self._talk, None
        if talk is not None:
            await talk.end()
