"""DESIGN §7: everything that decided a run is in its record, and a strict replay takes it from there and writes nothing."""

import io
import json

import pytest
from PIL import Image

from tt_kernel.domain.errors import ReplayMiss
from tt_kernel.domain.ports import ApprovalAnswer
from tt_kernel.domain.questions import QuestionReply, Reply
from tt_kernel.store.journal import read_journal
from tt_kernel.tools.functions import ToolContext

from .support import _collect, drive, make_session, snapshot_of, types


def script(*turns):
    return json.dumps({"script": 1, "turns": list(turns)})


def call(name, **arguments):
    return {"call": name, "with": arguments}


class Person:
    """Answers approvals in order; the last answer again and again."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def approve(self, request):
        self.asked.append(request.call.name)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Nobody:
    async def approve(self, request):
        raise AssertionError("a replay asks nobody")

    async def ask(self, request):
        raise AssertionError("a replay asks nobody")


def strictly(folder, first, prompt="go", *, approver=None, asker=None, **options):
    """Replay it with nobody there, and with somebody who must not be asked; nothing may be written."""
    before = snapshot_of(folder)
    for interactive in (False, True):
        session = make_session(folder, approver=Nobody() if interactive else None, interactive=interactive)
        session.toolbox.asker = Nobody() if interactive else None
        run, events = drive(session, prompt, mode="replay", **options)
        assert run.replayed
        assert run.view == first.view
        assert [c.result for c in run.tool_calls] == [c.result for c in first.tool_calls]
        assert [m.digest_body() for m in run.messages] == [m.digest_body() for m in first.messages]
        assert run.usage == first.usage
    assert snapshot_of(folder) == before
    return events


ASKING = {"permissions.safety": "ask"}
WRITE = call("workspace_write_file", path="output/a.md", content="one")
BASH = call("Bash", command="echo hello")
ANSWERS = {
    "approved": (ApprovalAnswer(decision="approve"), None),
    "denied with a reason": (ApprovalAnswer(decision="deny", reason="Not today."), "tool.approval_denied"),
    "allowed for the run": (ApprovalAnswer(decision="allow_run"), None),
}


@pytest.mark.parametrize(("answer", "code"), ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("made", [WRITE, BASH], ids=["executed again", "from the record"])
def test_answers_to_approvals(tmp_path, made, answer, code):
    person = Person(answer)
    session = make_session(tmp_path, script(made, made, "Done."), approver=person, interactive=True)
    options = {"profile": "assistant" if made is WRITE else "engineer", "settings": ASKING}
    first, _ = drive(session, "go", **options)
    assert len(person.asked) == (1 if answer.decision == "allow_run" else 2)
    assert first.tool_calls[0].result.error_code == code
    events = strictly(tmp_path, first, **options)
    if made is WRITE:
        decided = [event.decision for event in events if event.type == "tool_approval_decided"]
        assert decided == [answer.decision] * len(person.asked)


def test_an_edited_call(tmp_path):
    edited = ApprovalAnswer(decision="edit", arguments={"path": "output/a.md", "content": "two"})
    session = make_session(tmp_path, script(WRITE, "Done."), approver=Person(edited), interactive=True)
    first, _ = drive(session, "go", settings=ASKING)
    assert (first.folder / "output" / "a.md").read_text() == "two"
    strictly(tmp_path, first, settings=ASKING)


def test_what_was_refused_because_nobody_was_there_stays_refused(tmp_path):
    session = make_session(tmp_path, script({"calls": [WRITE, BASH]}, "Done."))
    options = {"profile": "engineer", "tools": ["workspace.write_file"], "settings": ASKING}
    first, _ = drive(session, "go", **options)
    assert [c.result.error_code for c in first.tool_calls] == ["tool.permission_denied"] * 2
    strictly(tmp_path, first, **options)


def test_a_rule_that_allows_now_what_was_refused_is_named(tmp_path):
    first, _ = drive(make_session(tmp_path, script(BASH, "Done.")), "go", profile="engineer")
    assert first.tool_calls[0].result.error_code == "tool.permission_denied"
    (tmp_path / "nb.agent" / "permissions.json").write_text(
        json.dumps({"rules": [{"tool": "Bash", "decision": "allow"}]})
    )
    run, _ = drive(make_session(tmp_path), "go", profile="engineer", mode="replay")
    assert "Bash (turn 1, call 1) was refused when it was recorded" in run.problem.message


def test_answers_to_questions(tmp_path):
    options = [{"label": "Red"}, {"label": "Blue"}]
    asking = call("AskUserQuestion", questions=[{"question": "Which colour?", "options": options}])

    class Blue:
        async def ask(self, request):
            return QuestionReply(replies=(Reply(option=1, other="the dark one"),))

    session = make_session(tmp_path, script(asking, "Done."))
    session.toolbox.asker = Blue()
    first, _ = drive(session, "go", profile="engineer")
    assert "Blue - the dark one" in first.tool_calls[0].result.content
    strictly(tmp_path, first, profile="engineer")


def png(colour):
    out = io.BytesIO()
    Image.new("RGB", (6, 4), colour).save(out, "PNG")
    return out.getvalue()


def test_images_of_the_prompt_and_of_results(tmp_path):
    def chart(ctx: ToolContext) -> str:
        """Draw."""
        ctx.attach_image(Image.new("RGB", (8, 8), "blue"))
        return "a chart"

    options = {"images": [png("red")], "functions": [chart]}
    first, _ = drive(make_session(tmp_path, script(call("chart"), "Done.")), "go", **options)
    assert len(first.tool_calls[0].result.images) == 1
    for folder in (tmp_path / "nb.agent" / "runs").iterdir():
        for path in sorted(folder.rglob("*.png")):
            path.unlink()  # the recordings have them too
    strictly(tmp_path, first, **options)


@pytest.mark.parametrize("after", [0, 12])
@pytest.mark.parametrize("turn", [1, 2])
def test_a_failure_of_the_model_fails_again_with_what_was_shown(tmp_path, turn, after):
    failing = {
        "say": "A text that is cut off.",
        "fail": {"error": "cut" if after else 401, "after": after, "times": "always"},
    }
    turns = [call("workspace_list_files")] * (turn - 1)
    failed, _ = drive(make_session(tmp_path, script(*turns, failing)), "go", settings={"run.modelRetry.maxRetries": 0})
    assert failed.status == "failed"
    assert failed.text == "A text that is cut off."[:after]
    before = snapshot_of(tmp_path)
    (tmp_path / "script.yaml").unlink()
    run, _ = drive(make_session(tmp_path), "go", mode="replay", settings={"run.modelRetry.maxRetries": 0})
    assert run.replayed
    assert (run.status, run.problem, run.view) == ("failed", failed.problem, failed.view)
    after_it = snapshot_of(tmp_path)
    assert {k: v for k, v in before.items() if k != "script.yaml"} == after_it


def test_a_failure_is_no_answer_where_the_model_may_be_asked(tmp_path):
    failing = {"say": "Fine.", "fail": {"error": 401, "times": "always"}}
    failed, _ = drive(make_session(tmp_path, script(failing)), "go")
    (tmp_path / "script.yaml").write_text(script({"say": "Fine.", "fail": {"error": 401, "times": 1}}))
    session = make_session(tmp_path, script({"say": "Fine.", "fail": {"error": 401, "times": "always"}}))
    again, _ = drive(session, "go")
    assert not again.replayed
    assert (failed.status, again.status) == ("failed", "failed")


def test_a_retry_that_succeeded_is_the_answer(tmp_path):
    flaky = {"say": "Fine.", "fail": {"error": 503, "times": 2}}
    settings = {"run.modelRetry.intervalMs": 1}
    first, events = drive(make_session(tmp_path, script(flaky)), "go", settings=settings)
    assert types(events).count("model_call_attempt_failed") == 2
    strictly(tmp_path, first, settings=settings)


def test_a_limit_is_reached_again(tmp_path):
    settings = {"limits.turns": 2}
    turns = [call("workspace_list_files", path=name) for name in ("", "output", "scratch")]
    first, _ = drive(make_session(tmp_path, script(*turns)), "go", settings=settings)
    assert first.status == "limit"
    strictly(tmp_path, first, settings=settings)


def test_streamed_pieces_come_to_the_same_state(tmp_path):
    turns = [
        {"think": "Let me think.", "say": "In many pieces. ", "chunk": 2, **call("workspace_list_files")},
        {"say": "The end of it.", "chunk": 1},
    ]
    first, events = drive(make_session(tmp_path, script(*turns)), "go")
    assert types(events).count("live_text") > 10
    whole, _ = drive(make_session(tmp_path / "whole", script(*turns)), "go", settings={"run.stream": False})
    events = strictly(tmp_path, first)
    assert types(events).count("live_text") == 2
    assert [m.digest_body() for m in whole.messages] == [m.digest_body() for m in first.messages]
    replies = [e.event.reply for e in read_journal(first.folder / "events.jsonl") if e.event.type == "model_completed"]
    assert replies[0].message.reasoning == "Let me think."


def test_a_session_replays_where_its_record_ends_it_says_so(tmp_path):
    def say(session, prompt, **options):
        stream = session.stream(session.prepare_chat("talk", prompt, **options))
        _collect(session, stream)
        return stream.run

    session = make_session(tmp_path, script("One.", "Two."))
    runs = [say(session, prompt) for prompt in ("first", "second")]
    before = snapshot_of(tmp_path)
    again = make_session(tmp_path)
    assert [say(again, prompt, mode="replay").view for prompt in ("first", "second")] == [run.view for run in runs]
    with pytest.raises(ReplayMiss, match="'talk' is recorded with 2 messages, and this is one more"):
        say(again, "third", mode="replay")
    with pytest.raises(ReplayMiss, match="'other' is not recorded"):
        again.prepare_chat("other", "first", mode="replay")
    assert snapshot_of(tmp_path) == before
