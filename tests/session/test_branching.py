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
        (TurnEdit(turn=9), None, "can be branched at the turns 1 to 3, not at 9"),
        (TurnEdit(turn=0), None, "not at 0"),
        (TurnEdit(turn=2), "other", "branch at turn 1 to change it"),
        (TurnEdit(turn=1, message="x"), None, "change it with --prompt"),
        (TurnEdit(turn=2, results={"7": "x"}), None, "Turn 1 has no call 7; it has the calls 1, 2"),
        (TurnEdit(turn=2, settings={"instructions.agent_system_prompt": "x"}), None, "branch at turn 1"),
    ],
)
def test_what_cannot_be_changed_there_is_said(original, edit, prompt, says):
    session, run = original
    with pytest.raises(UsageProblem) as caught:
        session.prepare_branch(run.id, edit, prompt=prompt)
    assert says in caught.value.message
