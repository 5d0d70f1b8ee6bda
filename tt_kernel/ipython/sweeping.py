"""`%%agent --vary --repeat --check`: the prompt of a cell as a sweep; one table is its output."""

import json
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.views import SWEEP_MIME
from tt_kernel.experiments.sweep import CONCURRENCY, Preflight, Setting, SweepRun
from tt_kernel.experiments.sweep_plan import cases
from tt_kernel.experiments.sweep_result import Row, Sweep
from tt_kernel.experiments.sweep_view import sweep_document
from tt_kernel.ipython.arguments import Options
from tt_kernel.ipython.display import Bundle, CellOutput, cell_publisher, watched
from tt_kernel.ipython.errors import AgentInterrupted
from tt_kernel.ipython.interpolation import interpolate
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.ipython.requests import arguments_of, require_prompt, settled_with
from tt_kernel.ipython.running import remember
from tt_kernel.runtime.loop_thread import submit

MOST_LIVE = 100
MOST_USD = 1.0
"""What a sweep may ask of models, or cost by what earlier runs did, without a word more."""
BAR = 24


@dataclass(frozen=True)
class StartedSweep:
    """A sweep on its way; the parts of it that the magic waits for are those of `running.Started`."""

    options: Options
    future: "Future[Sweep]"
    settled: "Future[None]"
    cancel: Callable[[], None]


def start_sweep(notebook: Notebook, options: Options, prompt: str, *, shows: bool) -> StartedSweep:
    """Resolve everything on the user's thread, then begin on the agent loop.

    Args:
        notebook: Where the cell is.
        options: Of its line.
        prompt: Its body; `@{name}` of what is varied stays for the sweep.
        shows: Show the table as the cell's output; otherwise the caller returns it to be displayed.

    Raises:
        UserError: Something that makes no sense. Nothing was started.
    """
    require_prompt(prompt)
    for name, value in (("--session", options.session), ("--continue", options.continue_from)):
        if value is not None:
            raise UsageProblem(message=f"A sweep has no place in a conversation: leave out {name}.")
    session, shell = notebook.session, notebook.shell
    session.interactive = False  # nobody answers for fifty runs at once
    vary = {name: varied_values(value) for name, value in options.vary.items()}
    text, images = prompt, tuple[bytes, ...]()
    if not options.raw:
        filled = interpolate(prompt, {**shell.user_ns, **{name: f"@{{{name}}}" for name in vary}}, session.base_dir)
        text, images = filled.text, filled.images
    setting = Setting(
        arguments_of(options, images),
        {check: check for check in options.checks},
        concurrency=options.concurrency or CONCURRENCY,
        budget_usd=options.budget_usd,
        namespace=shell.user_ns,
    )
    work = SweepRun(session, cases(text, vary, options.repeat), setting)
    plan = _approved(work.preflight(), options)
    output = CellOutput(cell_publisher(shell, notebook.cells.displayed), live=watched(shell)) if shows else None
    future, cancel = submit(_drive(work, plan, None if options.quiet else output))
    return StartedSweep(options, future, settled_with(future), cancel)


def _approved(plan: Preflight, options: Options) -> Preflight:
    """What a slip of the keyboard must not start wants a word more: it is an error that says which, not a question, because the
    cell is to be executed again, by nobody who could answer.
    """
    many, dear = plan.live > MOST_LIVE, (plan.cost_usd or 0.0) > MOST_USD
    if options.mode == "replay" or options.confirmed or options.budget_usd is not None or not (many or dear):
        return plan
    raise UsageProblem(
        "sweep.too_large",
        f"This is a sweep of {plan.line}. Write --yes to run it, or --budget USD to end it when it has cost so much.",
    )


def conclude_sweep(notebook: Notebook, started: StartedSweep, *, is_value: bool) -> Sweep:
    """The Sweep of a future that is done, bound to the variable of `-o`; as `conclude` of a run."""
    found = started.future.result()
    if started.options.output is not None:
        notebook.shell.user_ns[started.options.output] = found
    interrupted = found.stopped and any(row.status == "interrupted" or not row.run for row in found)
    if interrupted or not is_value:
        remember(notebook.shell, found)
    if interrupted:
        ended = sum(bool(row.run) and row.status != "interrupted" for row in found)
        raise AgentInterrupted(
            f"the sweep was stopped after {ended} of {len(found)} runs: {found.stopped} What it has is in _"
        )
    return found


async def _drive(work: SweepRun, plan: Preflight, output: CellOutput | None) -> Sweep:
    def draw() -> Bundle:
        return _bundle(work.result(), _Progress(len(work.rows), len(work.cases), plan.line))

    def moved(_: Collection[Row], __: int) -> None:
        if output is not None:
            output.changed(draw)

    work.progress = moved
    moved((), 0)
    found = await work.run()
    if output is not None:
        output.end(_bundle(found))
    return found


@dataclass(frozen=True)
class _Progress:
    """How far a sweep is; drawn above its table until it has ended."""

    ended: int
    all: int
    plan: str

    @property
    def text(self) -> str:
        full = BAR * self.ended // self.all
        return f"[{'#' * full}{'.' * (BAR - full)}] {self.ended} of {self.all} runs ended ({self.plan})"

    @property
    def html(self) -> str:
        share = 100 * self.ended // self.all
        track = "height:6px;max-width:24em;background:rgba(128,128,128,.3);border-radius:3px;margin:.3em 0"
        fill = f"height:6px;width:{share}%;background:currentColor;opacity:.6;border-radius:3px"
        line = f"{self.ended} of {self.all} runs ended ({self.plan})"
        return f'<div>{line}<div style="{track}"><div style="{fill}"></div></div></div>'


def _bundle(found: Sweep, progress: _Progress | None = None) -> Bundle:
    """The table; while the sweep goes on as text and HTML below its progress, in the end as what front ends sort too."""
    page = found.page
    if progress is not None:
        return {"text/plain": f"{progress.text}\n\n{page.text}", "text/html": progress.html + page.html}, {}
    return {
        SWEEP_MIME: sweep_document(found),
        "text/plain": page.text,
        "text/markdown": page.markdown,
        "text/html": page.html,
    }, {}


def varied_values(text: str) -> list[Json]:
    """`V1,V2`, or a JSON list where a value holds a comma."""
    if text.lstrip().startswith("["):
        try:
            values = json.loads(text)
        except ValueError as error:
            raise UsageProblem(message=f"{text} is no JSON list: {error}.") from None
        return list(values)
    return [value.strip() for value in text.split(",")]
