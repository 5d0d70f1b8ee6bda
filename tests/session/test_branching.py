"""Issue 6.5: a run from a turn of another one on, with one thing changed."""

import pytest

from tt_kernel.domain.errors import ReplayMiss, UsageProblem
from tt_kernel.domain.runs import TurnEdit
from tt_kernel.experiments.lineage import Tree
from tt_kernel.store.journal import read_journal

from .support import drive as drive_prompt
from .support import make_session, snapshot_of

SCRIPT = """
script: 1
conversations:
  - when: again
    turns:
      - say: Another prompt, another answer.
  - turns:
      - calls: [{call: workspace_write_file, with: {path: output/a.md, content: one}}, {call: lookup, with: {key: a}}]
      - call: workspace_list_files
      - say: Done.
"""
CALLS = []


def lookup(key: str) -> str:
    """Look a key up."""
    CALLS.append(key)
    return f"value of {key}"


OPTIONS = {"functions": [lookup], "tools": ["lookup"]}


@pytest.fixture(autouse=True)
def _fresh():
    CALLS.clear()


def collect(session, prepared):
    from .support import _collect

    stream = session.stream(prepared)
    return _collect(session, stream), stream.run


def branch(session, run, edit, **options):
    events, made = collect(session, session.prepare_branch(run.id, edit, functions=[lookup], **options))
    return made, events


@pytest.fixture
def original(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    run, _ = drive_prompt(session, "go", **OPTIONS)
    assert [call.call.turn for call in run.tool_calls] == [1, 1, 2]
    return session, run


def test_another_result_leaves_the_prefix_and_changes_the_rest(original):
    session, run = original
    made, _ = branch(session, run, TurnEdit(turn=2, results={"2": "counterfactual"}))
    assert made.id != run.id
    assert made.tool_calls[1].result.content == "counterfactual"
    assert CALLS == ["a"]  # the function was not called again
    assert (made.folder / "output" / "a.md").read_text() == "one"  # the files of the prefix are there
    assert made.messages[2] == run.messages[2]
    told = [m.text for m in made.messages if m.role == "tool"]
    assert "counterfactual" in told[1]
    assert "value of a" not in "".join(told)


def test_a_message_before_a_turn(original):
    session, run = original
    made, events = branch(session, run, TurnEdit(turn=3, message="Please hurry."))
    assert [e.text for e in events if e.type == "user_guidance_applied"] == ["Please hurry."]
    assert [c.call.name for c in made.tool_calls] == [c.call.name for c in run.tool_calls]
    assert "hurry" in made.messages[-2].text


def test_settings_and_model_from_a_turn_on(original, tmp_path):
    session, run = original
    (tmp_path / "other.yaml").write_text("script: 1\nturns: [one, two, From another model.]\n")
    edit = TurnEdit(turn=3, settings={"sampling.temperature": 0.5}, model="scripted:other.yaml")
    made, _ = branch(session, run, edit)
    assert made.text == "From another model."
    assert [c.call.name for c in made.tool_calls] == [c.call.name for c in run.tool_calls]
    assert CALLS == ["a"]
    limited, _ = branch(session, run, TurnEdit(turn=2, settings={"limits.turns": 1}))
    assert limited.status == "limit"


def test_another_prompt_or_any_field_at_turn_1(original):
    session, run = original
    made, _ = branch(session, run, TurnEdit(turn=1), prompt="again, please")
    assert made.text == "Another prompt, another answer."
    other, _ = branch(session, run, TurnEdit(turn=1, settings={"instructions.agent_system_prompt": "Be brief."}))
    assert other.messages[0].text.startswith("Be brief.")


def test_a_branch_replays_strictly_and_its_parent_too(original, tmp_path):
    session, run = original
    edit = TurnEdit(turn=2, results={"2": "counterfactual"})
    made, _ = branch(session, run, edit)
    before = snapshot_of(tmp_path)
    again = make_session(tmp_path)
    back, _ = branch(again, run, edit, mode="replay")
    assert back.replayed
    assert back.view == made.view
    _, stored = collect(again, again.prepare_replay(made.id, functions=[lookup]))
    assert stored.view == made.view
    _, parent = collect(again, again.prepare_replay(run.id, functions=[lookup]))
    assert parent.view == run.view
    assert snapshot_of(tmp_path) == before
    assert CALLS == ["a"]


def test_lineage_is_stored_and_drawn(original):
    session, run = original
    one, _ = branch(session, run, TurnEdit(turn=2, results={"2": "counterfactual"}))
    two, _ = branch(session, one, TurnEdit(turn=3, message="Please hurry."))
    record = session.index.load(two.id)
    assert record.branch.of == one.id
    assert [edit.turn for edit in record.branch.edits] == [2, 3]
    assert two.tool_calls[1].result.content == "counterfactual"
    lines = repr(Tree(session.index.list())).splitlines()
    assert lines[0].startswith(run.id)
    assert lines[1].startswith(f"└─ {one.id}") and "branch at turn 2" in lines[1] and "counterfactual" in lines[1]
    assert lines[2].startswith(f"   └─ {two.id}") and "Please hurry." in lines[2]


def test_the_prefix_is_replayed_not_asked(original):
    session, run = original
    made, _ = branch(session, run, TurnEdit(turn=3, message="Please hurry."))
    chain = next(c for c in session.recordings.roots() if made.id in c.runs)
    assert len(chain.prefixes[made.id]) == 2
    assert chain.parents[made.id] == run.id
    assert read_journal(made.folder / "events.jsonl")


def test_strict_replay_of_a_branch_that_never_ran_is_a_miss(original):
    session, run = original
    made, _ = branch(session, run, TurnEdit(turn=3, message="Never said."), mode="replay")
    assert made.problem.code == ReplayMiss.default_code
    assert made.replayed


@pytest.mark.parametrize(
    ("edit", "prompt", "says"),
    [
        (TurnEdit(turn=1, reply="x"), None, "change it with --prompt"),
        (TurnEdit(turn=2, calls={"7": {}}), None, "Turn 1 has no call 7"),
        (TurnEdit(turn=2, settings={"tools.deny": ["x"]}), None, "are frozen when it starts. Branch at turn 1"),
        (TurnEdit(turn=2, settings={"instructions.agent_system_prompt": "x"}), None, "it is in the first message"),
        (TurnEdit(turn=9), None, "can be branched at the turns 1 to 3, not at 9"),
        (TurnEdit(turn=0), None, "not at 0"),
        (TurnEdit(turn=2), "other", "branch at turn 1 to change it"),
        (TurnEdit(turn=1, message="x"), None, "change it with --prompt"),
        (TurnEdit(turn=2, results={"7": "x"}), None, "Turn 1 has no call 7; it has the calls 1, 2"),
        (TurnEdit(turn=2, settings={"context.keepGroups": 1}), None, "Branch at turn 1"),
    ],
)
def test_what_cannot_be_changed_there_is_said(original, edit, prompt, says):
    session, run = original
    with pytest.raises(UsageProblem) as caught:
        session.prepare_branch(run.id, edit, prompt=prompt)
    assert says in caught.value.message


def strictly(tmp_path, run, made, edit):
    """Both the branch and what it branched from replay, and nothing is written."""
    before = snapshot_of(tmp_path)
    again = make_session(tmp_path)
    back, _ = branch(again, run, edit, mode="replay")
    assert (back.replayed, back.view) == (True, made.view)
    for one in (made, run):
        _, stored = collect(again, again.prepare_replay(one.id, functions=[lookup]))
        assert (stored.replayed, stored.view) == (True, one.view)
    assert snapshot_of(tmp_path) == before


def test_another_reply_of_the_model_leaves_its_calls(original, tmp_path):
    session, run = original
    edit = TurnEdit(turn=2, reply="I would rather not.")
    made, _ = branch(session, run, edit)
    assert next(m.text for m in made.messages if m.role == "assistant") == "I would rather not."
    assert [c.result.content for c in made.tool_calls[:2]] == [c.result.content for c in run.tool_calls[:2]]
    assert CALLS == ["a"]  # replayed
    assert session.load_stored(made.id).messages == made.messages
    assert not made.replayed
    strictly(tmp_path, run, made, edit)


def test_another_call_of_the_model_is_made(original, tmp_path):
    session, run = original
    edit = TurnEdit(turn=2, calls={"2": {"key": "z"}})
    made, _ = branch(session, run, edit)
    assert [c.call.arguments.value for c in made.tool_calls][1] == {"key": "z"}
    assert made.tool_calls[1].result.content == "value of z"
    assert CALLS == ["a", "z"]
    strictly(tmp_path, run, made, edit)
    assert CALLS == ["a", "z"]


def test_permissions_from_a_turn_on(original, tmp_path):
    session, run = original
    rule = {"tool": "workspace_list_files", "decision": "deny"}
    edit = TurnEdit(turn=2, settings={"permissions.rules": [rule]})
    made, _ = branch(session, run, edit)
    assert [c.result.error_code for c in made.tool_calls] == [None, None, "tool.permission_denied"]
    strictly(tmp_path, run, made, edit)


def test_a_revision_is_branched_too(tmp_path):
    script = """
    script: 1
    turns:
      - say: The first answer.
      - call: lookup
        with: {key: a}
      - say: The second answer.
      - say: And more.
    """
    session = make_session(tmp_path, script)
    run, _ = drive_prompt(session, "go", **OPTIONS)
    _, fixed = collect(session, session.prepare_fix(run.id, "Shorter.", functions=[lookup]))
    assert fixed.text == "The second answer."
    edit = TurnEdit(turn=2, results={"1": "counterfactual"})
    made, _ = branch(session, fixed, edit)
    record = session.index.load(made.id)
    assert (record.revises, record.branch.of) == (run.id, fixed.id)
    assert made.messages[1].text == "go"
    assert "counterfactual" in [m.text for m in made.messages if m.role == "tool"]
    assert CALLS == ["a"]
    strictly(tmp_path, fixed, made, edit)
    other, _ = branch(session, fixed, TurnEdit(turn=1), prompt="Longer.")
    assert "Longer." in [m.text for m in other.messages if m.role == "user"][-1]
    with pytest.raises(UsageProblem, match="which this one revises"):
        session.prepare_branch(fixed.id, TurnEdit(turn=1, settings={"instructions.agent_system_prompt": "x"}))
