"""The borders that have more than one implementation today."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Literal, Protocol

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import Json
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.domain.turns import ModelChunk, ModelRequest

Caller = Callable[[ToolCall], Awaitable[ToolResult]]
"""How any call is executed. Every policy is a wrapper: Caller -> Caller."""


class Provider(Protocol):
    """A model service. Used from one event loop only."""

    @property
    def name(self) -> str:
        """`provider:model` as the user wrote it."""

    @property
    def identity(self) -> Json:
        """What else decides the answers and so belongs in a request's digest: base URL, script digest ... Never a secret."""

    @property
    def accepts_images(self) -> bool: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Yield chunks, the ModelReply last. Raises ProviderError; retries are not its business."""

    async def aclose(self) -> None: ...


class ApprovalRequest(Frozen):
    """A question to a person: may this call run? `rule` is the permission rule that asks; `diff` a unified diff if any."""

    call: ToolCall
    spec: ToolSpec
    rule: str
    summary: str
    diff: str | None = None
    timeout_seconds: float = 180.0


class ApprovalAnswer(Frozen):
    """`edit` carries changed arguments; `allow_run` allows the tool for the rest of the run (same argument pattern)."""

    decision: Literal["approve", "deny", "edit", "allow_run"]
    reason: str = ""
    arguments: Json = None
    by: str = "user"


class Approver(Protocol):
    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Must answer within the request's time-out; no answer is a denial."""
