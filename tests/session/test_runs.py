"""The loop of DESIGN §6 with a scripted model: protocols, recovery, order, errors that end a run and errors that do not."""

import asyncio
import json

import pytest

from tt_kernel.domain.errors import ModelUnavailable, ProfileInvalid, UsageProblem
from tt_kernel.domain.messages import ToolMessage
from tt_kernel.runtime.loop_thread import submit
from tt_kernel.store.journal import read_journal

from .support import drive, make_session, types

REPLY = """
script: 1
turns:
  - say: Let me look.
    call: workspace_list_files
  - say: Nothing there.
"""


def test_a_reply_run_ends_with_plain_text(tmp_path):
    run, events = drive(make_session(tmp_path, REPLY), "look")
    assert (run.status, run.text, len(run.tool_calls)) == ("completed", "Nothing there.", 1)
    assert types(events)[0] == "run_created"
    assert types(events)[-1] == "run_completed"


def test_every_event_is_in_the_journal_before_it_is_seen(tmp_path):
    session = make_session(tmp_path, REPLY)
    stream = session.stream(session.prepare("look"))

    async def check():
        seen = []
        async for event in stream:
            if event.type.startswith("live_"):
                continue
            seen.append(event.type)
            (folder,) = session.folder.runs.iterdir()
            written = [e.event.type for e in read_journal(folder / "events.jsonl")]
            assert written[: len(seen)] == seen
        return seen

    future, cancel = submit(check())
    assert session.foreground.wait(future, cancel)[-1] == "run_completed"


def test_the_journal_has_no_gaps_and_one_event_per_step_of_a_call(tmp_path):
    session = make_session(tmp_path, REPLY)
    run, _ = drive(session, "look")
    lines = [json.loads(line) for line in (run.folder / "events.jsonl").read_text().splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    kinds = [line["event"]["type"] for line in lines]
    at = kinds.index("tool_call_requested")
    assert kinds[at : at + 3] == ["tool_call_requested", "tool_call_started", "tool_call_completed"]


def test_a_call_leaves_its_arguments_and_result_in_files(tmp_path):
    run, _ = drive(make_session(tmp_path, REPLY), "look")
    assert len(list((run.folder / "tool-args" / "inv_root").glob("round-001-call_*.json"))) == 1
    assert len(list((run.folder / "tool-results" / "inv_root").glob("round-001-call_*.json"))) == 1


@pytest.mark.parametrize("raw", ['{"path": "out', "[1,2]", "not json", "3"])
def test_invalid_arguments_are_refused_echoed_and_replayed_as_an_empty_object(tmp_path, raw):
    script = f"""
    script: 1
    turns:
      - calls: [{{call: workspace_list_files, raw: {json.dumps(raw)}}}]
      - say: Sorry.
    """
    run, _ = drive(make_session(tmp_path, script), "look")
    result = run.tool_calls[0].result
    assert result.error_code == "tool.invalid_arguments"
    assert raw in result.content
    assert run.messages[-3].calls[0].arguments.for_model == {}
    (kept,) = (run.folder / "tool-args" / "inv_root").glob("*.json")
    assert json.loads(kept.read_text()) == raw
    assert "tool_call_failed" in (run.folder / "events.jsonl").read_text()


@pytest.mark.parametrize("raw", ["", "null", "{}", '"{}"', '"null"', " ", '"\\"{}\\""'])
def test_every_spelling_of_no_arguments_calls_the_tool(tmp_path, raw):
    """spec tauritavern §23(1)."""
    script = f"""
    script: 1
    turns:
      - calls: [{{call: workspace_list_files, raw: {json.dumps(raw)}}}]
      - say: ok
    """
    run, _ = drive(make_session(tmp_path, script), "look")
    assert run.tool_calls[0].result.error_code is None


def test_an_unknown_tool_is_recoverable_and_names_the_nearest(tmp_path):
    script = """
    script: 1
    turns:
      - call: workspace_read_fil
        with: {path: a}
      - say: ok
    """
    run, _ = drive(make_session(tmp_path, script), "go")
    assert run.tool_calls[0].result.error_code == "model.unknown_tool_call"
    assert "workspace_read_file" in run.tool_calls[0].result.content
    assert run.status == "completed"


WRITER = """
script: 1
turns:
  - call: workspace_finish
  - calls:
      - {call: workspace_write_file, with: {path: output/main.md, content: "# Done"}}
      - {call: workspace_commit, with: {}}
      - {call: workspace_finish, with: {reason: good}}
      - {call: workspace_list_files, with: {}}
"""


def test_finish_needs_a_commit_and_is_the_last_call(tmp_path):
    """spec tauritavern §2.6(6), §2.7, §23(7), §23(8)."""
    run, events = drive(make_session(tmp_path, WRITER), "write", profile="writer")
    codes = [c.result.error_code for c in run.tool_calls]
    assert codes == ["agent.foreground_commit_required", None, None, None, "agent.tool_after_finish"]
    assert (run.status, run.text) == ("completed", "# Done")
    assert [t for t in types(events) if t.startswith("chat_commit")] == ["chat_commit_started", "chat_commit_completed"]


def test_commits_append_and_replace(tmp_path):
    script = """
    script: 1
    turns:
      - calls:
          - {call: workspace_write_file, with: {path: output/main.md, content: "a"}}
          - {call: workspace_commit, with: {}}
          - {call: workspace_commit, with: {mode: append}}
      - say: done
    """
    run, _ = drive(make_session(tmp_path, script), "write", tools=["workspace_commit"])
    assert run.text == "aa"


def test_drift_is_recovered_with_reminders_and_given_up_after_20(tmp_path):
    """spec tauritavern §9.3, §23(9): 20 plain answers fail the run; the text is kept."""
    turns = "\n".join(f"  - say: plain {n}" for n in range(1, 25))
    run, events = drive(make_session(tmp_path, f"script: 1\nturns:\n{turns}\n"), "write", profile="writer")
    assert (run.status, run.problem.code) == ("failed", "model.tool_call_required")
    assert types(events).count("drift_recovery_attempted") == 19
    assert (run.folder / "output" / "direct_output.md").read_text() == "plain 20"
    reminders = [m for m in run.messages if m.role == "user" and m.source == "drift"]
    assert "output/direct_output.md" in reminders[0].text
    assert "workspace_finish" in reminders[0].text


def test_drift_then_finish_completes(tmp_path):
    script = """
    script: 1
    turns:
      - say: just text
      - calls:
          - {call: workspace_write_file, with: {path: output/main.md, content: fine}}
          - {call: workspace_commit, with: {}}
          - {call: workspace_finish, with: {}}
    """
    run, _ = drive(make_session(tmp_path, script), "write", profile="writer")
    assert (run.status, run.text) == ("completed", "fine")


def test_an_error_after_a_commit_is_a_partial_success(tmp_path):
    """spec tauritavern §9.1, §23(20)."""
    script = """
    script: 1
    turns:
      - calls:
          - {call: workspace_write_file, with: {path: output/main.md, content: kept}}
          - {call: workspace_commit, with: {}}
      - say: x
        fail: {error: 401, times: always}
    """
    run, _ = drive(make_session(tmp_path, script), "write", profile="writer")
    assert (run.status, run.text) == ("partial_success", "kept")


def test_transient_faults_are_retried_with_growing_intervals(tmp_path):
    script = """
    script: 1
    turns:
      - say: finally
        fail: {error: 503, times: 2}
    """
    session = make_session(tmp_path, script)
    run, events = drive(session, "go", settings={"run.model_retry.interval_ms": 10})
    assert run.text == "finally"
    assert [e.delay_ms for e in events if e.type == "model_call_retry_scheduled"] == [10, 20]


def test_retries_end_and_the_run_fails_with_the_services_code(tmp_path):
    script = """
    script: 1
    turns:
      - say: never
        fail: {error: 429, times: always}
    """
    run, events = drive(make_session(tmp_path, script), "go", settings={"run.model_retry.interval_ms": 1})
    assert (run.status, run.problem.code) == ("failed", "model.rate_limited")
    assert types(events).count("model_call_attempt_failed") == 4


def test_nothing_is_retried_after_output_was_shown(tmp_path):
    script = """
    script: 1
    turns:
      - say: half of an answer that breaks
        fail: {error: cut, after: 16, times: always}
    """
    run, events = drive(make_session(tmp_path, script), "go", settings={"run.model_retry.interval_ms": 1})
    assert run.status == "failed"
    assert types(events).count("model_call_attempt_failed") == 1
    assert run.text.startswith("half of")
    assert run.messages[-1].text.startswith("half of")


def test_an_empty_reply_is_a_fault_of_the_service(tmp_path):
    script = """
    script: 1
    turns:
      - say: ""
    """
    run, _ = drive(make_session(tmp_path, script), "go", settings={"run.model_retry.max_retries": 0})
    assert run.problem.code == "model.upstream_invalid_response"


@pytest.mark.parametrize(("field", "value"), [("limits.turns", 1), ("limits.tool_calls", 1), ("limits.tokens", 1)])
def test_limits_end_a_run_politely(tmp_path, field, value):
    run, events = drive(make_session(tmp_path, REPLY), "look", settings={field: value})
    assert (run.status, run.problem.code) == ("limit", "agent.limit_reached")
    assert types(events)[-1] == "run_limited"
    assert str(value) in run.problem.message


def test_read_only_calls_of_a_turn_keep_their_order(tmp_path):
    script = """
    script: 1
    turns:
      - calls: [{call: workspace_list_files, with: {}}, {call: workspace_read_file, with: {path: output/no}}, {call: workspace_list_files, with: {depth: 1}}]
      - say: ok
    """
    run, events = drive(make_session(tmp_path, script), "go")
    asked = [p.id for p in run.messages[2].calls]
    assert [m.call_id for m in run.messages if isinstance(m, ToolMessage)] == asked
    started = types(events)
    assert started.index("tool_call_completed") > max(i for i, t in enumerate(started) if t == "tool_call_started")


def test_same_call_ids_in_one_reply_are_told_apart(tmp_path):
    script = """
    script: 1
    turns:
      - calls: [{call: workspace_list_files, id: same, with: {}}, {call: workspace_list_files, id: same, with: {}}]
      - say: ok
    """
    run, _ = drive(make_session(tmp_path, script), "go")
    assert [c.result.is_error for c in run.tool_calls] == [False, False]


def test_no_model_is_one_clear_line(tmp_path, monkeypatch):
    session = make_session(tmp_path)
    session.default_model = None
    monkeypatch.delenv("TT_MODEL", raising=False)
    with pytest.raises(ModelUnavailable) as caught:
        session.prepare("hello")
    assert "-m" in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"settings": {"sampling.temprature": 1}}, ProfileInvalid),
        ({"settings": {"limits.turns": 0}}, ProfileInvalid),
        ({"continue_from": "ffffffff"}, UsageProblem),
        ({"continue_from": "last"}, UsageProblem),
        ({"images": [b"no image"]}, UsageProblem),
    ],
)
def test_bad_options_are_refused_before_anything_happens(tmp_path, options, error):
    session = make_session(tmp_path, REPLY)
    with pytest.raises(error):
        session.prepare("hello", **options)
    assert not session.folder.root.exists()


def test_a_conversation_goes_on(tmp_path):
    script = """
    script: 1
    turns:
      - say: one
      - asked: second
        say: two
    """
    session = make_session(tmp_path, script)
    first, _ = drive(session, "first")
    second, _ = drive(session, "second", continue_from="last")
    assert [m.text for m in second.messages[1:]] == ["first", "one", "second", "two"]
    assert second.view.continues == first.id
    # also from disk, in another process
    again = make_session(tmp_path)
    third, _ = drive(again, "second", continue_from=first.id)
    assert third.replayed
    assert third.text == "two"


INTERRUPTED = """
script: 1
conversations:
  - when: slow
    turns:
      - say: This is a long answer that takes its time.
        pace: 100
      - asked: and
        say: Went on.
  - when: tool
    turns:
      - calls: [{call: wait_long, with: {}}, {call: workspace_list_files, with: {}}]
      - asked: and
        say: Went on.
"""


def interrupt(session, prompt, until, **options):
    stream = session.stream(session.prepare(prompt, **options))

    async def drive_until():
        task = asyncio.current_task()
        async for event in stream:
            if event.type == until:
                task.cancel()
        return stream.run

    future, cancel = submit(drive_until())
    return session.foreground.wait(future, cancel)


def test_an_interrupt_keeps_the_partial_text_and_the_conversation_goes_on(tmp_path):
    session = make_session(tmp_path, INTERRUPTED)
    run = interrupt(session, "slow", "live_text")
    assert run.status == "interrupted"
    assert run.text.startswith("This")
    assert not run.text.endswith("time.")
    more, _ = drive(session, "and", continue_from=run)
    assert more.text == "Went on."


def test_an_interrupted_call_gets_a_result_so_the_conversation_stays_valid(tmp_path):
    async def wait_long() -> str:
        """Wait."""
        await asyncio.sleep(60)
        return "done"

    session = make_session(tmp_path, INTERRUPTED)
    run = interrupt(session, "tool", "tool_call_started", functions=[wait_long], tools=["wait_long"])
    assert [c.result.error_code for c in run.tool_calls] == ["agent.tool_interrupted", "agent.tool_not_started"]
    more, _ = drive(session, "and", continue_from=run, functions=[wait_long], tools=["wait_long"])
    assert more.text == "Went on."


def test_a_search_leaves_earlier_results_out_unless_they_are_named(tmp_path):
    script = """
    script: 1
    turns:
      - call: workspace_write_file
        with: {path: output/a.md, content: "needle"}
      - calls: [{call: workspace_search_files, with: {query: needle}}, {call: workspace_search_files, with: {query: needle, path: tool-results}}]
      - say: ok
    """
    run, _ = drive(make_session(tmp_path, script), "go")
    everywhere, named = run.tool_calls[1].result, run.tool_calls[2].result
    assert "output/a.md" in everywhere.content
    assert "tool-results" not in everywhere.content
    assert named.error_code is None


GUIDED = """
script: 1
turns:
  - call: workspace_list_files
  - asked: hurry
    say: I hurry.
"""


def guided(session, texts, until="tool_call_completed"):
    stream = session.stream(session.prepare("go"))

    async def drive_with_guidance():
        async for event in stream:
            if event.type == until:
                for text in texts:
                    session.guide(text)
        return stream.run

    future, cancel = submit(drive_with_guidance())
    return session.foreground.wait(future, cancel)


def test_guidance_is_read_before_the_next_turn_and_replayed(tmp_path):
    """spec tauritavern §9.4."""
    run = guided(make_session(tmp_path, GUIDED), ["please hurry"])
    assert run.text == "I hurry."
    assert run.messages[-2].text == "<user_guidance>\nplease hurry\n</user_guidance>"
    again, events = drive(make_session(tmp_path), "go")
    assert again.replayed
    assert again.view == run.view
    assert "user_guidance_applied" in types(events)


def test_guidance_that_no_turn_took_is_discarded_and_said_so(tmp_path):
    session = make_session(tmp_path, REPLY)
    run = guided(session, ["too late"], until="agent_invocation_completed")
    assert "user_guidance_discarded" in (run.folder / "events.jsonl").read_text()
    with pytest.raises(UsageProblem) as caught:
        session.guide("anybody?")
    assert caught.value.code == "agent.guidance_active_run_missing"


def test_the_answer_is_shown_as_it_grows_before_the_first_commit(tmp_path):
    """spec tauritavern §7.5: once after the round; errors of the round clear it; it is no commit."""
    script = """
    script: 1
    turns:
      - calls: [{call: workspace_write_file, with: {path: output/main.md, content: "one"}}, {call: workspace_write_file, with: {path: output/main.md, content: "+", mode: append}}]
      - calls: [{call: workspace_write_file, with: {path: output/main.md, content: "!", mode: append}}, {call: workspace_shell, with: {command: "exit 1"}}]
      - calls: [{call: workspace_finish, with: {}}]
      - calls: [{call: workspace_commit, with: {}}, {call: workspace_finish, with: {}}]
    """
    session = make_session(tmp_path, script)
    run, events = drive(session, "write", profile="writer")
    assert [e.text for e in events if e.type == "chat_progress_published"] == ["one+"]
    assert run.tool_calls[4].result.error_code == "agent.foreground_commit_required", "a draft is no commit"
    assert run.text == "one+!"
    assert make_session(tmp_path).load(run.id).view == run.view
