"""What the model calls. The names of the arguments are those of the specification."""

from tt_kernel.store.tasks import TaskBoard, TaskState, TaskStatus
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.tasks.changes import with_change, with_task

# Effect none: the list is the run's own record, not a file that the model works on.


@builtin_tool("TaskCreate", group="tasks", effect="none")
def create_task(board: TaskBoard, subject: str, description: str, activeForm: str) -> Outcome:  # noqa: N803
    """Add a task to the list of this run. Use the list for work of three or more steps; short work needs none.

    Args:
        subject: What is to be done, in a few words: "Run the tests".
        description: What exactly, and when it is done.
        activeForm: How it is called while it is worked on: "Running the tests".
    """
    state = board.save(with_task(board.state, subject, description, activeForm))
    return _outcome(state, "created", f"Task {state.tasks[-1].id} was created.", state.tasks[-1].id)


@builtin_tool("TaskUpdate", group="tasks", effect="none")
def update_task(
    board: TaskBoard,
    taskId: str,  # noqa: N803
    subject: str | None = None,
    description: str | None = None,
    activeForm: str | None = None,  # noqa: N803
    status: TaskStatus | None = None,
) -> Outcome:
    """Change a task. Set it to in_progress before you work on it and to completed when it is done; one at a time is in progress.

    Args:
        taskId: Its id, a number as text: "1".
        subject: New subject.
        description: New description.
        activeForm: New form while it is worked on.
        status: pending, in_progress or completed.
    """
    texts = {"subject": subject, "description": description, "activeForm": activeForm}
    state = board.save(with_change(board.state, taskId, texts, status))
    return _outcome(state, "updated", f"Task {taskId} was updated.", taskId)


@builtin_tool("TaskList", group="tasks", effect="none", read_only=True)
def list_tasks(board: TaskBoard) -> Outcome:
    """Show the list of this run."""
    state = board.state
    done = sum(task.status == "completed" for task in state.tasks)
    text = f"{done} of {len(state.tasks)} tasks completed." if state.tasks else "This run has no tasks."
    return _outcome(state, "listed", text)


def _outcome(state: TaskState, action: str, sentence: str, task_id: str | None = None) -> Outcome:
    details = {"kind": "task_list", "action": action, **state.model_dump(mode="json")}
    if task_id is not None:
        details["taskId"] = task_id
    return Outcome(f"{sentence}\n{state.shown}", structured={"revision": state.revision}, details=details)
