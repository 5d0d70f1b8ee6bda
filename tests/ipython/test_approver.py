"""Approvals through `input()` in a real kernel: field reports B18 and H75."""

import time

import pytest
from live_kernels import kernel

SETUP = """
from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.ports import ApprovalRequest
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.ipython.approver import NotebookApprover
from tt_kernel.runtime.foreground import Foreground
from tt_kernel.runtime.loop_thread import submit
fg = Foreground()
approver = NotebookApprover(get_ipython(), fg)
tool = ToolId.parse("builtin:Bash")
call = ToolCall(id="c", tool_id=tool, name="Bash", invocation_id="inv", turn=1, index=0,
                arguments=ToolArguments(value={"command": "rm -r x\\x1b[2K\\n# harmless", "timeout": 5}))
spec = ToolSpec(id=tool, description="d", input_schema={"type": "object"}, group="host", effect="host")
request = ApprovalRequest(call=call, spec=spec, rule="host = ask", summary="Bash", scope={"command": "rm*"}, diff="--- a\\n+++ b\\n-x\\n+y\\n", timeout_seconds=20)
"""
ASK = "answer = await fg.wait_async(*submit(approver.approve(request)))"
DENIED = {"decision": "deny", "reason": "", "arguments": None, "by": "user", "scope": None}


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    with kernel(tmp_path_factory.mktemp("approver")) as running:
        reply, outputs = running.run(SETUP)
        assert reply["status"] == "ok", outputs
        yield running


def answered(asking, text):
    cell = asking.send(ASK, interactive=True)
    prompt = asking.client.get_stdin_msg(timeout=20)["content"]["prompt"]
    asking.client.input(text)
    assert asking.reply(cell)["status"] == "ok"
    asking.drain()
    return prompt, asking.value("answer.model_dump(mode='json')")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y", {**DENIED, "decision": "approve"}),
        ("YES ", {**DENIED, "decision": "approve"}),
        ("a", {**DENIED, "decision": "allow_run"}),
        ("t", {**DENIED, "decision": "allow_run", "scope": {}}),
        ('{"command": "ls"}', {**DENIED, "decision": "edit", "arguments": {"command": "ls"}}),
        ("[1]", {**DENIED, "reason": "[1]"}),
        ("", DENIED),
        ("no", DENIED),
        ("yeah but not rm", {**DENIED, "reason": "yeah but not rm"}),
    ],
)
def test_answers(asking, text, expected):
    """The default is no; anything that is not a clear yes is a no with its reason."""
    assert answered(asking, text)[1] == expected


def test_the_question_shows_everything_and_nothing_can_rewrite_it(asking):
    prompt, _ = answered(asking, "n")
    assert prompt.splitlines()[0] == "Bash asks to run (host = ask)"
    for part in ("rm -r x", "    # harmless", "timeout: 5", "+y", "default: no", "without asking: Bash command=rm"):
        assert part in prompt
    assert "\x1b" not in prompt


def test_where_nobody_can_answer_it_is_a_denial_that_says_so_at_once(asking):
    began = time.monotonic()
    reply, outputs = asking.run(ASK)
    assert (reply["status"], outputs) == ("ok", [])
    assert time.monotonic() - began < 15
    reason = 'rule "host = ask" asks, and nobody can answer here'
    assert asking.value("answer.model_dump(mode='json')") == {**DENIED, "reason": reason, "by": "failure"}


def test_no_answer_in_time_is_a_denial_and_the_kernel_is_free(asking):
    asking.run("request = request.model_copy(update={'timeout_seconds': 0.5})")
    cell = asking.send(ASK, interactive=True)
    asking.client.get_stdin_msg(timeout=20)
    assert asking.reply(cell, timeout=20)["status"] == "ok"
    asking.drain()
    assert asking.value("answer.model_dump(mode='json')") == {
        **DENIED,
        "reason": "no answer within 0.5 s",
        "by": "timeout",
    }


ASKING = """
from tt_kernel.domain.questions import Question, QuestionOption, QuestionRequest
from tt_kernel.ipython.approver import NotebookAsker
asker = NotebookAsker(get_ipython(), fg)
two = (QuestionOption(label="SQLite", description="One file.", recommended=True), QuestionOption(label="Postgres"))
questions = QuestionRequest(call=call, questions=(Question(question="Which \\x1b[2Kdatabase?", options=two), Question(question="Which name?", options=two)))
"""
ASK_QUESTIONS = "reply = await fg.wait_async(*submit(asker.ask(questions)))"


@pytest.mark.parametrize(
    ("said", "replies"),
    [
        (("", "2"), [{"option": 0, "other": ""}, {"option": 1, "other": ""}]),
        (("3", " as you like "), [{"option": None, "other": "3"}, {"option": None, "other": "as you like"}]),
    ],
)
def test_questions_in_the_input_field(asking, said, replies):
    """Spec liveagent §15: a number, own words, or nothing for the recommended option."""
    asking.run(ASKING)
    cell = asking.send(ASK_QUESTIONS, interactive=True)
    prompts = []
    for text in said:
        prompts.append(asking.client.get_stdin_msg(timeout=20)["content"]["prompt"])
        asking.client.input(text)
    assert asking.reply(cell)["status"] == "ok"
    asking.drain()
    assert prompts[0].splitlines() == [
        "The agent asks (1 of 2): Which database?",
        "  1 SQLite (recommended)  One file.",
        "  2 Postgres",
        "A number, or an answer in your own words (default: SQLite) ",
    ]
    assert asking.value("reply.model_dump(mode='json')") == {"replies": replies}


def test_nobody_to_be_asked(asking):
    asking.run(ASKING)
    reply, outputs = asking.run(ASK_QUESTIONS)
    assert (reply["status"], outputs) == ("ok", [])
    assert asking.value("reply") is None
