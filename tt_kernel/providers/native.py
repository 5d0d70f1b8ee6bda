"""The `native` field of a reply: what a service gave that must go back unchanged (reasoning signatures, item ids, order).

It is kept only where our own fields could not rebuild the reply, and used only by the service that gave it, and only while
the message still says the same: a message that was edited is rebuilt from its fields.
"""

from typing import TYPE_CHECKING, Any

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.messages import AssistantMessage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

FORMAT = "pydantic_ai"
_KEPT = ("parts", "model_name", "provider_name", "provider_url", "provider_response_id", "canonical_system")


def preserve(response: "ModelResponse", service: str) -> Json:
    """The JSON to keep for a reply, or None where text and calls say it all."""
    if _is_plain(response):
        return None
    from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415  heavy

    dumped = ModelMessagesTypeAdapter.dump_python([response], mode="json")[0]
    for part in dumped["parts"]:
        if part["part_kind"] == "tool-call":
            part["args"] = None  # they are in the message's calls
    return {"format": FORMAT, "service": service, "response": {"kind": "response", **_only(dumped, _KEPT)}}


def restore(message: AssistantMessage, service: str) -> "ModelResponse":
    """The reply as the service gave it; for another service, or after an edit, what our fields say."""
    native = message.native
    if isinstance(native, dict) and native.get("format") == FORMAT and native.get("service") == service:
        response = _parsed(native.get("response"))
        if response is not None and _agrees(response, message):
            return _with_arguments(response, message)
    return _rebuilt(message)


def join_text(pieces: list[tuple[bool, str]]) -> str:
    """One text of several parts: (follows directly, text). Parts with something between them are paragraphs."""
    text = ""
    for follows, piece in pieces:
        text += piece if follows or not text else "\n\n" + piece
    return text


def text_of(response: "ModelResponse") -> str:
    from pydantic_ai.messages import TextPart  # noqa: PLC0415  heavy

    pieces: list[tuple[bool, str]] = []
    follows = False
    for part in response.parts:
        if isinstance(part, TextPart) and part.content:
            pieces.append((follows, part.content))
            follows = True
        elif not isinstance(part, TextPart):
            follows = False
    return join_text(pieces)


def _is_plain(response: "ModelResponse") -> bool:
    """Whether the reply is at most one bare text, then bare calls."""
    from pydantic_ai.messages import TextPart, ToolCallPart  # noqa: PLC0415  heavy

    for index, part in enumerate(response.parts):
        if not isinstance(part, ToolCallPart) and not (isinstance(part, TextPart) and index == 0):
            return False
        if part.id or part.provider_details:
            return False
    return True


def _parsed(dumped: Json) -> "ModelResponse | None":
    from pydantic import ValidationError  # noqa: PLC0415  with the import below
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse  # noqa: PLC0415  heavy

    try:
        message = ModelMessagesTypeAdapter.validate_python([dumped])[0]
    except ValidationError:
        # Written by another version of the library: the message's own fields still hold what was said.
        return None
    return message if isinstance(message, ModelResponse) else None


def _agrees(response: "ModelResponse", message: AssistantMessage) -> bool:
    calls = [(call.tool_call_id, call.tool_name) for call in response.tool_calls]
    return text_of(response) == message.text and calls == [(call.id, call.name) for call in message.calls]


def _with_arguments(response: "ModelResponse", message: AssistantMessage) -> "ModelResponse":
    for part, call in zip(response.tool_calls, message.calls, strict=True):
        part.args = call.arguments.for_model
    return response


def _rebuilt(message: AssistantMessage) -> "ModelResponse":
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: PLC0415  heavy

    parts: list[Any] = [TextPart(message.text)] if message.text else []
    parts += [ToolCallPart(call.name, call.arguments.for_model, call.id) for call in message.calls]
    return ModelResponse(parts=parts)


def _only(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: value[key] for key in keys if value.get(key) is not None}
