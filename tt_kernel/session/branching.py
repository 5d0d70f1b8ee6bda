"""Another run from a turn of a stored one on (issue 6.5): what was before the turn replays, one thing is changed, the rest is new.

A branch is the stored run's request with edits. Each edit belongs to a turn and is applied right before that turn's request,
live and on replay alike; so a branch is recorded and replayed like any other run.
"""

from collections.abc import Sequence
from dataclasses import replace

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import digest
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.ids import Digest
from tt_kernel.domain.ports import Caller
from tt_kernel.domain.runs import Branch, RecordMode, Run, RunRecord, RunRequest, TurnEdit
from tt_kernel.providers.names import describe_model
from tt_kernel.providers.recorded import RecordedProvider
from tt_kernel.runtime.invocation import Invocation
from tt_kernel.session.models import live_model
from tt_kernel.session.prepared import PreparedRun, Shared
from tt_kernel.session.settings import with_settings
from tt_kernel.store.secrets import Scrubber
from tt_kernel.store.tape import Asked, Tape

LATE_FIELDS = ("sampling.", "limits.")
"""Profile fields that can change in the middle of a conversation; any other decides it from its start."""


def branched(
    record: RunRecord, run: Run, edit: TurnEdit, prompt: str | None, mode: RecordMode, scrubber: Scrubber
) -> RunRequest:
    """The request of a branch.

    Args:
        record: Of the run to branch from.
        run: The same run, with its calls.
        edit: What is changed, and at which turn: the requests before it are asked as they were.
        prompt: Another prompt; at turn 1 only.
        mode: As of any run.
        scrubber: Takes secrets out of the texts.

    Raises:
        UsageProblem: No such turn or call, or something that cannot change at that turn.
    """
    _check(record, run, edit, prompt)
    edit = edit.model_copy(
        update={
            "message": scrubber.text(edit.message) if edit.message is not None else None,
            "results": {number: scrubber.text(text) for number, text in edit.results.items()},
        }
    )
    first = edit.turn == 1
    before = record.branch.edits if record.branch else ()
    edits = tuple(known for known in before if known.turn < edit.turn)
    model = edit.model if first and edit.model else record.model
    return record.request(
        prompt=scrubber.text(prompt) if prompt is not None else record.prompt,
        profile=with_settings(record.profile, edit.settings) if first else record.profile,
        model=model,
        connection=record.connection if model == record.model else None,
        branch=Branch(of=record.id, turn=edit.turn, edits=edits if first else (*edits, edit)),
        mode=mode,
    )


def _check(record: RunRecord, run: Run, edit: TurnEdit, prompt: str | None) -> None:
    if record.revises is not None:
        raise UsageProblem(message=f"Run {record.id} revises another run; branch from that one: {record.revises}.")
    last = max((call.call.turn for call in run.tool_calls), default=0) + 1
    if not 1 <= edit.turn <= last:
        raise UsageProblem(message=f"Run {record.id} can be branched at the turns 1 to {last}, not at {edit.turn}.")
    if edit.turn == 1:
        if edit.message is not None or edit.results:
            raise UsageProblem(message="Before turn 1 there is only the prompt: change it with --prompt.")
        return
    if prompt is not None:
        raise UsageProblem(message="The prompt is the start of the conversation: branch at turn 1 to change it.")
    late = [name for name in edit.settings if not name.startswith(LATE_FIELDS)]
    if late:
        raise UsageProblem(message=f"{late[0]} decides the conversation from its start: branch at turn 1 to change it.")
    with_settings(record.profile, edit.settings)
    calls = sorted(str(c.call.index + 1) for c in run.tool_calls if c.call.turn == edit.turn - 1)
    unknown = [number for number in edit.results if number not in calls]
    if unknown:
        there = f"it has the calls {', '.join(calls)}" if calls else "it has no calls"
        raise UsageProblem(message=f"Turn {edit.turn - 1} has no call {unknown[0]}; {there}.")


def branch_key(request: RunRequest, parent: RunRecord) -> Digest:
    """The run key of a branch: what it branches from and what is changed. The same edit again is the same run."""
    assert request.branch is not None
    return digest(
        {
            "branch": parent.key,
            "turn": request.branch.turn,
            "prompt": request.prompt,
            "profile": request.profile.model_dump(mode="json"),
            "model": request.model,
            "edits": [edit.model_dump(mode="json") for edit in request.branch.edits],
        }
    )


def apply_edits(invocation: Invocation, shared: Shared, prepared: PreparedRun, tape: Tape) -> None:
    """Make the invocation of a branch change what is to be changed, at its turns. Nothing to do for other runs."""
    branch = prepared.request.branch
    if branch is None or not branch.edits:
        return
    edits = {edit.turn: edit for edit in branch.edits}
    take = invocation.plan.take_guidance

    def before_turn() -> list[str]:
        texts = take()
        edit = edits.get(invocation.meter.number + 1)
        if edit is None:
            return texts
        _switch(invocation, shared, prepared, tape, edit)
        return [*texts, edit.message] if edit.message is not None else texts

    invocation.plan = replace(invocation.plan, take_guidance=before_turn)
    invocation.dispatcher.caller = _counterfactual(invocation.dispatcher.caller, branch.edits)


def _counterfactual(inner: Caller, edits: Sequence[TurnEdit]) -> Caller:
    """Calls happen (or replay) as they did, so that their files are there; the model is told something else."""
    told = {(edit.turn - 1, int(number)): text for edit in edits for number, text in edit.results.items()}

    async def call(request: ToolCall) -> ToolResult:
        result = await inner(request)
        text = told.get((request.turn, request.index + 1))
        if text is None:
            return result
        changes = {
            "content": text,
            "structured": None,
            "is_error": False,
            "error_code": None,
            "images": (),
            "files": (),
        }
        return result.model_copy(update=changes)

    return call


def _switch(invocation: Invocation, shared: Shared, prepared: PreparedRun, tape: Tape, edit: TurnEdit) -> None:
    """Other settings, limits or another model from here on."""
    request = prepared.request
    if not edit.settings and edit.model is None:
        return
    profile = with_settings(request.profile, edit.settings)
    name, identity = request.model, prepared.facts.identity
    if edit.model is not None:
        facts = describe_model(edit.model, base_dir=shared.base_dir, prompt=request.prompt)
        name, identity = edit.model, facts.identity
        other = request.model_copy(update={"model": edit.model, "connection": None, "profile": profile})
        provider = invocation.provider
        assert isinstance(provider, RecordedProvider), "every invocation has one"
        provider.switch(
            name,
            identity,
            lambda: live_model(
                other, base_dir=shared.base_dir, connections=shared.connections, circuits=shared.circuits
            ),
        )
    invocation.plan = replace(invocation.plan, sampling=profile.sampling)
    invocation.meter.limits = profile.limits
    tape.switch(Asked(name, identity, profile.sampling, tape.asked.tools))
