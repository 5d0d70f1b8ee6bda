"""Latency of the shell: start of its child, a trivial command, others. Prints; asserts nothing."""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from tt_kernel.tools.shell import Mount, ShellWorker
from tt_kernel.tools.shell.job import Ending, Job, Printed

COMMANDS = {
    "echo": "echo hi",
    "pipeline": "seq 100 | grep 1 | sort -r | head -3",
    "date": "date",
    "ls -l": "ls -l /output",
    "jq": "echo '{\"a\": [1, 2]}' | jq '.a | add'",
    "python": "python -c 'print(1)'",
    "js": "js -e 'console.log(1)'",
}


async def one(worker: ShellWorker, command: str, folder: Path) -> float:
    """Seconds."""
    job = Job(command, "/", [Mount("output", folder, True)], 0.0, 1)
    start = time.perf_counter()
    ending: Ending = await worker.run(job, Printed.nothing())
    assert (ending.reason, ending.exit) == ("exit", 0), ending
    return time.perf_counter() - start


async def starts(folder: Path, repeats: int = 5) -> tuple[float, float]:
    """Median seconds until a child is ready, and until its first command has ended."""
    ready, first = [], []
    for _ in range(repeats):
        async with ShellWorker() as worker:
            start = time.perf_counter()
            await worker.start()
            ready.append(time.perf_counter() - start)
            first.append(await one(worker, "echo hi", folder))
    return statistics.median(ready), statistics.median(first)


async def crash(folder: Path) -> float:
    """Seconds from a command that kills the child to the end of the next one."""
    async with ShellWorker() as worker:
        await one(worker, "echo hi", folder)
        start = time.perf_counter()
        await worker.run(Job("""x='eval "$x"'; eval "$x\"""", "/", [], 0.0, 1), Printed.nothing())
        await one(worker, "echo hi", folder)
        return time.perf_counter() - start


async def measure(folder: Path) -> None:
    ready, first = await starts(folder)
    print(f"child ready: {ready * 1e3:.0f} ms; first command: {first * 1e3:.1f} ms")
    print(f"crash, restart and next command: {await crash(folder) * 1e3:.0f} ms")
    async with ShellWorker() as worker:
        for name, command in COMMANDS.items():
            warm = await one(worker, command, folder)
            for gap in (0.0, 0.003):
                times = []
                for _ in range(200 if name == "echo" else 50):
                    await asyncio.sleep(gap)
                    times.append(await one(worker, command, folder))
                times.sort()
                print(
                    f"{name:9} gap {gap * 1e3:.0f} ms: median {statistics.median(times) * 1e3:.2f} ms, "
                    f"fastest tenth {times[len(times) // 10] * 1e3:.2f} ms (first {warm * 1e3:.1f} ms)"
                )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(measure(Path(name)))


if __name__ == "__main__":
    main()
