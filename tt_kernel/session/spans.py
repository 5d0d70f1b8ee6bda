"""A run as spans of OpenTelemetry's conventions for generative AI: facts from its journal, without that library.

- One `invoke_agent` for the run, in it a `chat` for each model turn and an `execute_tool` for each call, with their recorded times.
- A turn that came from a recording is marked `tt_kernel.replayed` and counts no tokens: nobody was asked.
- What was said (prompts, answers, arguments, results) is left out unless `content` is asked for. The journal holds no secrets.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from tt_kernel.domain.canonical import JsonObject, canonical_json
from tt_kernel.domain.events import (
    CallEnded,
    CallRequested,
    CallStarted,
    Envelope,
    Event,
    ModelAttemptFailed,
    ModelCompleted,
    ModelRequested,
    ModelStopped,
    ModelSwitched,
    RunEnded,
)
from tt_kernel.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage
from tt_kernel.domain.runs import RunRecord
from tt_kernel.domain.turns import Sampling, Usage
from tt_kernel.runtime.conversation import Conversation
from tt_kernel.store.interruptions import used

Value = str | int | float | bool | tuple[str, ...]

_PROVIDERS = {
    "openai-chat": "openai", "openai-responses": "openai", "azure": "azure.ai.openai", "bedrock": "aws.bedrock", "mistral": "mistral_ai",
    "google": "gcp.gemini", "google-gla": "gcp.gemini", "google-vertex": "gcp.vertex_ai", "xai": "x_ai", "moonshotai": "moonshot_ai",
}  # fmt: skip
"""Our prefixes whose names in the conventions differ; other prefixes are names of their own."""
CUT_OFF = "cut_off"
"""`error.type` of what never ended: the process was killed."""


@dataclass
class SpanFact:
    """One span. Times are nanoseconds since 1970. `error`: the value of `error.type`, `message` says it for a person."""

    name: str
    kind: Literal["internal", "client"]
    start: int
    end: int
    attributes: dict[str, Value]
    error: str = ""
    message: str = ""
    events: list[tuple[str, int, dict[str, Value]]] = field(default_factory=list)
    children: list["SpanFact"] = field(default_factory=list)

    def fail(self, error: str, message: str) -> None:
        self.error, self.message = error, message
        self.attributes["error.type"] = error


def spans_of(
    record: RunRecord, journal: Sequence[Envelope], opening: Sequence[Message] = (), *, content: bool = False
) -> SpanFact | None:
    """The run's span with those inside it; None where the journal is empty.

    Args:
        record: Of the run.
        journal: Its events, or those from where it was resumed on.
        opening: The conversation before the first of these events; needed for `content` only.
        content: Include what was said.
    """
    if not journal:
        return None
    fold = _Fold(record, journal, Conversation(opening), content)
    for envelope in journal:
        fold.apply(envelope)
    return fold.finish(journal)


class _Fold:
    """Walks a journal. `turn` is the open chat span, `calls` the open calls by id."""

    def __init__(
        self,
        record: RunRecord,
        journal: Sequence[Envelope],
        conversation: Conversation,
        content: bool,
    ) -> None:
        self.conversation, self.content, self.model = conversation, content, record.model
        self.sampling = record.profile.sampling
        self.turn: SpanFact | None = None
        self.calls: dict[str, SpanFact] = {}
        at = _ns(journal[0].timestamp)
        about: dict[str, Value] = {
            "gen_ai.operation.name": "invoke_agent",
            **_model(self.model),
            "gen_ai.agent.id": record.profile.id,
            "gen_ai.agent.name": record.profile.display_name,
            **({"gen_ai.conversation.id": record.session} if record.session else {}),
            "tt_kernel.run.id": record.id,
            "tt_kernel.run.key": record.key,
        }
        self.root = SpanFact(f"invoke_agent {record.profile.display_name}", "internal", at, at, about)
        self.prompt = record.prompt

    def apply(self, envelope: Envelope) -> None:
        event, at = envelope.event, _ns(envelope.timestamp)
        self.root.end = max(self.root.end, at)
        if isinstance(event, ModelRequested):
            self._close_turn(at)
            self._open_turn(at)
        elif isinstance(event, ModelAttemptFailed) and self.turn is not None:
            self.turn.events.append(
                ("tt_kernel.attempt_failed", at, {"error.type": event.code, "attempt": event.attempt})
            )
            self.turn.fail(event.code, event.message)
        elif isinstance(event, ModelSwitched):
            self.model = event.to_model
            if self.turn is not None:
                self.turn.attributes.update(_model(self.model))
                self.turn.name = f"chat {_model_name(self.model)}"
        elif isinstance(event, ModelStopped) and self.turn is not None:
            self.turn.fail("interrupted", "The reply was cut off.")
        elif isinstance(event, ModelCompleted):
            self._reply(event, at)
        else:
            self._about_call(event, at)
        self.conversation.apply(event)

    def finish(self, journal: Sequence[Envelope]) -> SpanFact:
        root = self.root
        self._close_turn(root.end)
        for span in self.calls.values():
            span.end = root.end
            span.fail(CUT_OFF, "The call has no result.")
        events = [envelope.event for envelope in journal]
        total, replayed = used(events)
        root.attributes.update(_usage(total.minus(replayed)))
        last = events[-1]
        if not isinstance(last, RunEnded):
            root.fail(CUT_OFF, "The process ended before the run did.")
        elif last.code is not None:
            root.fail(last.code, last.message or last.code)
        if self.content:
            root.attributes["gen_ai.input.messages"] = _json([_said("user", self.prompt)])
            if isinstance(last, RunEnded) and last.text:
                root.attributes["gen_ai.output.messages"] = _json([_said("assistant", last.text)])
        return root

    def _open_turn(self, at: int) -> None:
        about: dict[str, Value] = {"gen_ai.operation.name": "chat", **_model(self.model), **_asked(self.sampling)}
        if self.content:
            about |= _told(self.conversation.messages)
        self.turn = SpanFact(f"chat {_model_name(self.model)}", "client", at, at, about)
        self.root.children.append(self.turn)

    def _close_turn(self, at: int) -> None:
        """A turn without a reply: it failed, was stopped, or was cut off."""
        if self.turn is not None:
            self.turn.end = at
            if not self.turn.error:
                self.turn.fail(CUT_OFF, "The request has no reply.")
            self.turn = None

    def _reply(self, event: ModelCompleted, at: int) -> None:
        turn, self.turn = self.turn, None
        if turn is None:
            return
        reply = event.reply
        turn.end, turn.error, turn.message = at, "", ""
        turn.attributes.pop("error.type", None)
        turn.attributes["gen_ai.response.finish_reasons"] = (reply.finish_reason,)
        if reply.model:
            turn.attributes["gen_ai.response.model"] = reply.model
        if reply.recorded:
            turn.attributes["tt_kernel.replayed"] = True
        else:
            turn.attributes.update(_usage(reply.usage))
        if self.content:
            output = {**_message(reply.message), "finish_reason": reply.finish_reason}
            turn.attributes["gen_ai.output.messages"] = _json([output])

    def _about_call(self, event: Event, at: int) -> None:
        if isinstance(event, CallRequested):
            self._open_call(event, at)
        elif isinstance(event, CallStarted) and event.call_id in self.calls:
            self.calls[event.call_id].start = at
        elif isinstance(event, CallEnded) and event.call_id in self.calls:
            span = self.calls.pop(event.call_id)
            span.end = at
            if event.result.is_error:
                span.fail(event.result.error_code or "_OTHER", event.result.content if self.content else "")
            if self.content:
                span.attributes["gen_ai.tool.call.result"] = event.result.content

    def _open_call(self, event: CallRequested, at: int) -> None:
        call = event.call
        about: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.call.id": call.id,
            "gen_ai.tool.type": "function",
            "tt_kernel.tool.id": str(call.tool_id),
        }
        if self.content:
            about["gen_ai.tool.call.arguments"] = canonical_json(call.arguments.for_model)
        span = self.calls[call.id] = SpanFact(f"execute_tool {call.name}", "internal", at, at, about)
        self.root.children.append(span)


def _ns(timestamp: str) -> int:
    return round(datetime.fromisoformat(timestamp).timestamp() * 1000) * 1_000_000


def _model_name(model: str) -> str:
    return model.partition(":")[2] or model


def _model(model: str) -> dict[str, Value]:
    prefix = model.partition(":")[0]
    return {"gen_ai.provider.name": _PROVIDERS.get(prefix, prefix), "gen_ai.request.model": _model_name(model)}


def _asked(sampling: Sampling) -> dict[str, Value]:
    settings: dict[str, Value | None] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "max_tokens": sampling.max_tokens,
        "stop_sequences": sampling.stop or None,
    }
    return {f"gen_ai.request.{name}": value for name, value in settings.items() if value is not None}


def _usage(usage: Usage) -> dict[str, Value]:
    told: dict[str, Value] = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
    }
    if usage.cached_tokens:
        told["gen_ai.usage.cache_read.input_tokens"] = usage.cached_tokens
    if usage.cost_usd is not None:
        told["tt_kernel.cost_usd"] = usage.cost_usd
    return told


# ---- what was said


def _told(messages: Sequence[Message]) -> dict[str, Value]:
    system = [{"type": "text", "content": m.text} for m in messages if isinstance(m, SystemMessage)]
    said = [_message(message) for message in messages if not isinstance(message, SystemMessage)]
    return {"gen_ai.system_instructions": _json(system), "gen_ai.input.messages": _json(said)}


def _message(message: Message) -> JsonObject:
    if isinstance(message, ToolMessage):
        part = {"type": "tool_call_response", "id": message.call_id, "response": message.text}
        return {"role": "tool", "parts": [part]}
    if not isinstance(message, AssistantMessage):
        return _said(message.role, message.text)
    parts = [{"type": "reasoning", "content": message.reasoning}] if message.reasoning else []
    parts += [{"type": "text", "content": message.text}] if message.text else []
    calls = [
        {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments.for_model}
        for call in message.calls
    ]
    return {"role": "assistant", "parts": [*parts, *calls]}


def _said(role: str, text: str) -> JsonObject:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
