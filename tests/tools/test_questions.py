"""Asking the user: spec liveagent §15."""

import asyncio

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.ids import builtin
from tt_kernel.domain.questions import QuestionReply, Reply
from tt_kernel.tools.questions import QUESTION_TOOLS, WINDOW_SECONDS, QuestionDesk, question_tools


class Person:
    def __init__(self, *replies, wait=0.0):
        self.replies = replies
        self.wait = wait
        self.asked = []

    async def ask(self, request):
        self.asked.append(request)
        await asyncio.sleep(self.wait)
        return QuestionReply(replies=self.replies) if self.replies else None


def option(label, recommended=False, **more):
    return {"label": label, "recommended": recommended, **more}


DATABASE = {
    "question": "Which database?",
    "options": [option("Postgres"), option("SQLite", True, description="One file.")],
}
NAME = {"question": "Which name?", "options": [option("a"), option("b")]}


async def asked(questions, person=None, **desk):
    (tool,) = question_tools(QuestionDesk(person, **desk))
    return await tool.call(
        ToolCall(
            id="c", tool_id=builtin("AskUserQuestion"), name="AskUserQuestion",
            arguments=ToolArguments(value={"questions": questions}), invocation_id="inv_root", turn=1, index=0,
        )
    )  # fmt: skip


async def test_what_the_user_chose_and_said():
    person = Person(Reply(option=1), Reply(other="  call it c  "))
    result = await asked([DATABASE, NAME], person)
    assert result.content == "Which database?\n-> Postgres\n\nWhich name?\n-> call it c"
    assert result.structured == {
        "by": "user",
        "answers": [
            {"question": "Which database?", "answer": "Postgres", "option": 1},
            {"question": "Which name?", "answer": "call it c", "option": None},
        ],
    }


async def test_an_option_with_words_to_it():
    assert (
        "-> SQLite - but in memory" in (await asked([DATABASE], Person(Reply(option=0, other="but in memory")))).content
    )


async def test_the_recommended_option_comes_first():
    person = Person(Reply(option=0))
    await asked([DATABASE], person)
    (request,) = person.asked
    assert [o.label for o in request.questions[0].options] == ["SQLite", "Postgres"]
    assert (request.timeout_seconds, WINDOW_SECONDS) == (180.0, 180.0)


@pytest.mark.parametrize("person", [None, Person()])
async def test_where_nobody_can_answer_the_recommended_one_counts_and_it_is_said(person):
    result = await asked([DATABASE, NAME], person)
    assert (result.is_error, result.structured["by"]) == (False, "nobody")
    assert "-> SQLite" in result.content
    assert "Which name?\n-> a" in result.content
    assert "Nobody can answer in this run, so the recommended options were taken" in result.content


async def test_no_answer_in_time_is_the_recommended_one():
    """§15: the time-out picks the recommended option, else the first."""
    result = await asked([DATABASE], Person(Reply(option=1), wait=30), seconds=0.05)
    assert result.structured["by"] == "timeout"
    assert "-> SQLite" in result.content
    assert "Nobody answered in time" in result.content


async def test_a_stopped_run_gets_no_answer():
    """§15: Stop is an error: the cancellation goes through, and the dispatcher says what became of the call."""
    task = asyncio.create_task(asked([DATABASE], Person(Reply(option=1), wait=30)))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("questions", "code"),
    [
        ([], "tool.invalid_arguments"),
        ([NAME] * 5, "tool.invalid_arguments"),
        ([{"question": "?", "options": [option("a")]}], "tool.invalid_arguments"),
        ([{"question": "?", "options": [option(str(n)) for n in range(7)]}], "tool.invalid_arguments"),
        ([{"question": "", "options": NAME["options"]}], "tool.invalid_arguments"),
        ([{"question": "?", "options": [option(""), option("b")]}], "tool.invalid_arguments"),
        ([{**NAME, "more": 1}], "tool.invalid_arguments"),
        ([NAME, {"question": "?", "options": [option(str(n)) for n in range(3)]}], "question.uneven_options"),
        ([{"question": "?", "options": [option("a", True), option("b", True)]}], "question.several_recommended"),
    ],
)
async def test_what_cannot_be_asked(questions, code):
    """§15: at most 4 questions, 2-6 options, the same count for all, one recommended at most."""
    person = Person(Reply(option=0))
    result = await asked(questions, person)
    assert (result.error_code, person.asked) == (code, [])


async def test_the_limits_are_inclusive():
    questions = [{"question": f"{n}?", "options": [option(str(m)) for m in range(6)]} for n in range(4)]
    result = await asked(questions, Person(*[Reply(option=5)] * 4))
    assert result.error_code is None


@pytest.mark.parametrize(
    "replies",
    [
        (),
        (Reply(option=0), Reply(option=0)),
        (Reply(option=2),),
        (Reply(option=-1),),
        (Reply(),),
        (Reply(other="  "),),
        (Reply(other="x" * 2001),),
    ],
)
async def test_an_answer_that_does_not_fit_is_no_answer(replies):
    class Wrong:
        async def ask(self, request):
            return QuestionReply(replies=replies)

    result = await asked([NAME], Wrong())
    assert result.error_code == "question.invalid_answer"


async def test_own_words_may_have_2000_characters():
    assert (await asked([NAME], Person(Reply(other="x" * 2000)))).error_code is None


def test_answers_are_recorded():
    (declaration,) = QUESTION_TOOLS
    assert (declaration.spec.effect, declaration.spec.read_only) == ("external", True)
