"""`%agent approve`: the plan of a run is carried out by the next one (spec liveagent §16)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.ipython.run_commands import Pending, names_run

if TYPE_CHECKING:
    from concurrent.futures import Future

    from tt_kernel.domain.runs import Run

APPROVED = "The plan is approved. Carry it out."


def is_approve(words: Sequence[str]) -> bool:
    return not words or (len(words) == 1 and names_run(words))


def approve(notebook: Notebook, words: Sequence[str]) -> Pending:
    """Go on from a run that ended with a plan, with all of the profile's tools. Anything else said to it is feedback:
    `%%agent --plan --continue`.

    Raises:
        UsageProblem: `agent.plan_missing`: the run has no plan.
    """
    session = notebook.session
    record = session.index.find(session.load(words[0] if words else "last").id)
    if not record.profile.run.plan:
        raise UsageProblem("agent.plan_missing", f"Run {record.id} has no plan: it was not started with --plan.")
    if record.status != "completed":
        raise UsageProblem("agent.plan_missing", f"Run {record.id} has no plan: its status is {record.status}.")
    run = record.profile.run.model_copy(update={"plan": False})
    return Pending(
        session.prepare(
            APPROVED,
            profile=record.profile.model_copy(update={"run": run}),
            model=record.model if record.connection is None else None,  # else the profile names the connection
            tools=record.extra_tools,
            continue_from=record.id,
        )
    )


def announce_plan(notebook: Notebook, future: "Future[Run]") -> None:
    """Tell front ends of a run that ended with a plan (comms.py)."""
    if future.cancelled() or future.exception() is not None:
        return
    run = future.result()
    if run.status == "completed":
        code = f"%agent approve {run.id}"
        notebook.front_ends.tell({"type": "plan_ready", "run": run.id, "text": run.text, "code": code})
