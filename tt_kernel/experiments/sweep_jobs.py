"""One run of a sweep in another process: what is sent there, and what comes back. The store is the notebook's folder."""

import asyncio
from collections.abc import Mapping
from concurrent.futures import BrokenExecutor, Executor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tt_kernel.domain.errors import TTError
from tt_kernel.domain.runs import Run, RunStatus
from tt_kernel.runtime.loop_thread import submit
from tt_kernel.session.core import Session


@dataclass(frozen=True)
class Job:
    """Everything that a run needs; it can be pickled. The executor's processes must see `folder`."""

    notebook: Path | None
    folder: Path
    prompt: str
    options: Mapping[str, Any]
    repeat: int
    default_model: str | None


@dataclass(frozen=True)
class JobDone:
    """`run` is the run's id: its folder says the rest, but for how it ended now: the process that began it may have been killed
    when everything of it was recorded. `error` is set where it could not begin.
    """

    run: str = ""
    status: RunStatus = "failed"
    text: str = ""
    replayed: bool = False
    code: str = ""
    error: str = ""


def run_job(job: Job) -> JobDone:
    """Run it to its end, in this process. A job that is sent a second time replays what the first time recorded."""
    session = Session(job.notebook, folder=job.folder)
    session.default_model = job.default_model
    try:
        prepared = replace(session.prepare(job.prompt, **job.options), slot=job.repeat, one_of_many=True)
        run = submit(_drain(session, prepared))[0].result()
    except TTError as error:
        return JobDone(code=error.code, error=error.message)
    finally:
        submit(session.aclose())[0].result()
    return JobDone(run.id, run.status, run.text, run.replayed)


async def result_of(executor: Executor, job: Job) -> JobDone:
    """Have a job done by an executor.

    Raises:
        BrokenExecutor: It will do no more.
        TTError: The run could not begin, or the executor did not bring this one job to its end.
    """
    future = executor.submit(run_job, job)
    try:
        done = await asyncio.wrap_future(future)
    except BrokenExecutor:
        raise
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise BrokenExecutor("It was closed.") from None
    except Exception as error:
        raise TTError("sweep.executor_failed", f"The executor failed: {type(error).__name__}: {error}") from error
    if done.error:
        raise TTError(done.code, done.error)
    return done


async def _drain(session: Session, prepared: Any) -> Run:
    stream = session.stream(prepared)
    async for _ in stream:
        pass
    return stream.run
