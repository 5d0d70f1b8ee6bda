"""DESIGN §7 through whole runs: replay for free, drift, misses that name what differs, secrets."""

import json
import os

import pytest

from tt_kernel.domain.errors import ModelUnavailable, ReplayMiss

from .support import drive, make_session, snapshot_of

SCRIPT = """
script: 1
turns:
  - calls: [{call: workspace_write_file, with: {path: output/a.md, content: "one"}}, {call: dice_roll, with: {formula: 3d6}}]
  - call: lookup
    with: {key: b}
  - say: All done.
"""


def lookup(key: str) -> str:
    """Look a key up."""
    CALLS.append(key)
    return f"value of {key}"


CALLS: list[str] = []
OPTIONS = {"functions": [lookup], "tools": ["dice.roll", "lookup"]}


@pytest.fixture(autouse=True)
def _fresh():
    CALLS.clear()


def test_the_second_run_is_free_and_the_same_to_the_byte(tmp_path):
    first, _ = drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    before = snapshot_of(tmp_path)
    second, _ = drive(make_session(tmp_path), "go", **OPTIONS)
    assert (first.replayed, second.replayed) == (False, True)
    assert first.view.model_dump_json() == second.view.model_dump_json()
    assert second.folder == first.folder
    assert [c.result.content for c in first.tool_calls] == [c.result.content for c in second.tool_calls]
    assert snapshot_of(tmp_path) == before
    assert CALLS == ["b"]


def test_strict_replay_needs_neither_script_nor_key(tmp_path):
    first, _ = drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    moved = tmp_path.with_name(tmp_path.name + "-moved")
    os.rename(tmp_path, moved)
    (moved / "script.yaml").unlink()
    for mode in ("replay", "auto"):
        second, _ = drive(make_session(moved), "go", mode=mode, **OPTIONS)
        assert second.replayed
        assert second.view == first.view
    with pytest.raises(ModelUnavailable, match="There is no script"):
        drive(make_session(moved), "go", mode="live", **OPTIONS)
    with pytest.raises(ModelUnavailable, match="There is no script"):
        drive(make_session(moved), "something new", **OPTIONS)
    with pytest.raises(ReplayMiss, match='recorded "go", now "something new"'):
        drive(make_session(moved), "something new", mode="replay", **OPTIONS)


def test_a_script_that_is_gone_and_was_edited_between_two_runs_is_the_one_of_each(tmp_path):
    one, _ = drive(make_session(tmp_path, SCRIPT), "go", settings={"sampling.temperature": 0}, **OPTIONS)
    edited = SCRIPT.replace("All done.", "Everything is done.")
    two, _ = drive(make_session(tmp_path, edited), "go", settings={"sampling.temperature": 1}, **OPTIONS)
    (tmp_path / "script.yaml").unlink()
    for temperature, text in ((0, one.text), (1, two.text)):
        again, _ = drive(
            make_session(tmp_path), "go", mode="replay", settings={"sampling.temperature": temperature}, **OPTIONS
        )
        assert again.text == text


def test_what_a_model_can_see_is_known_without_it(tmp_path):
    """A tool that gives images is not offered to a model that takes none, wherever the run is replayed."""
    first, _ = drive(make_session(tmp_path, "script: 1\nimages: false\nturns: [Done.]\n"), "go", profile="engineer")
    (tmp_path / "script.yaml").unlink()
    second, _ = drive(make_session(tmp_path), "go", profile="engineer", mode="replay")
    assert (second.replayed, second.id) == (True, first.id)


def test_where_no_model_is_configured_the_recorded_one_is_meant(tmp_path):
    first, _ = drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    session = make_session(tmp_path)
    session.default_model = None
    second, _ = drive(session, "go", **OPTIONS)
    assert (second.replayed, second.view) == (True, first.view)
    for prompt, mode in (("go", "live"), ("something else", None)):
        with pytest.raises(ModelUnavailable, match="No model is configured"):
            drive(session, prompt, mode=mode, **OPTIONS)


def test_repeats_have_their_own_recordings(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    one, _ = drive(session, "go", **OPTIONS)
    two, _ = drive(session, "go", **OPTIONS)
    assert not two.replayed
    assert two.id == f"{one.id}.2"
    again = make_session(tmp_path)
    assert [drive(again, "go", **OPTIONS)[0].view for _ in range(2)] == [one.view, two.view]


def test_the_same_cell_again_replays(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    drive(session, "go", cell="c1", execution="1", **OPTIONS)
    two, _ = drive(session, "go", cell="c1", execution="2", **OPTIONS)
    assert two.replayed
    other, _ = drive(session, "go", cell="c2", execution="3", **OPTIONS)
    assert not other.replayed


def test_live_runs_anew_and_becomes_what_is_replayed(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    drive(session, "go", cell="c", execution="1", **OPTIONS)
    live, _ = drive(session, "go", cell="c", execution="2", mode="live", **OPTIONS)
    assert not live.replayed
    assert CALLS == ["b", "b"]
    back, _ = drive(make_session(tmp_path), "go", **OPTIONS)
    assert back.replayed
    assert back.id == live.id


def test_off_records_nothing(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    run, _ = drive(session, "go", mode="off", **OPTIONS)
    assert run.status == "completed"
    assert not session.folder.recordings.exists()


def test_the_environment_chooses_the_mode(tmp_path, monkeypatch):
    monkeypatch.setenv("TT_RECORD", "replay")
    with pytest.raises(ReplayMiss, match="no recordings yet"):
        drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"prompt": "go now"}, 'The prompt differs at line 1: recorded "go", now "go now"'),
        ({"settings": {"sampling.temperature": 1}}, "The sampling differs"),
        ({"functions": [], "tools": ["dice.roll"]}, "Tool lookup is gone"),
        ({"settings": {"instructions.agent_system_prompt": "Be brief."}}, "The system prompt differs at line 1"),
    ],
)
def test_a_strict_miss_names_the_first_difference(tmp_path, change, names):
    drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    options = OPTIONS | {k: v for k, v in change.items() if k != "prompt"}
    with pytest.raises(ReplayMiss) as caught:
        drive(make_session(tmp_path), change.get("prompt", "go"), mode="replay", **options)
    assert names in caught.value.message


def test_another_model_is_a_miss_that_says_so(tmp_path):
    drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    (tmp_path / "other.yaml").write_text(SCRIPT)
    with pytest.raises(ReplayMiss, match="model differs"):
        drive(make_session(tmp_path), "go", mode="replay", model="scripted:other.yaml", **OPTIONS)


def test_a_changed_function_is_executed_and_the_conversation_goes_on_from_the_record_if_it_agrees(tmp_path):
    drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)
    calls = []

    def lookup(key: str) -> str:
        """Look a key up."""
        calls.append(key)
        return "value of " + key  # another way to the same result

    run, _ = drive(make_session(tmp_path), "go", functions=[lookup], tools=["dice.roll", "lookup"])
    assert calls == ["b"]
    assert run.text == "All done."
    assert not run.replayed
    back, _ = drive(make_session(tmp_path), "go", functions=[lookup], tools=["dice.roll", "lookup"])
    assert back.replayed
    assert calls == ["b"]


def test_a_changed_function_fails_strict_replay(tmp_path):
    drive(make_session(tmp_path, SCRIPT), "go", **OPTIONS)

    def lookup(key: str) -> str:
        """Look a key up."""
        return "other"

    run, _ = drive(make_session(tmp_path), "go", mode="replay", functions=[lookup], tools=["dice.roll", "lookup"])
    assert run.problem.code == "replay.miss"
    assert "lookup" in run.problem.message


def tamper(folder, old, new):
    (file,) = folder.recordings.glob("*.jsonl")
    file.write_text(file.read_text().replace(old, new))


def test_drift_of_a_re_executed_tool_is_reported_in_auto_and_an_error_in_replay(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    drive(session, "go", **OPTIONS)
    tamper(session.folder, "Wrote 3 chars", "Wrote 4 chars")
    strict, _ = drive(make_session(tmp_path), "go", mode="replay", **OPTIONS)
    assert strict.problem.code == "replay.miss"
    assert "workspace_write_file" in strict.problem.message
    assert "at line 1" in strict.problem.message


def test_a_failed_run_fails_again_in_a_strict_replay_and_else_goes_on_from_its_turns(tmp_path):
    script = """
    script: 1
    turns:
      - call: workspace_list_files
      - say: Fine.
        fail: {error: 401, times: 1}
    """
    failed, _ = drive(make_session(tmp_path, script), "go")
    assert failed.status == "failed"
    session = make_session(tmp_path)
    strict, _ = drive(session, "go", mode="replay")
    assert (strict.status, strict.problem, strict.view) == ("failed", failed.problem, failed.view)
    # The script's failure counts attempts of one provider, so it happens again before the model answers.
    again, _ = drive(make_session(tmp_path), "go")
    assert (again.status, again.replayed) == ("failed", False)
    assert [c.result.content for c in again.tool_calls] == [c.result.content for c in failed.tool_calls]
    chain = next(c for c in session.recordings.roots() if again.id in c.runs)
    assert len(chain.prefixes[again.id]) == 1


def test_secrets_reach_no_file_and_replay_all_the_same(tmp_path, monkeypatch):
    secret = "zq-9f8e7d6c5b4a39281706"
    monkeypatch.setenv("SOMETHING_API_KEY", secret)
    script = f"""
    script: 1
    turns:
      - say: The key is {secret}.
        call: leak
        with: {{value: "{secret}"}}
      - say: Done with {secret}.
    """

    def leak(value: str) -> str:
        """Leak."""
        return f"got {value} and {secret}"

    options = {"functions": [leak], "tools": ["leak"]}
    run, _ = drive(make_session(tmp_path, script), f"use {secret}", **options)
    assert secret not in run.text
    for path in (tmp_path / "nb.agent").rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path
    assert secret not in run.view.model_dump_json()
    again, _ = drive(make_session(tmp_path), f"use {secret}", **options)
    assert again.replayed


def test_a_stored_run_loads_from_disk_as_it_was(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    run, _ = drive(session, "go", **OPTIONS)
    loaded = make_session(tmp_path).load(run.id[:5])
    assert loaded.view == run.view
    assert (loaded.text, loaded.status, loaded.usage) == (run.text, run.status, run.usage)
    assert list(loaded.messages) == list(run.messages)
    assert [c.result for c in loaded.tool_calls] == [c.result for c in run.tool_calls]
    assert loaded.files == run.files


def test_replay_by_run(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    run, _ = drive(session, "go", **OPTIONS)
    fresh = make_session(tmp_path)
    stream = fresh.stream(fresh.prepare_replay(run.id, functions=[lookup]))
    from .support import _collect

    _collect(fresh, stream)
    assert stream.run.view == run.view


def test_the_recorded_document_is_readable(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    drive(session, "go", **OPTIONS)
    (file,) = session.folder.recordings.glob("*.jsonl")
    kinds = [json.loads(line)["kind"] for line in file.read_text().splitlines()]
    assert kinds[0] == "run"
    assert {"body", "request", "reply", "result"} <= set(kinds)
