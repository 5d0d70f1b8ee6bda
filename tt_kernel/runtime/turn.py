"""One model request: streamed, retried while nothing was shown, and always ended by a whole reply or an error."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field

from tt_kernel.domain.errors import ProviderError
from tt_kernel.domain.events import (
    Event,
    LiveCall,
    LiveReasoning,
    LiveText,
    ModelAttemptFailed,
    ModelCompleted,
    ModelRetryScheduled,
    ModelStopped,
    ModelSwitched,
)
from tt_kernel.domain.ids import InvocationId
from tt_kernel.domain.ports import Provider
from tt_kernel.domain.profiles import ModelRetry
from tt_kernel.domain.turns import (
    CallChunk,
    ModelChunk,
    ModelReply,
    ModelRequest,
    ReasoningChunk,
    SwitchChunk,
    TextChunk,
)


@dataclass
class Turn:
    """`run` yields live events and, last, ModelCompleted; `reply` is set then. `partial` is the text shown so far.

    `may_be_empty`: a reply without text and calls is normally a fault of the service and retried.
    """

    provider: Provider
    request: ModelRequest
    invocation_id: InvocationId
    number: int
    retry: ModelRetry
    may_be_empty: bool = False
    reply: ModelReply | None = None
    _attempts: int = 0
    _shown: list[str] = field(default_factory=list)

    @property
    def partial(self) -> str:
        return "" if self.reply else "".join(self._shown)

    def stopped(self) -> ModelStopped:
        return ModelStopped(invocation_id=self.invocation_id, turn=self.number, text=self.partial)

    async def run(self) -> AsyncIterator[Event]:
        """Raises ProviderError when the last attempt failed, or one failed after output was shown."""
        self._attempts = 1
        while True:
            try:
                async for event in self._attempt():
                    yield event
            except ProviderError as error:
                yield ModelAttemptFailed(
                    invocation_id=self.invocation_id,
                    turn=self.number,
                    attempt=self._attempts,
                    code=error.code,
                    message=error.message,
                )
                if not error.retryable or self._shown or self._attempts > self.retry.max_retries:
                    raise
                delay = self._delay(self._attempts, error)
                yield ModelRetryScheduled(
                    invocation_id=self.invocation_id,
                    turn=self.number,
                    attempt=self._attempts + 1,
                    delay_ms=round(delay * 1000),
                )
                await asyncio.sleep(delay)
                self._attempts += 1
            else:
                return

    async def _attempt(self) -> AsyncIterator[Event]:
        async with aclosing(self.provider.stream(self.request)) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                if isinstance(chunk, ModelReply):
                    self._check(chunk)
                    self.reply = chunk
                    yield ModelCompleted(invocation_id=self.invocation_id, turn=self.number, reply=chunk)
                    return
                yield self._live(chunk)
        raise ProviderError(
            "model.upstream_invalid_response",
            f"{self.provider.name} ended its stream without a complete reply.",
            retryable=True,
        )

    def _live(self, chunk: ModelChunk) -> Event:
        at = {"invocation_id": self.invocation_id, "turn": self.number}
        if isinstance(chunk, TextChunk):
            self._shown.append(chunk.text)
            return LiveText(text=chunk.text, **at)
        if isinstance(chunk, ReasoningChunk):
            return LiveReasoning(text=chunk.text, **at)
        if isinstance(chunk, SwitchChunk):
            self._attempts = 1  # of the model that answers now
            return ModelSwitched(
                from_model=chunk.from_model, to_model=chunk.to_model, code=chunk.code, message=chunk.message, **at
            )
        assert isinstance(chunk, CallChunk)
        return LiveCall(index=chunk.index, name=chunk.name, arguments=chunk.arguments, **at)

    def _check(self, reply: ModelReply) -> None:
        empty = not reply.message.calls and not reply.message.text.strip()
        if empty and not self.may_be_empty:
            raise ProviderError(
                "model.upstream_invalid_response",
                f"{self.provider.name} gave an empty reply (finish reason {reply.finish_reason!r}).",
                retryable=True,
            )

    def _delay(self, attempt: int, error: ProviderError) -> float:
        """Seconds: the profile's interval, doubled each time; longer if the service asked for it."""
        delay = float(self.retry.interval_ms / 1000 * 2 ** (attempt - 1))
        return max(delay, error.retry_after or 0.0)
