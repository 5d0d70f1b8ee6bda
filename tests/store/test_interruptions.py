"""DESIGN §4 and §6: a process may be killed at any moment; what it did until then is there and is told truly."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.events import (
    CallRequested,
    CommitCompleted,
    Event,
    ModelStopped,
    RunCreated,
    RunEnded,
)
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId
from tt_kernel.domain.runs import RunRecord
from tt_kernel.store.interruptions import settled
from tt_kernel.store.journal import Journal, read_journal
from tt_kernel.store.layout import AgentFolder, RunLayout
from tt_kernel.store.locks import hold
from tt_kernel.store.runs import RunFolder, RunIndex
from tt_kernel.store.secrets import Scrubber

ROOT = Path(__file__).parents[2]
KEY = "3fa92c17" + "0" * 56
NO_SECRETS = Scrubber()
Maker = Callable[..., RunRecord]


def layout_with(tmp_path: Path, events: list[Event]) -> RunLayout:
    layout = RunLayout(tmp_path / "3fa92c17")
    with Journal("3fa92c17", layout.events, NO_SECRETS) as journal:
        for event in events:
            journal.append(event)
    return layout


# ---- what the journal tells


def test_a_run_that_ended_is_as_its_record_says(tmp_path: Path, make_record: Maker, whole_run: list[Event]) -> None:
    record = make_record(status="failed", text="other")
    assert settled(layout_with(tmp_path, whole_run), record) is record


def test_a_run_is_running_while_its_writer_lives(tmp_path: Path, make_record: Maker, whole_run: list[Event]) -> None:
    layout, record = layout_with(tmp_path, whole_run[:3]), make_record()
    held = hold(layout.root)
    assert settled(layout, record) is record
    rebuilt = settled(layout, None)
    assert (rebuilt.status, rebuilt.problem, rebuilt.prompt) == ("running", None, "What is it?")
    held.release()
    assert settled(layout, record).status == "interrupted"


def test_a_run_without_a_writer_was_interrupted_and_keeps_what_it_did(
    tmp_path: Path, make_record: Maker, whole_run: list[Event]
) -> None:
    record = settled(layout_with(tmp_path, whole_run[:-1]), make_record())
    assert record.status == "interrupted"
    assert record.problem is not None
    assert record.problem.code == "agent.run_interrupted"
    assert (record.text, record.turns, record.tool_calls) == ("Seven.\n", 1, 1)
    assert record.usage.output_tokens == 5
    assert record.ended_at is not None


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("run_completed", "completed"),
        ("run_partial_success", "partial_success"),
        ("run_failed", "failed"),
        ("run_cancelled", "interrupted"),
    ],
)
def test_an_end_in_the_journal_counts_even_if_the_record_missed_it(
    kind: str, status: str, tmp_path: Path, make_record: Maker, whole_run: list[Event]
) -> None:
    code = None if kind == "run_completed" else "agent.x"
    end = RunEnded.model_validate({"type": kind, "code": code, "message": code and "because", "text": "so far"})
    record = settled(layout_with(tmp_path, [*whole_run[:-1], end]), make_record())
    assert (record.status, record.text) == (status, "so far")
    assert (record.problem and record.problem.code) == code


def test_the_text_is_the_last_commit_else_the_last_words(
    tmp_path: Path, make_record: Maker, make_call: Callable[..., ToolCall]
) -> None:
    stopped = ModelStopped(invocation_id=ROOT_INVOCATION, turn=2, text="half a sen")
    commit = CommitCompleted(call_id=CallId("c"), path="output/main.md", number=1, text="published")
    assert settled(layout_with(tmp_path / "a", [stopped]), make_record()).text == "half a sen"
    assert settled(layout_with(tmp_path / "b", [commit, stopped]), make_record()).text == "published"
    assert settled(layout_with(tmp_path / "c", []), make_record()).text == ""


def test_a_journal_without_its_first_lines_still_counts(tmp_path: Path, make_call: Callable[..., ToolCall]) -> None:
    requested = CallRequested(call=make_call(), arguments_ref="x", snapshot="s")
    record = settled(layout_with(tmp_path, [requested]), None)
    assert (record.status, record.tool_calls, record.prompt, record.profile.id) == ("interrupted", 1, "", "unknown")


def test_an_odd_profile_id_is_shown_and_not_believed(tmp_path: Path) -> None:
    created = RunCreated(key=KEY, model="m", profile_id="Not An Id", prompt="p", continues="00000001")
    record = settled(layout_with(tmp_path, [created]), None)
    assert (record.profile.id, record.profile.display_name) == ("unknown", "Not An Id")
    assert record.continue_from == "00000001"


def test_a_claimed_folder_in_which_nothing_began_was_interrupted(tmp_path: Path) -> None:
    agent_folder = AgentFolder(tmp_path)
    agent_folder.run("3fa92c17.5").root.mkdir(parents=True)
    (record,) = RunIndex(agent_folder).list()
    assert (record.id, record.slot, record.status) == ("3fa92c17.5", 5, "interrupted")
    assert record.problem is not None
    assert "before the run began" in record.problem.message


# ---- killed for real


HOLDER = """
import sys
from pathlib import Path
from tt_kernel.domain.runs import RunRecord
from tt_kernel.store.journal import Journal
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.runs import RunFolder
from tt_kernel.store.secrets import Scrubber
folder = RunFolder.stage(Scrubber())
record = folder.save(RunRecord.model_validate_json(sys.argv[2]))
folder.materialise(AgentFolder(Path(sys.argv[1])), record.key)
print("running", flush=True)
sys.stdin.read()
"""


def test_the_status_follows_the_life_of_another_process(tmp_path: Path, make_record: Maker) -> None:
    index = RunIndex(AgentFolder(tmp_path))
    command = [sys.executable, "-c", HOLDER, str(tmp_path), make_record().model_dump_json()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        assert index.load("3fa92c17").status == "running"
        process.kill()
        process.wait(timeout=20)
    assert index.load("3fa92c17").status == "interrupted"
    assert index.find("3fa").status == "interrupted"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("place", ["same file system", "other file system"])
def test_a_run_killed_before_any_step_opens(place: str, tmp_path: Path) -> None:
    if place == "other file system" and not os.path.isdir("/dev/shm"):
        pytest.skip("needs a second file system")
    base = tmp_path / "killed"
    base.mkdir()
    script = Path(__file__).with_name("killed_runs.py")
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    with tempfile.TemporaryDirectory(dir=tmp_path if place == "same file system" else "/dev/shm") as staging:
        command = [sys.executable, str(script), str(base), staging]
        total = int(subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout)
    assert total > 30
    seen = []
    for number in range(1, total + 1):
        agent_folder = AgentFolder(base / str(number) / "nb.agent")
        seen.append(check_killed(agent_folder))
        with RunFolder.stage(NO_SECRETS) as folder:
            assert folder.materialise(agent_folder, KEY) == ("3fa92c17" if seen[-1] == "nothing" else "3fa92c17.2")
    order = ["nothing", "interrupted", "completed"]
    assert sorted(seen, key=order.index) == seen
    assert set(seen) == set(order)


def check_killed(agent_folder: AgentFolder) -> str:
    records = RunIndex(agent_folder).list()
    if not records:
        return "nothing"
    (record,) = records
    layout = agent_folder.run(record.id)
    if set(os.listdir(layout.root)) & {"output", "tool-args", "events.jsonl"}:
        assert layout.run_json.exists()
    if layout.run_json.exists():
        assert (record.prompt, record.seed, record.key) == ("What is it?", 7, KEY)
    types = [envelope.event.type for envelope in read_journal(layout.events)]
    assert types == ["run_created", "tool_call_requested", "tool_call_completed", "run_completed"][: len(types)]
    if types:
        assert (layout.workspace_root("output") / "main.md").read_text() == "staged"
        assert len(list((layout.tool_args / "inv_root").iterdir())) == 1
    if len(types) >= 3:
        assert (layout.tool_results / "inv_root").is_dir()
    assert record.status == ("completed" if len(types) == 4 else "interrupted")
    return record.status
