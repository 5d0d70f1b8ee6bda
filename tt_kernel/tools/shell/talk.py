"""A conversation with one child process, from its start to its end, on the event loop's side."""

import asyncio
import json

from tt_kernel.tools.shell.job import Ending, Job, Printed
from tt_kernel.tools.shell.process import Process
from tt_kernel.tools.shell.wire import CANCEL, DONE, READY, RUN, STDERR, STDOUT, pack, pack_json

START_SECONDS = 30.0
"""How long a child may take to start."""
CANCEL_SECONDS = 0.4
"""How long the child may take to stop a command; then it is killed."""
TIMEOUT_GRACE = 1.0
"""Seconds beyond a command's own limit, after which the child is killed."""
BIG_FRAME = 32 * 1024
"""Bytes that surely fit a pipe; more is written from a thread."""


class Talk:
    """One child and what it says. Not used any more once `over`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._done: asyncio.Future[Ending] | None = None
        self._printed = Printed.nothing()
        self._process: Process | None = None
        self._starting = self._loop.create_task(asyncio.to_thread(self._spawn))
        self._starting.add_done_callback(_look_at)
        self.over = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def ready(self) -> None:
        """Wait until the child takes commands. Raises OSError when it never will."""
        await asyncio.shield(self._starting)
        done, _ = await asyncio.wait({self._ready}, timeout=START_SECONDS)
        if not done:
            raise OSError("it did not answer")
        if self.over:
            words = self._process.last_words() if self._process else ""
            raise OSError(f"it ended at once ({self._obituary()}: {words})")

    async def run(self, job: Job, printed: Printed) -> Ending:
        """Run a command on a child that is ready."""
        process = self._process
        if process is None:
            return Ending("died", message="The shell's process was never started.")
        done: asyncio.Future[Ending] = self._loop.create_future()
        self._printed, self._done = printed, done
        watch = self._loop.call_later(job.timeout + TIMEOUT_GRACE, self._give_up)
        try:
            await _send(process, pack_json(RUN, job.to_wire()))
            ending = await asyncio.shield(done)
        except OSError:
            ending = self._died()
        except asyncio.CancelledError:
            await self._stop(process, done)
            raise
        finally:
            watch.cancel()
            self._done = None
        if ending.leaving or ending.reason == "died":
            self.over = True
        return ending

    async def end(self) -> None:
        """Kill the child and wait until it is gone."""
        self.over = True
        await asyncio.wait({self._starting})
        if self._process is not None:
            self._process.kill()
            await asyncio.shield(asyncio.to_thread(self._process.close))

    async def _stop(self, process: Process, done: asyncio.Future[Ending]) -> None:
        """Stop the running command; `over` when that takes the child's life."""
        ending: Ending | None = None
        try:
            await _send(process, pack(CANCEL))
            await asyncio.wait({done}, timeout=CANCEL_SECONDS)
            ending = done.result() if done.done() else None
        except OSError:
            ending = None
        finally:
            if ending is None or ending.leaving or ending.reason == "died":
                self.over = True
                process.kill()

    def _give_up(self) -> None:
        """The child watches the clock itself; this is for one that cannot."""
        if self._done is not None and not self._done.done():
            self._done.set_result(Ending("timeout", leaving=True))

    def _died(self) -> Ending:
        why = self._obituary()
        return Ending(
            "died", message=f"The shell's process ended unexpectedly ({why}). The next call starts a new one."
        )

    def _obituary(self) -> str:
        return self._process.obituary() if self._process else "it never started"

    # the child's side: `_arrived` in the reader's thread, the rest on the loop

    def _spawn(self) -> None:
        self._process = Process(self._arrived)

    def _arrived(self, process: Process, frame: tuple[int, bytes] | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._handle, frame)
        except RuntimeError:
            process.kill()  # the loop is closed: nobody is left to serve

    def _handle(self, frame: tuple[int, bytes] | None) -> None:
        kind, payload = frame or (READY, b"")
        waiting = self._done is not None and not self._done.done()
        if kind == STDOUT and waiting:
            self._printed.stdout += payload
        elif kind == STDERR and waiting:
            self._printed.stderr += payload
        elif kind == READY and not self._ready.done():
            self._ready.set_result(None)
        elif kind == DONE:
            self._settle(Ending(**json.loads(payload)))
        if frame is None:
            self.over = True
            if waiting:
                self._settle(self._died())

    def _settle(self, ending: Ending) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_result(ending)


async def _send(process: Process, frame: bytes) -> None:
    if len(frame) > BIG_FRAME:
        await asyncio.to_thread(process.send, frame)
    else:
        process.send(frame)


def _look_at(task: asyncio.Task[None]) -> None:
    """A start that failed while nobody waited for it is told to the next who asks."""
    if not task.cancelled():
        task.exception()
