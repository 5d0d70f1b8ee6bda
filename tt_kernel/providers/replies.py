"""What a service sends, in our words: stream events -> chunks, a response -> ModelReply. And the checks every reply passes."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.errors import ProviderError
from tt_kernel.domain.ids import CallId
from tt_kernel.domain.messages import AssistantMessage, CallPart
from tt_kernel.domain.turns import CallChunk, ModelChunk, ModelReply, ReasoningChunk, TextChunk, Usage
from tt_kernel.providers.native import preserve, text_of

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

_MADE_UP_ID = "pyd_ai_"
"""How an id that the library made up for a missing one begins."""


@dataclass
class Chunker:
    """Turns the events of one stream into chunks. The text chunks together are the text of the reply."""

    _calls: dict[int, int] = field(default_factory=dict)
    _begun: set[int] = field(default_factory=set)
    _something_between: bool = False

    def chunks(self, event: Any) -> Iterator[ModelChunk]:
        kind = getattr(event, "event_kind", "")
        if kind == "part_start":
            yield from self._started(event.index, event.part)
        elif kind == "part_delta":
            yield from self._grown(event.index, event.delta)

    def _started(self, index: int, part: Any) -> Iterator[ModelChunk]:
        if part.part_kind == "text":
            yield from self._text(index, part.content)
            return
        self._something_between = True
        if part.part_kind == "thinking" and part.content:
            yield ReasoningChunk(text=part.content)
        elif part.part_kind == "tool-call":
            self._calls[index] = len(self._calls)
            yield CallChunk(index=self._calls[index], name=part.tool_name, arguments=_as_text(part.args))

    def _grown(self, index: int, delta: Any) -> Iterator[ModelChunk]:
        kind = delta.part_delta_kind
        if kind == "text":
            yield from self._text(index, delta.content_delta)
        elif kind == "thinking" and delta.content_delta:
            yield ReasoningChunk(text=delta.content_delta)
        elif kind == "tool_call" and index in self._calls:
            arguments = _as_text(delta.args_delta)
            yield CallChunk(index=self._calls[index], name=delta.tool_name_delta or "", arguments=arguments)

    def _text(self, index: int, text: str) -> Iterator[ModelChunk]:
        """A text part that follows something else begins a paragraph, as `text_of` joins them."""
        if not text:
            return
        apart = index not in self._begun and bool(self._begun) and self._something_between
        self._begun.add(index)
        self._something_between = False
        yield TextChunk(text=f"\n\n{text}" if apart else text)


def chunks_of(reply: ModelReply) -> Iterator[ModelChunk]:
    """The chunks of a reply that came whole."""
    if reply.message.reasoning:
        yield ReasoningChunk(text=reply.message.reasoning)
    if reply.message.text:
        yield TextChunk(text=reply.message.text)
    for index, call in enumerate(reply.message.calls):
        arguments = call.arguments.raw if call.arguments.raw is not None else canonical_json(call.arguments.value)
        yield CallChunk(index=index, name=call.name, arguments=arguments)
    yield reply


def reply_of(response: "ModelResponse", *, asked: str, service: str, name: str, ids_on_wire: bool) -> ModelReply:
    """The checked reply.

    Args:
        response: As pydantic_ai gives it.
        asked: The model name that was asked for.
        service: Name for `native` metadata.
        name: The full model name, for errors.
        ids_on_wire: Call ids come from the service; a made-up one then stands for a missing one.

    Raises:
        ProviderError: See `checked`; also `model.provider_refusal`.
    """
    _refuse_refusals(response, name)
    calls = tuple(
        CallPart(id=_call_id(part, ids_on_wire), name=part.tool_name, arguments=ToolArguments.decode(part.args))
        for part in response.tool_calls
    )
    message = AssistantMessage(
        text=text_of(response), reasoning=response.thinking or "", calls=calls, native=preserve(response, service)
    )
    reply = ModelReply(
        message=message,
        finish_reason=_finish(response.finish_reason, calls=bool(calls)),
        usage=_usage(response),
        model=response.model_name or asked,
    )
    return checked(reply, name)


def checked(reply: ModelReply, name: str) -> ModelReply:
    """The reply itself, if the conversation can go on with it.

    Raises:
        ProviderError: `model.invalid_tool_call` (a call without id or name),
            `model.output_truncated` (cut off before anything was said; a call that was cut off is refused as a call, so that
            the model can make it again: toolkit/truncation.py),
            `model.upstream_invalid_response` (the service reports a fault of its own).
    """
    reply = with_unique_ids(reply)
    message = reply.message
    if any(not call.id or not call.name for call in message.calls):
        raise ProviderError("model.invalid_tool_call", f"Model {name} made a tool call without a name or an id.")
    if reply.finish_reason == "length" and not (message.text or message.calls):
        raise ProviderError(
            "model.output_truncated",
            f"The reply of {name} was cut off before it said anything. Raise sampling.max_tokens, or ask for less at once.",
        )
    if reply.finish_reason == "error":
        raise ProviderError(
            "model.upstream_invalid_response", f"Model {name} ended its reply with an error.", retryable=True
        )
    return reply


def _finish(reason: str | None, *, calls: bool) -> str:
    """One word for the same thing: some services call a reply with calls finished, some name the calls."""
    return "tool_call" if calls and reason in {None, "stop"} else reason or "stop"


def _refuse_refusals(response: "ModelResponse", name: str) -> None:
    if response.finish_reason != "content_filter":
        return
    details = response.provider_details or {}
    said = details.get("refusal") or text_of(response)
    said = f" It said: {said[:300]}" if isinstance(said, str) and said else ""
    raise ProviderError("model.provider_refusal", f"Model {name} refused to answer.{said}")


def _call_id(part: Any, ids_on_wire: bool) -> CallId:
    made_up = ids_on_wire and part.tool_call_id.startswith(_MADE_UP_ID)
    return CallId("" if made_up else part.tool_call_id)


def _usage(response: "ModelResponse") -> Usage:
    usage = response.usage
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens,
        cost_usd=_cost(response),
    )


def _cost(response: "ModelResponse") -> float | None:
    """Dollars, where genai-prices knows the price; a price must never fail a run."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


def _as_text(arguments: Any) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else canonical_json(arguments)


def with_unique_ids(reply: ModelReply) -> ModelReply:
    """Some services give two calls of one reply the same id; results must still find their call. The second becomes
    `<id>-2`, as pydantic_ai does in a stream.
    """
    calls = reply.message.calls
    if len({call.id for call in calls}) == len(calls):
        return reply
    renamed: list[CallPart] = []
    seen: dict[CallId, int] = {}
    for call in calls:
        seen[call.id] = seen.get(call.id, 0) + 1
        again = seen[call.id] > 1 and call.id
        renamed.append(call.model_copy(update={"id": CallId(f"{call.id}-{seen[call.id]}")}) if again else call)
    return reply.model_copy(update={"message": reply.message.model_copy(update={"calls": tuple(renamed)})})
