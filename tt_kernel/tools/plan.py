"""Handing over a plan: spec liveagent §16. The run ends with it, and a person approves it or says what should be different."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tt_kernel.domain.calls import Commit, Finish
from tt_kernel.domain.errors import ToolError
from tt_kernel.store.atomic import write_bytes
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome, Tool

MAX_PLAN_CHARS = 64_000
PLAN_PATH = "plan/plan.md"


@dataclass(frozen=True)
class PlanDesk:
    """`folder` is where plans are kept: the run's own `plan` folder, asked when there is a plan."""

    folder: Callable[[], Path]

    def save(self, text: str) -> None:
        write_bytes(self.folder() / "plan.md", text.encode("utf-8", "backslashreplace"))


# Effect none: the plan is the run's own record. With `workspace`, safety mode `ask` would ask whether it may be written down.
@builtin_tool("ExitPlanMode", group="plan", effect="none")
def exit_plan_mode(desk: PlanDesk, plan: Annotated[str, Field(max_length=MAX_PLAN_CHARS)]) -> Outcome:
    """Hand over the plan and end this run. Call it once, when you know what should be done.

    This run changes nothing: look around with the other tools first. The user reads the plan, then approves it or says what
    should be different. Only after that is it carried out.

    Args:
        plan: The whole plan in Markdown: what will be done, in which files, in which order, and how it will be checked. At most
            64000 characters.
    """
    if not plan.strip():
        raise ToolError("plan.empty", "The plan is empty. Call this tool again with the whole plan.")
    desk.save(plan)
    return Outcome(
        f"The plan was handed to the user and is in {PLAN_PATH}. This run ends here.",
        structured={"path": PLAN_PATH, "chars": len(plan)},
        effects=(Commit(path=PLAN_PATH, text=plan, mode="replace", reason="plan"), Finish(reason="plan")),
    )


PLAN_TOOLS = (exit_plan_mode,)


def plan_tools(desk: PlanDesk) -> list[Tool]:
    return [declaration.bind(desk) for declaration in PLAN_TOOLS]
