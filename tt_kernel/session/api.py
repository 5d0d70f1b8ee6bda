"""`run`, `arun` and `replay`: the same in a script, in async code and in a notebook."""

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import ReplayMiss, RunFailed, RunInterrupted, UsageProblem
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.runs import RecordMode, Run
from tt_kernel.runtime.loop_thread import THREAD_NAME, agent_loop, submit
from tt_kernel.session.core import Session
from tt_kernel.session.here import here
from tt_kernel.session.prepared import PreparedRun
from tt_kernel.session.stream import RunStream


def current_session(folder: str | Path | None = None) -> Session:
    """The notebook's session; in a script one whose agent folder is beside the script, or `folder`."""
    if folder is not None:
        return Session(folder=Path(folder), namespace=_main_namespace())
    notebook: Callable[[], Session] | None = here().session
    return notebook() if notebook is not None else _script_session()


@cache
def _script_session() -> Session:
    """One per process: the n-th run of the same request has the n-th recording."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return Session(Path(script) if script else None, namespace=_main_namespace())


def _main_namespace() -> Mapping[str, object]:
    return vars(sys.modules["__main__"])


async def arun(prompt: str, **options: Any) -> Run:
    """Run an agent; see `run` for the options. Await it from any event loop.

    Raises:
        RunFailed, RunInterrupted, ReplayMiss and other UserErrors.
    """
    session, prepared = _prepare(prompt, **options)
    if asyncio.get_running_loop() is agent_loop():
        return _checked(await _drain(_stream(session, prepared)))
    future, cancel = submit(_drain(_stream(session, prepared)))
    return _checked(await session.foreground.wait_async(future, cancel))


def run(
    prompt: str,
    *,
    profile: str | Profile = "assistant",
    model: str | None = None,
    tools: Sequence[str] = (),
    functions: Sequence[Callable[..., object]] = (),
    images: Sequence[bytes] = (),
    continue_from: str | Run | None = None,
    mode: RecordMode | None = None,
    settings: Mapping[str, Json] | None = None,
    folder: str | Path | None = None,
    session: Session | None = None,
) -> Run:
    """Run an agent and wait for it.

    Args:
        prompt: The request, passed on byte for byte.
        profile: Id of a profile, or a Profile.
        model: `provider:model`; default: the profile's, else the environment's TT_MODEL.
        tools: Tool ids, call names or globs to add to the profile's.
        functions: Python functions to offer as tools, besides the `@tool` functions of the caller's namespace.
        images: Encoded images that go with the prompt.
        continue_from: A run (or its id) whose conversation goes on.
        mode: `auto`, `live`, `replay` or `off`; default: the environment's TT_RECORD, else `auto`.
        settings: Profile fields to change, dotted: `{"sampling.temperature": 0}`.
        folder: The agent folder, if not the one next to the script or notebook.
        session: A session to run in, if not the current one.

    Returns:
        The finished Run.

    Raises:
        RunFailed: The run ended as failed; its folder is whole.
        RunInterrupted: It was interrupted; `continue_from` goes on from it.
        ReplayMiss: Strict replay found a difference.
    """
    chosen, prepared = _prepare(
        prompt,
        profile=profile,
        model=model,
        tools=tools,
        functions=functions,
        images=images,
        continue_from=continue_from,
        mode=mode,
        settings=settings,
        folder=folder,
        session=session,
    )
    return wait(chosen, _drain(_stream(chosen, prepared)))


def replay(
    recorded: Run | str, *, functions: Sequence[Callable[..., object]] = (), session: Session | None = None
) -> Run:
    """Run a stored run again, strictly from its record: no model is called, nothing is written.

    Raises:
        ReplayMiss: Something is not recorded or differs; the message names the first thing.
    """
    chosen = session or current_session()
    prepared = chosen.prepare_replay(recorded if isinstance(recorded, str) else recorded.id, functions=functions)
    return wait(chosen, _drain(_stream(chosen, prepared)))


def wait(session: Session, work: Coroutine[Any, Any, Run]) -> Run:
    """Block this thread until the run ended, lending it to tools that must run here; Ctrl-C ends the run orderly."""
    if threading.current_thread().name == THREAD_NAME:
        work.close()
        raise UsageProblem(message="run() would block the agent loop it is called from. Use 'await arun(...)' there.")
    future, cancel = submit(work)
    return _checked(session.foreground.wait(future, cancel))


def _prepare(
    prompt: str, *, session: Session | None = None, folder: str | Path | None = None, **options: Any
) -> tuple[Session, PreparedRun]:
    chosen = session or current_session(folder)
    options["settings"] = options.get("settings") or {}
    return chosen, chosen.prepare(prompt, **options)


def _stream(session: Session, prepared: PreparedRun) -> RunStream:
    """In a notebook the runs of a cell are counted by it, so that the cell replays when it is executed again."""
    where = here().cell
    cell, execution = where() if where is not None else (None, None)
    return session.stream(prepared, cell=cell, execution=execution)


async def _drain(stream: RunStream) -> Run:
    async for _ in stream:
        pass
    return stream.run


def _checked(run: Run) -> Run:
    """A run that ended well, or the one plain exception that says how it did not."""
    problem = run.problem
    if problem is not None and problem.code == ReplayMiss.default_code:
        raise ReplayMiss(message=problem.message)
    if run.status == "failed":
        raise RunFailed(
            problem.code if problem else None, f"Run {run.id} failed: {problem.message if problem else 'unknown'}"
        )
    if run.status in ("interrupted", "cancelled"):
        raise RunInterrupted(message=f"Run {run.id} was interrupted; continue_from={run.id!r} goes on from it.")
    return run
