"""Cost of a tool call with everything persisted, its growth, and the replay of a run. Prints; asserts nothing."""

import asyncio
import math
import statistics
import tempfile
import time
from pathlib import Path

from tt_kernel.runtime.loop_thread import submit
from tt_kernel.session.core import Session

# Files in memory where there are any: what is measured is our work, not the disk of a shared machine.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


def script(calls: int) -> str:
    turns = "".join("  - call: dice_roll\n    with: {formula: 2d6}\n" for _ in range(calls))
    return f"script: 1\nturns:\n{turns}  - say: done\n"


def session_with(calls: int, folder: Path) -> Session:
    (folder / "script.yaml").write_text(script(calls), encoding="utf-8")
    session = Session(folder / "nb.ipynb")
    session.default_model = "scripted:script.yaml"
    return session


def timed_run(session: Session) -> tuple[float, float]:
    """Wall and CPU seconds of the events of one run (the script is loaded before)."""
    prepared = session.prepare("go", tools=["dice.roll"])

    async def drain() -> tuple[float, float]:
        events = aiter(session.stream(prepared, cell="bench", execution=str(time.time_ns())))
        first = await anext(events)
        assert first.type == "run_created"
        wall, cpu = time.perf_counter(), time.thread_time()
        async for _ in events:
            await asyncio.sleep(0)
        return time.perf_counter() - wall, time.thread_time() - cpu

    future, _ = submit(drain())
    return future.result()


def live_cost(calls: int, repeats: int = 3) -> tuple[float, float]:
    """Median milliseconds per call: wall, CPU."""
    walls, cpus = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory(dir=MEMORY) as name:
            wall, cpu = timed_run(session_with(calls, Path(name)))
            walls.append(wall / calls * 1e3)
            cpus.append(cpu / calls * 1e3)
    return statistics.median(walls), statistics.median(cpus)


def replay_cost(turns: int, repeats: int = 5) -> float:
    """Median milliseconds of a whole replay, preparation included, in a session that has seen the run."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        session = session_with(turns - 1, Path(name))
        timed_run(session)
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            timed_run(session)
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e3


def main() -> None:
    live_cost(20, 1)
    costs = {calls: live_cost(calls) for calls in (200, 400, 1600)}
    for calls, (wall, cpu) in costs.items():
        print(f"tool call, run of {calls:5d}: {wall:.3f} ms wall, {cpu:.3f} ms CPU per call")
    total = {calls: cost[1] * calls for calls, cost in costs.items()}
    print(f"growth exponent 400 -> 1600 calls: {math.log(total[1600] / total[400]) / math.log(4):.2f}")
    print(f"replay of 50 turns: {replay_cost(50):.1f} ms")


if __name__ == "__main__":
    main()
