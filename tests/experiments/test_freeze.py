"""Issue 6.7: a manifest of what the results rest on, a tamper check, and a bundle that verifies elsewhere."""

import io
import json
import zipfile

import nbformat
import pytest
from PIL import Image
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


def flipped(path):
    """One bit of the byte in the middle of it."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


PLACES = (
    "nb.ipynb",
    "nb.agent/recordings/*.jsonl",
    "nb.agent/recordings/blobs/*",
    "nb.agent/runs/*/events.jsonl",
    "nb.agent/runs/*/run.json",
    "nb.agent/runs/*/input/snapshot.json",
    "nb.agent/runs/*/output/a.md",
    "nb.agent/profiles/mine.json",
    "nb.agent/persist/*/files/note.md",
)


@pytest.fixture
def rich(tmp_path):
    """A notebook with something of every kind in its folder."""
    write = "{call: workspace_write_file, with: {path: %s, content: x}}"
    script = f"script: 1\nturns:\n  - calls: [{write % 'output/a.md'}, {write % 'persist/note.md'}]\n  - Echo.\n"
    session = make_session(tmp_path, script)
    nbformat.write(nbformat.v4.new_notebook(), session.notebook)
    session.profiles.save(session.profiles.load("assistant").model_copy(update={"id": "mine"}))
    picture = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(picture, "PNG")
    drive(session, "hello", profile="mine", images=[picture.getvalue()])
    freeze(session.notebook)
    assert tampered(session.notebook) == []
    return session.notebook


@pytest.mark.parametrize("pattern", PLACES)
def test_a_flipped_bit_is_found_wherever_it_is(rich, pattern):
    (path,) = rich.parent.glob(pattern)
    flipped(path)
    (found,) = tampered(rich)
    name = path.relative_to(rich.parent).as_posix().removeprefix("nb.agent/")
    assert found == f"{name} changed since it was frozen."


PARTS = {
    "environment": lambda m: m.update(python="2.7.18"),
    "packages": lambda m: m["packages"].update(pydantic="0.1"),
    "prompts": lambda m: next(iter(m["runs"].values())).update(promptDigest="0"),
    "profiles": lambda m: next(iter(m["runs"].values())).update(profileDigest="0"),
    "tools": lambda m: next(iter(m["runs"].values())).update(toolsDigest="0"),
    "models": lambda m: next(iter(m["runs"].values())).update(modelDigest="0"),
    "runs": lambda m: next(iter(m["runs"].values())).update(status="failed"),
}


@pytest.mark.parametrize("part", PARTS)
def test_a_manifest_that_was_changed_is_found(rich, part):
    path = rich.parent / "nb.agent" / "manifest.json"
    document = json.loads(path.read_text())
    PARTS[part](document)
    path.write_text(json.dumps(document))
    assert tampered(rich) == [f"manifest.json was changed: its digest of {part} is not that of what it says."]


def test_digests_tell_which_part_is_another(rich):
    """Each part has a digest of its own: what did not change has the same as before."""
    before = manifest_of(rich).digests
    assert manifest_of(rich).digests == before
    drive(make_session(rich.parent), "hello", profile="mine")  # without the image
    after = manifest_of(rich).digests
    assert {name for name in before if before[name] == after[name]} == {"environment", "packages", "notebook"}
    one, other = manifest_of(rich).runs.values()
    same = {"profile_digest", "tools_digest", "model_digest"}
    assert {name for name in type(one).model_fields if getattr(one, name) == getattr(other, name)} >= same
    assert one.prompt_digest != other.prompt_digest


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
