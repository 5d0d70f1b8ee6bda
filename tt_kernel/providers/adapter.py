"""The provider of every model service: pydantic_ai.direct as transport, our words on this side of it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.connections import Connection as Named
from tt_kernel.domain.turns import ModelChunk, ModelReply, ModelRequest
from tt_kernel.providers.connect import Connection, connect, import_library
from tt_kernel.providers.faults import Asked, as_provider_error, cut_off, silent
from tt_kernel.providers.parameters import parameters, settings, silence
from tt_kernel.providers.replies import Chunker, chunks_of, reply_of
from tt_kernel.providers.services import Service, accepts_images, service_identity
from tt_kernel.providers.translate import Translator

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse


class PydanticAIProvider:
    """One model of one service.

    The library is imported and the HTTP client opened at the first request, on the loop that asks; `aclose` closes it.
    The stream ends with the ModelReply; a reply that was cut off is an error, never a shorter reply.

    Args:
        name: `provider:model`.
        service: The row of the service.
        model_name: The part after the colon.
        named: The user's connection, if it is not the environment's.
    """

    def __init__(self, name: str, service: Service, model_name: str, named: Named | None = None) -> None:
        self.name = name
        self.identity = service_identity(service, named)
        self._named = named
        self.accepts_images = accepts_images(service, model_name)
        self._service = service
        self._model_name = model_name
        self._opening = asyncio.Lock()
        self._connection: Connection | None = None
        self._translator: Translator | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """See `domain.ports.Provider`.

        Raises:
            ProviderError: With the codes of spec tauritavern §9.6 and `providers/faults.py`.
            ModelUnavailable: The library or a credential is missing after all.
        """
        connection, translator = await self._connected()
        asked = Asked(self.name, connection.url, bool(request.tools), silence(request.sampling), self._named)
        arguments = self._arguments(request, connection, translator)
        failure: Exception
        try:
            live = _streamed(arguments, asked) if request.stream else _whole(arguments, asked)
            async with aclosing(live) as pieces:
                async for piece in pieces:
                    if isinstance(piece, _Whole):
                        reply = self._reply(piece.response, connection)
                        for chunk in (reply,) if request.stream else chunks_of(reply):
                            yield chunk
                    else:
                        yield piece
        except Exception as error:  # noqa: BLE001  whatever a library raises becomes one of our errors
            failure = as_provider_error(error, asked)
        else:
            return
        # Outside the handler: a foreign traceback below ours could show what a service echoed.
        raise failure

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.stack.aclose()

    async def _connected(self) -> tuple[Connection, Translator]:
        async with self._opening:
            if self._connection is None or self._translator is None:
                await asyncio.to_thread(import_library, self._service)
                self._connection = await connect(
                    self._service, self._model_name, name=self.name, sees=self.accepts_images, named=self._named
                )
                self._translator = Translator(self._connection.wire)
            return self._connection, self._translator

    def _arguments(self, request: ModelRequest, connection: Connection, translator: Translator) -> dict[str, Any]:
        return {
            "model": connection.model,
            "messages": translator.translate(request.messages, request.read_image),
            "model_settings": settings(request.sampling, request.tool_choice, connection.model, self.name),
            "model_request_parameters": parameters(request.tools),
        }

    def _reply(self, response: "ModelResponse", connection: Connection) -> ModelReply:
        return reply_of(
            response,
            asked=self._model_name,
            service=connection.wire.service,
            name=self.name,
            ids_on_wire=connection.ids_on_wire,
        )


class _Whole:
    """The complete response, as the last piece."""

    def __init__(self, response: "ModelResponse") -> None:
        self.response = response


async def _streamed(arguments: dict[str, Any], asked: Asked) -> "AsyncGenerator[ModelChunk | _Whole]":
    from pydantic_ai.direct import model_request_stream  # noqa: PLC0415  heavy

    chunker = Chunker()
    opening = model_request_stream(**arguments)
    stream = await _patiently(opening.__aenter__(), asked)
    try:
        events = aiter(stream)
        while True:
            event = await _patiently(anext(events, None), asked)
            if event is None:
                break
            for chunk in chunker.chunks(event):
                yield chunk
        yield _Whole(_complete(stream.get(), asked))
    finally:
        await opening.__aexit__(None, None, None)


async def _whole(arguments: dict[str, Any], asked: Asked) -> "AsyncGenerator[ModelChunk | _Whole]":
    from pydantic_ai.direct import model_request  # noqa: PLC0415  heavy

    yield _Whole(_complete(await _patiently(model_request(**arguments), asked), asked))


async def _patiently(waiting: Any, asked: Asked) -> Any:
    try:
        async with asyncio.timeout(asked.seconds) as limit:
            return await waiting
    except TimeoutError:
        if not limit.expired():
            raise
    raise silent(asked)


def _complete(response: "ModelResponse", asked: Asked) -> "ModelResponse":
    """What simply stopped is no reply: the end of a reply has a reason that the service names."""
    if response.finish_reason is None and not (response.provider_details or {}).get("finish_reason"):
        raise cut_off(asked)
    return response
