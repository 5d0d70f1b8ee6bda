"""Our conversation in pydantic_ai's words.

- A message is translated once and kept by object, so that a turn costs O(new messages).
- Everything between two replies becomes one request message: services want all results of a turn together.
- A reply is sent back exactly as it came (`native`), with one exception: arguments are what `ToolArguments` made of them, so
  an invalid text goes back as {} (spec tauritavern §3).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from tt_kernel.providers.native import restore

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart, UserPromptPart

ReadImage = Callable[[StoredFile], bytes]

ERROR_MARK = "[tool error] "
"""Prefix of a failed result where the service has no channel of its own for errors."""

KEPT_BEYOND = 512
"""Translations kept beyond the size of the last conversation before forgotten ones are dropped."""


@dataclass(frozen=True)
class Wire:
    """What a service's interface can carry.

    Attributes:
        service: Its name in `native` metadata.
        native_errors: Failed results have a flag or field of their own.
        images_in_results: A result may hold images; otherwise they follow in a user message.
        sees: The model accepts images at all.
        model: Its full name, for the text that stands for an image.
    """

    service: str
    native_errors: bool
    images_in_results: bool
    sees: bool
    model: str


@dataclass(frozen=True)
class _Parts:
    """One translated message: a reply, or parts of a request (`trailing`: images that come after all results)."""

    message: Message
    reply: "ModelMessage | None" = None
    request: "tuple[ModelRequestPart, ...]" = ()
    trailing: "tuple[UserPromptPart, ...]" = ()


@dataclass
class Translator:
    """Translates the conversations of one provider."""

    wire: Wire
    _known: dict[int, _Parts] = field(default_factory=dict)

    def translate(self, messages: Sequence[Message], read_image: ReadImage) -> "list[ModelMessage]":
        parts = [self._parts(message, read_image) for message in messages]
        if len(self._known) > len(parts) + KEPT_BEYOND:
            self._known = {id(part.message): part for part in parts}
        return list(_grouped(parts))

    def _parts(self, message: Message, read_image: ReadImage) -> _Parts:
        # By identity: the entry holds the message, so its id is not given to another object.
        known = self._known.get(id(message))
        if known is None:
            known = self._known[id(message)] = _translated(message, self.wire, read_image)
        return known


def _grouped(parts: Sequence[_Parts]) -> "Iterator[ModelMessage]":
    from pydantic_ai.messages import ModelRequest  # noqa: PLC0415  heavy

    pending: list[Any] = []
    trailing: list[Any] = []
    for part in parts:
        is_result = isinstance(part.message, ToolMessage)
        if trailing and not is_result:
            pending += trailing
            trailing = []
        if part.reply is None:
            pending += part.request
            trailing += part.trailing
            continue
        if pending:
            yield ModelRequest(parts=pending)
            pending = []
        if part.reply.parts:
            yield part.reply
    if pending or trailing:
        yield ModelRequest(parts=pending + trailing)


def _translated(message: Message, wire: Wire, read_image: ReadImage) -> _Parts:
    from pydantic_ai.messages import SystemPromptPart, UserPromptPart  # noqa: PLC0415  heavy

    if isinstance(message, AssistantMessage):
        return _Parts(message, reply=restore(message, wire.service))
    if isinstance(message, SystemMessage):
        return _Parts(message, request=(SystemPromptPart(message.text),))
    if isinstance(message, UserMessage):
        content: Any = message.text
        if message.images:
            content = [message.text, *(_image(image, wire, read_image) for image in message.images)]
        return _Parts(message, request=(UserPromptPart(content),))
    return _result(message, wire, read_image)


def _result(message: ToolMessage, wire: Wire, read_image: ReadImage) -> _Parts:
    from pydantic_ai.messages import ToolReturnPart, UserPromptPart  # noqa: PLC0415  heavy

    text = message.text
    if message.is_error and not wire.native_errors:
        text = ERROR_MARK + text
    images = [_image(image, wire, read_image) for image in message.images]
    notes = [image for image in images if isinstance(image, str)]
    shown = [image for image in images if not isinstance(image, str)]
    text = "\n".join([text, *notes])
    content: Any = text
    trailing: tuple[UserPromptPart, ...] = ()
    if shown and wire.images_in_results:
        content = [text, *shown]
    elif shown:
        content = f"{text}\n[The images of this result are in the next user message.]"
        trailing = (UserPromptPart([f"Images of the result of {message.name} ({message.call_id}):", *shown]),)
    outcome: Any = "failed" if message.is_error and wire.native_errors else "success"
    part = ToolReturnPart(message.name, content, message.call_id, outcome=outcome)
    return _Parts(message, request=(part,), trailing=trailing)


def _image(image: StoredFile, wire: Wire, read_image: ReadImage) -> Any:
    """The image, or the text that explains why it is missing (spec tauritavern §8.3)."""
    if not wire.sees:
        return f"[Image {image.path} is not shown: model {wire.model} does not accept images.]"
    from pydantic_ai.messages import BinaryImage  # noqa: PLC0415  heavy

    return BinaryImage(read_image(image), media_type=image.mime_type, identifier=image.path)
