"""spec tauritavern §7.4 through runs: the notebook's memory goes from cell to cell, and a replay begins where the record began."""

import pytest

from .support import drive, make_session, snapshot_of, types

SCRIPT = """
script: 1
conversations:
  - when: remember
    turns:
      - call: workspace_write_file
        with: {path: persist/notes.md, content: "cat: Mia"}
      - say: I will.
  - when: what
    turns:
      - call: workspace_read_file
        with: {path: persist/notes.md}
      - expect: Mia
        say: Mia.
  - when: fail
    turns:
      - call: workspace_write_file
        with: {path: persist/notes.md, content: "lost"}
      - say: x
        fail: {error: 401, times: always}
  - when: forget
    turns:
      - calls: [{call: workspace_shell, with: {command: rm /persist/notes.md}}]
      - say: Gone.
"""


def test_what_a_run_keeps_the_next_one_has(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    first, events = drive(session, "remember")
    assert first.persist_state == first.id
    assert "persistent_changes_committed" in types(events)
    second, _ = drive(session, "what is her name")
    assert second.text == "Mia."
    assert second.persist_state == first.id, "what did not change is no new version"


def test_a_fresh_kernel_replays_both_and_writes_nothing(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    views = [drive(session, prompt)[0].view for prompt in ("remember", "what is her name", "forget")]
    before = snapshot_of(tmp_path)
    fresh = make_session(tmp_path)
    again = [drive(fresh, prompt, mode="replay")[0] for prompt in ("remember", "what is her name", "forget")]
    assert [run.view for run in again] == views
    assert all(run.replayed for run in again)
    assert snapshot_of(tmp_path) == before


def test_a_failed_run_publishes_nothing(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    first, _ = drive(session, "remember")
    failed, _ = drive(session, "fail")
    assert failed.status == "failed"
    assert drive(session, "what is her name")[0].text == "Mia."
    assert sorted(p.name for p in session.folder.persist.iterdir()) == [first.id]


def test_the_state_can_be_chosen(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    first, _ = drive(session, "remember")
    gone, _ = drive(session, "forget")
    assert gone.persist_state == gone.id
    run, _ = drive(session, "what is her name", persist_base=first.id)
    assert run.text == "Mia."


def test_two_runs_from_one_state_are_a_conflict_that_is_told(tmp_path):
    session = make_session(
        tmp_path,
        SCRIPT
        + """
  - when: two
    turns:
      - call: workspace_write_file
        with: {path: persist/other.md, content: "two"}
      - call: meanwhile
      - say: ok
""",
    )

    async def meanwhile() -> str:
        """Somebody else publishes."""
        other = make_session(tmp_path)
        stream = other.stream(other.prepare("remember"))
        async for _ in stream:
            pass
        return stream.run.id

    run, events = drive(session, "two", functions=[meanwhile])
    failed = next(e for e in events if e.type == "persistent_changes_failed")
    assert failed.code == "agent.persist_conflict"
    assert run.persist_state is None
    assert (session.folder.persist / run.id / "files" / "other.md").exists(), "nothing is lost"


def test_the_loaded_run_knows_its_state(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    first, _ = drive(session, "remember")
    assert make_session(tmp_path).load(first.id).persist_state == first.id


@pytest.mark.parametrize("state", ["nothing", "../x"])
def test_an_unknown_state_is_refused(tmp_path, state):
    with pytest.raises(Exception, match="no memory state"):
        drive(make_session(tmp_path, SCRIPT), "remember", persist_base=state)
