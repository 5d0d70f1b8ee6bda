"""`tt` as a person uses it: real kernels, real notebooks, what is printed and what is left on disk."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from tt_kernel import cli
from tt_kernel.__main__ import starts_kernel
from tt_kernel.ipython.registration import registered_kernel

Capture = pytest.CaptureFixture[str]


def write_notebook(path: Path, *cells: str, kernel: str = "python3") -> Path:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.metadata["kernelspec"] = {"name": kernel, "display_name": kernel, "language": "python"}
    nbformat.write(notebook, path)
    return path


def outputs(path: Path) -> list[list[dict[str, object]]]:
    return [cell.outputs for cell in nbformat.read(path, as_version=4).cells]


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# ---- the grammar


@pytest.mark.parametrize("command", ["run", "replay", "runs", "show", "install", "model", "doctor"])
def test_every_command_has_help(command: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    assert command in capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        cli.main([command, "--help"])
    assert f"usage: tt {command}" in capsys.readouterr().out


@pytest.mark.parametrize("line", [[], ["nonsense"], ["run"], ["run", "--live", "--replay", "x.ipynb"], ["model"]])
def test_a_line_that_makes_no_sense_is_a_usage_error(line: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(line)


def test_version() -> None:
    done = subprocess.run([sys.executable, "-m", "tt_kernel", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("tt_kernel 0.")


@pytest.mark.parametrize(
    ("arguments", "kernel"),
    [
        (["-f", "kernel.json"], True),
        (["-fkernel.json"], True),
        (["--f=kernel.json"], True),
        (["run", "-f"], False),
        (["--help"], False),
        ([], False),
    ],
)
def test_python_m_tt_kernel_is_the_kernel_when_jupyter_starts_it(arguments: list[str], kernel: bool) -> None:
    assert starts_kernel(arguments) is kernel


# ---- run and replay


def test_run_executes_a_notebook_in_place_and_says_where_it_is(tmp_path: Path, capsys: Capture) -> None:
    notebook = write_notebook(tmp_path / "plain.ipynb", "", "x = 6\nx * 7", "print('hello')")
    assert cli.main(["run", str(notebook)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[1:3] == ["[1/2] x = 6", "[2/2] print('hello')"]
    assert said[-1] == f"Written to {notebook}."
    _, number, text = outputs(notebook)
    assert number[0]["data"] == {"text/plain": "42"}
    assert text[0]["text"] == "hello\n"


def test_run_runs_in_the_notebooks_folder(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("beside it")
    notebook = write_notebook(tmp_path / "reads.ipynb", "open('data.txt').read()")
    assert cli.main(["run", str(notebook)]) == 0
    assert outputs(notebook)[0][0]["data"] == {"text/plain": "'beside it'"}


def test_running_again_leaves_an_unchanged_file_untouched(tmp_path: Path, capsys: Capture) -> None:
    cells = ("1 + 1", "from IPython.display import display\ndisplay({'text/plain': 'x'}, metadata={'t': 1}, raw=True)")
    notebook = write_notebook(tmp_path / "same.ipynb", *cells)
    cli.main(["run", str(notebook)])
    document = json.loads(notebook.read_text())
    document["metadata"]["language_info"]["version"] = "3.0.0"  # saved by another Python
    document["cells"][1]["outputs"][0]["metadata"] = {"elapsed": 12.5}  # volatile: not what the output says
    document["cells"][0]["execution_count"] = 77  # saved from a long session
    notebook.write_text(json.dumps(document, indent=1) + "\n")
    before = notebook.read_bytes()
    assert cli.main(["run", str(notebook)]) == 0
    assert notebook.read_bytes() == before
    assert capsys.readouterr().out.endswith(f"{notebook} is unchanged.\n")


def test_run_with_output_leaves_the_source_alone(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "source.ipynb", "2 + 3")
    before = notebook.read_bytes()
    assert cli.main(["run", str(notebook), "--output", str(tmp_path / "out" / "copy.ipynb")]) == 0
    assert notebook.read_bytes() == before
    assert outputs(tmp_path / "out" / "copy.ipynb")[0][0]["data"] == {"text/plain": "5"}


def test_a_failing_cell_fails_the_command_and_is_named(tmp_path: Path, capsys: Capture) -> None:
    notebook = write_notebook(tmp_path / "fails.ipynb", "1", "raise ValueError('no such penguin')", "never = 1")
    assert cli.main(["run", str(notebook)]) == 1
    said = capsys.readouterr()
    assert said.err == "Cell 2 of 3 failed: ValueError: no such penguin\n"
    assert said.out.endswith(f"Written to {notebook}.\n")
    assert "[3/3]" not in said.out
    assert outputs(notebook)[1][0]["ename"] == "ValueError"


def test_a_cell_that_takes_too_long_fails_the_command(tmp_path: Path, capsys: Capture) -> None:
    notebook = write_notebook(tmp_path / "slow.ipynb", "import time; time.sleep(60)")
    assert cli.main(["run", str(notebook), "--timeout", "1"]) == 1
    assert "Cell 1 of 1 took longer than 1 s." in capsys.readouterr().err


def test_a_kernel_that_dies_fails_the_command(tmp_path: Path, capsys: Capture) -> None:
    notebook = write_notebook(tmp_path / "dies.ipynb", "import os; os._exit(9)")
    assert cli.main(["run", str(notebook)]) == 1
    assert "The kernel ended while cell 1 of 1 was running." in capsys.readouterr().err


def test_what_cannot_be_run_is_said_plainly(tmp_path: Path, capsys: Capture) -> None:
    assert cli.main(["run", str(tmp_path / "missing.ipynb")]) == 1
    assert "There is no notebook" in capsys.readouterr().err

    (tmp_path / "text.ipynb").write_text("not a notebook")
    assert cli.main(["run", str(tmp_path / "text.ipynb")]) == 2
    assert "is not a notebook" in capsys.readouterr().err

    notebook = write_notebook(tmp_path / "other.ipynb", "1", kernel="no-such-kernel")
    assert cli.main(["run", str(notebook)]) == 1
    assert "Kernel 'no-such-kernel' is not registered. Register tt-agent with" in capsys.readouterr().err
    assert cli.main(["run", str(notebook), "--kernel", "python3"]) == 0


def test_the_kernel_knows_the_notebook_and_the_mode(tmp_path: Path) -> None:
    notebook = write_notebook(
        tmp_path / "knows.ipynb", "import os; print(os.environ['TT_NOTEBOOK'], os.environ['TT_RECORD'])"
    )
    assert cli.main(["run", "--live", str(notebook)]) == 0
    assert outputs(notebook)[0][0]["text"] == f"{notebook} live\n"


def test_ctrl_c_interrupts_the_cell_and_keeps_what_was_there(tmp_path: Path) -> None:
    notebook = write_notebook(
        tmp_path / "long.ipynb", "print('before')", "import time\nfor _ in range(600): time.sleep(0.1)"
    )
    command = [sys.executable, "-m", "tt_kernel", "run", str(notebook)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        while "[2/2]" not in process.stdout.readline():
            pass
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 130
    assert "Cell 2 of 2 failed: KeyboardInterrupt" in rest
    assert outputs(notebook)[0][0]["text"] == "before\n"


# ---- agent notebooks

SCRIPT = """
script: 1
turns:
  - say: Let me roll.
    call: dice_roll
    with: {formula: 2d6}
  - call: workspace_read_file
    with: {path: output/nothing.md}
  - say: Done.
"""


@pytest.fixture
def agent_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A notebook with one agent cell, not yet run; the current folder is its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo.yaml").write_text(SCRIPT)
    cells = ("%load_ext tt_kernel", "%%agent -m scripted:demo.yaml -t dice.roll\nRoll two dice.\nThen read a file.")
    return write_notebook(tmp_path / "agents.ipynb", *cells)


def test_an_agent_run_is_followed_listed_shown_and_replayed(agent_notebook: Path, capsys: Capture) -> None:
    assert cli.main(["run", "agents.ipynb"]) == 0
    said = capsys.readouterr().out
    steps = [line.strip() for line in said.splitlines() if line.startswith("      ")]
    assert steps[0] == "run with profile assistant on scripted:demo.yaml"
    assert steps[1:4] == ["turn 1", 'call dice_roll {"formula":"2d6"}', "turn 2"]
    assert steps[4] == 'call workspace_read_file {"path":"output/nothing.md"}'
    assert steps[5].startswith("error workspace.")
    assert steps[6:] == ["turn 3", "completed"]
    assert "    | Done." in said.splitlines()

    assert cli.main(["runs", "agents.ipynb"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    run_id, status, *_ = line.split()
    assert status == "completed"
    assert line.endswith("3 turns  2 calls  " + line.split("2 calls  ")[1])
    assert "scripted:demo.yaml  Roll two dice." in line

    for command in (["show", run_id[:4]], ["show", run_id, "--notebook", "agents.ipynb"]):
        assert cli.main(command) == 0
        shown = capsys.readouterr().out
        assert f"run      {run_id}\nstatus   completed\n" in shown
        assert "Roll two dice.\nThen read a file." in shown
        assert "dice_roll" in shown
        assert "Done." in shown

    before = files_below(agent_notebook.parent)
    assert cli.main(["replay", "agents.ipynb"]) == 0
    assert "turn 1" not in capsys.readouterr().out
    assert cli.main(["run", "agents.ipynb"]) == 0
    assert files_below(agent_notebook.parent) == before


def test_replay_of_what_is_not_recorded_fails_and_keeps_nothing(agent_notebook: Path, capsys: Capture) -> None:
    before = files_below(agent_notebook.parent)
    assert cli.main(["replay", "agents.ipynb"]) == 1
    assert "Cell 2 of 2 failed: ReplayMiss" in capsys.readouterr().err
    assert files_below(agent_notebook.parent) == before


def test_live_runs_anew(agent_notebook: Path, capsys: Capture) -> None:
    cli.main(["run", "agents.ipynb"])
    assert cli.main(["run", "--live", "agents.ipynb"]) == 0
    assert "turn 1" in capsys.readouterr().out.rpartition("agents.ipynb: live")[2]
    cli.main(["runs", "agents.ipynb"])
    first, second = (line.split()[0] for line in capsys.readouterr().out.splitlines())
    assert first == f"{second}.2"


def test_a_failed_run_fails_the_command(agent_notebook: Path, capsys: Capture) -> None:
    (agent_notebook.parent / "demo.yaml").write_text("script: 1\nturns: [{fail: {error: 401, times: always}}]\n")
    assert cli.main(["run", "agents.ipynb"]) == 1
    said = capsys.readouterr()
    assert "Cell 2 of 2 failed: RunFailed" in said.err
    assert "      failed: " in said.out


def test_runs_and_show_say_what_is_not_there(agent_notebook: Path, capsys: Capture) -> None:
    assert cli.main(["runs", "agents.ipynb"]) == 0
    assert capsys.readouterr().out.startswith("agents.ipynb has no runs yet.")
    assert cli.main(["runs", "other.ipynb"]) == 1
    assert cli.main(["show", "12345678"]) == 1
    assert "No notebook in this folder has a run '12345678'." in capsys.readouterr().err
    assert cli.main(["show", "12345678", "--notebook", "agents.ipynb"]) == 1
    assert "There is no run '12345678'" in capsys.readouterr().err


# ---- this machine


def test_install_registers_a_kernel_that_starts_this_interpreter(tmp_path: Path, capsys: Capture) -> None:
    assert cli.main(["install", "--prefix", str(tmp_path)]) == 0
    folder = tmp_path / "share" / "jupyter" / "kernels" / "tt-agent"
    assert str(folder) in capsys.readouterr().out
    spec = json.loads((folder / "kernel.json").read_text())
    assert spec["argv"][0] == sys.executable
    assert spec["argv"][-4:] == ["-m", "tt_kernel", "-f", "{connection_file}"]
    assert (folder / "logo-svg.svg").exists()


def test_install_for_the_user_is_what_jupyter_then_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    assert cli.main(["install"]) == 0
    assert (tmp_path / "kernels" / "tt-agent" / "kernel.json").exists()
    notebook = write_notebook(tmp_path / "kernel.ipynb", "get_ipython().kernel.implementation", kernel="tt-agent")
    assert cli.main(["run", str(notebook)]) == 0
    assert outputs(notebook)[0][0]["data"] == {"text/plain": "'tt_kernel'"}


def test_the_wheel_registers_the_kernel_in_its_environment() -> None:
    assert registered_kernel() == Path(sys.prefix) / "share" / "jupyter" / "kernels" / "tt-agent"


def test_model_list_says_what_each_needs(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-real-key")
    assert cli.main(["model", "list"]) == 0
    said = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert said["local:smollm2"] == "installed"
    assert said["openai:MODEL"] == "set OPENAI_API_KEY"
    assert said["anthropic:MODEL"] == "ready"
    assert said["groq:MODEL"].startswith("pip install")


def test_model_install_of_an_unknown_model_says_what_there_is(capsys: Capture) -> None:
    assert cli.main(["model", "install", "gpt-99"]) == 1
    assert "smollm2" in capsys.readouterr().err


def test_doctor_finds_a_working_machine_in_order(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith("ok  ")] == []
    for what in (
        "tt_kernel 0.",
        "is writable",
        "shell engine starts",
        "model local:smollm2",
        "engine loads",
        "kernel tt-agent",
        "jupyterlab",
    ):
        assert any(what in line for line in lines), what


def test_doctor_says_what_to_do_and_fails_when_something_essential_is_missing(tmp_path: Path, capsys: Capture) -> None:
    assert cli.main(["doctor", str(tmp_path / "gone" / "x.ipynb")]) == 1
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("fix ")]
    assert "cannot be written (No such file or directory)" in line


def test_doctor_checks_the_chosen_model(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TT_MODEL", "openai:gpt-5")
    assert cli.main(["doctor"]) == 1
    assert "fix TT_MODEL: Model 'openai:gpt-5' needs OPENAI_API_KEY." in capsys.readouterr().out
