"""The task list of a run: TaskCreate, TaskUpdate and TaskList (spec liveagent §14).

May import `toolkit`, `store` and `domain`. The list and its file are those of `store`; `changes.py` has the rules, `calls.py`
what the model calls. Everything here is synchronous, so the calls of a turn change the list one after the other.
"""

from tt_kernel.store.tasks import TaskBoard
from tt_kernel.toolkit.declare import Declaration
from tt_kernel.toolkit.tool import Tool
from tt_kernel.tools.tasks.calls import create_task, list_tasks, update_task

TASK_TOOLS: tuple[Declaration, ...] = (create_task, update_task, list_tasks)


def task_tools(board: TaskBoard) -> list[Tool]:
    """The family for one run."""
    return [declaration.bind(board) for declaration in TASK_TOOLS]


__all__ = ["TASK_TOOLS", "TaskBoard", "task_tools"]
