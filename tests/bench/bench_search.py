"""`%agent find` in a notebook with 10,000 runs. Prints; asserts nothing."""

import json
import statistics
import tempfile
import time
from pathlib import Path

from bench_runs import MEMORY, session_with

from tt_kernel.experiments.search import find, parse_query
from tt_kernel.runtime.loop_thread import submit

RUNS = 10_000
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")


async def drained(stream):
    async for _ in stream:
        pass
    return stream.run


def main() -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        session = session_with(1, Path(name))
        run = submit(drained(session.stream(session.prepare("go", tools=["dice.roll"]))))[0].result()
        record = json.loads(session.folder.run(run.id).run_json.read_text())
        for n in range(RUNS):
            folder = session.folder.runs / f"{n:08x}"
            folder.mkdir(exist_ok=True)
            prompt = f"Run {n} about {WORDS[n % 10]} and {WORDS[n // 10 % 10]}, number n{n}."
            made = record | {"id": folder.name, "prompt": prompt, "text": f"The answer of {WORDS[n // 100 % 10]}."}
            (folder / "run.json").write_text(json.dumps(made))
        for words in (["alpha"], ["n4711"], ["alpha", "beta"], ["answer"], ["status:failed"]):
            times = []
            for _ in range(1 if words == ["alpha"] else 5):
                began = time.perf_counter()
                found = find(session.folder, parse_query(words))
                times.append((time.perf_counter() - began) * 1e3)
            label = "index built, " * (words == ["alpha"]) + " ".join(words)
            print(f"find in {RUNS:,} runs: {label:24} {statistics.median(times):8.1f} ms, {len(found)} found")


if __name__ == "__main__":
    main()
