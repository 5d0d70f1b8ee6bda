"""Tasks, questions, plan mode, breaker and truncation through whole runs: spec liveagent §4.4, §12, §14-§16, §18, §24.7."""

import json

import pytest

from tt_kernel.domain.errors import ReplayMiss
from tt_kernel.domain.questions import QuestionReply, Reply
from tt_kernel.runtime.loop_thread import submit

from .support import drive, make_session, snapshot_of

PLAN = {"run.plan": True}


def script(*turns) -> str:
    return json.dumps({"script": 1, "turns": list(turns)})


def call(name, **arguments):
    return {"call": name, "with": arguments}


def contents(run):
    return [record.result.content for record in run.tool_calls]


def codes(run):
    return [record.result.error_code for record in run.tool_calls]


# ---- plan mode


PLANNED = script(call("workspace_list_files"), call("ExitPlanMode", plan="# Plan\n1. Write it."))


def test_a_run_in_plan_mode_ends_with_its_plan(tmp_path):
    run, _ = drive(make_session(tmp_path, PLANNED), "do it", settings=PLAN)
    assert (run.status, run.text) == ("completed", "# Plan\n1. Write it.")
    assert run.view.text == run.text
    assert [path.name for path in run.files] == ["plan.md"]
    assert (run.folder / "plan" / "plan.md").read_text() == run.text
    assert contents(run)[-1].startswith("The plan was handed to the user")


def test_only_what_looks_is_there_and_nothing_else_can_be_called(tmp_path):
    session = make_session(
        tmp_path, script(call("workspace_write_file", path="output/a", content="x"), call("ExitPlanMode", plan="p"))
    )
    offered = [b.name for b in session.tools(session.profiles.load("assistant")).bindings]
    assert "ExitPlanMode" not in offered
    run, _ = drive(session, "do it", settings=PLAN)
    assert codes(run) == ["model.unknown_tool_call", None]
    snapshot = json.loads((run.folder / "input" / "snapshot.json").read_text())
    names = [binding["name"] for binding in snapshot["bindings"]]
    assert names[-1] == "ExitPlanMode"
    assert all(binding["spec"]["readOnly"] for binding in snapshot["bindings"][:-1])
    assert not {"workspace_write_file", "workspace_shell", "workspace_commit"} & set(names)
    assert "This run only plans" in run.messages[0].text


@pytest.mark.parametrize("profile", ["writer", "engineer"])
def test_any_profile_can_plan(tmp_path, profile):
    run, _ = drive(
        make_session(tmp_path, script(call("ExitPlanMode", plan="p"))), "do it", settings=PLAN, profile=profile
    )
    assert (run.status, run.text) == ("completed", "p")


def test_a_plan_replays_strictly_and_for_free(tmp_path):
    first, _ = drive(make_session(tmp_path, PLANNED), "do it", settings=PLAN)
    before = snapshot_of(tmp_path)
    again, _ = drive(make_session(tmp_path), "do it", settings=PLAN, mode="replay")
    assert (again.replayed, again.view) == (True, first.view)
    assert snapshot_of(tmp_path) == before
    with pytest.raises(ReplayMiss):
        drive(make_session(tmp_path), "do it", mode="replay")


def test_the_research_has_an_end(tmp_path):
    """§16: 32 rounds, then at most 4 in which only the plan can be handed over, then the last text is the plan."""
    rounds = [
        {"say": f"Thought {n}.", **call("workspace_list_files", depth=1 + n % 10, path=["", "output"][n // 10 % 2])}
        for n in range(60)
    ]
    for number, turn in enumerate(rounds):
        turn["with"] = {"path": "output" if number % 2 else "scratch", "depth": 1 + number // 4 % 10}
    run, events = drive(make_session(tmp_path, script(*rounds)), "do it", settings=PLAN)
    assert (run.status, run.text) == ("completed", "Thought 35.")
    assert (run.folder / "plan" / "plan.md").read_text() == "Thought 35."
    assert codes(run)[32:] == ["plan.research_over"] * 4
    (reminder,) = [event for event in events if event.type == "drift_recovery_attempted"]
    assert (reminder.attempt, reminder.limit) == (1, 4)
    assert reminder.text.startswith("The time for research is over. Call ExitPlanMode now")
    again, _ = drive(make_session(tmp_path), "do it", settings=PLAN, mode="replay")
    assert again.view == run.view


def test_the_same_call_is_not_made_a_third_time(tmp_path):
    turns = [call("workspace_list_files", path="output")] * 3
    run, _ = drive(make_session(tmp_path, script(*turns, call("ExitPlanMode", plan="p"))), "do it", settings=PLAN)
    assert codes(run) == [None, None, "plan.repeated_call", None]


def test_a_plain_answer_is_asked_to_become_a_plan(tmp_path):
    run, _ = drive(
        make_session(tmp_path, script({"say": "I would write it."}, call("ExitPlanMode", plan="p"))),
        "do it",
        settings=PLAN,
    )
    assert run.text == "p"
    assert [m.source for m in run.messages if m.role == "user"] == ["prompt", "drift"]


def test_plain_answers_only_and_the_last_one_is_the_plan(tmp_path):
    run, events = drive(
        make_session(tmp_path, script(*[{"say": f"Answer {n}."} for n in range(9)])), "do it", settings=PLAN
    )
    assert (run.status, run.text) == ("completed", "Answer 4.")
    assert [e.attempt for e in events if e.type == "drift_recovery_attempted"] == [1, 2, 3, 4]


def test_an_approved_plan_is_carried_out_with_all_tools(tmp_path):
    conversation = script(
        call("ExitPlanMode", plan="p"),
        {"asked": "Carry it out", **call("workspace_write_file", path="output/a.md", content="x")},
        {"say": "Done."},
    )
    session = make_session(tmp_path, conversation)
    plan, _ = drive(session, "do it", settings=PLAN)
    run, _ = drive(session, "Carry it out.", continue_from=plan.id)
    assert (run.text, codes(run)) == ("Done.", [None])
    assert "This run only plans" not in run.messages[0].text


# ---- tasks


TASK = {"subject": "Test", "description": "All.", "activeForm": "Testing"}


def test_tasks_are_kept_with_the_run_and_replay(tmp_path):
    turns = script(
        call("TaskCreate", **TASK),
        call("TaskUpdate", taskId="1", status="in_progress"),
        call("TaskList"),
        {"say": "ok"},
    )
    run, _ = drive(make_session(tmp_path, turns), "work", tools=["Task*"])
    assert codes(run) == [None, None, None]
    stored = json.loads((run.folder / "tasks.json").read_text())
    assert (stored["revision"], stored["runId"], stored["tasks"][0]["status"]) == (2, run.id, "in_progress")
    again, _ = drive(make_session(tmp_path), "work", tools=["Task*"], mode="replay")
    assert again.view == run.view
    assert contents(again) == contents(run)


def test_another_run_has_a_list_of_its_own(tmp_path):
    """§24.7."""
    session = make_session(tmp_path, script(call("TaskCreate", **TASK), {"say": "ok"}, call("TaskList"), {"say": "ok"}))
    first, _ = drive(session, "work", tools=["Task*"])
    second, _ = drive(session, "more", tools=["Task*"], continue_from=first.id)
    assert contents(second)[0].startswith("This run has no tasks.")


def test_a_resumed_run_still_has_its_list(tmp_path):
    """§24.7."""
    turns = script(
        call("TaskCreate", **TASK), {"say": "x", "fail": {"error": 401, "times": 1}}, call("TaskList"), {"say": "ok"}
    )
    session = make_session(tmp_path, turns)
    run, _ = drive(session, "work", tools=["Task*"])
    assert run.status == "failed"
    (tmp_path / "script.yaml").write_text(script(call("TaskCreate", **TASK), call("TaskList"), {"say": "ok"}))
    stream = session.stream(session.prepare_resume(run.id))

    async def collect():
        return [event async for event in stream]

    future, cancel = submit(collect())
    session.foreground.wait(future, cancel)
    listed = stream.run.tool_calls[-1].result.content
    assert listed.startswith("0 of 1 tasks completed.")


def test_no_secret_gets_into_the_list(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "swordfish-1234")
    turns = script(call("TaskCreate", **{**TASK, "subject": "Use swordfish-1234"}), {"say": "ok"})
    run, _ = drive(make_session(tmp_path, turns), "work", tools=["Task*"])
    assert all(b"swordfish-1234" not in path.read_bytes() for path in run.folder.rglob("*") if path.is_file())


# ---- questions


ASKED = script(
    call(
        "AskUserQuestion",
        questions=[{"question": "Which?", "options": [{"label": "a"}, {"label": "b", "recommended": True}]}],
    ),
    {"say": "ok"},
)


class Person:
    def __init__(self, reply):
        self.reply, self.asked = reply, []

    async def ask(self, request):
        self.asked.append(request)
        return QuestionReply(replies=(self.reply,))


def test_an_answer_is_recorded_and_nobody_is_asked_again(tmp_path):
    session = make_session(tmp_path, ASKED)
    session.toolbox.asker = person = Person(Reply(option=1))
    run, _ = drive(session, "go", tools=["AskUserQuestion"])
    assert contents(run) == ["Which?\n-> a"]
    assert (person.asked[0].timeout_seconds, person.asked[0].run) == (180, run.id)
    other = make_session(tmp_path)
    other.toolbox.asker = nobody = Person(Reply(option=0))
    again, _ = drive(other, "go", tools=["AskUserQuestion"], mode="replay")
    assert (again.view, nobody.asked) == (run.view, [])


def test_without_anybody_the_recommended_answer_is_taken_and_recorded(tmp_path):
    run, _ = drive(make_session(tmp_path, ASKED), "go", tools=["AskUserQuestion"])
    assert contents(run)[0].startswith("Which?\n-> b")
    again, _ = drive(make_session(tmp_path), "go", tools=["AskUserQuestion"], mode="replay")
    assert again.view == run.view


def test_a_question_needs_no_approval_in_any_mode(tmp_path):
    """Safety mode `ask` asks before what may change something; a question changes nothing."""
    session = make_session(tmp_path, ASKED)
    run, _ = drive(session, "go", tools=["AskUserQuestion"], settings={"permissions.safety": "ask"})
    assert codes(run) == [None]


# ---- circles and cut-off arguments


def test_a_model_that_goes_in_circles_is_stopped_with_status_limit(tmp_path):
    """Field report 56: 220 identical calls; the end is a result with status `limit`, not a traceback."""
    run, _ = drive(make_session(tmp_path, script(*[call("workspace_list_files", path="output")] * 220)), "go")
    assert (run.status, run.problem.code) == ("limit", "agent.limit_reached")
    assert "same call over and over" in run.problem.message
    assert len(run.tool_calls) == 15
    assert codes(run)[5:] == ["tool.repeated_call"] * 10
    again, _ = drive(make_session(tmp_path), "go", mode="replay")
    assert again.view == run.view


def test_the_second_failure_of_a_kind_is_noted(tmp_path):
    missing = call("workspace_read_file", path="output/none.md")
    run, _ = drive(make_session(tmp_path, script(missing, missing, {"say": "ok"})), "go")
    assert "failed 2 times in the same way" in contents(run)[1]
    assert "failed" not in contents(run)[0].rpartition("\n")[2]


def test_dice_may_be_rolled_as_often_as_one_likes(tmp_path):
    run, _ = drive(
        make_session(tmp_path, script(*[call("dice_roll", formula="d1+1")] * 30, {"say": "ok"})),
        "go",
        tools=["dice.roll"],
    )
    assert codes(run) == [None] * 30


def test_a_call_that_the_output_limit_cut_off_is_made_again(tmp_path):
    """§18: refused before dispatch, so half a file is never written; the model makes the call again."""
    cut = {"call": "workspace_write_file", "raw": '{"path": "output/a.md", "content": "hel', "finish": "length"}
    whole = call("workspace_write_file", path="output/a.md", content="hello")
    run, _ = drive(
        make_session(
            tmp_path, script(cut, {**whole, "expect": "Make the call again with whole arguments"}, {"say": "ok"})
        ),
        "go",
    )
    assert codes(run) == ["tool.invalid_arguments", None]
    assert (run.folder / "output" / "a.md").read_text() == "hello"
    assert run.status == "completed"


# ---- the test endpoint


def test_there_is_no_http_tool_unless_an_address_is_configured(tmp_path):
    session = make_session(tmp_path, script({"say": "ok"}))
    profile = session.profiles.load("assistant")
    assert "HttpGetTest" not in [b.name for b in session.tools(profile).bindings]
    configured = profile.model_copy(
        update={"tools": profile.tools.model_copy(update={"http_get_test_url": "http://127.0.0.1:1/"})}
    )
    assert [b.name for b in session.tools(configured).bindings][-1] == "HttpGetTest"
    denied = configured.model_copy(
        update={"tools": configured.tools.model_copy(update={"deny": ("builtin:HttpGetTest",)})}
    )
    assert "HttpGetTest" not in [b.name for b in session.tools(denied).bindings]


def test_its_answer_is_recorded(tmp_path):
    settings = {"tools.http_get_test_url": "http://127.0.0.1:1/"}
    run, _ = drive(make_session(tmp_path, script(call("HttpGetTest"), {"say": "ok"})), "go", settings=settings)
    assert codes(run) == ["http_get.failed"]
    again, _ = drive(make_session(tmp_path), "go", settings=settings, mode="replay")
    assert again.view == run.view


# ---- tools that wait to be found


def test_tool_search_is_there_only_when_something_waits(tmp_path):
    session = make_session(tmp_path, script({"say": "ok"}))
    profile = session.profiles.load("assistant")
    named = profile.model_copy(
        update={"tools": profile.tools.model_copy(update={"allow": (*profile.tools.allow, "builtin:ToolSearch")})}
    )
    assert "ToolSearch" not in [b.name for b in session.tools(named).bindings]
