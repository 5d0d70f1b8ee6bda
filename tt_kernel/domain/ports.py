"""The borders that have more than one implementation today."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Literal, Protocol

from pydantic import Field

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import Json
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.questions import QuestionReply, QuestionRequest
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
    """A question to a person, whether a call may run.

    Attributes:
        rule: The permission rule that asks.
        summary: The call in a few lines.
        diff: A unified diff of what would change, if the call changes a file.
        timeout_seconds: No answer within so many seconds is a denial.
        scope: What `allow_run` allows besides this call, unless the answer says otherwise: argument -> glob of its text.
        run: The run's id.
    """

    call: ToolCall
    spec: ToolSpec
    rule: str
    summary: str
    diff: str | None = None
    timeout_seconds: float = 180.0
    scope: dict[str, str] = Field(default_factory=dict)
    run: str = ""


class ApprovalAnswer(Frozen):
    """`edit` carries changed arguments. `allow_run` allows calls of the tool whose arguments match `scope` for the rest of
    the run; None: the scope of the request; empty: all calls of the tool.
    """

    decision: Literal["approve", "deny", "edit", "allow_run"]
    reason: str = ""
    arguments: Json = None
    by: str = "user"
    scope: dict[str, str] | None = None


class Approver(Protocol):
    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Must answer within the request's time-out; no answer is a denial."""


class Asker(Protocol):
    async def ask(self, request: QuestionRequest) -> QuestionReply | None:
        """What the user says; None: nobody can answer here. Cancelled when the time is up."""
