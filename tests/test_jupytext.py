"""Notebooks paired with text by jupytext: cells come back as they were, outputs stay, and runs replay from the same folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tt_kernel.cli import main
from tt_kernel.domain.views import RUN_MIME

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
SETTING = 'custom_language_magics = "agent"\n'
"""What README.md tells to put into jupytext.toml."""
PROMPT = "%%agent -m scripted:demo.yaml\n# A heading\n\nHow are you?\n- %timeit is a word\n# %% is not a cell"


def jupytext(folder, *arguments):
    command = [sys.executable, "-m", "jupytext", "--quiet", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def cells(path):
    return [(cell.cell_type, cell.source) for cell in nbformat.read(path, as_version=4).cells]


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(NOTEBOOKS, tmp_path / "notebooks")
    (tmp_path / "notebooks" / "jupytext.toml").write_text(SETTING)
    return tmp_path / "notebooks"


def test_the_readme_tells_the_setting():
    assert SETTING.strip() in (NOTEBOOKS.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["py:percent", "md"])
def test_cells_come_back_as_they_were(folder, text):
    names = sorted(path.stem for path in folder.glob("*.ipynb"))
    jupytext(folder, "--to", text, *(f"{name}.ipynb" for name in names))
    suffix = text.partition(":")[0]
    jupytext(folder, "--to", "ipynb", "--from", text, *(f"{name}.{suffix}" for name in names))
    for name in names:
        assert cells(folder / f"{name}.ipynb") == cells(NOTEBOOKS / f"{name}.ipynb"), name


def test_a_prompt_of_awkward_lines_is_a_comment_in_the_script(folder):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PROMPT), nbformat.v4.new_code_cell("x = 1")])
    nbformat.write(notebook, folder / "awkward.ipynb")
    jupytext(folder, "--to", "py:percent", "awkward.ipynb")
    compile((folder / "awkward.py").read_text(), "awkward.py", "exec")
    (folder / "awkward.ipynb").unlink()
    jupytext(folder, "--to", "ipynb", "awkward.py")
    assert cells(folder / "awkward.ipynb") == [("code", PROMPT), ("code", "x = 1")]


def test_a_paired_notebook_keeps_its_outputs_and_verifies(folder, capsys):
    jupytext(folder, "--set-formats", "ipynb,py:percent", "01-tools.ipynb")
    script = folder / "01-tools.py"
    script.write_text(script.read_text() + "\n# %%\nprint('added in the text')\n")
    later = (folder / "01-tools.ipynb").stat().st_mtime + 5
    os.utime(script, (later, later))
    jupytext(folder, "--sync", "01-tools.py")
    synced = nbformat.read(folder / "01-tools.ipynb", as_version=4).cells
    before = nbformat.read(NOTEBOOKS / "01-tools.ipynb", as_version=4).cells
    assert [cell.get("outputs") for cell in synced[:-1]] == [cell.get("outputs") for cell in before]
    assert synced[-1].source == "print('added in the text')"
    assert main(["verify", str(folder / "01-tools.ipynb")]) == 0, capsys.readouterr().out


def test_the_text_alone_replays_from_the_notebooks_folder(folder, monkeypatch):
    """A checkout that has the text and the agent folder, and no .ipynb."""
    jupytext(folder, "--to", "py:percent", "01-tools.ipynb")
    before = runs(folder / "01-tools.ipynb")
    (folder / "01-tools.ipynb").unlink()
    jupytext(folder, "--to", "ipynb", "01-tools.py")
    monkeypatch.setenv("TT_RECORD", "replay")
    assert main(["run", str(folder / "01-tools.ipynb"), "--replay"]) == 0
    assert runs(folder / "01-tools.ipynb") == before


def runs(notebook):
    """What each run of a notebook looks like, in order."""
    outputs = [o for cell in json.loads(notebook.read_text())["cells"] for o in cell.get("outputs", ())]
    return [output["data"][RUN_MIME] for output in outputs if RUN_MIME in output.get("data", {})]
