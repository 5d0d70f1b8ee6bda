"""Another run from a turn of a stored one on (issue 6.5): what was before the turn replays, one thing is changed, the rest is new.

A branch is the stored run's request with edits. Each edit belongs to a turn and is applied right before that turn's request,
live and on replay alike; so a branch is recorded and replayed like any other run.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import Json, digest
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.ids import Digest
from tt_kernel.domain.ports import Caller
from tt_kernel.domain.profiles import Permissions
from tt_kernel.domain.runs import Branch, RecordMode, Run, RunRecord, RunRequest, TurnEdit
from tt_kernel.domain.turns import ModelChunk, ModelReply, ModelRequest, TextChunk
from tt_kernel.providers.names import describe_model
from tt_kernel.providers.recorded import RecordedProvider
from tt_kernel.runtime.invocation import Invocation
from tt_kernel.session.models import live_model
from tt_kernel.session.prepared import PreparedRun, Shared
from tt_kernel.session.settings import with_settings
from tt_kernel.store.secrets import Scrubber
from tt_kernel.store.tape import Asked, Tape

LATE_FIELDS = ("sampling.", "limits.", "permissions.", "run.model_retry", "run.modelRetry", "run.stream")
"""Profile fields that can change in the middle of a conversation."""
_FROZEN = ("tools.", "workspace.", "skills.", "delegation.", "output.", "run.", "plan.")


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
            "reply": scrubber.text(edit.reply) if edit.reply is not None else None,
            "calls": {number: scrubber.json(arguments) for number, arguments in edit.calls.items()},
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
        revises=record.revises,
        branch=Branch(of=record.id, turn=edit.turn, edits=edits if first else (*edits, edit)),
        mode=mode,
    )


def _check(record: RunRecord, run: Run, edit: TurnEdit, prompt: str | None) -> None:
    last = max((call.call.turn for call in run.tool_calls), default=0) + 1
    if not 1 <= edit.turn <= last:
        raise UsageProblem(message=f"Run {record.id} can be branched at the turns 1 to {last}, not at {edit.turn}.")
    if edit.turn == 1:
        if edit.message is not None or edit.reply is not None or edit.results or edit.calls:
            raise UsageProblem(message="Before turn 1 there is only the prompt: change it with --prompt.")
        if record.revises is None:
            return
    elif prompt is not None:
        raise UsageProblem(message="The prompt is the start of the conversation: branch at turn 1 to change it.")
    late = [name for name in edit.settings if not name.startswith(LATE_FIELDS)]
    if late:
        raise UsageProblem(message=_too_late(late[0], record))
    with_settings(record.profile, edit.settings)
    calls = sorted(str(c.call.index + 1) for c in run.tool_calls if c.call.turn == edit.turn - 1)
    unknown = [number for number in (*edit.results, *edit.calls) if number not in calls]
    if unknown:
        there = f"it has the calls {', '.join(calls)}" if calls else "it has no calls"
        raise UsageProblem(message=f"Turn {edit.turn - 1} has no call {unknown[0]}; {there}.")


def _too_late(field: str, record: RunRecord) -> str:
    """Why what was before the turn could not stay as it was."""
    why = (
        "the tools and folders of a run are frozen when it starts"
        if field.startswith(_FROZEN)
        else ("it is in the first message, and every reply before that turn is an answer to it")
    )
    if record.revises is not None:
        return f"{field} was decided by run {record.revises}, which this one revises: {why}. Branch from that one to change it."
    return f"{field} cannot change in the middle of a conversation: {why}. Branch at turn 1 to change it."


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
            "edits": [edit.model_dump(mode="json", exclude_defaults=True) for edit in request.branch.edits],
        }
    )


def apply_edits(
    invocation: Invocation,
    shared: Shared,
    prepared: PreparedRun,
    tape: Tape,
    permit: Callable[[Permissions], None],
) -> None:
    """Make the invocation of a branch change what is to be changed, at its turns. Nothing to do for other runs.

    Args:
        permit: Sets what the run's profile says of permissions.
    """
    branch = prepared.request.branch
    if branch is None or not branch.edits:
        return
    edits = {edit.turn: edit for edit in branch.edits}
    take, provider = invocation.plan.take_guidance, invocation.provider
    assert isinstance(provider, RecordedProvider), "every invocation has one"

    def before_turn() -> list[str]:
        texts = take()
        edit = edits.get(invocation.meter.number + 1)
        if edit is None:
            return texts
        if any(name.startswith("permissions.") for name in edit.settings):
            permit(with_settings(prepared.request.profile, edit.settings).permissions)
        _switch(invocation, provider, shared, prepared, tape, edit)
        return [*texts, edit.message] if edit.message is not None else texts

    invocation.plan = replace(invocation.plan, take_guidance=before_turn)
    if any(edit.reply is not None or edit.calls for edit in branch.edits):
        invocation.provider = Rewriting(
            provider, lambda reply: _rewritten(reply, edits.get(invocation.meter.number + 2))
        )
    invocation.dispatcher.caller = _counterfactual(invocation.dispatcher.caller, branch.edits)


def _rewritten(reply: ModelReply, edit: TurnEdit | None) -> ModelReply:
    """A reply as the edit before the turn after it has it. What the service gave with it belongs to the other text."""
    if edit is None or (edit.reply is None and not edit.calls):
        return reply
    said = reply.message
    calls = tuple(
        call.model_copy(update={"arguments": ToolArguments(value=edit.calls[number])}) if number in edit.calls else call
        for number, call in ((str(n), call) for n, call in enumerate(said.calls, start=1))
    )
    text = said.text if edit.reply is None else edit.reply
    message = said.model_copy(update={"text": text, "reasoning": "", "calls": calls, "native": None})
    return reply.model_copy(update={"message": message})


class Rewriting:
    """A provider some of whose replies are other ones. What it records are the model's own."""

    def __init__(self, inner: RecordedProvider, rewrite: Callable[[ModelReply], ModelReply]) -> None:
        self._inner, self._rewrite = inner, rewrite
        self.accepts_images = inner.accepts_images

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def identity(self) -> Json:
        return self._inner.identity

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """Raises what the inner one raises. Pieces are held back: the text is known to be the model's only in the end."""
        async for chunk in self._inner.stream(request):
            if isinstance(chunk, ModelReply):
                reply = self._rewrite(chunk)
                if reply.message.text:
                    yield TextChunk(text=reply.message.text)
                yield reply

    async def aclose(self) -> None:
        await self._inner.aclose()


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


def _switch(
    invocation: Invocation,
    provider: RecordedProvider,
    shared: Shared,
    prepared: PreparedRun,
    tape: Tape,
    edit: TurnEdit,
) -> None:
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
        provider.switch(
            name,
            identity,
            lambda: live_model(
                other, base_dir=shared.base_dir, connections=shared.connections, circuits=shared.circuits
            ),
        )
    retry = invocation.plan.retry if request.mode == "replay" else profile.run.model_retry
    invocation.plan = replace(invocation.plan, sampling=profile.sampling, retry=retry, stream=profile.run.stream)
    invocation.meter.limits = profile.limits
    tape.switch(Asked(name, identity, profile.sampling, tape.asked.tools))
