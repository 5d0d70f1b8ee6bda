"""Sweeps: many runs with one thing or several varied, on the agent loop or on any executor.

The recordings are the memory of a sweep: what is done replays, so an interrupted or killed sweep is resumed by running it
again. The n-th repeat of a point has the n-th recording.
"""

import asyncio
import gc
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tt_kernel.domain.budget import dollars
from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import BudgetUsedUp, TTError, UsageProblem
from tt_kernel.domain.runs import Run
from tt_kernel.experiments.checks import Check, Checked, Judge, checked, judgement
from tt_kernel.experiments.sweep_jobs import Job, result_of
from tt_kernel.experiments.sweep_plan import Case, cases
from tt_kernel.experiments.sweep_result import NOT_RUN, Row, Sweep
from tt_kernel.runtime.loop_thread import submit
from tt_kernel.session.api import current_session
from tt_kernel.session.assembly import is_recorded
from tt_kernel.session.core import Session
from tt_kernel.session.lookout import made_in_advance
from tt_kernel.session.pictures import small_pictures
from tt_kernel.session.prepared import PreparedRun

CONCURRENCY = 8
GC_THRESHOLD = 20_000
"""New container objects between two looks of the garbage collector; Python's own is 700."""

Progress = Callable[[Collection[Row], int], None]
"""Told the rows so far and the number of all, after each run."""


@dataclass(frozen=True)
class Preflight:
    """What a sweep is about to do.

    Attributes:
        runs: All runs.
        live: Those whose first turn is not recorded; the others replay.
        cost_usd: Estimate of what these cost: as much as this notebook's earlier runs of the same models, on average. None
            where nothing is known.
    """

    runs: int
    live: int
    cost_usd: float | None

    @property
    def line(self) -> str:
        cost = f", about {dollars(self.cost_usd)}" if self.cost_usd else ""
        return f"{self.runs:,} runs, {self.runs - self.live:,} recorded, {self.live:,} live{cost}"


@dataclass(frozen=True)
class Setting:
    """How a sweep is run; see `sweep`."""

    base: Mapping[str, Any] = field(default_factory=dict)
    checks: Mapping[str, Check] = field(default_factory=dict)
    concurrency: int = CONCURRENCY
    budget_usd: float | None = None
    executor: Executor | None = None
    namespace: Mapping[str, object] = field(default_factory=dict)


@dataclass
class SweepRun:
    """One execution of a sweep in a session.

    Raises, when it is made:
        UserError: An unknown field, profile, tool or model. Nothing was started.
    """

    session: Session
    cases: Sequence[Case]
    setting: Setting
    progress: Progress = lambda rows, total: None  # noqa: ARG005
    rows: dict[int, Row] = field(default_factory=dict)
    spent: float = 0.0
    stopped: str = ""
    _prepared: dict[int, PreparedRun] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.setting.concurrency < 1:
            raise UsageProblem(message=f"concurrency must be at least 1, not {self.setting.concurrency}.")
        base: PreparedRun | None = None
        for case in self.cases:
            if case.repeat == 1 or base is None:
                base = made_in_advance(
                    self.session.prepare(case.prompt, **self._arguments(case)), self.session.planner.scrubber
                )
            self._prepared[case.number] = replace(base, slot=case.repeat, one_of_many=True)

    def _arguments(self, case: Case) -> dict[str, Any]:
        settings = {**(self.setting.base.get("settings") or {}), **case.arguments["settings"]}
        return {**self.setting.base, **case.arguments, "settings": settings}

    def preflight(self) -> Preflight:
        live = [
            p
            for p in self._prepared.values()
            if p.request.mode == "live" or not is_recorded(self.session.recordings, p, self.session.planner.scrubber)
        ]
        return Preflight(len(self.cases), len(live), self._estimate(live))

    def _estimate(self, live: Sequence[PreparedRun]) -> float | None:
        if not live:
            return None
        known: dict[str, list[float]] = {}
        for record in self.session.index.list():
            if record.usage.cost_usd is not None and record.status == "completed":
                known.setdefault(record.model, []).append(record.usage.cost_usd)
        costs = [sum(known[m]) / len(known[m]) for p in live if (m := p.request.model) in known]
        return sum(costs) if costs and len(costs) == len(live) else None

    async def run(self) -> Sweep:
        """Run everything. Cancelled, it ends the runs that go on, and gives what there is."""
        state = self.session.planner.state
        queue = iter(self.cases)
        workers = [
            asyncio.create_task(self._work(queue)) for _ in range(min(self.setting.concurrency, len(self.cases)))
        ]
        try:
            with _seldom_collected():
                await asyncio.wait(workers)
        except asyncio.CancelledError:
            self.stopped = "It was interrupted. Run it again: what is done replays."
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
        else:
            await asyncio.gather(*workers)  # raises what a worker raised: a bug
        self.session.planner.state = state  # which run ends last is chance: the notebook's memory is what it was
        return self.result()

    def result(self) -> Sweep:
        """What there is so far; the rest is `not run`."""
        rows = [self.rows.get(case.number) or Row(case, NOT_RUN, problem=self.stopped) for case in self.cases]
        return Sweep(tuple(rows), tuple(self.setting.checks), self.stopped)

    async def _work(self, queue: Any) -> None:
        for case in queue:
            if self.stopped:
                return
            if self.setting.budget_usd is not None and self.spent >= self.setting.budget_usd:
                self.stopped = f"The budget of ${self.setting.budget_usd:g} is spent. Raise it and run the sweep again."
                return
            await self._one(case)
            self.progress(self.rows.values(), len(self.cases))

    async def _one(self, case: Case) -> None:
        try:
            run = await (self._here(case) if self.setting.executor is None else self._there(case))
        except BrokenExecutor as error:
            self.stopped = f"The executor broke: {error} Run the sweep again: what is done replays."
            return
        except TTError as error:
            if error.code == BudgetUsedUp.default_code:  # every other run that asks would hear the same
                self.stopped = error.message
            else:
                self.rows[case.number] = Row(case, "failed", problem=error.message)
            return
        if not run.replayed:
            self.spent += run.usage.cost_usd or 0.0
        self.rows[case.number] = await self._row(case, run)

    async def _here(self, case: Case) -> Run:
        stream = self.session.stream(self._prepared[case.number])
        async for _ in stream:
            pass
        return stream.run

    async def _there(self, case: Case) -> Run:
        executor = self.setting.executor
        assert executor is not None, "asked for only where there is one"
        session = self.session
        options = {name: value for name, value in self._arguments(case).items() if name != "functions"}
        job = Job(session.notebook, session.folder.root, case.prompt, options, case.repeat, session.default_model)
        done = await result_of(executor, job)
        run = session.load(done.run)
        if done.status != run.status:  # all of it was recorded, and its process killed before the end was
            run = replace(run, status=done.status, text=done.text, problem=None)
        return replace(run, replayed=done.replayed)

    async def _row(self, case: Case, run: Run) -> Row:
        async def ask(judge: Judge, judged: Run) -> str:
            return await self._judge(judge, judged, case.repeat)

        found: dict[str, Checked] = {}
        if run.status in ("completed", "partial_success", "limit"):
            for name, check in self.setting.checks.items():
                found[name] = await checked(check, run, ask, self.setting.namespace)
        problem = run.problem.message if run.problem else next((c.problem for c in found.values() if c.problem), "")
        return Row(
            case=case,
            status=run.status,
            run=run.id,
            text=run.text,
            turns=run.view.turns,
            calls=len(run.tool_calls),
            usage=run.usage,
            checks=found,
            problem=problem,
            replayed=run.replayed,
            folder=run.view.folder,
            images=small_pictures(self.session.recordings, run, keep=self.setting.base.get("mode") != "off"),
        )

    async def _judge(self, judge: Judge, run: Run, repeat: int) -> str:
        model = judge.model or run.view.model
        mode = self.setting.base.get("mode")
        asked = self.session.prepare(judgement(judge, run), profile=judge.profile, model=model, mode=mode)
        stream = self.session.stream(replace(asked, slot=repeat, one_of_many=True))
        async for _ in stream:
            pass
        if stream.run.status != "completed":
            raise TTError(message=f"The judge's run {stream.run.id} ended as {stream.run.status}.")
        self.spent += 0.0 if stream.run.replayed else stream.run.usage.cost_usd or 0.0
        return stream.run.text


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let the garbage collector look less often: beside a notebook's data its looks cost a sixth of a sweep's time.

    Runs leave hardly any cycles behind. Thresholds that the user has raised, or the collector switched off, stay as they are.
    """
    before = gc.get_threshold()
    if not 0 < before[0] < GC_THRESHOLD:
        yield
        return
    gc.set_threshold(GC_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def sweep(
    prompt: str,
    *,
    vary: Mapping[str, Sequence[Json]] | None = None,
    repeat: int = 1,
    checks: Mapping[str, Check] | None = None,
    concurrency: int = CONCURRENCY,
    budget_usd: float | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    session: Session | None = None,
    **options: Any,
) -> Sweep:
    """Run a prompt with every combination of what is varied, and check the answers.

    What is recorded replays; run it again after an interrupt, a kill or a change, and only what is missing runs.

    Args:
        prompt: May hold `@{name}` for a variable that is varied.
        vary: `model`, `profile`, `tools`, `prompt`, a dotted profile field or a variable of the prompt -> its values.
        repeat: How often each combination is run.
        checks: Name -> an expression over `text`, `calls`, `run` ... and the session's names, a function of the Run, a compiled pattern, a JSON schema or
            a `Judge`.
        concurrency: How many runs go on at once.
        budget_usd: No new run begins once this much was spent, as far as prices are known.
        executor: Runs elsewhere: a process pool, or Dask's `client.get_executor()`. It must see the notebook's folder. Tools that
            are functions of the notebook cannot go there.
        progress: Called after each run with the rows so far and the number of all.
        session: As for `run`, like all other options: profile, model, tools, functions, settings, mode, images.

    Returns:
        The Sweep: a table that shows itself, `.df`, `.plot()`, `.compare()`. An interrupt ends it with what there is.

    Raises:
        UserError: Something that makes no sense; nothing was started.
    """
    chosen = session or current_session(options.pop("folder", None))
    if executor is not None and options.get("functions"):
        raise UsageProblem(
            message="Functions of the notebook cannot be called in another process. Leave out executor=."
        )
    setting = Setting(options, checks or {}, concurrency, budget_usd, executor, namespace=chosen.namespace)
    work = SweepRun(chosen, cases(prompt, vary or {}, repeat), setting, progress or (lambda rows, total: None))  # noqa: ARG005
    future, cancel = submit(work.run())
    return chosen.foreground.wait(future, cancel)
