"""In-run compaction through whole runs: spec liveagent §19, DESIGN §7 (recorded, replayed, rebuilt from the journal)."""

import json

import pytest

from tt_kernel.domain.events import HistoryCompacted

from .support import _collect, drive, make_session, snapshot_of, types

SUMMARY = (
    "<task>Look up letters.</task><state>a, b and c are known.</state>"
    "<artifacts>none</artifacts><next_steps>Look up d.</next_steps>"
)

SCRIPT = f"""
script: 1
conversations:
  - name: summary
    when: "[calls lookup"
    turns:
      - say: |
          {SUMMARY}
        usage: {{input: 1000, output: 50}}
  - name: main
    when: go
    turns:
      - {{call: lookup, with: {{key: a}}, usage: {{input: 1, output: 1}}}}
      - {{call: lookup, with: {{key: b}}, usage: {{input: 1, output: 1}}}}
      - {{call: lookup, with: {{key: c}}, usage: {{input: 1, output: 1}}}}
      - {{call: lookup, with: {{key: d}}, usage: {{input: 1, output: 1}}}}
      - {{call: lookup, with: {{key: e}}, usage: {{input: 1, output: 1}}}}
      - {{say: All letters looked up., usage: {{input: 1, output: 1}}}}
      - {{say: And more., usage: {{input: 1, output: 1}}}}
"""


def lookup(key: str) -> str:
    """Look a key up."""
    CALLS.append(key)
    return f"value of {key}: " + key * 8_000


CALLS: list[str] = []
SETTINGS = {"context.compactAboveTokens": 7_000, "context.keepGroups": 1, "run.modelRetry.intervalMs": 100}
OPTIONS = {"functions": [lookup], "tools": ["lookup"], "settings": SETTINGS}


@pytest.fixture(autouse=True)
def _fresh():
    CALLS.clear()


def compactions(events):
    return [event for event in events if isinstance(event, HistoryCompacted)]


def test_whole_groups_become_a_summary_and_the_run_goes_on(tmp_path):
    run, events = drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    assert (run.status, run.text) == ("completed", "All letters looked up.")
    (made,) = compactions(events)
    assert made.method == "summary"
    assert (made.replies, made.count) == (3, 6), "three replies and their results"
    assert made.tokens_before > 7_000 > made.tokens_after
    roles = [message.role for message in run.messages]
    assert roles[:3] == ["system", "user", "user"]
    assert run.messages[1].text == "go", "the prompt stays word for word"
    assert "<state>\na, b and c are known.\n</state>" in run.messages[2].text
    assert roles[3:] == ["assistant", "tool"] * 2 + ["assistant"]
    assert [c.call.arguments.value["key"] for c in run.tool_calls] == list("abcde"), "the record keeps all calls"


def test_the_summary_costs_and_is_counted(tmp_path):
    run, _ = drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    assert run.usage.total_tokens == 6 * 2 + 1050
    assert run.view.tokens == run.usage.total_tokens
    assert any("6 earlier messages were summarised" in note.text for note in run.view.notes)


def test_it_replays_for_free_to_the_byte(tmp_path):
    first, live = drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    before = snapshot_of(tmp_path)
    (tmp_path / "script.yaml").rename(tmp_path / "gone.yaml")
    (tmp_path / "script.yaml").write_bytes((tmp_path / "gone.yaml").read_bytes())
    (tmp_path / "gone.yaml").unlink()
    for mode in ("auto", "replay"):
        again, events = drive(make_session(tmp_path), "go", mode=mode, **OPTIONS)
        assert again.replayed
        assert again.view.model_dump_json() == first.view.model_dump_json()
        assert again.messages == first.messages
        free = [event.model_copy(update={"replayed_usage": event.usage}) for event in compactions(live)]
        assert compactions(events) == free
    assert {k: v[0] for k, v in snapshot_of(tmp_path).items()} == {k: v[0] for k, v in before.items()}
    assert "".join(CALLS) == "abcde"


def test_the_conversation_is_rebuilt_from_the_journal(tmp_path):
    run, _ = drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    loaded = make_session(tmp_path).load(run.id)
    assert loaded.messages == run.messages
    assert loaded.view == run.view


def test_another_threshold_is_another_conversation(tmp_path):
    drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    other = OPTIONS | {"settings": SETTINGS | {"context.compactAboveTokens": None}}
    run, _ = drive(make_session(tmp_path), "go", mode="replay", **other)
    assert run.problem is not None
    assert run.problem.code == "replay.miss"


def test_without_a_threshold_nothing_is_compacted(tmp_path):
    run, events = drive(make_session(tmp_path, SCRIPT), "go", functions=[lookup], tools=["lookup"])
    assert compactions(events) == []
    assert len(run.messages) == 2 + 5 * 2 + 1


def test_a_run_that_goes_on_begins_with_the_summary(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    first, _ = drive(session, "go", **OPTIONS)
    second, events = drive(session, "go on", continue_from=first, **OPTIONS)
    assert second.text == "And more."
    assert second.messages[2] == first.messages[2]
    assert compactions(events) == []


def test_a_conversation_that_begins_too_long_is_compacted_before_the_first_request(tmp_path):
    plain = {"functions": [lookup], "tools": ["lookup"]}
    session = make_session(tmp_path, SCRIPT)
    first, _ = drive(session, "go", **plain)
    second, events = drive(session, "go on", continue_from=first, **OPTIONS)
    (made,) = compactions(events)
    assert types(events).index("history_compacted") < types(events).index("model_completed")
    assert (made.replies, second.text) == (6, "And more.")
    fresh = make_session(tmp_path)
    earlier, _ = drive(fresh, "go", **plain)
    again, _ = drive(fresh, "go on", continue_from=earlier, mode="replay", **OPTIONS)
    assert again.replayed
    assert again.view == second.view


# ---- when the summary cannot be had


def failing(turns: str) -> str:
    head, _, rest = SCRIPT.partition("      - say: |\n")
    return head + turns + "\n  - name: main" + rest.partition("  - name: main")[2]


@pytest.mark.parametrize(
    "turns",
    [
        "      - {say: x, fail: {error: 503, times: always}}",
        "      - {say: x, fail: 401}",
        "      - say: I would rather not.\n      - say: Still not.",
        "      - refuse: No.",
    ],
    ids=["service down", "refused", "two bad summaries", "will not"],
)
def test_a_failure_changes_nothing_and_replays(tmp_path, turns):
    session = make_session(tmp_path, failing(turns))
    run, events = drive(session, "go", **OPTIONS)
    assert (run.status, run.text) == ("completed", "All letters looked up.")
    made = compactions(events)
    assert [event.method for event in made] == ["failed"]
    assert made[0].tokens_before == made[0].tokens_after
    assert len(run.messages) == 2 + 5 * 2 + 1
    again, events = drive(make_session(tmp_path), "go", mode="replay", **OPTIONS)
    assert again.replayed
    assert again.view == run.view
    assert [event.method for event in compactions(events)] == ["failed"]


def test_one_repair_is_tried(tmp_path):
    repaired = failing(f"""      - say: <task>Letters</task>
      - asked: no state and no next_steps and no artifacts
        say: |
          {SUMMARY}""")
    run, events = drive(make_session(tmp_path, repaired), "go", **OPTIONS)
    assert [event.method for event in compactions(events)] == ["summary"]
    assert "a, b and c are known" in run.messages[2].text


def test_a_transient_fault_of_the_summary_is_retried(tmp_path):
    broken = SCRIPT.replace("        usage: {input: 1000, output: 50}", "        fail: 503", 1)
    run, events = drive(make_session(tmp_path, broken), "go", **OPTIONS)
    assert "model_call_retry_scheduled" in types(events)
    assert [event.method for event in compactions(events)] == ["summary"]
    assert run.status == "completed"


# ---- what is told besides


def test_the_ledger_of_files_and_the_tasks_are_told(tmp_path):
    script = """
    script: 1
    conversations:
      - when: "[calls "
        turns:
          - say: <task>t</task><state>s</state><artifacts>a</artifacts><next_steps>n</next_steps>
      - turns:
          - calls:
              - {call: workspace_write_file, with: {path: output/a.md, content: one}}
              - {call: workspace_read_file, with: {path: output/missing.md}}
              - {call: TaskCreate, with: {subject: Letters, description: All, activeForm: Reading}}
          - {call: lookup, with: {key: b}}
          - {call: lookup, with: {key: c}}
          - {call: lookup, with: {key: d}}
          - {say: Done.}
    """
    options = {
        "functions": [lookup],
        "tools": ["lookup", "workspace.*", "TaskCreate"],
        "settings": SETTINGS | {"context.compactAboveTokens": 4_000},
    }
    run, _ = drive(make_session(tmp_path, script), "go", **options)
    told = run.messages[2].text
    assert "<files>\nFiles changed so far:\n- output/a.md (sha256 7692c3ad3540)\n</files>" in told
    assert "missing.md" not in told, "failed calls do not count"
    assert "<tasks>" in told
    assert "Letters" in told


def test_the_journal_keeps_what_left_the_conversation(tmp_path):
    run, _ = drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    lines = [json.loads(line)["event"] for line in (run.folder / "events.jsonl").read_text().splitlines()]
    assert [e["type"] for e in lines].count("model_completed") == 6
    event = next(e for e in lines if e["type"] == "history_compacted")
    assert event["method"] == "summary"


def test_a_stopped_run_goes_on_with_what_the_summary_left(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    stopped, _ = drive(session, "go", **(OPTIONS | {"settings": SETTINGS | {"limits.turns": 5}}))
    assert (stopped.status, len(stopped.messages)) == ("limit", 3 + 2 * 2)
    stream = session.stream(session.prepare_resume(stopped.id, functions=[lookup]))
    events = _collect(session, stream)
    assert (stream.run.status, stream.run.text) == ("completed", "All letters looked up.")
    assert stream.run.messages[: len(stopped.messages)] == stopped.messages
    assert compactions(events) == []


def chat(session, prompt):
    stream = session.stream(
        session.prepare_chat("tutor", prompt, functions=[lookup], tools=["lookup"], settings=SETTINGS)
    )
    return (_collect(session, stream), stream.run)


def test_a_turn_of_a_session_leaves_the_history_before_it_alone(tmp_path):
    """The session keeps the turn as the model goes on with it; its own compaction is another matter (spec tauritavern §10.7)."""
    script = SCRIPT.replace(
        "    turns:\n      - {call: lookup, with: {key: a}",
        "    turns:\n      - say: Yes?\n      - {call: lookup, with: {key: a}",
    )
    session = make_session(tmp_path, script)
    chat(session, "good day, go slow")
    events, run = chat(session, "now")
    (made,) = compactions(events)
    assert run.text == "All letters looked up."
    assert [m.text for m in run.messages[1:4]] == ["good day, go slow", "Yes?", "now"]
    assert made.start == 4
    (_, turn) = session.chats.shelf.entries("tutor")
    assert list(turn.messages) == run.messages[4:]
    assert turn.messages[0].source == "compaction"
    fresh = make_session(tmp_path)
    again = [chat(fresh, prompt)[1] for prompt in ("good day, go slow", "now")]
    assert [r.replayed for r in again] == [True, True]
    assert again[1].view == run.view
