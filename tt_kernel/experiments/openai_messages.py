"""A run's conversation in the form of OpenAI's chat completions: what other tools and data sets read."""

import base64
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.canonical import JsonObject, canonical_json
from tt_kernel.domain.messages import AssistantMessage, CallPart, Message, SystemMessage, ToolMessage
from tt_kernel.domain.runs import Run

ReadImage = Callable[[StoredFile], bytes | None]


def to_openai_messages(run: Run) -> list[JsonObject]:
    """The messages of a run: system, user, assistant with tool_calls, tool. Images are data URLs.

    A tool message cannot hold images: they follow the results of their turn as a user message. An image whose file is gone is named
    in a text instead. Reasoning and the provider's own metadata are left out.
    """
    blobs = run.folder.parent.parent / "recordings" / "blobs"
    return list(_converted(run.messages, lambda file: _read(run.folder / file.path, blobs / file.sha256)))


def _read(*places: Path) -> bytes | None:
    for place in places:
        try:
            return place.read_bytes()
        except OSError:
            continue
    return None


def _converted(messages: Sequence[Message], read: ReadImage) -> Iterator[JsonObject]:
    waiting: list[JsonObject] = []
    for message in messages:
        if not isinstance(message, ToolMessage) and waiting:
            yield {"role": "user", "content": waiting}
            waiting = []
        if isinstance(message, ToolMessage):
            yield {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
            for image in message.images:
                waiting += [{"type": "text", "text": f"Image of {message.name}:"}, _image(image, read)]
        else:
            yield _one(message, read)
    if waiting:
        yield {"role": "user", "content": waiting}


def _one(message: Message, read: ReadImage) -> JsonObject:
    if isinstance(message, SystemMessage):
        return {"role": "system", "content": message.text}
    if isinstance(message, AssistantMessage):
        calls = [_call(part) for part in message.calls]
        return {"role": "assistant", "content": message.text or None} | ({"tool_calls": calls} if calls else {})
    assert not isinstance(message, ToolMessage), "converted before"
    if not message.images:
        return {"role": "user", "content": message.text}
    return {
        "role": "user",
        "content": [{"type": "text", "text": message.text}, *(_image(image, read) for image in message.images)],
    }


def _call(part: CallPart) -> JsonObject:
    arguments = part.arguments.raw if part.arguments.raw is not None else canonical_json(part.arguments.for_model)
    return {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": arguments}}


def _image(file: StoredFile, read: ReadImage) -> JsonObject:
    data = read(file)
    if data is None:
        return {"type": "text", "text": f"[image {file.path}, sha256 {file.sha256}]"}
    url = f"data:{file.mime_type};base64,{base64.b64encode(data).decode('ascii')}"
    return {"type": "image_url", "image_url": {"url": url}}
