"""The call policy that asks a person: DESIGN §10, spec liveagent §3.3."""

import asyncio
import glob
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import JsonObject, canonical_json
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.ports import ApprovalAnswer, ApprovalRequest, Approver, Caller
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.toolkit.declare import not_an_object
from tt_kernel.toolkit.permissions import ANSWER_SECONDS, Decision, arguments_match, spelled
from tt_kernel.toolkit.pipeline import Decide, SpecOf, Wrapper, denied
from tt_kernel.toolkit.schema import INVALID

Ask = Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]]
Preview = Callable[[ToolCall], Awaitable[str | None]]
"""The unified diff of what a call would change, if it changes a file."""

MAX_SUMMARY = 2000
"""Characters of the summary of a call."""
REFUSED = "tool.approval_denied"

_SUBJECTS = ("command", "path", "url")
"""Arguments that say what a call is about; where a call has one, the others may differ within "allow for this run"."""


@dataclass
class Grants:
    """What a person allowed for the rest of a run. A grant holds for the rule that asked, so a stricter rule still asks."""

    _given: list[tuple[ToolId, str, Mapping[str, str]]] = field(default_factory=list)

    def add(self, spec: ToolSpec, rule: str, scope: Mapping[str, str]) -> None:
        self._given.append((spec.id, rule, scope))

    def cover(self, spec: ToolSpec, rule: str, arguments: JsonObject) -> bool:
        return any(
            (tool, asked) == (spec.id, rule) and arguments_match(scope, arguments, allowing=True)
            for tool, asked, scope in self._given
        )


def approved(
    ask: Ask,
    decide: Decide,
    spec_of: SpecOf,
    *,
    window: float = ANSWER_SECONDS,
    preview: Preview | None = None,
    is_answered: Callable[[ToolCall], bool] = lambda _: False,
) -> Wrapper:
    """Ask before calls whose rule says so. One wrapper serves one run: it remembers "allow for this run".

    Args:
        ask: Gets an answer; must not take longer than the request's time-out (`in_time` sees to that).
        decide: `PermissionEngine.decide`.
        spec_of: The description of a call's tool.
        window: Seconds a person has to answer.
        preview: Makes the diff that is shown.
        is_answered: Whether `ask` knows the answer already, so that nobody need be there.
    """
    grants = Grants()

    def wrap(inner: Caller) -> Caller:
        async def call(request: ToolCall) -> ToolResult:
            spec = spec_of(request)
            decision = decide(spec, request.name, request.arguments.for_model)
            covered = grants.cover(spec, decision.rule, decision.arguments)
            if decision.decision == "deny" and not (decision.unattended and (covered or is_answered(request))):
                return denied(request, decision)
            if decision.decision == "allow" or covered:
                return await inner(request)
            question = await _question(request, spec, decision, window, preview)
            answer = await ask(question)
            match answer.decision:
                case "deny":
                    return _refused(request, answer)
                case "edit":
                    return await _with_edit(request, answer, inner, decide, spec)
                case "allow_run":
                    grants.add(spec, decision.rule, scope_of(question, answer))
            return await inner(request)

        return call

    return wrap


def scope_of(question: ApprovalRequest, answer: ApprovalAnswer) -> Mapping[str, str]:
    """What an answer "allow for this run" covers."""
    return question.scope if answer.scope is None else answer.scope


def scope_text(name: str, scope: Mapping[str, str]) -> str:
    """`Bash command=pytest -q`; the name alone means all calls of the tool."""
    return name + "".join(f" {argument}={pattern}" for argument, pattern in scope.items())


async def _question(
    call: ToolCall, spec: ToolSpec, decision: Decision, window: float, preview: Preview | None
) -> ApprovalRequest:
    return ApprovalRequest(
        call=call,
        spec=spec,
        rule=decision.rule,
        summary=call_summary(call.name, call.arguments.for_model),
        diff=await preview(call) if preview else None,
        timeout_seconds=window,
        scope=dict(decision.patterns) or _same_subject(decision.arguments),
    )


def _same_subject(arguments: JsonObject) -> dict[str, str]:
    """Calls about the same thing: approving one command approves no other (spec liveagent §22.22)."""
    subjects = {name: value for name, value in arguments.items() if name in _SUBJECTS} or arguments
    return {name: glob.escape(spelled(value)) for name, value in subjects.items()}


def in_time(approver: Approver) -> Ask:
    """An Ask that always answers in time and fails closed: no answer, or an approver that breaks, is a denial."""

    async def ask(request: ApprovalRequest) -> ApprovalAnswer:
        try:
            async with asyncio.timeout(request.timeout_seconds):
                return await approver.approve(request)
        except TimeoutError:
            reason = f"no answer within {request.timeout_seconds:g} s"
            return ApprovalAnswer(decision="deny", reason=reason, by="timeout")
        except Exception as error:  # noqa: BLE001  whatever broke, nothing may run unapproved
            reason = f"the question could not be asked ({type(error).__name__}: {error})"
            return ApprovalAnswer(decision="deny", reason=reason, by="failure")

    return ask


def call_summary(name: str, arguments: JsonObject) -> str:
    """A call for the person who decides: the name, then one argument a line, cut at MAX_SUMMARY characters."""
    lines = [name, *(f"{key}: {spelled(value)}" for key, value in arguments.items())]
    text = "\n".join(lines)
    return text if len(text) <= MAX_SUMMARY else text[: MAX_SUMMARY - 3] + "..."


def _refused(call: ToolCall, answer: ApprovalAnswer) -> ToolResult:
    if answer.by in ("timeout", "failure"):
        message = f"{call.name} was not run: {answer.reason}. Do not repeat this call."
    else:
        reason = f" Reason: {answer.reason.rstrip('.')}." if answer.reason else ""
        message = f"{call.name} was not run: the user refused it.{reason} Do not repeat this call."
    return ToolResult.error(call, REFUSED, message, by=answer.by)


async def _with_edit(
    call: ToolCall, answer: ApprovalAnswer, inner: Caller, decide: Decide, spec: ToolSpec
) -> ToolResult:
    """Call with the arguments that the person made; what the rules deny stays denied."""
    arguments = ToolArguments.decode(answer.arguments)
    if arguments.value is None:
        return ToolResult.error(call, INVALID, not_an_object(call.name, arguments))
    decision = decide(spec, call.name, arguments.value)
    if decision.decision == "deny" and not decision.unattended:  # a person said so, now or when it was recorded
        return denied(call, decision)
    result = await inner(call.model_copy(update={"arguments": arguments}))
    note = f"The user changed the arguments before this tool ran: {canonical_json(arguments.value)}"
    return result.model_copy(update={"content": f"{note}\n\n{result.content}"})
