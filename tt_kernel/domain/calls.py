"""What a tool call is, what its arguments may be, and what comes back."""

from typing import Annotated, Literal, Union

from pydantic import Field

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.canonical import Json
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.ids import CallId, InvocationId, ToolId


class ToolCall(Frozen):
    """One call of a turn, addressed to a bound tool.

    `turn` counts model requests of the invocation from 1, `index` the calls of that turn from 0.
    """

    id: CallId
    tool_id: ToolId
    name: str
    arguments: ToolArguments
    invocation_id: InvocationId
    turn: int
    index: int


class StoredFile(Frozen):
    """A file kept for a result. `path` is logical, below the run's roots (`tool-results/...`); sizes in bytes, pixels."""

    path: str
    mime_type: str
    sha256: str
    size: int
    width: int | None = None
    height: int | None = None


class FileChanged(Frozen):
    """The tool wrote a workspace file. `patch` tells an edit from a whole write."""

    kind: Literal["file_changed"] = "file_changed"
    path: str
    chars: int
    words: int
    sha256: str
    patch: bool = False


class Commit(Frozen):
    """Publish `text` (the content of `path`) as the answer of the calling cell; `append` adds to what is there."""

    kind: Literal["commit"] = "commit"
    path: str
    text: str
    mode: Literal["replace", "append"]
    reason: str | None = None


class Finish(Frozen):
    """End the invocation successfully, if admission allows it."""

    kind: Literal["finish"] = "finish"
    reason: str | None = None


ToolEffect = Annotated[Union[FileChanged, Commit, Finish], Field(discriminator="kind")]
"""What the runtime must do for a tool: tools state it, the runtime performs and journals it."""


class ToolResult(Frozen):
    """What a call came to.

    The model sees `content` and `images`, with a clear mark when `is_error`. `structured` and `details` are for records and
    user interfaces only. `files` were stored but are not shown to the model as images.
    """

    call_id: CallId
    tool_id: ToolId
    content: str
    structured: Json = None
    details: Json = None
    is_error: bool = False
    error_code: str | None = None
    resource_refs: tuple[str, ...] = ()
    images: tuple[StoredFile, ...] = ()
    files: tuple[StoredFile, ...] = ()
    effects: tuple[ToolEffect, ...] = ()

    @classmethod
    def error(cls, call: ToolCall, code: str, message: str, **more: Json) -> "ToolResult":
        """The recoverable error result of spec tauritavern §4."""
        structured = {"error": {"code": code, "message": message}, **more}
        return cls(
            call_id=call.id,
            tool_id=call.tool_id,
            content=message,
            structured=structured,
            is_error=True,
            error_code=code,
        )
