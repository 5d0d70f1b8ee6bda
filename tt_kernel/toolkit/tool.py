"""A tool is its description and a caller; a tool function returns text or an Outcome."""

from collections.abc import Callable
from dataclasses import dataclass

from tt_kernel.domain.calls import StoredFile, ToolCall, ToolEffect, ToolResult
from tt_kernel.domain.canonical import Json
from tt_kernel.domain.ports import Caller
from tt_kernel.domain.specs import ToolSpec


@dataclass(frozen=True)
class Tool:
    """`check` raises ToolError when the arguments cannot be right: asked before permission and approval, so that nobody
    decides about a call that will be refused anyway. `call` checks again, since an approval may have edited them.
    """

    spec: ToolSpec
    call: Caller
    check: Callable[[ToolCall], None] = lambda _call: None


@dataclass(frozen=True)
class Outcome:
    """What a tool function has to say; identity is added by the declaration.

    `content` is for the model. `structured` and `details` are for records and user interfaces.
    An error that the model can mend is raised as ToolError; `error_code` here is for failures that still have content
    (a shell command with a non-zero exit).
    """

    content: str
    structured: Json = None
    details: Json = None
    error_code: str | None = None
    resource_refs: tuple[str, ...] = ()
    images: tuple[StoredFile, ...] = ()
    files: tuple[StoredFile, ...] = ()
    effects: tuple[ToolEffect, ...] = ()

    def to_result(self, call: ToolCall) -> ToolResult:
        return ToolResult(
            call_id=call.id,
            tool_id=call.tool_id,
            content=self.content,
            structured=self.structured,
            details=self.details,
            is_error=self.error_code is not None,
            error_code=self.error_code,
            resource_refs=self.resource_refs,
            images=self.images,
            files=self.files,
            effects=self.effects,
        )
