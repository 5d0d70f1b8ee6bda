"""The conversation of an invocation, provider-neutral."""

from typing import Annotated, Literal, Union

from pydantic import Field

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.canonical import Json
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.ids import CallId

BACKGROUND = frozenset({"chat", "worldinfo"})
"""Sources of messages that nobody said in this conversation: cells of the notebook, and world info."""


class SystemMessage(Frozen):
    role: Literal["system"] = "system"
    text: str

    def digest_body(self) -> Json:
        return ["system", self.text]


class UserMessage(Frozen):
    """`source` tells why it is there: the cell's prompt, a drift reminder, guidance, ...; it is not sent to the model.

    `replies`: how many replies of the model it stands for, if it is a summary.
    """

    role: Literal["user"] = "user"
    text: str
    images: tuple[StoredFile, ...] = ()
    source: str = "prompt"
    replies: int = 0

    def digest_body(self) -> Json:
        return ["user", self.text, [image.sha256 for image in self.images]]


class CallPart(Frozen):
    """A tool call as the model wrote it, before it is addressed to a tool."""

    id: CallId
    name: str
    arguments: ToolArguments


class AssistantMessage(Frozen):
    """One model reply. `native` is opaque provider metadata (reasoning signatures ...) that must go back unchanged.

    `source`: why it is there, if the model did not say it in this conversation (BACKGROUND); it is not sent to the model.
    """

    role: Literal["assistant"] = "assistant"
    text: str = ""
    reasoning: str = ""
    calls: tuple[CallPart, ...] = ()
    native: Json = None
    source: str = ""

    def digest_body(self) -> Json:
        """Without call ids and native metadata: both are volatile values given by the provider."""
        return ["assistant", self.text, [[c.name, c.arguments.value, c.arguments.raw] for c in self.calls]]


class ToolMessage(Frozen):
    """The result of one call, in the order of the calls. Images are files of the run, read when a request is sent."""

    role: Literal["tool"] = "tool"
    call_id: CallId
    name: str
    text: str
    is_error: bool = False
    images: tuple[StoredFile, ...] = ()

    def digest_body(self) -> Json:
        return ["tool", self.name, self.text, self.is_error, [image.sha256 for image in self.images]]


Message = Annotated[Union[SystemMessage, UserMessage, AssistantMessage, ToolMessage], Field(discriminator="role")]
