"""The throttle of the one output. The events are made here; the bundles are real ones."""

import asyncio
import itertools
import json
import time

from tt_kernel.domain.views import RunView
from tt_kernel.ipython.display import CellOutput
from tt_kernel.widgets.bundle import bundle


class Recorder:
    def __init__(self, seconds=0.0):
        self.sent, self.seconds = [], seconds

    def __call__(self, data, metadata, update):
        time.sleep(self.seconds)
        self.sent.append((asyncio.get_running_loop().time(), update, data["text/plain"]))


def view(n, text=""):
    return RunView(id="x", status="running", profile="p", model="m", turns=n, call_count=0, tokens=0, text=text)


async def feed(output, seconds, pause=0.004, text=""):
    """250 events a second."""
    until, n = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        n += 1
        output.changed(lambda n=n: bundle(view(n, text)))
        await asyncio.sleep(pause)
    return n


async def test_updates_are_at_most_eight_a_second_and_the_first_comes_at_once():
    sent = Recorder()
    output = CellOutput(sent, live=True)
    began = asyncio.get_running_loop().time()
    await feed(output, 1.0)
    output.end(bundle(view(10_000)))
    assert sent.sent[0][0] - began < 0.1
    assert 4 <= len(sent.sent) <= 10
    times = [at for at, *_ in sent.sent[:-1]]
    assert all(b - a >= 0.12 for a, b in itertools.pairwise(times))
    assert [update for _, update, _ in sent.sent] == [False] + [True] * (len(sent.sent) - 1)
    assert "10,000 turns" in sent.sent[-1][2]


async def test_updating_takes_at_most_a_tenth_of_the_time():
    sent = Recorder(seconds=0.05)
    output = CellOutput(sent, live=True)
    await feed(output, 1.2)
    assert len(sent.sent) <= 4


async def test_traffic_is_bounded():
    """notes/performance.md: behind jupyter_server 1 MB/s is the limit, beyond it messages are dropped."""
    sent = Recorder()
    output = CellOutput(sent, live=True)
    text = "x" * 60_000
    size = len(json.dumps(bundle(view(1, text))[0]))
    await feed(output, 1.5, text=text)
    assert len(sent.sent) * size < 1.5 * 500_000 + 2 * size


async def test_the_last_change_is_shown_also_when_nothing_follows():
    sent = Recorder()
    output = CellOutput(sent, live=True)
    for n in (1, 2, 3):
        output.changed(lambda n=n: bundle(view(n)))
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)
    assert "3 turns" in sent.sent[-1][2]
    assert len(sent.sent) == 2


async def test_elsewhere_there_is_one_output_at_the_end():
    """nbval ignores updates: notes/frontend.md §7."""
    sent = Recorder()
    output = CellOutput(sent, live=False)
    await feed(output, 0.2)
    assert sent.sent == []
    output.end(bundle(view(5)))
    assert [(update, text.splitlines()[0]) for _, update, text in sent.sent] == [
        (False, "agent p [running] 5 turns, x")
    ]


async def test_after_the_end_nothing_is_sent():
    sent = Recorder()
    output = CellOutput(sent, live=True)
    output.changed(lambda: bundle(view(1)))
    output.end(bundle(view(2)))
    output.changed(lambda: bundle(view(3)))
    await asyncio.sleep(0.2)
    assert len(sent.sent) == 1
