"""A run: what is asked for, what its folder says of it, and the object that users hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from tt_kernel.domain.calls import StoredFile, ToolCall, ToolResult
from tt_kernel.domain.canonical import Json, JsonObject
from tt_kernel.domain.connections import Connection
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.ids import Digest, RunId
from tt_kernel.domain.messages import Message
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.turns import Usage
from tt_kernel.domain.views import RunView

RunStatus = Literal["running", "completed", "partial_success", "cancelled", "failed", "interrupted", "limit"]
"""`interrupted`: stopped by the user, or the process ended without an end event. `limit`: a limit of the profile was reached."""

RecordMode = Literal["auto", "live", "replay", "off"]

TERMINAL: frozenset[str] = frozenset({"completed", "partial_success", "cancelled", "failed", "interrupted", "limit"})


class TurnEdit(Frozen):
    """What a branch changes before one of its turns.

    Attributes:
        turn: The first turn that is asked with the change, from 1.
        message: What the user says before it.
        reply: What the model said in the turn before, instead of the text of its reply; its calls stay.
        calls: Number of a call of the turn before (from 1) -> the arguments that it is made with instead.
        results: Number of a call of the turn before (from 1) -> what the model is told instead of its result.
        settings: Dotted profile fields, and their values from here on.
        model: The model from here on.
    """

    turn: int
    message: str | None = None
    reply: str | None = None
    calls: dict[str, JsonObject] = Field(default_factory=dict)
    results: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, Json] = Field(default_factory=dict)
    model: str | None = None


class Branch(Frozen):
    """Where a run comes from: it is run `of` until its turn `turn`. `edits` are all that apply, those of `of` included."""

    of: RunId
    turn: int
    edits: tuple[TurnEdit, ...] = ()


class RunRequest(Frozen):
    """Everything that decides a run, resolved: no name is left to look up. The run key is computed from it.

    `prompt` is after interpolation. `attachments` are images interpolated into it, as content-addressed files.
    `connection` is how the profile's model is reached, as far as it decides the answers; a live request uses the user's own.
    `extra_tools` are tool ids or globs added by `-t`. `continue_from` is the run whose conversation goes on.
    `chat_digest` is that of the chat in the run's `input/`; None: the run looks at no chat.
    """

    prompt: str
    profile: Profile
    model: str
    connection: Connection | None = None
    attachments: tuple[StoredFile, ...] = ()
    extra_tools: tuple[str, ...] = ()
    continue_from: RunId | None = None
    revises: RunId | None = None
    session: str | None = None
    persist_base: str | None = None
    chat_digest: Digest | None = None
    branch: Branch | None = None
    mode: RecordMode = "auto"
    raw: bool = False


class RunProblem(Frozen):
    code: str
    message: str


class RunRecord(Frozen):
    """`run.json`. Written when the run starts and when it ends; in between the journal is the truth.

    Times are ISO 8601 UTC. `key` is the full run key; `slot` tells which of the runs with the same key this is.
    `replayed_usage` is the part of `usage` that came from recordings and cost nothing.
    """

    schema_version: Literal[1] = 1
    id: RunId
    key: Digest
    slot: int
    status: RunStatus
    profile: Profile
    model: str
    connection: Connection | None = None
    prompt: str
    attachments: tuple[StoredFile, ...] = ()
    extra_tools: tuple[str, ...] = ()
    continue_from: RunId | None = None
    revises: RunId | None = None
    session: str | None = None
    persist_base: str | None = None
    chat_digest: Digest | None = None
    branch: Branch | None = None
    mode: RecordMode
    seed: int
    started_at: str
    ended_at: str | None = None
    notebook: str | None = None
    problem: RunProblem | None = None
    usage: Usage = Usage()
    replayed_usage: Usage = Usage()
    turns: int = 0
    tool_calls: int = 0
    text: str = ""

    def request(self, **changes: Any) -> RunRequest:
        """What was asked of this run, with `changes`. How it was asked (mode, session, revision, raw) is the caller's to say."""
        return RunRequest(**({name: getattr(self, name) for name in _ASKED} | changes))


_ASKED = (
    "prompt", "profile", "model", "connection", "attachments", "extra_tools", "continue_from", "persist_base", "chat_digest",
    "branch",
)  # fmt: skip


@dataclass(frozen=True)
class CallRecord:
    """One executed call with its result (None: it never got one)."""

    call: ToolCall
    result: ToolResult | None


@dataclass(frozen=True)
class Run:
    """A finished (or stopped) run: the value of `%%agent`, `run()` and `arun()`.

    Attributes:
        id: Run id, also the name of its folder.
        status: `completed`, `partial_success`, `cancelled`, `failed` or `interrupted`.
        text: The answer: the last committed text, else the last reply.
        messages: The conversation, system prompt first.
        tool_calls: Every call with its result, in order.
        images: Paths of images attached to results.
        files: Paths of files the run wrote under its workspace roots.
        usage: Tokens (and cost, where the price is known) of all turns.
        folder: The run's folder next to the notebook. After a full replay: the folder of the recorded run.
        replayed: True when no model was called.
        view: The bounded picture that front ends draw.
        in_session: The session that the run is a turn of.
        persist_state: The memory state that the next run of the notebook begins with.
    """

    id: RunId
    status: RunStatus
    text: str
    messages: Sequence[Message]
    tool_calls: Sequence[CallRecord]
    images: Sequence[Path]
    files: Sequence[Path]
    usage: Usage
    folder: Path
    replayed: bool
    view: RunView
    problem: RunProblem | None = None
    persist_state: str | None = None
    in_session: str | None = None

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.status}: {len(self.tool_calls)} calls>"

    def diff(self, other: "Run") -> Any:
        """What differs in `other`: an object with .turns .calls .text .files .usage .is_same and .to_df() that shows itself.

        Args:
            other: Another run, of this notebook or any other.
        """
        return import_module("tt_kernel.experiments.diff").diff(self, other)  # by name: it is built from runs

    def to_openai_messages(self) -> list[dict[str, Any]]:
        """The conversation in the form of OpenAI's chat completions; images are data URLs."""
        messages: list[dict[str, Any]] = import_module("tt_kernel.experiments.openai_messages").to_openai_messages(self)
        return messages

    def to_pydantic_ai_messages(self) -> list[Any]:
        """The conversation as pydantic-ai's `ModelMessage`s, for its agents' `message_history`. Needs the extra `pydantic-ai`."""
        messages: list[Any] = import_module("tt_kernel.experiments.pydantic_ai_messages").to_pydantic_ai_messages(self)
        return messages

    def export_spans(self, tracer_provider: Any = None, *, content: bool | None = None) -> int:
        """Send the run to OpenTelemetry as spans with its recorded times; returns how many. Needs the extra `otel`.

        Args:
            tracer_provider: Where to; None: the process's own.
            content: Include prompts, answers, arguments and results; None: as OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says.
        """
        sent: int = import_module("tt_kernel.session.telemetry").export(self.folder, tracer_provider, content=content)
        return sent

    def to_df(self) -> Any:
        """A pandas DataFrame, one row a call: turn, tool, arguments, content, is_error, error_code, images."""
        import pandas as pd  # noqa: PLC0415  heavy, and optional

        rows = [
            {
                "turn": c.call.turn,
                "tool": str(c.call.tool_id),
                "name": c.call.name,
                "arguments": c.call.arguments.for_model,
                "content": c.result.content if c.result else None,
                "is_error": c.result.is_error if c.result else None,
                "error_code": c.result.error_code if c.result else None,
                "images": [image.path for image in c.result.images] if c.result else [],
            }
            for c in self.tool_calls
        ]
        columns = ["turn", "tool", "name", "arguments", "content", "is_error", "error_code", "images"]
        return pd.DataFrame(rows, columns=columns)
