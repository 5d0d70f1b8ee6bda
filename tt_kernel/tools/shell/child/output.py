"""Where output goes: up to the kernel, cut to its limit, and from a language engine into the pipeline."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from tt_kernel.tools.shell.wire import STDERR, STDOUT

MAX_AHEAD = 1024 * 1024
"""Bytes that an engine may be ahead of whoever reads its output before it has to wait."""
MAX_TOTAL = 16 * 1024 * 1024
"""Bytes that one run of an engine may print: bashkit's `wc` keeps all of its input in memory."""


class Output:
    """The two output streams of one command. What is beyond `limit` bytes of a stream is counted and dropped.

    `send` may be called from any thread.
    """

    def __init__(self, send: Callable[[int, bytes], None], limit: int) -> None:
        self._send = send
        self._limit = limit
        self._seen = {STDOUT: 0, STDERR: 0}

    @property
    def truncated(self) -> bool:
        return any(seen > self._limit for seen in self._seen.values())

    def write(self, stream: int, data: bytes) -> None:
        if not data:
            return
        room = self._limit - self._seen[stream]
        self._seen[stream] += len(data)
        if room > 0:
            self._send(stream, data[:room])

    def text(self, out: str, err: str) -> None:
        """For bashkit's `on_output`."""
        self.write(STDOUT, out.encode("utf-8", "replace"))
        self.write(STDERR, err.encode("utf-8", "replace"))

    async def stdout(self, data: bytes) -> None:
        self.write(STDOUT, data)

    async def stderr(self, data: bytes) -> None:
        self.write(STDERR, data)


class Closed(Exception):
    """Nobody reads this output any more (`| head -1`), or the engine wrote too far ahead of the reader."""


class Pump:
    """Carries text from an engine (any thread) to the streams of its command (the loop's thread), in order.

    An engine writes one line at a time and must not wait for the loop each time, so what has gathered goes in one write.
    `closed` tells that nobody takes more, `on_close` is called then (on the loop); `failure` is why, when it is not just a
    reader that has had enough.
    """

    def __init__(self, stdout: Any, stderr: Any) -> None:
        self._streams = (stdout, stderr)
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Condition()
        self._waiting: list[tuple[int, bytes]] = []
        self._size = 0
        self._total = 0
        self._wake = asyncio.Event()
        self._ended = False
        self.closed = False
        self.failure: str | None = None
        self.on_close: Callable[[], object] = lambda: None
        self._task = self._loop.create_task(self._run())

    def write(self, stream: int, text: str) -> None:
        """Queue text for stream 1 (stdout) or 2 (stderr). Raises Closed when it makes no sense to go on."""
        data = text.encode("utf-8", "replace")
        with self._lock:
            if self.closed:
                raise Closed
            first = not self._waiting
            self._waiting.append((stream - 1, data))
            self._size += len(data)
            self._total += len(data)
            if self._total > MAX_TOTAL:
                self.failure = f"more than {MAX_TOTAL >> 20} MiB of output"
                self.closed = True
                self._loop.call_soon_threadsafe(self._close)
                raise Closed
        if first:
            self._loop.call_soon_threadsafe(self._wake.set)

    def wait(self) -> None:
        """Let the reader catch up. Not on the loop's thread."""
        with self._lock:
            self._lock.wait_for(lambda: self.closed or self._size <= MAX_AHEAD)

    async def finish(self) -> None:
        """Deliver what is left. The engine has stopped."""
        self._ended = True
        self._wake.set()
        await self._task

    def stop(self) -> None:
        """Give up what is left."""
        self._close()
        self._task.cancel()

    def _close(self) -> None:
        with self._lock:
            self.closed = True
            self._lock.notify_all()
        self.on_close()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._deliver()
            if self._ended:
                await self._deliver()
                return

    async def _deliver(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        size = sum(len(data) for _, data in waiting)
        try:
            for stream, data in _joined(waiting):
                await self._streams[stream].write(data)
        except BrokenPipeError:
            self._close()
        except RuntimeError as error:  # bashkit: the target of a redirection cannot take it
            self.failure = str(error)
            self._close()
        with self._lock:
            self._size -= size
            self._lock.notify_all()


def _joined(pieces: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Neighbouring pieces of one stream as one piece."""
    runs: list[tuple[int, list[bytes]]] = []
    for stream, data in pieces:
        if runs and runs[-1][0] == stream:
            runs[-1][1].append(data)
        else:
            runs.append((stream, [data]))
    return [(stream, b"".join(parts)) for stream, parts in runs]
