"""A provider that answers from a tape and asks the real one only where nothing is recorded."""

from collections.abc import AsyncIterator, Callable, Iterator

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import ProviderError, ReplayMiss
from tt_kernel.domain.ids import Digest
from tt_kernel.domain.ports import Provider
from tt_kernel.domain.runs import RecordMode
from tt_kernel.domain.turns import ModelChunk, ModelReply, ModelRequest, TextChunk
from tt_kernel.store.tape import Tape


class RecordedProvider:
    """Wraps a provider for one invocation.

    Args:
        name, identity, accepts_images: Of the wrapped provider; known without creating it.
        make: Creates the wrapped provider; called only when something must be asked live.
        tape: Where the invocation is in its chain.
        mode: `auto`, `live`, `replay` or `off` (DESIGN §7).
        before_live: Called once before the first live request: the run gets its folder and the tape its run.
        clean: Scrubs a reply, so that what is recorded is what the conversation goes on with.
        explain: The error of a strict miss, which names the first difference from the nearest recording.
    """

    def __init__(
        self,
        *,
        name: str,
        identity: Json,
        accepts_images: bool,
        make: Callable[[], Provider],
        tape: Tape,
        mode: RecordMode,
        before_live: Callable[[], None],
        clean: Callable[[ModelReply], ModelReply],
        explain: Callable[[], ReplayMiss],
    ) -> None:
        self.name = name
        self.identity = identity
        self.accepts_images = accepts_images
        self._make = make
        self._tape = tape
        self._mode = mode
        self._before_live = before_live
        self._clean = clean
        self._explain = explain
        self._inner: Provider | None = None
        self._answered: Digest | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The recorded chunks, or the live ones (recorded as they complete).

        Raises:
            ReplayMiss: In mode `replay`, when nothing is recorded for this request.
            ProviderError: The model failed, or in mode `replay` had failed when it was recorded.
        """
        recorded = self._tape.ask(request.messages, request.tool_choice)
        # What this run has just recorded was no good, if it asks again: the new answer takes its place.
        again = self._answered is not None and self._answered == self._tape.request
        if recorded is not None and not again and self._mode in ("auto", "replay"):
            self._tape.take(recorded)
            reply = recorded.reply
            if reply.message.text:
                yield TextChunk(text=reply.message.text)
            yield reply
            return
        if self._mode == "replay":
            for chunk in self._failed_before():
                yield chunk
            raise self._explain()
        self._before_live()
        self._inner = self._inner or self._make()
        shown: list[str] = []
        try:
            async for chunk in self._inner.stream(request):
                if isinstance(chunk, ModelReply):
                    reply = self._clean(chunk)
                    self._tape.record_reply(reply)
                    self._answered = self._tape.request
                    yield reply
                else:
                    shown += [chunk.text] if isinstance(chunk, TextChunk) else []
                    yield chunk
        except ProviderError as error:
            self._tape.record_failure(error.code, error.message, "".join(shown))
            raise

    def _failed_before(self) -> Iterator[ModelChunk]:
        """The recorded failure of this request, if there is one: the same text, then the same error.

        A strict replay does what was done, and that was to fail. In mode `auto` the model is asked again.
        """
        failure = self._tape.failure()
        if failure is None:
            return
        self._tape.fail(failure)
        if failure.text:
            yield TextChunk(text=failure.text)
        raise ProviderError(failure.code, failure.message)

    def switch(self, name: str, identity: Json, make: Callable[[], Provider]) -> None:
        """Another model is asked from the next request on."""
        self.name, self.identity, self._make, self._inner = name, identity, make, None

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()
