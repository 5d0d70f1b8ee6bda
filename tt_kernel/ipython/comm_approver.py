"""Who decides in a notebook: a front end that said hello (comms.py), else the cell's input field, else nobody."""

import contextlib

from pydantic import ValidationError

from tt_kernel.domain.canonical import Json, JsonObject
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ports import ApprovalAnswer, ApprovalRequest, Approver, Asker
from tt_kernel.domain.questions import QuestionReply, QuestionRequest
from tt_kernel.ipython.comms import FrontEnds, NoFrontEnd
from tt_kernel.runtime.foreground import Foreground
from tt_kernel.tools.questions import fitting

_APPROVAL_FIELDS = ("decision", "reason", "arguments", "scope")


class CommApprover:
    """Args:
    front_ends: Those that may answer.
    foreground: Tells whether the kernel's main thread is blocked.
    console: Who is asked where no front end can answer.
    """

    def __init__(self, front_ends: FrontEnds, foreground: Foreground, console: Approver) -> None:
        self._front_ends = front_ends
        self._foreground = foreground
        self._console = console

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        if self._front_ends.can_answer("approval", blocked=self._foreground.is_blocked):
            with contextlib.suppress(NoFrontEnd):
                return await self._front_ends.ask(
                    "approval", shown_approval(request), _decision, request.timeout_seconds
                )
        return await self._console.approve(request)


class CommAsker:
    """The same for questions of the agent."""

    def __init__(self, front_ends: FrontEnds, foreground: Foreground, console: Asker) -> None:
        self._front_ends = front_ends
        self._foreground = foreground
        self._console = console

    async def ask(self, request: QuestionRequest) -> QuestionReply | None:
        if self._front_ends.can_answer("question", blocked=self._foreground.is_blocked):
            with contextlib.suppress(NoFrontEnd):
                return await self._front_ends.ask(
                    "question", shown_question(request), lambda data: _reply(request, data), request.timeout_seconds
                )
        return await self._console.ask(request)


def shown_approval(request: ApprovalRequest) -> JsonObject:
    """The fields of `approval_requested`: everything that is decided about, nothing cut off."""
    call = request.call
    return {
        "run": request.run,
        "callId": call.id,
        "tool": str(call.tool_id),
        "name": call.name,
        "group": request.spec.group,
        "effect": request.spec.effect,
        "arguments": _sendable(call.arguments.for_model),
        "rawArguments": _sendable(call.arguments.raw),
        "rule": request.rule,
        "summary": _sendable(request.summary),
        "diff": _sendable(request.diff),
        "scope": _sendable(request.scope),
    }


def shown_question(request: QuestionRequest) -> JsonObject:
    """The fields of `question_asked`."""
    questions = [question.model_dump(mode="json") for question in request.questions]
    return {"run": request.run, "callId": request.call.id, "questions": _sendable(questions)}


def _decision(data: JsonObject) -> ApprovalAnswer:
    """Raises ValueError with a sentence for the front end."""
    try:
        answer = ApprovalAnswer.model_validate({name: data[name] for name in _APPROVAL_FIELDS if name in data})
    except ValidationError as error:
        raise ValueError(_first(error)) from None
    if answer.decision == "edit" and not isinstance(answer.arguments, dict):
        raise ValueError("arguments: edit needs the whole object of arguments")
    return answer


def _reply(request: QuestionRequest, data: JsonObject) -> QuestionReply:
    """Raises ValueError with a sentence for the front end."""
    try:
        return fitting(request, QuestionReply.model_validate({"replies": data.get("replies")}))
    except ValidationError as error:
        raise ValueError(_first(error)) from None
    except ToolError as error:
        raise ValueError(error.message) from None


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"


def _sendable(value: Json) -> Json:
    """Without lone surrogates, which no message can carry."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_sendable(item) for item in value]
    if isinstance(value, dict):
        return {_sendable(name): _sendable(item) for name, item in value.items()}
    return value
