"""What became of a run whose writer is gone.

A writer holds its folder. A run that says `running` and whose folder nobody holds was cut off; its journal tells how
far it came.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import ValidationError

from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.events import (
    CallRequested,
    CommitCompleted,
    Envelope,
    Event,
    HistoryCompacted,
    ModelCompleted,
    ModelStopped,
    RunCreated,
    RunEnded,
)
from tt_kernel.domain.ids import Digest, RunId
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.runs import TERMINAL, RunProblem, RunRecord, RunStatus
from tt_kernel.domain.turns import Usage
from tt_kernel.store.journal import iso, read_journal
from tt_kernel.store.layout import RunLayout
from tt_kernel.store.locks import is_written

_ENDINGS: dict[str, RunStatus] = {
    "run_completed": "completed",
    "run_partial_success": "partial_success",
    "run_failed": "failed",
    "run_cancelled": "interrupted",
    "run_limited": "limit",
}
_CUT_OFF = RunProblem(
    code="agent.run_interrupted",
    message="The process ended before the run did. What it had done until then is kept.",
)
_NEVER_BEGAN = RunProblem(
    code="agent.run_interrupted",
    message="The process ended before the run began. Nothing of it is kept; the folder may be deleted.",
)


def settled(layout: RunLayout, record: RunRecord | None) -> RunRecord:
    """What is true of a run, given what `run.json` says of it (None: it cannot be read)."""
    if record is not None and record.status in TERMINAL:
        return record
    writing = is_written(layout.root)
    if record is not None and writing:
        return record
    envelopes = _journal(layout)
    known = record or _rebuilt(layout, envelopes)
    if writing:
        return known.model_copy(update={"status": "running", "problem": None})
    if record is None and not envelopes:
        return known
    return known.model_copy(update=_outcome(envelopes, problem=known.problem or _CUT_OFF))


def _journal(layout: RunLayout) -> list[Envelope]:
    try:
        return read_journal(layout.events)
    except StorageFault:
        return []  # one unreadable journal must not hide the other runs


def _outcome(envelopes: Sequence[Envelope], problem: RunProblem) -> dict[str, object]:
    """The fields of a record that a run fills in when it ends, as far as the journal knows them."""
    outcome: dict[str, object] = {"status": "interrupted", "problem": problem}
    if not envelopes:
        return outcome
    events = [envelope.event for envelope in envelopes]
    outcome |= {
        "ended_at": envelopes[-1].timestamp,
        "turns": sum(isinstance(event, ModelCompleted) for event in events),
        "tool_calls": sum(isinstance(event, CallRequested) for event in events),
        "text": _text(events),
        "usage": used(events)[0],
        "replayed_usage": used(events)[1],
    }
    for end in (event for event in events if isinstance(event, RunEnded)):
        failed = RunProblem(code=end.code, message=end.message or end.code) if end.code else None
        outcome |= {"status": _ENDINGS[end.type], "text": end.text, "usage": end.usage}
        outcome["problem"] = failed if problem == _CUT_OFF else problem
    return outcome


def _text(events: Sequence[Event]) -> str:
    """The last committed text, else the last thing the model said."""
    said = ""
    for event in reversed(events):
        if isinstance(event, CommitCompleted):
            return event.text
        if not said and isinstance(event, ModelStopped):
            said = event.text
        elif not said and isinstance(event, ModelCompleted):
            said = event.reply.message.text
    return said


def used(events: Sequence[Event]) -> tuple[Usage, Usage]:
    """What the events of a journal used, and the part of it that came from recordings."""
    total, replayed = Usage(), Usage()
    for event in events:
        if isinstance(event, ModelCompleted):
            total = total.plus(event.reply.usage)
            replayed = replayed.plus(event.reply.usage) if event.reply.recorded else replayed
        elif isinstance(event, HistoryCompacted):
            total, replayed = total.plus(event.usage), replayed.plus(event.replayed_usage)
    return total, replayed


def _rebuilt(layout: RunLayout, envelopes: Sequence[Envelope]) -> RunRecord:
    """A record for a folder whose `run.json` cannot be read. The journal does not know the profile's settings."""
    created = next((e.event for e in envelopes if isinstance(e.event, RunCreated)), None)
    never_began = not envelopes and not layout.run_json.exists()
    key, _, number = layout.root.name.partition(".")
    return RunRecord(
        id=RunId(layout.root.name),
        key=Digest(created.key if created else key),
        slot=int(number or 1),
        status="interrupted" if envelopes or never_began else "failed",
        profile=_placeholder(created.profile_id if created else "unknown"),
        model=created.model if created else "",
        prompt=created.prompt if created else "",
        continue_from=RunId(created.continues) if created and created.continues else None,
        mode="auto",
        seed=0,
        started_at=envelopes[0].timestamp if envelopes else _folder_time(layout),
        problem=_NEVER_BEGAN if never_began else _damage(envelopes),
    )


def _damage(envelopes: Sequence[Envelope]) -> RunProblem:
    if envelopes:
        rest = "What is shown comes from the journal; the profile's settings, the mode and the seed are lost."
    else:
        rest = "There is no journal either. Restore the folder from git, or delete it."
    return RunProblem(code="storage.record_damaged", message=f"run.json cannot be read. {rest}")


def _placeholder(profile_id: str) -> Profile:
    try:
        return Profile(id=profile_id, display_name=profile_id)
    except ValidationError:
        return Profile(id="unknown", display_name=profile_id)


def _folder_time(layout: RunLayout) -> str:
    try:
        seconds = layout.root.stat().st_mtime
    except OSError:
        seconds = 0.0
    return iso(datetime.fromtimestamp(seconds, UTC))
