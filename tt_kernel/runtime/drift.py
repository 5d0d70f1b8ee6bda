"""Recovery from protocol drift: a plain answer where a tool call was due (spec tauritavern §9.3)."""

from tt_kernel.domain.events import DriftRecoveryAttempted
from tt_kernel.domain.ids import InvocationId
from tt_kernel.toolkit.planning import MAX_NUDGES, Planning

DRIFT_LIMIT = 20


def reminder(
    invocation_id: InvocationId, attempt: int, *, saved_as: str | None, commit: str | None, finish: str
) -> DriftRecoveryAttempted:
    """The user-role message that leads the model back: where its text is and which tools end the run."""
    lines = [
        f"Your last message called no tool (reminder {attempt} of {DRIFT_LIMIT}). This run does not end with a plain answer."
    ]
    if saved_as:
        lines.append(f"Your text was saved as {saved_as}.")
    if commit:
        lines.append(f"Publish an answer with {commit}, then end the run with {finish}.")
    else:
        lines.append(f"End the run with {finish}.")
    return DriftRecoveryAttempted(invocation_id=invocation_id, attempt=attempt, limit=DRIFT_LIMIT, text=" ".join(lines))


def plan_reminder(invocation_id: InvocationId, planning: Planning) -> DriftRecoveryAttempted:
    """The user-role message that ends the research of plan mode (spec liveagent §16)."""
    return DriftRecoveryAttempted(
        invocation_id=invocation_id, attempt=planning.nudges, limit=MAX_NUDGES, text=planning.reminder
    )
