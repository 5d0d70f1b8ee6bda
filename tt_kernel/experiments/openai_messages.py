"""A run's conversation in the form of OpenAI's chat completions: what other tools and data sets read."""

import base64
from collections.abc import Iterator, Sequence

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.canonical import JsonObject, canonical_json
from tt_kernel.domain.messages import AssistantMessage, CallPart, Message, SystemMessage, ToolMessage
from tt_kernel.domain.runs import Run
from tt_kernel.experiments.stored_images import ReadImage, image_reader, missing_image
from tt_kernel.providers.translate import ERROR_MARK


def to_openai_messages(run: Run) -> list[JsonObject]:
    """The messages of a run: system, user, assistant with tool_calls, tool. Images are data URLs.

    A tool message cannot hold images: they follow the results of their turn as a user message. An image whose file is gone is named
    in a text instead. A failed result begins with `[tool error]`: there is no other place to say so. Arguments that were no JSON
    object are {}, as the model was shown them. Reasoning and the provider's own metadata are left out.
    """
    return list(_converted(run.messages, image_reader(run)))


def _converted(messages: Sequence[Message], read: ReadImage) -> Iterator[JsonObject]:
    waiting: list[JsonObject] = []
    for message in messages:
        if not isinstance(message, ToolMessage) and waiting:
            yield {"role": "user", "content": waiting}
            waiting = []
        if isinstance(message, ToolMessage):
            yield {"role": "tool", "tool_call_id": message.call_id, "content": _result(message)}
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
        if calls:
            return {"role": "assistant", "content": message.text or None, "tool_calls": calls}
        return {"role": "assistant", "content": message.text}
    assert not isinstance(message, ToolMessage), "converted before"
    if not message.images:
        return {"role": "user", "content": message.text}
    return {
        "role": "user",
        "content": [
            *([{"type": "text", "text": message.text}] if message.text else []),  # an empty one is refused
            *(_image(image, read) for image in message.images),
        ],
    }


def _result(message: ToolMessage) -> str:
    return f"{ERROR_MARK}{message.text}" if message.is_error else message.text


def _call(part: CallPart) -> JsonObject:
    arguments = canonical_json(part.arguments.for_model)
    return {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": arguments}}


def _image(file: StoredFile, read: ReadImage) -> JsonObject:
    data = read(file)
    if data is None:
        return {"type": "text", "text": missing_image(file)}
    url = f"data:{file.mime_type};base64,{base64.b64encode(data).decode('ascii')}"
    return {"type": "image_url", "image_url": {"url": url}}
