"""`scripted:FILE`: a model that says what a YAML script tells it to, with the faults that real services have.

For tests, teaching and examples. The format is in `script.py`. Deterministic: a turn depends on the conversation so far and on
nothing else, except that a scripted failure counts the attempts made through this provider object.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import ProviderError
from tt_kernel.domain.ids import CallId
from tt_kernel.domain.messages import BACKGROUND, AssistantMessage, CallPart, Message, ToolMessage, UserMessage
from tt_kernel.domain.turns import ModelChunk, ModelReply, ModelRequest, ReasoningChunk, TextChunk, Usage
from tt_kernel.providers.parameters import silence
from tt_kernel.providers.replies import checked, chunks_of
from tt_kernel.providers.script import Conversation, Failure, Script, Turn
from tt_kernel.providers.script_reader import load_script

_FAULTS = {
    "400": ("model.invalid_request", False),
    "401": ("model.authentication", False),
    "403": ("model.authentication", False),
    "404": ("model.not_found", False),
    "408": ("model.timeout", True),
    "429": ("model.rate_limited", True),
    "cut": ("model.upstream_invalid_response", True),
    "hang": ("model.timeout", True),
    "tools": ("model.tools_unsupported", False),
    "quota": ("model.quota_exceeded", False),
}
_SERVER_FAULT = ("model.upstream_unavailable", True)
_SHOWN_RESULT = 200
"""Characters of a tool result in the message of a failed expectation."""


@dataclass
class _Place:
    """Where a conversation is. Kept for the list that only grows, so that finding the turn costs O(new messages)."""

    messages: Sequence[Message] | None = None
    seen: int = 0
    prompt: str | None = None
    replies: int = 0
    new_chars: int = 0
    user: str = ""
    result: str | None = None

    def of(self, messages: Sequence[Message]) -> "_Place":
        place = self if self._continues(messages) else _Place(messages)
        for message in messages[place.seen :]:
            place.absorb(message)
        place.seen = len(messages)
        return place

    def _continues(self, messages: Sequence[Message]) -> bool:
        return messages is self.messages and len(messages) >= self.seen

    def absorb(self, message: Message) -> None:
        self.new_chars += len(message.text)
        if getattr(message, "source", "") in BACKGROUND:
            return  # no part of the conversation that the script is about
        if isinstance(message, AssistantMessage):
            self.replies += self.prompt is not None
            self.new_chars = 0
        elif isinstance(message, UserMessage):
            self.prompt = message.text if self.prompt is None else self.prompt
            self.user = message.text
            self.replies += message.replies
        elif isinstance(message, ToolMessage):
            self.result = message.text


class ScriptedProvider:
    """One script.

    Args:
        name: `scripted:FILE`.
        path: The file.

    Raises:
        ModelUnavailable: `model.script_invalid`.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self._script: Script = load_script(path)
        self._attempts: Counter[tuple[str, int]] = Counter()
        self._place = _Place()

    @property
    def identity(self) -> Json:
        """Of the whole script; `identity_for` is of the one conversation that a prompt selects."""
        return self._script.identity(None)

    @property
    def accepts_images(self) -> bool:
        return self._script.accepts_images

    def identity_for(self, prompt: str) -> Json:
        return self._script.identity(prompt)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """See `domain.ports.Provider`.

        Raises:
            ProviderError: The script has no turn for this, an expectation failed, or the turn is a fault.
        """
        self._place = place = self._place.of(request.messages)
        conversation = self._script.find(place.prompt or "")
        turn = self._turn(conversation, place)
        self._expect(turn, conversation, place)
        await asyncio.sleep(turn.wait / 1000)
        failure = self._failure(conversation, turn, place)
        if failure is not None:
            for piece in _pieces(turn.say[: failure.after], turn.chunk):
                await asyncio.sleep(turn.pace / 1000)
                yield TextChunk(text=piece)
            raise await self._broken(failure, request)
        if turn.refuse is not None:
            raise ProviderError(
                "model.provider_refusal", f"Model {self.name} refused to answer. It said: {turn.refuse}"
            )
        reply = checked(self._reply(turn, place), self.name)
        for chunk in _live(reply, turn) if request.stream else chunks_of(reply):
            await asyncio.sleep(turn.pace / 1000)
            yield chunk

    async def aclose(self) -> None:
        """Nothing to close."""

    def _turn(self, conversation: Conversation, place: _Place) -> Turn:
        if place.replies < len(conversation.turns):
            return conversation.turns[place.replies]
        raise ProviderError(
            "model.script_ended",
            f"Script {self._script.path.name}, conversation {conversation.name!r} has {len(conversation.turns)} turns; "
            f"turn {place.replies + 1} was asked for. Add a turn, or end the run before.",
        )

    def _expect(self, turn: Turn, conversation: Conversation, place: _Place) -> None:
        for texts, said, what in (
            (turn.expect, place.result, "the last tool result"),
            (turn.asked, place.user, "the last user message"),
        ):
            for text in texts:
                if said is None or text not in said:
                    got = "there is none" if said is None else f"it is {_short(said)!r}"
                    raise ProviderError(
                        "model.script_expectation",
                        f"Script {self._script.path.name}, line {turn.line}, conversation {conversation.name!r}: "
                        f"{what} should contain {text!r}, but {got}.",
                    )

    def _failure(self, conversation: Conversation, turn: Turn, place: _Place) -> Failure | None:
        if turn.fail is None:
            return None
        key = (conversation.name, place.replies)
        self._attempts[key] += 1
        due = turn.fail.times is None or self._attempts[key] <= turn.fail.times
        return turn.fail if due else None

    async def _broken(self, failure: Failure, request: ModelRequest) -> ProviderError:
        seconds = silence(request.sampling)
        if failure.error == "hang":
            await asyncio.sleep(seconds)
        code, retryable = _FAULTS.get(failure.error, _SERVER_FAULT)
        happened = {
            "cut": f"The stream of {self.name} broke before the reply was complete.",
            "hang": f"No answer from the script for model {self.name} within {seconds:g} seconds.",
            "tools": f"Model {self.name} does not accept tools.",
            "quota": f"The account for {self.name} has no quota left.",
        }.get(failure.error, f"The script of {self.name} answered with HTTP {failure.error}.")
        said = f" It said: {failure.message}" if failure.message else ""
        return ProviderError(code, happened + said, retryable=retryable, retry_after=failure.retry_after)

    def _reply(self, turn: Turn, place: _Place) -> ModelReply:
        calls = tuple(
            CallPart(
                id=CallId(f"call_{place.replies + 1}_{index}" if call.id is None else call.id),
                name=call.name,
                arguments=ToolArguments.decode(call.arguments),
            )
            for index, call in enumerate(turn.calls)
        )
        said = len(turn.say) + len(turn.think) + sum(len(str(call.arguments)) for call in turn.calls)
        return ModelReply(
            message=AssistantMessage(text=turn.say, reasoning=turn.think, calls=calls),
            finish_reason=turn.finish or ("tool_call" if calls else "stop"),
            usage=turn.usage or Usage(input_tokens=_tokens(place.new_chars), output_tokens=_tokens(said)),
            model=self.name.partition(":")[2],
        )


def _live(reply: ModelReply, turn: Turn) -> Iterator[ModelChunk]:
    for chunk in chunks_of(reply):
        if isinstance(chunk, TextChunk | ReasoningChunk):
            kind: Any = type(chunk)
            for piece in _pieces(chunk.text, turn.chunk):
                yield kind(text=piece)
        else:
            yield chunk


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _tokens(chars: int) -> int:
    return -(-chars // 4)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_RESULT else text[:_SHOWN_RESULT] + "..."
