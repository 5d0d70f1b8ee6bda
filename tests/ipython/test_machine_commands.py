"""`%agent connections doctor verify export replay` in a real shell."""

import json
import os
import subprocess
import sys

import nbformat
import pytest

from tt_kernel.domain.errors import NotFound, ReplayMiss, UsageProblem

SCRIPT = "script: 1\nturns: [{call: dice_roll, with: {formula: 1d6}}, {say: Rolled.}]\n"


def value(cells, cell):
    result, _ = cells(cell)
    assert result.success, result.error_in_exec
    return result.result


def failed(cells, cell, kind):
    result, _ = cells(cell)
    error = result.error_in_exec or result.error_before_exec
    assert isinstance(error, kind), error
    return str(error)


@pytest.fixture
def saved(cells):
    """The notebook with one run, as a front end saves it."""
    notebook = nbformat.v4.new_notebook()
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    sources = ["%load_ext tt_kernel", "%%agent\nroll"]
    notebook.cells = [nbformat.v4.new_code_cell(source, id=f"c{n}") for n, source in enumerate(sources)]
    nbformat.write(notebook, cells.folder / "nb.ipynb")
    command = [sys.executable, "-m", "tt_kernel", "run", "nb.ipynb"]
    subprocess.run(command, cwd=cells.folder, check=True, env=os.environ, stdout=subprocess.DEVNULL)
    return cells.folder / "nb.ipynb"


# ---- connections


def test_a_connection_is_added_listed_used_and_removed(cells):
    assert "No connections yet" in repr(value(cells, "%agent connections"))
    added = "%agent connections add lab openai:small --base-url http://localhost:9/v1 --credential LAB_KEY"
    listed = repr(value(cells, added))
    for word in ("lab", "openai:small", "http://localhost:9/v1", "LAB_KEY"):
        assert word in listed
    [document] = (cells.folder / "config" / "tt_kernel" / "connections").glob("*.json")
    assert json.loads(document.read_text())["credential"] == "LAB_KEY"
    assert "exists" not in failed(cells, "%agent connections add lab openai:other", UsageProblem)
    assert "openai:other" in repr(value(cells, "%agent connections add lab openai:other --replace"))
    assert "No connections yet" in repr(value(cells, "%agent connections remove lab"))
    assert "There is no connection 'lab'" in failed(cells, "%agent connections remove lab", NotFound)


@pytest.mark.parametrize(
    "words",
    [
        "add lab openai:small --credential sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD",
        "add lab openai:small --base-url https://u:sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD@host/v1",
    ],
)
def test_a_key_instead_of_its_name_is_refused_and_not_repeated(cells, words):
    result, out = cells(f"%agent connections {words}")
    assert not result.success
    error = str(result.error_in_exec or result.error_before_exec)
    assert "sk-proj" not in error + out
    assert not list((cells.folder / "config").rglob("lab.json"))


@pytest.mark.parametrize("words", ["add", "add lab", "remove", "list all", "add A/B openai:x", "add lab local:smollm2"])
def test_what_makes_no_sense_is_refused(cells, words):
    result, _ = cells(f"%agent connections {words}")
    assert not result.success


def test_a_sentence_is_a_prompt(cells):
    _, out = cells("%agent connections between cities please")
    assert "Rolled." in out


# ---- the notebook as a whole


def test_verify_says_of_every_run_whether_it_is_identical(cells, saved):
    found = value(cells, "%agent verify")
    assert [run.verdict for run in found] == ["identical"]
    assert "Verified: 1 of 1 runs are identical." in repr(found)
    [chain] = (cells.folder / "nb.agent" / "recordings").glob("*.jsonl")
    chain.write_text(chain.read_text().replace("Rolled.", "Forged."))
    found = value(cells, "%agent verify")
    assert [run.verdict for run in found] != ["identical"]
    assert "Not verified: 0 of 1" in repr(found)


def test_a_notebook_may_verify_itself(cells, saved):
    notebook = nbformat.read(saved, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("%agent verify", id="c9"))
    nbformat.write(notebook, saved)
    command = [sys.executable, "-m", "tt_kernel", "run", "nb.ipynb"]
    subprocess.run(command, cwd=cells.folder, check=True, stdout=subprocess.DEVNULL)
    [output] = nbformat.read(saved, as_version=4).cells[-1].outputs
    assert "Verified: 1 of 1 runs are identical." in output.data["text/plain"]


@pytest.mark.parametrize("command", ["verify", "export"])
def test_a_notebook_that_was_never_saved_says_so(cells, command):
    assert "nb.ipynb was never saved" in failed(cells, f"%agent {command}", NotFound)


def test_export_writes_a_script_that_replays(cells, saved):
    assert "Written to nb.py." in repr(value(cells, "%agent export"))
    env = os.environ | {"TT_RECORD": "replay"}
    done = subprocess.run([sys.executable, "nb.py"], cwd=cells.folder, env=env, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("Rolled.\n", 0), done.stderr
    assert "nb.py exists" in failed(cells, "%agent export", UsageProblem)
    value(cells, "%agent export other.py")
    assert (cells.folder / "other.py").read_text() == (cells.folder / "nb.py").read_text()


def test_replay_runs_a_stored_run_from_its_record(cells, saved):
    assert cells("%agent replay")[0].success
    run = cells("_")[0].result
    assert (run.text, run.replayed) == ("Rolled.", True)
    assert [folder.name for folder in (cells.folder / "nb.agent" / "runs").iterdir()] == [run.id]
    for chain in (cells.folder / "nb.agent" / "recordings").glob("*.jsonl"):
        chain.unlink()
    failed(cells, f"%agent replay {run.id}", ReplayMiss)


def test_doctor_says_what_works_here(cells):
    found = value(cells, "%agent doctor")
    assert any(finding.ok and "tt_kernel" in finding.text for finding in found)
    assert repr(found).startswith(" ")


def test_words_that_are_no_commands_do_not_reach_a_model(cells):
    assert "--vary" in failed(cells, "%agent sweep", UsageProblem)
    assert not (cells.folder / "nb.agent" / "runs").exists()
