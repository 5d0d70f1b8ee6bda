"""Issue 6.7: a manifest of what the results rest on, a tamper check, and a bundle that verifies elsewhere."""

import json
import zipfile

import nbformat
import pytest
from support import drive, make_session

from tt_kernel import cli
from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.experiments.freeze import bundle, freeze, manifest_of, tampered


@pytest.fixture
def notebook(tmp_path):
    session = make_session(tmp_path, "script: 1\nturns: [Echo.]\n")
    nbformat.write(nbformat.v4.new_notebook(), session.notebook)
    drive(session, "hello")
    return session.notebook


def test_the_manifest_names_versions_models_and_every_file(notebook):
    path, manifest = freeze(notebook)
    assert path == notebook.parent / "nb.agent" / "manifest.json"
    assert json.loads(path.read_text())["packages"]["tt_kernel"] == "0.1.0"
    assert {"pydantic", "ipykernel"} <= set(manifest.packages)
    (run,) = manifest.runs.values()
    assert (run.model, run.profile, run.status) == ("scripted:script.yaml", "assistant", "completed")
    assert any(name.startswith("recordings/") for name in manifest.files)
    assert any(name.endswith("events.jsonl") for name in manifest.files)
    assert str(notebook.parent) not in path.read_text()


def test_freezing_again_gives_the_same_bytes(notebook):
    first = freeze(notebook)[0].read_bytes()
    (notebook.parent / "nb.agent" / ".cache").mkdir()
    (notebook.parent / "nb.agent" / ".cache" / "search.sqlite").write_bytes(b"derived")
    assert freeze(notebook)[0].read_bytes() == first


@pytest.mark.parametrize("pattern", ["recordings/*.jsonl", "runs/*/events.jsonl", "runs/*/run.json"])
def test_a_changed_or_missing_file_is_named(notebook, pattern):
    assert tampered(notebook) == []
    freeze(notebook)
    assert tampered(notebook) == []
    (path,) = (notebook.parent / "nb.agent").glob(pattern)
    name = path.relative_to(notebook.parent / "nb.agent").as_posix()
    data = path.read_bytes()
    path.write_bytes(data.replace(b"Echo", b"Ecco") if b"Echo" in data else data + b" ")
    assert tampered(notebook) == [f"{name} changed since it was frozen."]
    path.unlink()
    assert tampered(notebook) == [f"{name} is missing since it was frozen."]


def test_more_runs_are_no_tampering(notebook):
    freeze(notebook)
    drive(make_session(notebook.parent), "something else")
    assert tampered(notebook) == []


def test_what_is_not_there_is_said(tmp_path, notebook):
    with pytest.raises(NotFound, match="Save it first"):
        manifest_of(tmp_path / "none.ipynb")
    with pytest.raises(UsageProblem, match="is no file below"):
        bundle(notebook, tmp_path / "x.zip", [tmp_path.parent / "elsewhere.csv"])


def test_a_bundle_verifies_elsewhere_and_a_tampered_one_does_not(tmp_path, monkeypatch, capsys):
    there = tmp_path / "there"
    there.mkdir()
    monkeypatch.chdir(there)
    (there / "demo.yaml").write_text("script: 1\nturns: [Echo.]\n")
    cells = ("%load_ext tt_kernel", "%%agent -m scripted:demo.yaml\nhello")
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "python3", "language": "python"}
    nbformat.write(made, "nb.ipynb")
    assert cli.main(["run", "nb.ipynb"]) == 0
    assert cli.main(["bundle", "nb.ipynb", "--also", "demo.yaml"]) == 0
    first = (there / "nb.zip").read_bytes()
    assert cli.main(["bundle", "nb.ipynb", "--also", "demo.yaml"]) == 0
    assert (there / "nb.zip").read_bytes() == first
    elsewhere = tmp_path / "else where"
    with zipfile.ZipFile(there / "nb.zip") as packed:
        packed.extractall(elsewhere)
    monkeypatch.chdir(elsewhere)
    capsys.readouterr()
    assert cli.main(["verify", "nb.ipynb"]) == 0, capsys.readouterr().out
    (journal,) = elsewhere.glob("nb.agent/runs/*/events.jsonl")
    journal.write_bytes(journal.read_bytes()[:-1] + b" \n")
    assert cli.main(["verify", "nb.ipynb"]) == 1
    assert "events.jsonl changed since it was frozen." in capsys.readouterr().out
