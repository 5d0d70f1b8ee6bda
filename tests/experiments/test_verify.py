"""Issue 6.2: a notebook is executed from its record alone, offline, and every run is held against it. Real kernels."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points

import nbformat
import pytest

from tt_kernel import cli

SCRIPT = """
script: 1
conversations:
  - when: dice
    turns:
      - call: dice_roll
        with: {formula: 2d6}
      - say: Rolled.
  - when: look up
    turns:
      - call: lookup
        with: {key: a}
      - say: Looked up.
  - turns:
      - say: Echo.
"""
CELLS = (
    "%load_ext tt_kernel\nfrom tt_kernel import tool\n@tool\ndef lookup(key: str) -> str:\n    'Look a key up.'\n    return 'value of ' + key",
    "%%agent -m scripted:demo.yaml -t dice.roll\nRoll the dice.",
    "%%agent -m scripted:demo.yaml -t lookup\nPlease look up a.",
    "%%agent -m scripted:demo.yaml\nSay something.",
)


def write(path, *cells):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "python3", "language": "python"}
    nbformat.write(notebook, path)


def edit(path, number, old, new):
    notebook = nbformat.read(path, as_version=4)
    assert old in notebook.cells[number - 1].source
    notebook.cells[number - 1].source = notebook.cells[number - 1].source.replace(old, new)
    nbformat.write(notebook, path)


def files_below(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "demo.yaml").write_text(SCRIPT)
    write(folder / "nb.ipynb", *CELLS)
    done = subprocess.run(
        [sys.executable, "-c", "from tt_kernel.cli import main; raise SystemExit(main())", "run", "nb.ipynb"],
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0
    return folder


@pytest.fixture
def notebook(recorded, tmp_path, monkeypatch):
    """A recorded notebook; the current folder is its own."""
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "nb.ipynb"


def verify(capsys, path):
    status = cli.main(["verify", str(path)])
    return status, capsys.readouterr().out.splitlines()


def verdicts(lines):
    return [line.split()[3] for line in lines[1:] if line.startswith("  cell")]


def test_a_recorded_notebook_is_identical_and_nothing_is_written(notebook, capsys):
    before = files_below(notebook.parent)
    status, lines = verify(capsys, "nb.ipynb")
    assert (status, lines[0]) == (0, "nb.ipynb: verified, 3 of 3 runs identical")
    assert verdicts(lines) == ["identical"] * 3
    assert files_below(notebook.parent) == before


def test_it_verifies_in_another_place(notebook, capsys, tmp_path_factory, monkeypatch):
    there = tmp_path_factory.mktemp("elsewhere") / "moved here"
    notebook.parent.rename(there)
    monkeypatch.chdir(there)
    assert verify(capsys, there / "nb.ipynb")[0] == 0


def test_live_cells_are_replayed_too(notebook, capsys):
    edit(notebook, 4, "%%agent", "%%agent --live")
    assert verify(capsys, "nb.ipynb")[0] == 0


def test_a_changed_prompt_is_stale_and_the_other_runs_are_still_told(notebook, capsys):
    edit(notebook, 2, "Roll the dice.", "Roll the dice now.")
    status, lines = verify(capsys, "nb.ipynb")
    assert status == 1
    assert verdicts(lines) == ["stale", "identical", "identical"]
    assert 'The prompt differs at line 1: recorded "Roll the dice.", now "Roll the dice now."' in lines[1]


@pytest.mark.parametrize(
    ("number", "old", "new", "verdict", "why"),
    [
        (4, "scripted:demo.yaml", "scripted:demo.yaml --set sampling.temperature=1", "stale", "temperature"),
        (2, "-t dice.roll", "-t dice.roll -t chat.search", "stale", "Tool chat_search is new"),
        (1, "Look a key up.", "Look up a key.", "stale", "Tool lookup has another description"),
        (1, "'value of ' + key", "'the value of ' + key", "missing", "No recording for lookup (turn 1, call 1)"),
    ],
    ids=["profile", "tool set", "tool description", "tool code"],
)
def test_what_changed_is_named(notebook, capsys, number, old, new, verdict, why):
    edit(notebook, number, old, new)
    status, lines = verify(capsys, "nb.ipynb")
    assert status == 1
    assert any(why in line for line in lines if f" {verdict} " in line), lines


def test_drift_names_the_call_and_the_first_line(notebook, capsys):
    """A re-executed tool whose result is another one than recorded: here the record is what was changed."""
    (chain,) = [
        p for p in (notebook.parent / "nb.agent" / "recordings").glob("*.jsonl") if "dice_roll" in p.read_text()
    ]
    lines = [json.loads(line) for line in chain.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "result":
            line["result"]["content"] = "2d6 = 99"
    chain.write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, said = verify(capsys, "nb.ipynb")
    assert status == 1
    assert verdicts(said)[0] == "drift"
    assert 'The result of dice_roll (turn 1, call 1) differs at line 1: recorded "2d6 = 99"' in said[1]


def test_without_recordings_everything_is_missing(notebook, capsys):
    for path in (notebook.parent / "nb.agent" / "recordings").glob("*.jsonl"):
        path.unlink()
    status, lines = verify(capsys, "nb.ipynb")
    assert status == 1
    assert verdicts(lines) == ["missing"] * 3
    assert "This notebook has no recordings yet" in lines[1]


def test_an_edited_output_is_found(notebook, capsys):
    text = notebook.read_text()
    assert "Echo." in text
    notebook.write_text(text.replace("Echo.", "Something better."))
    status, lines = verify(capsys, "nb.ipynb")
    assert status == 1
    assert verdicts(lines) == ["identical"] * 3 + ["differs"]


def test_code_that_reaches_out_or_writes_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    cells = (
        "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=1)",
        "open('left.txt', 'w').write('x')",
        "import tempfile, pathlib\npathlib.Path(tempfile.mkdtemp(), 'x').write_text('fine')",
        "import os\nos.mkdir('folder')",
    )
    write(tmp_path / "plain.ipynb", *cells)
    status, lines = verify(capsys, "plain.ipynb")
    assert status == 1
    assert [line.split()[1] for line in lines[1:-1]] == ["1", "2", "4"]
    assert "connection to '192.0.2.1' refused" in lines[1] or "Tests are offline" in lines[1]
    assert "left.txt refused" in lines[2]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plain.ipynb"]


def test_no_script_is_needed(notebook, capsys):
    (notebook.parent / "demo.yaml").unlink()
    assert verify(capsys, "nb.ipynb")[0] == 0


def test_commands_that_write_into_the_agent_folder_work_on_a_copy(notebook, capsys):
    """What they leave must be what is there: then a replay has changed nothing."""
    saved = nbformat.read(notebook, as_version=4)
    commands = (
        "%agent profile new mine --from assistant --replace limits.turns=6",
        "%agent profile set mine limits.turns=7",
    )
    saved.cells += [nbformat.v4.new_code_cell(source) for source in commands]
    nbformat.write(saved, notebook)
    before = files_below(notebook.parent)
    status, lines = verify(capsys, "nb.ipynb")
    assert (status, lines[-1]) == (1, "  The cells made nb.agent/profiles/mine.json.")
    assert files_below(notebook.parent) == before
    assert cli.main(["run", "nb.ipynb", "--replay"]) == 0
    capsys.readouterr()
    before = files_below(notebook.parent)
    assert verify(capsys, "nb.ipynb")[0] == 0
    profile = notebook.parent / "nb.agent" / "profiles" / "mine.json"
    profile.write_text(profile.read_text().replace('"turns": 7', '"turns": 8'))
    assert verify(capsys, "nb.ipynb")[1][-1] == "  The cells changed nb.agent/profiles/mine.json."


def test_cells_that_write_beside_the_notebook_need_a_copy(notebook, capsys):
    saved = nbformat.read(notebook, as_version=4)
    saved.cells.append(nbformat.v4.new_code_cell("open('made.txt', 'w').write('x')"))
    nbformat.write(saved, notebook)
    before = files_below(notebook.parent)
    status, lines = verify(capsys, "nb.ipynb")
    assert status == 1
    assert "made.txt refused" in lines[-2]
    assert lines[-1] == "  Cells that write beside the notebook: tt verify --copy nb.ipynb"
    assert cli.main(["verify", "--copy", "nb.ipynb"]) == 0
    assert files_below(notebook.parent) == before


def test_a_run_that_was_resumed_is_held_against_each_of_its_ends(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    script = "script: 1\nturns:\n  - {call: workspace_list_files}\n  - {call: workspace_list_files, with: {path: output}}\n  - Done.\n"
    (tmp_path / "demo.yaml").write_text(script)
    limited = "%%agent -m scripted:demo.yaml --set limits.turns=2\nGo."
    write(tmp_path / "nb.ipynb", "%load_ext tt_kernel", limited, "%agent resume last")
    assert cli.main(["run", "nb.ipynb"]) == 0
    capsys.readouterr()
    status, lines = verify(capsys, "nb.ipynb")
    assert (status, verdicts(lines)) == (0, ["identical"]), lines


def test_a_stopped_run_does_not_go_on_in_a_replay(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo.yaml").write_text("script: 1\nturns:\n  - {call: workspace_list_files}\n  - Done.\n")
    limited = "%%agent -m scripted:demo.yaml --set limits.turns=1\nGo."
    write(tmp_path / "nb.ipynb", "%load_ext tt_kernel", limited)
    assert cli.main(["run", "nb.ipynb"]) == 0
    write(tmp_path / "nb.ipynb", "%load_ext tt_kernel", limited, "%agent resume last")
    capsys.readouterr()
    status, lines = verify(capsys, "nb.ipynb")
    assert (status, verdicts(lines)[0]) == (1, "identical")
    assert "has not gone on since it was stopped" in lines[-1]


def test_several_notebooks_fail_if_one_does(notebook, capsys):
    write(notebook.parent / "other.ipynb", "1 + 1")
    assert cli.main(["verify", "nb.ipynb", "other.ipynb"]) == 0
    edit(notebook, 2, "Roll the dice.", "Roll them.")
    assert cli.main(["verify", "nb.ipynb", "other.ipynb"]) == 1
    assert "other.ipynb: verified, 0 of 0 runs identical" in capsys.readouterr().out
    assert cli.main(["verify", "none.ipynb"]) == 1


# ---- pytest --tt-replay


def plugin():
    """The plugin by name, where the environment was installed before it was an entry point."""
    known = entry_points(group="pytest11").names
    return [] if "tt_kernel" in known else ["-p", "tt_kernel.experiments.pytest_plugin"]


def test_the_plugin_is_an_entry_point(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"tt_kernel": "tt_kernel.experiments.pytest_plugin"}


def pytest_in(folder, *arguments):
    command = [sys.executable, "-m", "pytest", *plugin(), "--tt-replay", "-q", *arguments]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "PYTEST_ADDOPTS": ""}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=110
    )


def test_the_plugin_blocks_sockets_writes_and_live_calls(notebook):
    (notebook.parent / "test_it.py").write_text(
        """
import socket, pytest, tt_kernel
from pathlib import Path

def lookup(key: str) -> str:
    "Look a key up."
    return "value of " + key

def test_network():
    with pytest.raises(OSError):
        socket.create_connection(("192.0.2.1", 80), timeout=1)

def test_write(tmp_path):
    (tmp_path / "a").write_text("fine")
    with pytest.raises(PermissionError, match="refused"):
        Path("left.txt").write_text("x")

def test_live():
    with pytest.raises(tt_kernel.ReplayMiss):
        tt_kernel.run("Never said.", model="scripted:demo.yaml", mode="live", folder="nb.agent")

def test_replay():
    run = tt_kernel.run("Say something.", model="scripted:demo.yaml", mode="live", folder="nb.agent", functions=[lookup])
    assert (run.text, run.replayed) == ("Echo.", True)
"""
    )
    done = pytest_in(notebook.parent, "test_it.py")
    assert "4 passed" in done.stdout, done.stdout + done.stderr
    assert "refused" not in done.stdout
    assert not (notebook.parent / "left.txt").exists()


def test_nbval_passes_under_the_plugin_and_fails_when_a_cell_is_stale(notebook):
    assert "passed" in pytest_in(notebook.parent, "--nbval", "nb.ipynb").stdout
    edit(notebook, 4, "Say something.", "Say something else.")
    done = pytest_in(notebook.parent, "--nbval", "nb.ipynb")
    assert done.returncode == 1
    assert "1 failed, 3 passed" in done.stdout, done.stdout


def test_without_the_option_the_plugin_does_nothing(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_write():\n    open('here.txt', 'w').write('x')\n")
    command = [sys.executable, "-m", "pytest", *plugin(), "-q", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout
    assert (tmp_path / "here.txt").exists()


def test_a_miss_that_a_cell_handles_itself_is_what_it_is_about(notebook, capsys):
    saved = nbformat.read(notebook, as_version=4)
    handled = "try:\n    tt_kernel.run('Never said.', model='scripted:demo.yaml', mode='replay')\nexcept tt_kernel.ReplayMiss as miss:\n    print(miss.code)"
    saved.cells += [nbformat.v4.new_code_cell("import tt_kernel"), nbformat.v4.new_code_cell(handled)]
    nbformat.write(saved, notebook)
    assert verify(capsys, "nb.ipynb")[0] == 1  # it has no output yet
    assert cli.main(["run", "nb.ipynb", "--replay"]) == 0
    capsys.readouterr()
    assert verify(capsys, "nb.ipynb")[0] == 0
