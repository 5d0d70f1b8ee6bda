"""Going on with a stopped run, and every reason not to: spec tauritavern §10.5."""

from collections.abc import Sequence

from tt_kernel.domain.errors import NotFound, StorageFault, UsageProblem
from tt_kernel.domain.events import CallEnded, CallRequested, CallStarted, CommitCompleted, Envelope, Event
from tt_kernel.domain.runs import RunRecord
from tt_kernel.domain.specs import RE_EXECUTED, Snapshot
from tt_kernel.session.prepared import Resumption
from tt_kernel.store.atomic import read_json
from tt_kernel.store.journal import read_journal
from tt_kernel.store.layout import RunLayout
from tt_kernel.store.run_checkpoints import RunCheckpoints


def resumption_of(
    record: RunRecord, layout: RunLayout, snapshot: Snapshot, notebook: str | None, guidance: str | None
) -> Resumption:
    """What is needed to go on.

    Raises:
        UsageProblem: `agent.resume_run_active`, `agent.resume_completed`, `agent.resume_other_notebook`,
            `agent.resume_checkpoint_missing`, `agent.resume_checkpoint_mismatch`, `agent.resume_blocked`.
    """
    if record.status == "running":
        raise _refused("run_active", f"Run {record.id} is still going on.")
    if record.status == "completed":
        raise _refused(
            "completed", f"Run {record.id} is completed; it can only be revised: %agent fix {record.id} REQUEST."
        )
    if record.notebook is not None and notebook is not None and record.notebook != notebook:
        raise _refused("other_notebook", f"Run {record.id} belongs to {record.notebook}, not to {notebook}.")
    envelopes = read_journal(layout.events)
    if not envelopes:
        raise _refused("checkpoint_missing", f"Run {record.id} has no journal to go on from; run its cell again.")
    checkpoint, read_states = _checkpoint(record, layout, envelopes)
    blocked = blocking_call([envelope.event for envelope in envelopes], snapshot)
    if blocked is not None:
        raise _refused("blocked", f"Run {record.id} cannot go on: {blocked}")
    commits = [envelope.event for envelope in envelopes if isinstance(envelope.event, CommitCompleted)]
    return Resumption(
        record=record,
        events=tuple(envelope.event for envelope in envelopes),
        last_seq=envelopes[-1].seq,
        checkpoint=checkpoint,
        commits=len(commits),
        published=commits[-1].text if commits else None,
        read_states=read_states,
        guidance=guidance,
    )


def _checkpoint(record: RunRecord, layout: RunLayout, envelopes: Sequence[Envelope]) -> tuple[str, dict[str, object]]:
    """The newest checkpoint, if it is of this run and not newer than the journal. A killed run may have none yet."""
    try:
        latest = RunCheckpoints(layout).latest()
    except NotFound as error:
        raise _refused("checkpoint_mismatch", error.message) from error
    if latest is None:
        return "", {}
    if latest.run != record.id or latest.terminal_seq > envelopes[-1].seq:
        raise _refused(
            "checkpoint_mismatch",
            f"Checkpoint {latest.id} is of event {latest.terminal_seq} of run {latest.run}, "
            f"but the journal of run {record.id} ends with event {envelopes[-1].seq}.",
        )
    if latest.progress.blocked_reason is not None:
        raise _refused("blocked", f"Run {record.id} cannot go on: {latest.progress.blocked_reason}")
    return latest.id, dict(latest.progress.read_states)


def blocking_call(events: Sequence[Event], snapshot: Snapshot) -> str | None:
    """A call that had started and has no confirmed result, in words; None when there is none.

    A call that was stopped by the user counts where it may have changed something outside the run.
    """
    specs = {binding.spec.id: binding.spec for binding in snapshot.bindings}
    names = {str(event.call.id): event.call for event in events if isinstance(event, CallRequested)}
    started: dict[str, CallStarted] = {}
    for event in events:
        if isinstance(event, CallStarted):
            started[event.call_id] = event
        elif isinstance(event, CallEnded):
            spec = specs.get(event.tool_id)
            external = spec is None or (spec.effect not in RE_EXECUTED and not spec.read_only)
            if not (external and event.result.error_code == "agent.tool_interrupted"):
                started.pop(event.call_id, None)
    if not started:
        return None
    call = names[next(iter(started))]
    return (
        f"{call.name} (turn {call.turn}) had started and has no confirmed result. "
        "Look at what it did, then start a new run with --continue."
    )


def stored_snapshot(layout: RunLayout) -> Snapshot:
    """The tool set that a run had.

    Raises:
        NotFound: `agent.snapshot_missing`.
    """
    try:
        return Snapshot.model_validate(read_json(layout.input / "snapshot.json"))
    except (StorageFault, FileNotFoundError, ValueError) as error:
        raise NotFound(
            "agent.snapshot_missing", f"The tool set of run {layout.root.name} cannot be read: {error}"
        ) from error


def _refused(code: str, message: str) -> UsageProblem:
    return UsageProblem(f"agent.resume_{code}", message)


def of_a_cell(record: RunRecord) -> RunRecord:
    """The run itself: runs of sessions are neither resumed nor revised (spec tauritavern §10.7)."""
    if record.session is not None:
        raise UsageProblem(
            "agent.session_run", f"Run {record.id} belongs to session {record.session!r}: say there what is to change."
        )
    return record
