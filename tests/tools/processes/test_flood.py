"""Floods of output: field report 33 and issue 4 (50 MB; the kernel answers within 100 ms)."""

import asyncio
import time
import tracemalloc

FIFTY_MB = "python -c \"import sys; [sys.stdout.write('0123456789abcdef' * 4096 + chr(10)) for _ in range(800)]\""
"""800 lines of 64 KiB."""


class Heart:
    """Measures how long a loop is kept from answering: `busy`, the work of its thread between two beats, and `late`, on the
    clock, which a loaded machine lengthens. Seconds.
    """

    def __init__(self) -> None:
        self.late = self.busy = 0.0
        self._task = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            clock, work = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.005)
            self.late = max(self.late, time.perf_counter() - clock - 0.005)
            self.busy = max(self.busy, time.thread_time() - work)

    def check(self) -> None:
        """Issue 4: a message is answered within 100 ms."""
        self._task.cancel()
        assert self.busy < 0.1, f"the loop worked for {self.busy * 1000:.0f} ms"
        assert self.late < 0.5, f"the loop was {self.late * 1000:.0f} ms late"


async def test_fifty_megabytes_stay_bounded_and_the_loop_answers(bench) -> None:
    await bench.bash("true")
    tracemalloc.start()
    heart = Heart()
    try:
        result = await bench.bash(FIFTY_MB)
        session = bench.table.find(result.structured["sessionId"])
        while session.status == "running":
            result = await bench.wait(session.id, cursor=session.ring.end)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert session.status == "completed" and session.ring.end == 800 * 65_537
    assert session.ring.end - session.ring.start <= 2**20
    assert peak < 8 * 2**20, f"{peak / 2**20:.1f} MiB"
    heart.check()
    assert len(result.content) < 70_000


async def test_an_endless_flood_can_be_stopped_and_the_loop_answers(bench) -> None:
    heart = Heart()
    result = await bench.bash("yes 'a line of an endless flood'")
    assert result.structured["status"] == "running"
    await asyncio.sleep(0.5)
    began = time.monotonic()
    last = await bench.stop(result.structured["sessionId"])
    assert time.monotonic() - began < 15
    assert last.structured["status"] == "cancelled" and last.structured["outputTruncated"]
    heart.check()


async def test_a_flood_of_tiny_writes_of_two_streams(bench) -> None:
    program = "import os; [(os.write(1, b'o'), os.write(2, b'e')) for _ in range(20000)]"
    result = await bench.bash(f'python -c "{program}"', yield_time_ms=30_000)
    assert result.structured["cursor"] == 40_000
    texts = {"stdout": "", "stderr": ""}
    for piece in result.structured["output"]:
        texts[piece["stream"]] += piece["text"]
    assert texts == {"stdout": "o" * 20_000, "stderr": "e" * 20_000}
    assert len(result.content) < 80_000
