"""Issue 6.9: a notebook as a script that compiles, runs through the Python API, and replays."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tt_kernel import cli
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.views import RUN_MIME, SWEEP_MIME
from tt_kernel.ipython.script_export import script_of

SCRIPT = """
script: 1
conversations:
  - when: look up
    turns:
      - call: lookup
        with: {key: a}
      - say: Looked up.
      - say: Still here.
  - turns:
      - say: Echo.
"""
CELLS = (
    "%load_ext tt_kernel\nfrom tt_kernel import tool\n@tool\ndef lookup(key: str) -> str:\n    'Look up.'\n    return 'value'",
    '%%agent -m scripted:demo.yaml -o answer\nPlease look up a.\n"Quotes" and \\ stay.',
    "%%agent -m scripted:demo.yaml --continue --temperature 0.5\nAnd now?",
    "name = 'Ann'\nif name:\n    !ls\n    x = 1",
    "%%agent -m scripted:demo.yaml\nGreet @{name}, who is @{len(name)} letters.",
    "%%agent -m scripted:demo.yaml --vary who=Ann,Bob --check \"'Echo' in text\" -o table\nGreet @{who}.",
    "%%time\n1 + 1",
    "%agent runs",
    "%agent -m scripted:demo.yaml just say it",
    "import asyncio\nawait asyncio.sleep(0)",
    "%%agent --session talk\nHello.",
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo.yaml").write_text(SCRIPT)
    cells = [new_markdown_cell("# A title\nand text"), *map(new_code_cell, CELLS)]
    notebook = new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "python3", "language": "python"}
    nbformat.write(notebook, tmp_path / "my nb.ipynb")
    return tmp_path


def test_the_script_compiles_and_says_what_it_leaves_out(folder):
    text = script_of(folder / "my nb.ipynb")
    compile(text, "x", "exec")
    assert "# # A title\n# and text" in text
    for left_out in (
        "# %load_ext tt_kernel",
        "    pass  # !ls",
        "# %%time",
        "# %agent runs",
        "# await asyncio.sleep(0)",
    ):
        assert left_out in text
    assert "# A turn of the session talk" in text


def test_it_runs_and_replays(folder):
    assert cli.main(["export", "my nb.ipynb"]) == 0
    assert cli.main(["export", "my nb.ipynb"]) == 2  # does not overwrite by itself

    def run(**more):
        import os

        done = subprocess.run(
            [sys.executable, "my nb.py"], cwd=folder, env=os.environ | more, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    first = run()
    assert first.splitlines()[:3] == ["Looked up.", "Still here.", "Echo."]
    assert "sweep of 2 points, 2 runs, 2 completed" in first
    (folder / "my nb.agent" / "runs").rename(folder / "my nb.agent" / "runs-aside")
    (folder / "my nb.agent" / "runs-aside").rename(folder / "my nb.agent" / "runs")
    assert run(TT_RECORD="replay") == first


def test_what_the_notebook_recorded_replays_in_the_script(folder):
    notebook = new_notebook(
        cells=[new_code_cell("%load_ext tt_kernel"), new_code_cell("%%agent -m scripted:demo.yaml\nHi.")]
    )
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "python3", "language": "python"}
    nbformat.write(notebook, folder / "small.ipynb")
    assert cli.main(["run", "small.ipynb"]) == 0
    assert cli.main(["export", "small.ipynb"]) == 0
    import os

    done = subprocess.run(
        [sys.executable, "small.py"],
        env=os.environ | {"TT_RECORD": "replay"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "Echo.\n"), done.stderr


def test_a_cell_that_makes_no_sense_is_named(folder):
    nbformat.write(new_notebook(cells=[new_code_cell("1"), new_code_cell("%%agent --zzz\nx")]), folder / "bad.ipynb")
    with pytest.raises(UsageProblem, match="Cell 2: There is no option --zzz"):
        script_of(folder / "bad.ipynb")


NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


@pytest.mark.parametrize("name", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def test_each_example_replays_as_a_script(name, tmp_path):
    """From its recordings alone: no key, no model, and nothing new in its folder."""
    shutil.copytree(NOTEBOOKS, tmp_path / "notebooks")
    folder = tmp_path / "notebooks"
    before = sorted(path.name for path in (folder / f"{name}.agent" / "runs").iterdir())
    assert cli.main(["export", str(folder / f"{name}.ipynb")]) == 0
    env = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY")} | {"TT_RECORD": "replay"}
    done = subprocess.run([sys.executable, f"{name}.py"], cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = {answer for answer in saved_answers(folder / f"{name}.ipynb") if answer and answer in done.stdout}
    assert said, "an answer that the notebook shows is what the script prints"
    assert sorted(path.name for path in (folder / f"{name}.agent" / "runs").iterdir()) == before


def saved_answers(notebook):
    """Answers of runs, and the tables of sweeps."""
    for cell in nbformat.read(notebook, as_version=4).cells:
        for data in (output.get("data", {}) for output in cell.get("outputs", ())):
            if RUN_MIME in data:
                yield data[RUN_MIME]["text"]
            elif SWEEP_MIME in data:
                yield data["text/plain"]


def test_a_run_sees_the_cells_that_the_recorded_one_saw(folder):
    notebook = new_notebook(
        cells=[
            new_code_cell("%load_ext tt_kernel"),
            new_markdown_cell("The sea was calm."),
            new_code_cell("%%agent -m scripted:demo.yaml -t chat.search\nHi."),
        ]
    )
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "python3", "language": "python"}
    nbformat.write(notebook, folder / "small.ipynb")
    assert cli.main(["run", "small.ipynb"]) == 0
    text = script_of(folder / "small.ipynb")
    assert "session.see_as('" in text
    (folder / "small.py").write_text(text)
    (folder / "small.ipynb").write_text((folder / "small.ipynb").read_text().replace("calm", "rough"))
    env = os.environ | {"TT_RECORD": "replay"}
    done = subprocess.run([sys.executable, "small.py"], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "Echo.\n"), done.stderr


def test_a_cell_that_may_raise_may_in_the_script(folder):
    cell = new_code_cell("%%agent -m scripted:nothing.yaml\nHi.", metadata={"tags": ["raises-exception"]})
    nbformat.write(new_notebook(cells=[cell, new_code_cell("print('on')")]), folder / "bad.ipynb")
    (folder / "bad.py").write_text(script_of(folder / "bad.ipynb"))
    done = subprocess.run([sys.executable, "bad.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "nothing.yaml" in done.stdout
    assert done.stdout.endswith("on\n")
