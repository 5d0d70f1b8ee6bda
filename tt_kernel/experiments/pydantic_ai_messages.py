"""A run's conversation as pydantic-ai's messages: to go on with it in an agent of that library."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage
from tt_kernel.domain.runs import Run
from tt_kernel.experiments.stored_images import ReadImage, image_reader, missing_image, started_at
from tt_kernel.providers.native import restore

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse

NEEDS = "to_pydantic_ai_messages needs pydantic-ai: pip install 'tt_kernel[pydantic-ai]'"


def to_pydantic_ai_messages(run: Run) -> "list[ModelMessage]":
    """The messages of a run as `ModelMessage`s: what stands between two replies is one request, as the library has it.

    A failed result has outcome `failed`; arguments that were no JSON object are {}. Reasoning is a ThinkingPart, with its signature
    where the service gave one. Images are in the message or result they belong to; one whose file is gone is named in a text. All
    times are the run's start.

    Raises:
        ModelUnavailable: pydantic-ai is not installed.
    """
    try:
        from pydantic_ai.messages import ModelRequest  # noqa: PLC0415  heavy, and optional
    except ImportError as error:
        raise ModelUnavailable("extra.missing", NEEDS) from error
    read, at = image_reader(run), started_at(run)
    found: list[ModelMessage] = []
    pending: list[Any] = []
    for message in run.messages:
        if not isinstance(message, AssistantMessage):
            pending.append(_part(message, read, at))
            continue
        if pending:
            found.append(ModelRequest(parts=pending, timestamp=at))
            pending = []
        response = _response(message, run.view.model, at)
        found += [response] if response.parts else []
    return [*found, *([ModelRequest(parts=pending, timestamp=at)] if pending else [])]


def _part(message: Message, read: ReadImage, at: datetime) -> Any:
    from pydantic_ai.messages import SystemPromptPart, ToolReturnPart, UserPromptPart  # noqa: PLC0415  heavy

    if isinstance(message, SystemMessage):
        return SystemPromptPart(message.text, timestamp=at)
    assert not isinstance(message, AssistantMessage), "a reply is a message of its own"
    pictures = list(_pictures(message.images, read))
    content: Any = [*([message.text] if message.text else []), *pictures] if pictures else message.text
    if isinstance(message, ToolMessage):
        outcome: Any = "failed" if message.is_error else "success"
        return ToolReturnPart(message.name, content, message.call_id, timestamp=at, outcome=outcome)
    return UserPromptPart(content, timestamp=at)


def _pictures(images: Sequence[StoredFile], read: ReadImage) -> Iterator[Any]:
    from pydantic_ai.messages import BinaryImage  # noqa: PLC0415  heavy

    for image in images:
        data = read(image)
        if data is None:
            yield missing_image(image)
        else:
            yield BinaryImage(data, media_type=image.mime_type, identifier=image.path)


def _response(message: AssistantMessage, model: str, at: datetime) -> "ModelResponse":
    from pydantic_ai.messages import ThinkingPart  # noqa: PLC0415  heavy

    native = message.native
    response = restore(message, native.get("service", "") if isinstance(native, dict) else "")
    if message.reasoning and not any(isinstance(part, ThinkingPart) for part in response.parts):
        response.parts = [ThinkingPart(message.reasoning), *response.parts]
    response.timestamp = at
    response.model_name = response.model_name or model.partition(":")[2]
    return response
