"""`prune`: what nothing refers to goes, what anything refers to stays, and the notebook replays afterwards."""

import json
import os
import shutil
import signal
import sys
import time
from io import BytesIO

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image
from support import drive, make_session

from tt_kernel.cli import main
from tt_kernel.domain.errors import NotFound, ReplayMiss
from tt_kernel.domain.views import RUN_MIME
from tt_kernel.experiments.costs import total
from tt_kernel.experiments.pruning import prune
from tt_kernel.runtime.loop_thread import submit
from tt_kernel.store.retention import Retention

SCRIPT = """
script: 1
conversations:
  - when: roll
    turns:
      - call: dice_roll
        with: {formula: 1d6}
      - say: Rolled.
        usage: {input: 100, output: 10, cost: 0.25}
  - turns:
      - say: Echo.
        usage: {input: 100, output: 10, cost: 0.25}
"""
KEEP_NONE = Retention(keep_runs=0, keep_full=0)


def save_notebook(session, *cells):
    """Each cell: (source, run or None); a run is what its output shows."""
    made = []
    for source, run in cells:
        outputs = []
        if run is not None:
            outputs = [new_output("display_data", data={RUN_MIME: run.view.model_dump(mode="json"), "text/plain": "x"})]
        made.append(new_code_cell(source, outputs=outputs))
    nbformat.write(new_notebook(cells=made), session.notebook)


def age(folder):
    """What is in a folder was written long ago."""
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - 7200,) * 2)


def rows(report):
    return [item.row[:3] for item in report.items]


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path, SCRIPT)


def again(session, prompt, **options):
    """In a new kernel, strictly from the record."""
    return drive(make_session(session.notebook.parent), prompt, mode="replay", **options)[0]


def test_a_plan_changes_nothing(session):
    run, _ = drive(session, "one")
    save_notebook(session)
    before = sorted(session.folder.root.rglob("*"))
    report = prune(make_session(session.notebook.parent), KEEP_NONE)
    assert [row[::2] for row in rows(report)] == [("run", "delete"), ("recordings", "delete")]
    assert rows(report)[0][1] == run.id
    assert report.notes[-1].startswith("Nothing was deleted yet. --yes does it and frees ")
    assert sorted(session.folder.root.rglob("*")) == before


def test_a_shown_run_stays_and_another_is_gone(session):
    shown, _ = drive(session, "one")
    drive(session, "two")
    save_notebook(session, ("%%agent\none", shown))
    report = prune(make_session(session.notebook.parent), KEEP_NONE, carry=True)
    assert report.notes[0] == f"run {shown.id} stays: cell 1 shows it"
    assert [row[::2] for row in rows(report)] == [("run", "delete"), ("recordings", "delete")]
    assert again(session, "one").text == "Echo."
    with pytest.raises(ReplayMiss):
        again(session, "two")
    assert rows(prune(make_session(session.notebook.parent), KEEP_NONE)) == []


def test_a_run_that_is_named_goes_alone(session):
    """Field report 77: past runs are deleted from a magic."""
    one, _ = drive(session, "one")
    two, _ = drive(session, "two")
    gone, _ = drive(session, "on we go", continue_from=one.id)
    save_notebook(session)
    fresh = make_session(session.notebook.parent)
    report = prune(fresh, runs=[one.id, two.id[:7]], carry=True)
    assert report.notes[0] == f"run {one.id} stays: run {gone.id} goes on from it"
    assert rows(report)[0] == ("run", two.id, "delete")
    assert {r.id for r in fresh.index.list()} == {one.id, gone.id}
    with pytest.raises(NotFound):
        prune(fresh, runs=["ffffffff"])
    with pytest.raises(ReplayMiss):
        again(session, "two")
    assert again(session, "one").text == "Echo."


def test_a_saved_list_of_runs_keeps_none_of_them(session):
    run, _ = drive(session, "one")
    save_notebook(session, ("%agent prune --keep 0", run))
    assert rows(prune(make_session(session.notebook.parent), KEEP_NONE))[0] == ("run", run.id, "delete")


def test_of_many_that_stay_one_line_tells(session):
    runs = [drive(session, f"number {number}")[0] for number in range(4)]
    save_notebook(session, *((f"%%agent\n{number}", run) for number, run in enumerate(runs)))
    assert prune(session, KEEP_NONE).notes[0] == "4 runs stay: cells of the notebook show them"


def test_a_shown_run_replays_when_somebody_deleted_its_folder(session):
    shown, _ = drive(session, "one")
    save_notebook(session, ("%%agent\none", shown))
    shutil.rmtree(shown.folder)
    assert rows(prune(make_session(session.notebook.parent), carry=True)) == []
    assert again(session, "one").text == "Echo."


def test_runs_of_one_chain_are_told_apart(session):
    kept, _ = drive(session, "one", mode="live")
    gone, _ = drive(session, "one", mode="live")
    shutil.rmtree(gone.folder)
    save_notebook(session, ("%%agent\none", kept))
    report = prune(make_session(session.notebook.parent), carry=True)
    assert [row[::2] for row in rows(report)] == [("recordings", "forget 1 of 2 runs")]
    assert again(session, "one").id == kept.id
    [chain] = session.folder.recordings.glob("*.jsonl")
    assert {line["run"] for line in map(json.loads, chain.read_text().splitlines()) if "run" in line} == {kept.id}


def test_what_this_kernel_has_seen_stays(session):
    run, _ = drive(session, "one")
    save_notebook(session)
    shutil.rmtree(run.folder)
    assert prune(session).notes == ("There is nothing to prune.",)
    assert [row[0] for row in rows(prune(make_session(session.notebook.parent)))] == ["recordings"]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("%%agent\none", "cell 1 has no saved output"),
        ("%%agent -q\none", "cell 1 does not show its run"),
        ("%%agent --repeat 3\none", "cell 1 sweeps, and its table need not name every run"),
        ("print(tt_kernel.run('one').text)", "cell 1 may call agents from Python"),
    ],
)
def test_where_a_cell_does_not_tell_what_it_replays_recordings_stay(session, source, why):
    run, _ = drive(session, "one")
    save_notebook(session, (source, None))
    shutil.rmtree(run.folder)
    report = prune(make_session(session.notebook.parent), carry=True)
    assert rows(report) == []
    assert report.notes[0].startswith("Recordings without a run stay (")
    assert report.notes[0].endswith(f"): {why}.")
    assert again(session, "one").text == "Echo."


def test_without_a_saved_notebook_recordings_stay(session):
    run, _ = drive(session, "one")
    shutil.rmtree(run.folder)
    report = prune(make_session(session.notebook.parent), carry=True)
    assert "there is no saved notebook" in report.notes[0]
    assert again(session, "one").text == "Echo."


def test_what_a_branch_came_from_stays(session):
    first, _ = drive(session, "please roll", tools=["dice.roll"])
    branch = session.stream(session.prepare_branch(first.id, edit(2, {"1": "99"})))
    submit(drain(branch))[0].result()
    save_notebook(session, ("%agent branch last --turn 2", branch.run))
    report = prune(make_session(session.notebook.parent), Retention(keep_runs=1, keep_full=1), carry=True)
    assert f"run {first.id} stays: run {branch.run.id} goes on from it" in report.notes
    fresh = make_session(session.notebook.parent)
    stream = fresh.stream(fresh.prepare_branch(first.id, edit(2, {"1": "99"}), mode="replay"))
    submit(drain(stream))[0].result()
    assert stream.run.id == branch.run.id


def edit(turn, results):
    from tt_kernel.domain.runs import TurnEdit

    return TurnEdit(turn=turn, results=results)


async def drain(stream):
    async for _ in stream:
        pass


def test_the_recorded_beginning_of_a_kept_run_stays(session, tmp_path):
    """A run that went on live from a recorded prefix needs the lines of the run it took it from."""
    first, _ = drive(session, "please roll", tools=["dice.roll"])
    branch = session.stream(session.prepare_branch(first.id, edit(2, {"1": "99"})))
    submit(drain(branch))[0].result()
    shutil.rmtree(first.folder)
    save_notebook(session, ("%agent branch last --turn 2", branch.run))
    assert rows(prune(make_session(tmp_path))) == []


def test_a_session_keeps_its_runs(session):
    stream = session.stream(session.prepare_chat("talk", "hello"), cell="a")
    submit(drain(stream))[0].result()
    save_notebook(session, ("%%agent --session talk\nhello", stream.run))
    report = prune(make_session(session.notebook.parent), KEEP_NONE, carry=True)
    assert report.notes[0] == f"run {stream.run.id} stays: session talk has it"
    fresh = make_session(session.notebook.parent)
    replayed = fresh.stream(fresh.prepare_chat("talk", "hello", cell="a", mode="replay"), cell="a")
    submit(drain(replayed))[0].result()
    assert replayed.run.text == "Echo."


def test_a_run_that_a_cell_names_stays(session):
    run, _ = drive(session, "one")
    save_notebook(session, (f"%agent show {run.id}", run))
    assert prune(session, KEEP_NONE).notes[0] == f"run {run.id} stays: cell 1 names it"


def test_a_frozen_notebook_stays_whole(session):
    from tt_kernel.experiments.freeze import freeze, tampered

    drive(session, "one")
    save_notebook(session)
    freeze(session.notebook)
    prune(make_session(session.notebook.parent), KEEP_NONE, carry=True)
    assert tampered(session.notebook) == []


def picture(color):
    out = BytesIO()
    Image.new("RGB", (2, 2), color).save(out, "PNG")
    return out.getvalue()


def test_images_go_with_the_last_recording_that_has_them(session):
    kept, _ = drive(session, "one", images=[picture("red")])
    gone, _ = drive(session, "two", images=[picture("blue")])
    save_notebook(session, ("%%agent\none", kept))
    shutil.rmtree(gone.folder)
    fresh = make_session(session.notebook.parent)
    assert [row[0] for row in rows(prune(fresh))] == [
        "recordings"
    ]  # the image is young: somebody may be about to name it
    age(session.folder.recordings / "blobs")
    report = prune(fresh, carry=True)
    assert [row[:2] for row in rows(report)][1:] == [("images", "1 files")]
    assert len(list((session.folder.recordings / "blobs").iterdir())) == 1
    assert again(session, "one", images=[picture("red")]).text == "Echo."


def test_unfinished_writes_and_derived_data_go(session):
    run, _ = drive(session, "one")
    save_notebook(session, ("%%agent\none", run))
    (session.folder.cache).mkdir()
    (session.folder.cache / "index.db").write_bytes(b"x" * 2000)
    (session.folder.root / ".tt-0123").write_bytes(b"half a docu")
    (run.folder / ".tt-young").write_bytes(b"being written")
    age(session.folder.root)
    os.utime(run.folder / ".tt-young")
    report = prune(session, carry=True)
    assert rows(report) == [("unfinished", "1 files", "delete"), ("derived data", ".cache", "delete")]
    assert (run.folder / ".tt-young").exists()
    assert not session.folder.cache.exists()


def test_what_deleted_runs_cost_stays_in_the_books(session):
    for _ in range(2):
        drive(session, "one", mode="live")
    save_notebook(session)
    prune(session, KEEP_NONE, carry=True)
    assert session.index.list() == []
    assert total(session.spending.all([])).usage.cost_usd == 0.5
    drive(session, "one", mode="live")  # gets the id of a deleted one
    assert total(session.spending.all(session.index.list())).usage.cost_usd == 0.75


@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_a_run_of_another_process_and_its_recordings_stay(session, tmp_path):
    gone, _ = drive(session, "two")
    shutil.rmtree(gone.folder)
    save_notebook(session)
    begun, go_on = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        other = make_session(tmp_path)
        stream = other.stream(other.prepare("please roll", tools=["dice.roll"], mode="live"))

        async def slowly():
            async for event in stream:
                if event.type == "tool_call_completed":
                    os.write(begun[1], b"x")
                    os.read(go_on[0], 1)

        submit(slowly())[0].result()
        os._exit(0)
    try:
        os.read(begun[0], 1)
        fresh = make_session(tmp_path)
        [running] = fresh.index.list()
        report = prune(fresh, KEEP_NONE, carry=True)
        assert rows(report) == []
        assert f"run {running.id} stays: it is still going on" in report.notes
        assert report.notes[1].endswith(f"run {running.id} is still going on.")
    finally:
        os.write(go_on[1], b"x")
        assert os.waitpid(child, 0)[1] == 0
    assert again(session, "please roll", tools=["dice.roll"]).text == "Rolled."


@pytest.mark.skipif(sys.platform == "win32", reason="fork and SIGKILL")
def test_killed_at_any_step_the_rest_is_whole(tmp_path):
    template = make_session(tmp_path / "template", SCRIPT)
    shown, _ = drive(template, "one")
    for _ in range(2):
        drive(template, "one", mode="live")
    for prompt in ("two", "please roll"):
        drive(template, prompt, tools=["dice.roll"])
    save_notebook(template, ("%%agent\none", shown))
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        shutil.copytree(tmp_path / "template", folder)
        child = os.fork()
        if child == 0:
            session = make_session(folder)
            session.index.list()
            die_at(number)
            prune(session, Retention(keep_runs=1, keep_full=0), carry=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        fresh = make_session(folder)
        assert all(record.status == "completed" for record in fresh.index.list()), number
        assert again(fresh, "one").text == "Echo.", number
        assert total(fresh.spending.all(fresh.index.list())).usage.cost_usd == 1.25, number
        prune(fresh, Retention(keep_runs=1, keep_full=0), carry=True)
        assert [path.name for path in fresh.folder.runs.iterdir() if path.name.startswith(".")] == [], number
        assert prune(make_session(folder), Retention(keep_runs=1, keep_full=0)).items == (), number
        if not os.WIFSIGNALED(status):
            break
        shutil.rmtree(folder)
    assert number > 20


def die_at(number):
    left = [number]
    steps = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree"}

    def step(event, _):
        if event in steps:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(step)


# ---- the command line


def test_the_command_line_lists_then_deletes(session, capsys):
    shown, _ = drive(session, "one")
    save_notebook(session, ("%%agent\none", shown))
    path = str(session.notebook)
    assert main(["prune", path]) == 0
    assert "There is nothing to prune." in capsys.readouterr().out
    gone, _ = drive(session, "two")
    assert main(["prune", path, "--keep", "0"]) == 0
    assert f"{gone.id}" in capsys.readouterr().out
    assert main(["prune", path, "--keep", "0", "--yes"]) == 0
    assert "freed." in capsys.readouterr().out
    assert [record.id for record in session.index.list()] == [shown.id]
    assert main(["prune", path, "--keep", "-1"]) == 2
    assert main(["prune", "nothing.ipynb"]) == 1
