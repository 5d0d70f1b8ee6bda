"""The task list of a run, in a file of its folder: spec liveagent §14. A list belongs to one run; another run has its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError, model_validator

from tt_kernel.domain.canonical import Json, canonical_json
from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.frozen import Frozen
from tt_kernel.store.atomic import read_json, write_json

TaskStatus = Literal["pending", "in_progress", "completed"]


class Task(Frozen):
    """`id` is a number as text, given once. `active_form` is how it is called while it is worked on: "Running the tests"."""

    id: str
    subject: str
    description: str
    active_form: str
    status: TaskStatus = "pending"


class TaskState(Frozen):
    """The whole list. `revision` counts changes; `run_id` is empty while the run has no id yet."""

    run_id: str = ""
    revision: int = 0
    next_task_id: int = 1
    tasks: tuple[Task, ...] = ()

    @model_validator(mode="after")
    def _sound(self) -> Self:
        ids = [task.id for task in self.tasks]
        if len(set(ids)) != len(ids):
            raise ValueError("two tasks have one id")
        if any(not task_id.isdecimal() or not 0 < int(task_id) < self.next_task_id for task_id in ids):
            raise ValueError("a task's id is not below nextTaskId")
        if sum(task.status == "in_progress" for task in self.tasks) > 1:
            raise ValueError("more than one task is in progress")
        return self

    @property
    def shown(self) -> str:
        """The list as the model reads it. Without the run's id, which is not the same in a replay that goes on live."""
        return canonical_json(self.model_dump(mode="json", exclude={"run_id"}))


class TaskBoard:
    """The list of one run. Read when it is first needed; written before anybody is told of a change.

    Args:
        path: Where the file is now: a run's folder may move.
        run_id: The run's id, None while it has none.
        clean: Takes secrets out of what is written.
    """

    def __init__(
        self, path: Callable[[], Path], run_id: Callable[[], str | None], clean: Callable[[Json], Json]
    ) -> None:
        self._path = path
        self._run_id = run_id
        self._clean = clean
        self._state: TaskState | None = None

    @property
    def state(self) -> TaskState:
        """Raises StorageFault `storage.tasks_damaged` when the file cannot be understood."""
        if self._state is None:
            self._state = self._read()
        return self._state

    def save(self, state: TaskState) -> TaskState:
        """Keep a changed list: its revision is one more. What was kept before stays when this fails.

        Raises:
            StorageFault: it could not be written.
        """
        saved = state.model_copy(update={"revision": self.state.revision + 1, "run_id": self._run_id() or ""})
        write_json(self._path(), self._clean(saved.model_dump(mode="json")))
        self._state = saved
        return saved

    def _read(self) -> TaskState:
        path = self._path()
        if not path.exists():
            return TaskState()
        try:
            state = TaskState.model_validate(read_json(path))
        except ValidationError as error:
            reason = error.errors(include_url=False)[0]["msg"]
            raise StorageFault("storage.tasks_damaged", f"{path} is no task list: {reason}. Delete it.") from error
        return state if state.run_id in ("", self._run_id() or "") else TaskState()
