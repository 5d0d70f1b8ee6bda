"""IPython in a terminal: no kernel, no notebook, Ctrl-C."""

import os
import sys
import time

import pytest
from live_kernels import REPOSITORY

pexpect = pytest.importorskip("pexpect")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")

SCRIPT = """
script: 1
conversations:
  - when: slow
    turns:
      - say: {repeat: "word ", times: 4000}
        pace: 40
  - turns:
      - say: Echo.
"""


@pytest.fixture
def terminal(tmp_path):
    (tmp_path / "script.yaml").write_text(SCRIPT)
    path = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "TT_MODEL": "scripted:script.yaml", "PYTHONPATH": path, "TERM": "dumb"}
    arguments = ["-m", "IPython", "--no-banner", "--simple-prompt", "--colors=NoColor"]
    child = pexpect.spawn(
        sys.executable, arguments, cwd=str(tmp_path), env=env, encoding="utf-8", timeout=30, dimensions=(50, 200)
    )

    def enter(*lines):
        for line in lines:
            child.sendline(line)
        return finished()

    def finished():
        child.expect(r"In \[\d+\]: $")
        return child.before.replace("\r\n", "\n")

    finished()
    assert "rror" not in enter("%load_ext tt_kernel")
    child.enter, child.finished = enter, finished
    yield child
    child.close(force=True)


def test_a_run_is_shown_once_and_is_the_value(terminal):
    out = terminal.enter("%agent hello")
    assert out.count("Echo.") == 1
    assert "Out[" not in out
    assert "'Echo.'" in terminal.enter("_.text")
    assert terminal.enter("x = %agent hello").count("Echo.") == 1


def test_control_c_stops_it_at_once_and_keeps_what_there_was(terminal, tmp_path):
    for line in ("%%agent", "be slow", "", ""):
        terminal.sendline(line)
    until = time.monotonic() + 60
    while not list(tmp_path.glob("agent.agent/runs/*/events.jsonl")):
        assert time.monotonic() < until, "no run has begun"
        time.sleep(0.1)
    time.sleep(2)
    began = time.monotonic()
    terminal.sendintr()
    out = terminal.finished()
    assert time.monotonic() - began < 15
    assert "agent assistant [interrupted]" in out
    assert "word word" in out
    assert "AgentInterrupted: run" in out
    assert "Traceback" not in out
    assert "'interrupted'" in terminal.enter("_.status")
