"""Everything that happens in a run, one frozen type each (spec tauritavern §10.2).

An event is written to the journal before anyone sees it. `Live*` events are a separate projection for display: they are
yielded but never journalled.
"""

from typing import Annotated, Literal, Union

from pydantic import Field, TypeAdapter

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import Json
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.ids import CallId, InvocationId, ToolId
from tt_kernel.domain.turns import ModelReply, Usage


class RunCreated(Frozen):
    type: Literal["run_created"] = "run_created"
    key: str
    model: str
    profile_id: str
    prompt: str
    continues: str | None = None


class RunCancelRequested(Frozen):
    type: Literal["run_cancel_requested"] = "run_cancel_requested"


class RunEnded(Frozen):
    """The last event of every run that was not killed. `text` is the answer as published."""

    type: Literal["run_completed", "run_partial_success", "run_failed", "run_cancelled", "run_limited"]
    code: str | None = None
    message: str | None = None
    retryable: bool = False
    text: str = ""
    usage: Usage = Usage()


class InvocationStarted(Frozen):
    type: Literal["agent_invocation_started"] = "agent_invocation_started"
    invocation_id: InvocationId
    kind: Literal["root", "subagent", "handoff", "revision"] = "root"
    profile_id: str
    model: str
    snapshot: str
    tools: tuple[str, ...]
    diagnostics: tuple[Json, ...] = ()


class ContextAssembled(Frozen):
    """Digests only: the messages are in `input/`."""

    type: Literal["context_assembled"] = "context_assembled"
    invocation_id: InvocationId
    messages: int
    prompt_digest: str


class InvocationEnded(Frozen):
    type: Literal["agent_invocation_completed", "agent_invocation_failed", "agent_invocation_cancelled"]
    invocation_id: InvocationId
    reason: str | None = None


class ModelRequested(Frozen):
    type: Literal["model_request_created"] = "model_request_created"
    invocation_id: InvocationId
    turn: int
    request_digest: str | None = None
    new_messages: int


class ModelAttemptFailed(Frozen):
    type: Literal["model_call_attempt_failed"] = "model_call_attempt_failed"
    invocation_id: InvocationId
    turn: int
    attempt: int
    code: str
    message: str


class ModelRetryScheduled(Frozen):
    type: Literal["model_call_retry_scheduled"] = "model_call_retry_scheduled"
    invocation_id: InvocationId
    turn: int
    attempt: int
    delay_ms: int


class ModelSwitched(Frozen):
    """Another model answers from here on; `code` and `message` are the fault that made it so (spec liveagent §18)."""

    type: Literal["model_switched"] = "model_switched"
    invocation_id: InvocationId
    turn: int
    from_model: str
    to_model: str
    code: str
    message: str


class HistoryCompacted(Frozen):
    """The conversation became shorter for the model (spec liveagent §19); this journal and `tool-results/` keep the rest.

    `pruned`: the tool results in these messages, counted from 0, were replaced by a mark. `summary`: the `count` messages from
    `start` on were replaced by one that says `text` and stands for `replies` replies. `failed`: nothing changed, `text` tells why.
    Tokens are estimates of the whole conversation. `usage` is what the summary cost, `replayed_usage` the part that was recorded.
    """

    type: Literal["history_compacted"] = "history_compacted"
    invocation_id: InvocationId
    turn: int
    method: Literal["pruned", "summary", "failed"]
    pruned: tuple[int, ...] = ()
    start: int = 0
    count: int = 0
    replies: int = 0
    text: str = ""
    level: int = 0
    tokens_before: int
    tokens_after: int
    usage: Usage = Usage()
    replayed_usage: Usage = Usage()


class ModelCompleted(Frozen):
    type: Literal["model_completed"] = "model_completed"
    invocation_id: InvocationId
    turn: int
    reply: ModelReply


class ModelStopped(Frozen):
    """A reply that was cut off by an interrupt or a fault: the text so far, kept as it was."""

    type: Literal["model_response_partial"] = "model_response_partial"
    invocation_id: InvocationId
    turn: int
    text: str


class DirectOutputCaptured(Frozen):
    type: Literal["direct_output_captured"] = "direct_output_captured"
    invocation_id: InvocationId
    path: str


class DriftRecoveryAttempted(Frozen):
    """`text` is the reminder that was added to the conversation."""

    type: Literal["drift_recovery_attempted"] = "drift_recovery_attempted"
    invocation_id: InvocationId
    attempt: int
    limit: int
    text: str


class GuidanceEvent(Frozen):
    """A person spoke to the running agent. `applied`: it is part of the conversation from the next request on."""

    type: Literal["user_guidance_submitted", "user_guidance_applied", "user_guidance_discarded"]
    invocation_id: InvocationId
    text: str


class CallRequested(Frozen):
    type: Literal["tool_call_requested"] = "tool_call_requested"
    call: ToolCall
    group: str = "other"
    arguments_ref: str
    snapshot: str


class CallStarted(Frozen):
    type: Literal["tool_call_started"] = "tool_call_started"
    call_id: CallId
    tool_id: ToolId


class CallEnded(Frozen):
    """`tool_call_failed` is a recoverable error result; `result_ref` names the stored full result."""

    type: Literal["tool_call_completed", "tool_call_failed"]
    call_id: CallId
    tool_id: ToolId
    result: ToolResult
    result_ref: str | None = None


class CallDrifted(Frozen):
    """Re-execution gave something else than the record; the recorded result was used (auto mode)."""

    type: Literal["tool_call_drifted"] = "tool_call_drifted"
    call_id: CallId
    tool_id: ToolId
    difference: str


class ApprovalRequested(Frozen):
    type: Literal["tool_approval_requested"] = "tool_approval_requested"
    call_id: CallId
    rule: str
    summary: str


class ApprovalDecided(Frozen):
    """`scope` tells what an answer "allow for this run" covers, as a permission rule would."""

    type: Literal["tool_approval_decided"] = "tool_approval_decided"
    call_id: CallId
    decision: str
    reason: str
    by: str
    scope: str = ""


class FileWritten(Frozen):
    type: Literal["workspace_file_written", "workspace_patch_applied"]
    call_id: CallId
    path: str
    chars: int
    words: int
    sha256: str


class CommitStarted(Frozen):
    type: Literal["chat_commit_started"] = "chat_commit_started"
    call_id: CallId
    path: str
    mode: Literal["replace", "append"]


class CommitCompleted(Frozen):
    """`text` is the whole published answer after this commit."""

    type: Literal["chat_commit_completed"] = "chat_commit_completed"
    call_id: CallId
    path: str
    number: int
    text: str


class AnswerDrafted(Frozen):
    """The answer as it stands before the first commit; `text` is the whole file. It is shown, and is no commit."""

    type: Literal["chat_progress_published"] = "chat_progress_published"
    path: str
    text: str


class CheckpointCreated(Frozen):
    type: Literal["checkpoint_created"] = "checkpoint_created"
    checkpoint: str
    reason: str


class RunResumed(Frozen):
    """The run goes on after event `after_seq`; `guidance` is what the user said to that."""

    type: Literal["run_resumed"] = "run_resumed"
    after_seq: int
    checkpoint: str
    guidance: str | None = None


class PersistProjected(Frozen):
    """The memory that the run begins with; None: it has none yet."""

    type: Literal["persistent_projection_initialized"] = "persistent_projection_initialized"
    state: str | None


class PersistChanged(Frozen):
    """`persistent_changes_failed` with code `agent.persist_conflict`: another run published from the same base meanwhile."""

    type: Literal["persistent_changes_committed", "persistent_changes_failed"]
    state: str | None
    base: str | None
    code: str | None = None
    message: str | None = None


class LiveText(Frozen):
    type: Literal["live_text"] = "live_text"
    invocation_id: InvocationId
    turn: int
    text: str


class LiveReasoning(Frozen):
    type: Literal["live_reasoning"] = "live_reasoning"
    invocation_id: InvocationId
    turn: int
    text: str


class LiveCall(Frozen):
    type: Literal["live_call"] = "live_call"
    invocation_id: InvocationId
    turn: int
    index: int
    name: str
    arguments: str


LIVE: frozenset[str] = frozenset({"live_text", "live_reasoning", "live_call"})
"""Event types that are yielded but never journalled."""

Event = Annotated[
    Union[
        RunCreated, RunCancelRequested, RunEnded, InvocationStarted, ContextAssembled, InvocationEnded,
        ModelRequested, ModelAttemptFailed, ModelRetryScheduled, ModelSwitched, ModelCompleted, ModelStopped, HistoryCompacted,
        DirectOutputCaptured, DriftRecoveryAttempted, GuidanceEvent,
        CallRequested, CallStarted, CallEnded, CallDrifted, ApprovalRequested, ApprovalDecided,
        FileWritten, CommitStarted, CommitCompleted,
        AnswerDrafted, CheckpointCreated, RunResumed, PersistProjected, PersistChanged,
        LiveText, LiveReasoning, LiveCall,
    ],
    Field(discriminator="type"),
]  # fmt: skip


class Envelope(Frozen):
    """One line of `events.jsonl`: spec tauritavern §10.1. `seq` counts from 1 without gaps."""

    seq: int
    run_id: str
    timestamp: str
    level: Literal["debug", "info", "warn", "error"] = "info"
    event: Event


ENVELOPE: TypeAdapter[Envelope] = TypeAdapter(Envelope)
