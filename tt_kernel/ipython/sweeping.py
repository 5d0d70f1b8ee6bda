"""`%%agent --vary --repeat --check`: the prompt of a cell as a sweep; one table is its output."""

import json
from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.views import SWEEP_MIME
from tt_kernel.experiments.sweep import Setting, SweepRun
from tt_kernel.experiments.sweep_plan import cases
from tt_kernel.experiments.sweep_result import Row, Sweep
from tt_kernel.experiments.sweep_view import sweep_document
from tt_kernel.ipython.arguments import Options
from tt_kernel.ipython.display import Bundle, CellOutput, cell_publisher, watched
from tt_kernel.ipython.errors import AgentInterrupted
from tt_kernel.ipython.interpolation import interpolate
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.ipython.running import remember
from tt_kernel.runtime.loop_thread import submit


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
    if not prompt.strip():
        raise UsageProblem(message="The prompt is empty. Write it below the %%agent line, or after %agent.")
    for name, value in (("--session", options.session), ("--continue", options.continue_from)):
        if value is not None:
            raise UsageProblem(message=f"A sweep has no place in a conversation: leave out {name}.")
    session, shell = notebook.session, notebook.shell
    session.interactive = False  # nobody answers for fifty runs at once
    vary = {name: _values(value) for name, value in options.vary.items()}
    text, images = prompt, tuple[bytes, ...]()
    if not options.raw:
        filled = interpolate(prompt, {**shell.user_ns, **{name: f"@{{{name}}}" for name in vary}}, session.base_dir)
        text, images = filled.text, filled.images
    base = {
        "profile": options.profile or "assistant",
        "model": options.model,
        "tools": options.tools,
        "mode": options.mode,
        "settings": dict(options.settings),
        "images": images,
        "raw": options.raw,
    }
    setting = Setting(base, {check: check for check in options.checks}, namespace=shell.user_ns)
    work = SweepRun(session, cases(text, vary, options.repeat), setting)
    output = CellOutput(cell_publisher(shell, notebook.cells.displayed), live=watched(shell)) if shows else None
    future, cancel = submit(_drive(work, None if options.quiet else output))
    settled: Future[None] = Future()
    future.add_done_callback(lambda _: settled.set_result(None))
    return StartedSweep(options, future, settled, cancel)


def conclude_sweep(notebook: Notebook, started: StartedSweep, *, is_value: bool) -> Sweep:
    """The Sweep of a future that is done, bound to the variable of `-o`; as `conclude` of a run."""
    found = started.future.result()
    if started.options.output is not None:
        notebook.shell.user_ns[started.options.output] = found
    interrupted = found.stopped and any(row.status == "interrupted" or not row.run for row in found)
    if interrupted or not is_value:
        remember(notebook.shell, found)
    if interrupted:
        raise AgentInterrupted(f"the sweep was stopped: {found.stopped} What it has is in _")
    return found


async def _drive(work: SweepRun, output: CellOutput | None) -> Sweep:
    def draw() -> Bundle:
        return _bundle(work.result(), f"{len(work.rows)} of {len(work.cases)} runs ended")

    def moved(_: Collection[Row], __: int) -> None:
        if output is not None:
            output.changed(draw)

    work.progress = moved
    found = await work.run()
    if output is not None:
        output.end(_bundle(found))
    return found


def _bundle(found: Sweep, progress: str = "") -> Bundle:
    page = found.page
    head = f"{progress}\n\n" if progress else ""
    shown = f"<div>{progress}</div>" if progress else ""
    return {
        SWEEP_MIME: sweep_document(found),
        "text/plain": head + page.text,
        "text/markdown": head + page.markdown,
        "text/html": shown + page.html,
    }, {}


def _values(text: str) -> list[Json]:
    """`V1,V2`, or a JSON list where a value holds a comma."""
    if text.lstrip().startswith("["):
        try:
            values = json.loads(text)
        except ValueError as error:
            raise UsageProblem(message=f"{text} is no JSON list: {error}.") from None
        return list(values)
    return [value.strip() for value in text.split(",")]
