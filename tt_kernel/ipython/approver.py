"""Who answers an approval in a notebook: a person through `input()`, or nobody."""

from typing import Any

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.ports import ApprovalAnswer, ApprovalRequest
from tt_kernel.ipython.display import can_ask
from tt_kernel.runtime.foreground import Foreground
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
    lines += ["", "Allow? [y]es, [a]ll in this run, or a reason against it (default: no): "]
    return clean("\n".join(lines))  # no escape sequence of a model may rewrite the question


def answer_of(text: str) -> ApprovalAnswer:
    word = text.strip()
    match word.casefold():
        case "y" | "yes":
            return ApprovalAnswer(decision="approve")
        case "a" | "all":
            return ApprovalAnswer(decision="allow_run")
        case "" | "n" | "no":
            return ApprovalAnswer(decision="deny")
        case _:
            return ApprovalAnswer(decision="deny", reason=word)


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
