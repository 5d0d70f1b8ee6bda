"""The local model's child process, seen from the parent: start, ask, stop."""

import asyncio
import contextlib
import json
import sys
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ProviderError

CHILD = Path(__file__).with_name("local_child.py")
START_SECONDS = 60.0
STOP_SECONDS = 0.25
"""How long a cancelled completion may go on before the process is killed."""


@dataclass(frozen=True)
class Done:
    """How a completion ended: `stop`, `length` or `cancelled`; token counts and speed as the engine measured them."""

    finish: str
    prompt_tokens: int = 0
    tokens: int = 0
    tokens_per_second: float = 0.0


class LocalProcess:
    """One child, started when first asked, started again if it died. Used from one loop; completions take turns.

    Args:
        weights: The GGUF file.
    """

    def __init__(self, weights: Path) -> None:
        self._weights = weights
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self._number = 0
        self._last_words: deque[str] = deque(maxlen=5)
        self._listener: asyncio.Task[None] | None = None
        self.load_seconds: float | None = None

    async def complete(self, ask: JsonObject) -> AsyncGenerator[str | Done]:
        """Ask for a completion; yields its text in pieces, then Done. Closing the generator stops the engine.

        Args:
            ask: Parameters of llama.cpp's completion endpoint.

        Raises:
            ProviderError: `model.upstream_unavailable` (the process cannot start or died; retryable once it did start),
                `model.invalid_request` (the engine refuses the parameters).
        """
        async with self._turn:
            process = await self._running()
            self._number += 1
            number = self._number
            ended = False
            await self._send(process, {"id": number, "ask": ask})
            try:
                while not ended:
                    message = await self._receive(process)
                    ended = "done" in message or "error" in message
                    yield self._piece(message)
            finally:
                if not ended:
                    await self._stop(process, number)

    async def aclose(self) -> None:
        """End the child; it also ends by itself when this process does."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 2)
        except TimeoutError:
            process.kill()
            await process.wait()
        await self._end_listener()

    def _piece(self, message: dict[str, Any]) -> str | Done:
        if "text" in message:
            return str(message["text"])
        if "error" in message:
            raise ProviderError("model.invalid_request", f"The local model refused the request: {message['error']}.")
        done = message["done"]
        return Done(
            finish=done.get("finish", "stop"),
            prompt_tokens=done.get("promptTokens", 0),
            tokens=done.get("tokens", 0),
            tokens_per_second=done.get("tokensPerSecond", 0.0),
        )

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is not None and self._process.returncode is None:
            return self._process
        await self._end_listener()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            str(CHILD),
            str(self._weights),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**20,
        )
        self._process = process
        self._listener = asyncio.create_task(self._listen(process))
        try:
            ready = await asyncio.wait_for(self._receive(process), START_SECONDS)
        except TimeoutError:
            process.kill()
            raise ProviderError(
                "model.timeout", f"The local model did not load within {START_SECONDS:g} seconds.", retryable=True
            ) from None
        except BaseException:
            # Cancelled or broken while loading: a half-started child must not be taken for a running one.
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            raise
        self.load_seconds = ready["ready"]["loadSeconds"]
        return process

    async def _send(self, process: asyncio.subprocess.Process, message: dict[str, Any]) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps(message).encode() + b"\n")
        with contextlib.suppress(ConnectionError):
            # A dead child is told by the next receive, with its exit status.
            await process.stdin.drain()

    async def _receive(self, process: asyncio.subprocess.Process) -> dict[str, Any]:
        assert process.stdout is not None
        line = await process.stdout.readline()
        if line:
            message: dict[str, Any] = json.loads(line)
            return message
        status = await process.wait()
        await self._end_listener()
        said = f" It said: {' / '.join(self._last_words)}" if self._last_words else ""
        raise ProviderError(
            "model.upstream_unavailable",
            f"The process of the local model ended with status {status}.{said}",
            retryable=self.load_seconds is not None,
        )

    async def _stop(self, process: asyncio.subprocess.Process, number: int) -> None:
        """Stop a completion that nobody waits for; kill what does not stop at once."""
        if process.returncode is not None:
            return
        await self._send(process, {"cancel": number})
        try:
            async with asyncio.timeout(STOP_SECONDS):
                while not {"done", "error"} & (await self._receive(process)).keys():
                    pass
        except (TimeoutError, ProviderError):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Keep the last lines that the child writes to stderr: its last words if it dies."""
        self._last_words.clear()
        assert process.stderr is not None
        async for line in process.stderr:
            text = line.decode("utf-8", "replace").strip()
            if text:
                self._last_words.append(text[:300])

    async def _end_listener(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener
