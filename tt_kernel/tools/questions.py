"""Asking the user: spec liveagent §15.

Effect external: the answer is recorded, and a replay takes it from the record. Where nobody can answer, and when nobody did in
time, the recommended option counts, and the result says so.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ports import Asker
from tt_kernel.domain.questions import Question, QuestionOption, QuestionReply, QuestionRequest, Reply
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome, Tool

MAX_QUESTIONS = 4
FEWEST_OPTIONS, MOST_OPTIONS = 2, 6
MAX_OTHER_CHARS = 2000
WINDOW_SECONDS = 180.0

By = Literal["user", "timeout", "nobody"]

_NOTES: dict[By, str] = {
    "user": "",
    "timeout": "Nobody answered in time, so the recommended options were taken (the first ones where none was recommended).",
    "nobody": "Nobody can answer in this run, so the recommended options were taken (the first ones where none was recommended).",
}


class AskedOption(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: Annotated[str, Field(min_length=1, description="What is chosen, in a few words.")]
    description: Annotated[str, Field(description="What choosing it means.")] = ""
    recommended: Annotated[bool, Field(description="What you would choose; one option of a question at most.")] = False


class AskedQuestion(BaseModel):
    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, Field(min_length=1)]
    options: Annotated[list[AskedOption], Field(min_length=FEWEST_OPTIONS, max_length=MOST_OPTIONS)]


@dataclass(frozen=True)
class QuestionDesk:
    """`asker` gets answers; None: nobody can. `seconds` is the time for all questions of a call."""

    asker: Asker | None
    seconds: float = WINDOW_SECONDS
    run_id: str = ""


@builtin_tool("AskUserQuestion", group="question", effect="external", read_only=True)
async def ask_user_question(
    desk: QuestionDesk,
    call: ToolCall,
    questions: Annotated[list[AskedQuestion], Field(min_length=1, max_length=MAX_QUESTIONS)],
) -> Outcome:
    """Ask the user to decide what you cannot find out yourself: up to four questions with options to choose from.

    The user may also answer in words of their own. If nobody answers, the recommended option is taken.

    Args:
        questions: Each with 2 to 6 options, and all with the same number of them.
    """
    asked = _checked(questions)
    reply, by = await _answers(desk, call, asked)
    lines = [f"{question.question}\n-> {_chosen(question, one)}" for question, one in zip(asked, reply, strict=True)]
    note = _NOTES[by]
    return Outcome(
        "\n\n".join([*lines, note] if note else lines),
        structured={
            "by": by,
            "answers": [
                {"question": q.question, "answer": _chosen(q, one), "option": one.option}
                for q, one in zip(asked, reply, strict=True)
            ],
        },
    )


async def _answers(desk: QuestionDesk, call: ToolCall, asked: tuple[Question, ...]) -> tuple[Sequence[Reply], By]:
    fallback = [Reply(option=question.fallback) for question in asked]
    if desk.asker is None:
        return fallback, "nobody"
    request = QuestionRequest(call=call, questions=asked, timeout_seconds=desk.seconds, run=desk.run_id)
    try:
        async with asyncio.timeout(desk.seconds):
            reply = await desk.asker.ask(request)
    except TimeoutError:
        return fallback, "timeout"
    if reply is None:
        return fallback, "nobody"
    return fitting(request, reply).replies, "user"


def fitting(request: QuestionRequest, reply: QuestionReply) -> QuestionReply:
    """The reply, if it answers the questions; front ends are checked by this too.

    Raises:
        ToolError: `question.invalid_answer`.
    """
    if len(reply.replies) != len(request.questions):
        raise _unfit(f"{len(request.questions)} questions need as many answers, got {len(reply.replies)}")
    for question, one in zip(request.questions, reply.replies, strict=True):
        if one.option is None and not one.other.strip():
            raise _unfit(f"{question.question!r} has neither an option nor words")
        if one.option is not None and not 0 <= one.option < len(question.options):
            raise _unfit(f"{question.question!r} has no option {one.option}")
        if len(one.other) > MAX_OTHER_CHARS:
            raise _unfit(f"an answer in own words has at most {MAX_OTHER_CHARS} characters, got {len(one.other)}")
    return reply


def _unfit(what: str) -> ToolError:
    return ToolError("question.invalid_answer", f"The answer does not fit the questions: {what}.")


def _checked(questions: list[AskedQuestion]) -> tuple[Question, ...]:
    """The questions with the recommended option first."""
    if len({len(question.options) for question in questions}) > 1:
        counts = ", ".join(str(len(question.options)) for question in questions)
        raise ToolError(
            "question.uneven_options", f"All questions of a call need the same number of options, got {counts}."
        )
    return tuple(_question(question) for question in questions)


def _question(asked: AskedQuestion) -> Question:
    if sum(option.recommended for option in asked.options) > 1:
        raise ToolError(
            "question.several_recommended",
            f"{asked.question!r} recommends more than one option; recommend one at most.",
        )
    ordered = sorted(asked.options, key=lambda option: not option.recommended)
    return Question(question=asked.question, options=tuple(QuestionOption(**option.model_dump()) for option in ordered))


def _chosen(question: Question, reply: Reply) -> str:
    """The label, and what the user said to it, or only that."""
    label = question.options[reply.option].label if reply.option is not None else ""
    return " - ".join(part for part in (label, reply.other.strip()) if part)


QUESTION_TOOLS = (ask_user_question,)


def question_tools(desk: QuestionDesk) -> list[Tool]:
    return [declaration.bind(desk) for declaration in QUESTION_TOOLS]
