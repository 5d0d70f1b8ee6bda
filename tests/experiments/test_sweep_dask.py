"""Sweeps on a Dask cluster: real worker processes on this machine, one store."""

import json
import logging
import os
import signal
import sys

import pytest
from support import make_session

from tt_kernel.experiments.sweep import sweep

SLOW = "script: 1\nconversations:\n" + "".join(
    f"  - when: {city}\n    turns: [{{say: It is {n} degrees in {city}., wait: 150, usage: {{input: 9, output: 5}}}}]\n"
    for n, city in enumerate(["Paris", "Rome", "Oslo"])
)
PROMPT, VARY, REPEAT = "How warm is it in @{city}?", {"city": ["Paris", "Rome", "Oslo"]}, 4


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with (
        distributed.LocalCluster(silence_logs=logging.CRITICAL, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def told(rows):
    return [(dict(row.case.point), row.case.repeat, row.status, row.text, row.usage.total_tokens) for row in rows]


def replies(folder) -> list[tuple[str, int]]:
    """Which answers of the model are recorded: (request, slot)."""
    lines = [json.loads(line) for path in folder.glob("recordings/*.jsonl") for line in path.read_text().splitlines()]
    return [(line["request"], line["slot"]) for line in lines if line["kind"] == "reply"]


def test_a_cluster_gives_what_the_loop_gives(client, tmp_path):
    here = sweep(PROMPT, vary=VARY, repeat=REPEAT, session=make_session(tmp_path / "here", SLOW), concurrency=12)
    there = make_session(tmp_path / "there", SLOW)
    found = sweep(PROMPT, vary=VARY, repeat=REPEAT, session=there, executor=client.get_executor())
    assert told(found) == told(here)
    assert not any(row.replayed for row in found)
    assert [row.run for row in found] == [row.run for row in sweep(PROMPT, vary=VARY, repeat=REPEAT, session=there)]
    assert len(set(replies(there.folder.root))) == len(replies(there.folder.root)) == 12


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_worker_loses_nothing_and_nothing_is_done_twice(client, tmp_path):
    session = make_session(tmp_path, SLOW)
    victim = next(iter(client.run(os.getpid).values()))
    killed = []

    def kill_one(rows, total):
        if len(rows) >= 3 and not killed:
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    found = sweep(PROMPT, vary=VARY, repeat=REPEAT, session=session, executor=client.get_executor(), progress=kill_one)
    assert killed
    assert [row.status for row in found] == ["completed"] * 12
    assert len({row.run for row in found}) == 12
    recorded = replies(session.folder.root)
    assert len(set(recorded)) == len(recorded) == 12, "each point and repeat was answered once"
    again = sweep(PROMPT, vary=VARY, repeat=REPEAT, session=make_session(tmp_path), executor=client.get_executor())
    assert all(row.replayed for row in again)
    assert [row.run for row in again] == [row.run for row in found]
    assert replies(session.folder.root) == recorded
