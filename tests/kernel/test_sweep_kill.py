"""The whole kernel is killed in the middle of a sweep; the cell is run again in a new one: DESIGN §11."""

import json
import sys
import textwrap
import time

import pytest
from kernels import kernel

SCRIPT = """
script: 1
conversations:
  - when: Paris
    turns: [{say: It is 12 degrees in Paris., wait: 150}]
  - when: Rome
    turns: [{say: It is 20 degrees in Rome., wait: 150}]
"""
CELL = "%%agent --vary city=Paris,Rome --repeat 12 --check \"'Rome' in text\" -o found\nHow warm is it in @{city}?"
TOLD = "import json; print(json.dumps([[r.case.number, r.status, r.run, r.text, r.replayed, r.value(\"'Rome' in text\")] for r in found]))"
RUNS = 24

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("TT_MODEL", "scripted:script.yaml")
    made = [tmp_path / "whole", tmp_path / "killed"]
    for folder in made:
        folder.mkdir()
        (folder / "script.yaml").write_text(textwrap.dedent(SCRIPT))
    return made


def replies(folder):
    """The model's answers that are recorded, as (request, slot): one for each live call."""
    found = []
    for path in (folder / "nb.agent" / "recordings").glob("*.jsonl"):
        for line in path.read_bytes().split(b"\n")[:-1]:
            value = json.loads(line)
            if value["kind"] == "reply":
                found.append((value["request"], value["slot"]))
    return found


def swept(folder):
    """The cell in a new kernel: its final bundle, and its rows."""
    with kernel(folder) as k:
        out = k.run(CELL, cell="c1", timeout=100)
        assert out.reply["status"] == "ok", out.errors
        return out.final, json.loads(k.run(TOLD).text)


def killed_in_the_middle(folder):
    """Kill the kernel when some runs are done and some are not."""
    with kernel(folder) as k:
        k.send(CELL, cell="c1")
        end = time.monotonic() + 90
        while len(replies(folder)) < RUNS // 4:
            assert time.monotonic() < end
            time.sleep(0.01)
        k.manager.signal_kernel(9)
        k.manager.provisioner.process.wait()


def test_what_is_done_replays_and_the_rest_runs(folders, monkeypatch):
    whole, killed = folders
    monkeypatch.setenv("TT_NOTEBOOK", str(whole / "nb.ipynb"))
    expected, every = swept(whole)
    monkeypatch.setenv("TT_NOTEBOOK", str(killed / "nb.ipynb"))
    killed_in_the_middle(killed)
    done = replies(killed)
    assert RUNS // 4 <= len(done) < RUNS
    final, rows = swept(killed)
    assert [row[1] for row in rows] == ["completed"] * RUNS
    assert sum(row[4] for row in rows) == len(done), "what was recorded replays, the rest ran"
    assert len({row[2] for row in rows}) == RUNS
    after = replies(killed)
    assert set(done) < set(after)
    assert len(set(after)) == len(after) == RUNS, "no answer was asked for twice"
    assert [row[3] for row in rows] == [row[3] for row in every]
    assert final["text/plain"] == expected["text/plain"]
    before = replies(killed)
    again, rows = swept(killed)
    assert all(row[4] for row in rows)
    assert again == final
    assert replies(killed) == before
