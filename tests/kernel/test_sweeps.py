"""Sweeps in a real kernel: their progress, an interrupt, and a kernel that is killed in the middle (DESIGN §11)."""

import json
import sys
import textwrap
import time

import pytest
from kernels import kernel

from tt_kernel.domain.views import SWEEP_MIME

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


def test_progress_is_shown_until_the_table_stands(folders, monkeypatch):
    monkeypatch.setenv("TT_NOTEBOOK", str(folders[0] / "nb.ipynb"))
    with kernel(folders[0]) as k:
        began = time.monotonic()
        out = k.run(CELL.replace("-o found", "--concurrency 4"), cell="c1")
        seconds = time.monotonic() - began
        assert out.reply["status"] == "ok", out.errors
        assert len(out.displays) == 1
        first = out.displays[0]["data"]
        assert first["text/plain"].startswith(f"[{'.' * 24}] 0 of 24 runs ended (24 runs, 0 recorded, 24 live)")
        assert 2 <= len(out.updates) <= 8 * seconds + 2
        ended = [int(u["data"]["text/plain"].split("] ")[1].split(" of ")[0]) for u in out.updates[:-1]]
        assert ended == sorted(ended)
        assert SWEEP_MIME not in first
        assert SWEEP_MIME in out.final
        assert "runs ended" not in str(out.final)
        replayed = k.run(CELL.replace("-o found", "--concurrency 4"))
        assert (len(replayed.displays), replayed.updates, replayed.final) == (1, [], out.final)


def test_an_interrupted_sweep_keeps_what_it_has(folders, monkeypatch):
    whole, _ = folders
    monkeypatch.setenv("TT_NOTEBOOK", str(whole / "nb.ipynb"))
    with kernel(whole) as k:
        sent = k.send(CELL.replace("-o found", "-o found --concurrency 2"), cell="c1")
        end = time.monotonic() + 60
        while len(replies(whole)) < 4:
            assert time.monotonic() < end
            time.sleep(0.01)
        k.interrupt()
        out = k.collect(sent)[sent]
        assert out.reply["status"] == "error"
        said = out.errors[0]["evalue"]
        assert "of 24 runs: It was interrupted. Run it again: what is done replays. What it has is in _" in said
        assert "It was interrupted." in out.final["text/plain"]
        rows = json.loads(k.run(TOLD).text)
        done = [row for row in rows if row[1] == "completed"]
        assert 3 <= len(done) < RUNS
        assert f"stopped after {len(done)} of 24" in said
        assert {row[1] for row in rows} <= {"completed", "interrupted", "not run"}
        again = k.run(CELL, cell="c1")
        assert again.reply["status"] == "ok"
        rows = json.loads(k.run(TOLD).text)
        assert [row[1] for row in rows] == ["completed"] * RUNS
        assert sum(row[4] for row in rows) >= len(done)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
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
