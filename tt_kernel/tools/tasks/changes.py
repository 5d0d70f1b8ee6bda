"""What may be done to a task list: pure functions from one list to the next, with the errors of spec liveagent §14."""

from collections.abc import Mapping

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.tasks import Task, TaskState, TaskStatus


def with_task(state: TaskState, subject: str, description: str, active_form: str) -> TaskState:
    """The list with a new pending task at its end.

    Raises:
        ToolError: `task.field_empty`.
    """
    _check_filled({"subject": subject, "description": description, "activeForm": active_form})
    task = Task(id=str(state.next_task_id), subject=subject, description=description, active_form=active_form)
    return state.model_copy(update={"next_task_id": state.next_task_id + 1, "tasks": (*state.tasks, task)})


def with_change(
    state: TaskState, task_id: str, texts: Mapping[str, str | None], status: TaskStatus | None
) -> TaskState:
    """The list with one task changed.

    Args:
        state: The list.
        task_id: Which task.
        texts: `subject`, `description`, `activeForm` -> new text, None where it stays.
        status: None: it stays.

    Raises:
        ToolError: `task.no_list`, `task.not_found`, `task.nothing_to_change`, `task.field_empty`,
            `task.already_in_progress`.
    """
    if not state.tasks:
        raise ToolError("task.no_list", "This run has no tasks yet. Create one first.")
    task = next((task for task in state.tasks if task.id == task_id), None)
    if task is None:
        known = ", ".join(task.id for task in state.tasks)
        raise ToolError("task.not_found", f"There is no task {task_id!r}. The tasks are: {known}.")
    given = {name: text for name, text in texts.items() if text is not None}
    if not given and status is None:
        raise ToolError("task.nothing_to_change", "Nothing to change. Give status, subject, description or activeForm.")
    _check_filled(given)
    _check_alone(state, task, status)
    changed = Task(
        id=task.id,
        subject=given.get("subject", task.subject),
        description=given.get("description", task.description),
        active_form=given.get("activeForm", task.active_form),
        status=status or task.status,
    )
    return state.model_copy(update={"tasks": tuple(changed if t.id == task_id else t for t in state.tasks)})


def _check_filled(texts: Mapping[str, str]) -> None:
    empty = next((name for name, text in texts.items() if not text.strip()), None)
    if empty is not None:
        raise ToolError("task.field_empty", f"{empty} is empty. Say in a few words what is meant.")


def _check_alone(state: TaskState, task: Task, status: TaskStatus | None) -> None:
    if status != "in_progress":
        return
    other = next((t for t in state.tasks if t.status == "in_progress" and t.id != task.id), None)
    if other is not None:
        raise ToolError(
            "task.already_in_progress",
            f"Task {other.id} ({other.subject}) is in progress. Set it to completed or pending first; one at a time.",
        )
