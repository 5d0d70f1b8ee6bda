"""Who answers in a notebook without a front end of ours: a person through `input()`, or nobody."""

import json
from functools import partial
from typing import Any

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.canonical import JsonObject, canonical_json
from tt_kernel.domain.ports import ApprovalAnswer, ApprovalRequest
from tt_kernel.domain.questions import Question, QuestionReply, QuestionRequest, Reply
from tt_kernel.ipython.display import can_ask
from tt_kernel.runtime.foreground import Foreground
from tt_kernel.toolkit.approval import scope_text
from tt_kernel.tools.questions import MAX_OTHER_CHARS
from tt_kernel.widgets.wording import clean


class NotebookApprover:
    """Asks in the cell's own input field or in the terminal. Without one the answer is no, and says so.

    The default is no: an empty line, a time-out and an interrupt deny.
    """

    def __init__(self, shell: Any, foreground: Foreground) -> None:
        self._shell = shell
        self._foreground = foreground

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        if not can_ask(self._shell):
            return _nobody(request)
        question = question_text(request)
        try:
            text = await self._foreground.call(lambda: input(question), request.timeout_seconds)
        except TimeoutError:
            reason = f"no answer within {request.timeout_seconds:g} s"
            return ApprovalAnswer(decision="deny", reason=reason, by="timeout")
        except (EOFError, NotImplementedError):
            return _nobody(request)
        return answer_of(text)


def question_text(request: ApprovalRequest) -> str:
    """What will run, with all of its arguments and the diff; then the question."""
    lines = [f"{request.call.name} asks to run ({request.rule})", *_arguments(request.call)]
    if request.diff:
        lines += ["", request.diff.rstrip()]
    again = scope_text(request.call.name, request.scope)
    lines += [
        "",
        f"[y] this call   [a] in this run without asking: {again}   [t] in this run every {request.call.name}",
        "{...} run with these arguments instead   anything else: no, and that is the reason",
        "Allow? (default: no) ",
    ]
    return clean("\n".join(lines))  # no escape sequence of a model may rewrite the question


def answer_of(text: str) -> ApprovalAnswer:
    word = text.strip()
    match word.casefold():
        case "y" | "yes":
            return ApprovalAnswer(decision="approve")
        case "a" | "again":
            return ApprovalAnswer(decision="allow_run")
        case "t" | "tool":
            return ApprovalAnswer(decision="allow_run", scope={})
        case "" | "n" | "no":
            return ApprovalAnswer(decision="deny")
    arguments = _edited(word)
    if arguments is not None:
        return ApprovalAnswer(decision="edit", arguments=arguments)
    return ApprovalAnswer(decision="deny", reason=word)


def _edited(text: str) -> JsonObject | None:
    """New arguments; anything that is no JSON object is a reason."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _arguments(call: ToolCall) -> list[str]:
    """One line per argument, text as text. It is all shown: what is approved must have been seen."""
    lines = []
    for name, value in call.arguments.for_model.items():
        text = value if isinstance(value, str) else canonical_json(value)
        lines.append(f"  {name}: {text}" if "\n" not in text else f"  {name}:\n    " + text.replace("\n", "\n    "))
    return lines


def _nobody(request: ApprovalRequest) -> ApprovalAnswer:
    reason = f'rule "{request.rule}" asks, and nobody can answer here'
    return ApprovalAnswer(decision="deny", reason=reason, by="failure")


class NotebookAsker:
    """Questions of the agent, one input field each."""

    def __init__(self, shell: Any, foreground: Foreground) -> None:
        self._shell = shell
        self._foreground = foreground

    async def ask(self, request: QuestionRequest) -> QuestionReply | None:
        if not can_ask(self._shell):
            return None
        replies = []
        for number, question in enumerate(request.questions, 1):
            text = asked_text(question, number, len(request.questions))
            try:
                said = await self._foreground.call(partial(input, text), request.timeout_seconds)
            except (EOFError, NotImplementedError):
                return None
            replies.append(reply_of(question, said))
        return QuestionReply(replies=tuple(replies))


def asked_text(question: Question, number: int, count: int) -> str:
    """The question with its options, numbered from 1."""
    which = f" ({number} of {count})" if count > 1 else ""
    lines = [f"The agent asks{which}: {question.question}"]
    for place, option in enumerate(question.options, 1):
        mark = " (recommended)" if option.recommended else ""
        told = f"  {option.description}" if option.description else ""
        lines.append(f"  {place} {option.label}{mark}{told}")
    fallback = question.options[question.fallback].label
    lines.append(f"A number, or an answer in your own words (default: {fallback}) ")
    return clean("\n".join(lines))


def reply_of(question: Question, text: str) -> Reply:
    """A number is an option; nothing is the default; anything else is an answer in own words."""
    word = text.strip()
    if not word:
        return Reply(option=question.fallback)
    if word.isdecimal() and 1 <= int(word) <= len(question.options):
        return Reply(option=int(word) - 1)
    return Reply(other=word[:MAX_OTHER_CHARS])
