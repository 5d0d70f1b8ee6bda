"""A sweep of a thousand runs against its ideal time, and how a long run grows. Prints; asserts nothing."""

import tempfile
import time
from pathlib import Path

from bench_runs import MEMORY, session_with, timed_run

from tt_kernel.experiments.sweep import sweep
from tt_kernel.session.core import Session

RUNS, CONCURRENCY, LATENCY_MS = 1_000, 50, 50


def sweep_cost() -> tuple[float, float, float]:
    """Share of the ideal time (1.0: nothing but waiting for the model), and milliseconds a run: CPU live, wall replayed."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder = Path(name)
        text = f"script: 1\nturns:\n  - say: hello\n    wait: {LATENCY_MS}\n"
        (folder / "script.yaml").write_text(text, encoding="utf-8")
        wall, cpu = time.perf_counter(), time.process_time()
        _sweep(folder, RUNS)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        again = time.perf_counter()
        _sweep(folder, RUNS)
        again = time.perf_counter() - again
    return RUNS / CONCURRENCY * LATENCY_MS / 1e3 / wall, cpu / RUNS * 1e3, again / RUNS * 1e3


def _sweep(folder: Path, runs: int) -> None:
    session = Session(folder / "nb.ipynb")
    session.default_model = "scripted:script.yaml"
    found = sweep("go", repeat=runs, concurrency=CONCURRENCY, session=session)
    assert all(row.status == "completed" for row in found)


def growth(turns: int) -> tuple[float, float, float, float]:
    """Per turn of a run: stored bytes, CPU milliseconds live and replayed, and preparation in all (ms)."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder = Path(name)
        session = session_with(turns - 1, folder)
        _, cpu = timed_run(session)
        size = sum(path.stat().st_size for path in session.folder.root.rglob("*") if path.is_file())
        fresh = Session(folder / "nb.ipynb")
        fresh.default_model = session.default_model
        timed_run(fresh)  # reads the chain
        start = time.process_time()
        fresh.prepare("go", tools=["dice.roll"])
        prepared = time.process_time() - start
        start = time.process_time()
        timed_run(fresh)
        again = time.process_time() - start
    return size / turns, cpu / turns * 1e3, (again - prepared) / turns * 1e3, prepared * 1e3


def main() -> None:
    share, cpu, again = sweep_cost()
    print(
        f"sweep of {RUNS} runs, {CONCURRENCY} at once, {LATENCY_MS} ms: {share:.0%} of the ideal, {cpu:.2f} ms CPU a run"
    )
    print(f"the same sweep replayed: {again:.2f} ms a run")
    for turns in (100, 400, 1600):
        size, live, replayed, prepared = growth(turns)
        print(
            f"run of {turns:5d} turns: {size:,.0f} bytes, {live:.3f} ms CPU live, {replayed:.3f} ms replayed a turn; "
            f"prepared in {prepared:.1f} ms"
        )


if __name__ == "__main__":
    main()
