"""One run of a cell: from its options to the Run that it leaves behind."""

from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tt_kernel.domain.errors import ReplayMiss, RunFailed, TTError, UsageProblem
from tt_kernel.domain.runs import Run
from tt_kernel.domain.views import OriginView, ViewMeta
from tt_kernel.ipython.arguments import Options
from tt_kernel.ipython.cell import cell_of
from tt_kernel.ipython.display import CellOutput, cell_publisher, watched
from tt_kernel.ipython.errors import AgentInterrupted
from tt_kernel.ipython.interpolation import interpolate
from tt_kernel.ipython.memory_base import memory_above
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.ipython.origins import origin
from tt_kernel.ipython.plan_commands import announce_plan
from tt_kernel.ipython.requests import arguments_of, require_prompt, settled_with
from tt_kernel.runtime.loop_thread import submit
from tt_kernel.session.core import Session
from tt_kernel.session.planning import LAST_STATE
from tt_kernel.session.prepared import PreparedRun
from tt_kernel.session.stream import RunStream
from tt_kernel.widgets.bundle import bundle


@dataclass(frozen=True)
class Started:
    """A run on its way. `settled` is done when it has ended, however; `cancel` stops it and lets it clean up."""

    options: Options
    future: "Future[Run]"
    settled: "Future[None]"
    cancel: Callable[[], None]
    cell: str | None


def start(notebook: Notebook, options: Options, prompt: str) -> Started:
    """Resolve everything on the user's thread, then begin on the agent loop.

    Raises:
        UserError: An expression, option, profile, tool or model that makes no sense. Nothing was started.
    """
    require_prompt(prompt)
    session, shell = notebook.session, notebook.shell
    session.interactive = notebook.can_answer
    cell, _ = cell_of(shell)
    memory = memory_above(session.notebook, cell, notebook.memory, LAST_STATE)
    prepared = _prepared(session, _resolved(options, notebook), prompt, shell.user_ns, cell, memory)
    return begin(notebook, options, prepared)


def begin(notebook: Notebook, options: Options, prepared: PreparedRun) -> Started:
    """Begin a run that is decided, on the agent loop."""
    session, shell = notebook.session, notebook.shell
    session.interactive = notebook.can_answer
    cell, execution = cell_of(shell)
    output = None if options.quiet else CellOutput(cell_publisher(shell, notebook.cells.displayed), live=watched(shell))
    made_from = origin(shell, session, prepared.request.profile.id)
    future, cancel = submit(_drive(session.stream(prepared, cell=cell, execution=execution), output, made_from))
    plans = prepared.request.profile.run.plan
    settled = settled_with(future, partial(announce_plan, notebook)) if plans else settled_with(future)
    return Started(options, future, settled, cancel, cell)


def show_again(notebook: Notebook, run: Run) -> Started:
    """Show a run that has ended as if it had just been run."""
    CellOutput(cell_publisher(notebook.shell), live=False).end(
        bundle(run.view, ViewMeta(replayed=True, persist_state=run.persist_state))
    )
    future: Future[Run] = Future()
    future.set_result(run)
    return Started(Options(), future, settled_with(future), lambda: None, cell_of(notebook.shell)[0])


def conclude(notebook: Notebook, started: Started, *, is_value: bool) -> Run:
    """The Run of a future that is done, bound to the variable of `-o`.

    Args:
        is_value: The caller returns the Run, so IPython makes it `_`; otherwise, and when this raises, it is done here.

    Raises:
        RunFailed: The run failed.
        ReplayMiss: Something was not recorded, or differs.
        AgentInterrupted: It was stopped.
        TTError: It could not begin.
    """
    try:
        run = started.future.result()
    except CancelledError:
        raise AgentInterrupted("the run was stopped before it began") from None
    if started.cell is not None and not run.in_session:
        notebook.memory[started.cell] = run.persist_state
    if started.options.output is not None:
        notebook.shell.user_ns[started.options.output] = run
    failure = _failure(run)
    if failure is not None or not is_value:
        remember(notebook.shell, run)
    if failure is not None:
        raise failure
    return run


def _failure(run: Run) -> BaseException | None:
    problem = run.problem
    if problem is not None and problem.code == ReplayMiss.default_code:
        return ReplayMiss(message=problem.message)
    if run.status in ("interrupted", "cancelled"):
        return AgentInterrupted(f"run {run.id} was stopped; what it has is in _ and %agent show {run.id}")
    if run.status == "failed":
        return RunFailed(problem.code if problem else None, problem.message if problem else f"Run {run.id} failed.")
    return None


def remember(shell: Any, value: object) -> None:
    """Make a value `_` (and `Out[n]`) without displaying it."""
    hook = shell.displayhook
    hook.check_for_underscore()
    hook.update_user_ns(value)
    hook.fill_exec_result(value)


def _resolved(options: Options, notebook: Notebook) -> Options:
    """`@{expression}` in the options too, as text: `-m @{model}` in a loop."""
    if options.raw:
        return options

    def text(value: str) -> str:
        return interpolate(value, notebook.shell.user_ns, notebook.session.base_dir).text if "@{" in value else value

    return replace(
        options,
        model=text(options.model) if options.model else None,
        profile=text(options.profile) if options.profile else None,
        tools=tuple(map(text, options.tools)),
        settings={name: text(value) for name, value in options.settings.items()},
    )


def _prepared(
    session: Session,
    options: Options,
    prompt: str,
    namespace: Mapping[str, Any],
    cell: str | None,
    memory: str | None,
) -> PreparedRun:
    images: tuple[bytes, ...] = ()
    if not options.raw:
        filled = interpolate(prompt, namespace, session.base_dir)
        prompt, images = filled.text, filled.images
    common = arguments_of(options, images)
    if options.session is not None:
        if options.continue_from is not None:
            raise UsageProblem(message="--session and --continue exclude each other: a session goes on by itself.")
        return session.prepare_chat(options.session, prompt, cell=cell, **common)
    return session.prepare(prompt, continue_from=options.continue_from, persist_base=memory, **common)


async def _drive(stream: RunStream, output: CellOutput | None, made_from: OriginView | None) -> Run:
    """On the agent loop, in the context of the cell."""

    def meta() -> ViewMeta:
        return stream.meta().model_copy(update={"origin": made_from})

    try:
        async for _ in stream:
            if output is not None:
                output.changed(lambda: bundle(stream.view(), meta()))
    except TTError as error:
        if output is not None and output.is_shown:  # what is on the screen must not say `running` for ever
            broken = {"status": "failed", "problem": error.message, "problem_code": error.code}
            output.end(bundle(stream.view().model_copy(update=broken), meta()))
        raise
    if output is not None:
        output.end(bundle(stream.run.view, meta()))
    return stream.run
