"""The policies around every call of a run, as one list whose order is the meaning (DESIGN §5, §7)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from tt_kernel.domain.calls import StoredFile, ToolCall, ToolResult
from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ReplayMiss
from tt_kernel.domain.events import ApprovalDecided, ApprovalRequested, CallDrifted, Event
from tt_kernel.domain.ids import builtin
from tt_kernel.domain.ports import ApprovalAnswer, ApprovalRequest, Approver, Caller
from tt_kernel.domain.profiles import Permissions, Profile
from tt_kernel.domain.runs import RecordMode
from tt_kernel.domain.specs import Snapshot, ToolSpec
from tt_kernel.runtime.progress import Progress, admitted
from tt_kernel.session.ledger import Ledger
from tt_kernel.session.toolbox import Bound
from tt_kernel.store.results import ResultStore
from tt_kernel.store.secrets import Scrubber
from tt_kernel.toolkit.approval import approved, in_time, scope_of, scope_text
from tt_kernel.toolkit.breaker import Breaker
from tt_kernel.toolkit.long_results import bounded
from tt_kernel.toolkit.permissions import Decision, PermissionEngine, answer_seconds
from tt_kernel.toolkit.pipeline import DENIED, Wrapper, dispatching, permitted, stacked, validated
from tt_kernel.toolkit.planning import Planning
from tt_kernel.toolkit.replayed import Replayed
from tt_kernel.toolkit.truncation import complete
from tt_kernel.tools.processes import PAGED, keeps_output
from tt_kernel.tools.project import ProjectDesk, judged_arguments, preview
from tt_kernel.tools.shell import ShellDesk

_EXTERNAL = frozenset({"external", "host"})
_MEANT_TO_BE_REPEATED = frozenset({builtin("dice.roll"), builtin("ProcessWait")})


@dataclass
class Policies:
    """`caller` is the whole stack for one run. `notes` receives the events that policies make while a call runs."""

    profile: Profile
    snapshot: Snapshot
    mode: RecordMode
    ledger: Ledger
    results: ResultStore
    scrubber: Scrubber
    progress: Progress
    notes: list[Event]
    documents: Sequence[Permissions]
    approver: Approver | None
    interactive: bool
    planning: Planning | None = None

    def __post_init__(self) -> None:
        self._project: ProjectDesk
        self._specs = {binding.spec.id: binding.spec for binding in self.snapshot.bindings}
        self.breaker = Breaker(self.spec_of, exempt=lambda call: call.tool_id in _MEANT_TO_BE_REPEATED)
        self.permit(self.profile.permissions)
        self._answer_seconds = answer_seconds([self.profile.permissions, *self.documents])

    def permit(self, permissions: Permissions) -> None:
        """From here on this is what the run's profile says, before the notebook's and the user's documents."""
        self._engine = PermissionEngine([permissions, *self.documents], self.interactive and self.approver is not None)

    def caller(self, bound: Bound) -> Caller:
        tools, self._project = bound.tools, bound.project
        return stacked(
            dispatching(tools),
            [
                # Outside of what records: a command that was interrupted is never replayed as if it had been run.
                self._scrubbed,
                keeps_partial(bound.shell),
                keeps_output(bound.processes),
                self.breaker,
                complete,
                *([self.planning.guard(self.spec_of)] if self.planning else []),
                validated(tools),
                permitted(self._decide, self.spec_of),
                Replayed(
                    spec_of=self.spec_of,
                    mode=self.mode,
                    find=self._find,
                    keep=self._keep,
                    before_live=self.ledger.go_live,
                    drifted=self._drifted,
                ),
                approved(
                    self._ask,
                    self._decide,
                    self.spec_of,
                    window=self._answer_seconds,
                    preview=lambda call: preview(bound.project, call),
                    is_answered=lambda call: self._answer(call) is not None,
                ),
                admitted(self.progress, commit_name=self._commit_needed()),
                bounded(
                    self.results.save_file,
                    self.snapshot.call_name,
                    limit=self.profile.tools.external_result_inline_char_limit,
                    applies=lambda call: (
                        self.spec_of(call).effect in _EXTERNAL
                        and (bound.processes.synchronous or call.tool_id not in PAGED)
                    ),
                ),
                self._scrubbed,
            ],
        )

    def _decide(self, spec: ToolSpec, name: str, arguments: JsonObject) -> Decision:
        """By the place that a path really means: no spelling and no link goes round a rule."""
        return self._engine.decide(spec, name, judged_arguments(self._project, spec.id, arguments))

    def spec_of(self, call: ToolCall) -> ToolSpec:
        return self._specs[call.tool_id]

    def _commit_needed(self) -> str | None:
        """The commit tool, where a foreground run must have published something before it may finish."""
        if self.profile.run.presentation != "foreground":
            return None
        return self.snapshot.call_name(builtin("workspace.commit"))

    def _find(self, call: ToolCall, spec: ToolSpec) -> ToolResult | None:
        result = self.ledger.tape.find_result(call, spec.version)
        if result is None:
            return None
        if result.error_code == DENIED:
            now = self._decide(spec, call.name, call.arguments.for_model).decision
            if self.mode == "replay" and now == "allow":
                raise ReplayMiss(
                    message=f"{call.name} (turn {call.turn}, call {call.index + 1}) was refused when it was recorded, and the "
                    "permission rules allow it now.",
                    kind="permission",
                )
            if self.mode != "replay" and now != "deny":
                return None  # somebody can be asked now, or the rules have changed: what was refused may be done
        for file in (*result.images, *result.files):
            self._restore(file)
        return result

    def _restore(self, file: StoredFile) -> None:
        data = self.ledger.tape.read_blob(file.sha256)
        if data is not None:
            self.results.restore(file, data)

    def _keep(self, call: ToolCall, spec: ToolSpec, result: ToolResult) -> None:
        for file in (*result.images, *result.files):
            self.ledger.tape.save_blob(file, self.results.read(file.path))
        self.ledger.tape.record_result(call, spec.version, result)

    def _drifted(self, call: ToolCall, difference: str) -> None:
        event = CallDrifted(call_id=call.id, tool_id=call.tool_id, difference=difference)
        self.notes.append(self.ledger.write(event))

    def _answer(self, call: ToolCall) -> ApprovalAnswer | None:
        """What a person answered when the run was recorded."""
        return self.ledger.tape.find_decision(call) if self.mode in ("auto", "replay") else None

    async def _ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        """The recorded answer, or a person's."""
        tape, answer = self.ledger.tape, self._answer(request.call)
        if answer is None:
            if self.mode == "replay":
                raise ReplayMiss(message=f"No answer is recorded for the approval of {request.call.name}.")
            assert self.approver is not None, "decide() gives ask only where somebody can answer"
            self.ledger.go_live()
            question = ApprovalRequested(call_id=request.call.id, rule=request.rule, summary=request.summary)
            self.notes.append(self.ledger.write(question))
            answer = await in_time(self.approver)(request.model_copy(update={"run": self.ledger.shown_id}))
            tape.record_decision(request.call, answer)
        scope = scope_text(request.call.name, scope_of(request, answer)) if answer.decision == "allow_run" else ""
        decided = ApprovalDecided(
            call_id=request.call.id, decision=answer.decision, reason=answer.reason, by=answer.by, scope=scope
        )
        self.notes.append(self.ledger.write(decided))
        return answer

    def _scrubbed(self, inner: Caller) -> Caller:
        """Take secrets out of results before the model sees them, so that what is stored is what was sent."""

        async def call(request: ToolCall) -> ToolResult:
            result = await inner(request)
            content = self.scrubber.text(result.content)
            structured = self.scrubber.json(result.structured)
            if content == result.content and structured == result.structured:
                return result
            return result.model_copy(update={"content": content, "structured": structured})

        return call


def keeps_partial(shell: ShellDesk) -> Wrapper:
    """A cancelled shell call ends as `workspace.shell_cancelled` with the output so far (spec tauritavern §6).

    The run is still cancelled: the dispatcher looks at its task after the call.
    """

    def wrap(inner: Caller) -> Caller:
        async def call(request: ToolCall) -> ToolResult:
            try:
                return await inner(request)
            except asyncio.CancelledError:
                if request.tool_id != builtin("workspace.shell"):
                    raise
                return ToolResult.error(request, "workspace.shell_cancelled", shell.partial)

        return call

    return wrap
