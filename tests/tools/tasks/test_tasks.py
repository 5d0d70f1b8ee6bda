"""The task list of a run: spec liveagent §14, §24.7."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.errors import StorageFault, ToolError
from tt_kernel.domain.ids import builtin
from tt_kernel.store.tasks import Task, TaskBoard, TaskState
from tt_kernel.tools.tasks import TASK_TOOLS, task_tools
from tt_kernel.tools.tasks.changes import with_change, with_task


class List:
    """The three tools on one file."""

    def __init__(self, path, run_id="r1", clean=lambda value: value):
        self.path = path
        self.board = TaskBoard(lambda: path, lambda: run_id, clean)
        self.tools = {tool.spec.id.native: tool for tool in task_tools(self.board)}

    async def call(self, name, **arguments):
        return await self.tools[name].call(
            ToolCall(
                id="c", tool_id=builtin(name), name=name, arguments=ToolArguments(value=arguments),
                invocation_id="inv_root", turn=1, index=0,
            )
        )  # fmt: skip

    async def create(self, subject="Test"):
        return await self.call("TaskCreate", subject=subject, description="All of them.", activeForm="Testing")


@pytest.fixture
def tasks(tmp_path):
    return List(tmp_path / "tasks.json")


def shown(result):
    return json.loads(result.content.partition("\n")[2])


async def test_created_tasks_are_pending_and_numbered(tasks):
    first = await tasks.create()
    second = await tasks.create("Write")
    assert first.content.splitlines()[0] == "Task 1 was created."
    assert shown(second) == {
        "revision": 2,
        "nextTaskId": 3,
        "tasks": [
            {"id": "1", "subject": "Test", "description": "All of them.", "activeForm": "Testing", "status": "pending"},
            {
                "id": "2",
                "subject": "Write",
                "description": "All of them.",
                "activeForm": "Testing",
                "status": "pending",
            },
        ],
    }


async def test_details_are_the_whole_state(tasks):
    """§14: details.kind task_list {action, runId, revision, tasks, taskId?}; the model does not see the run's id."""
    created = await tasks.create()
    assert {k: created.details[k] for k in ("kind", "action", "runId", "revision", "taskId")} == {
        "kind": "task_list", "action": "created", "runId": "r1", "revision": 1, "taskId": "1",
    }  # fmt: skip
    assert "r1" not in created.content
    listed = await tasks.call("TaskList")
    assert (listed.details["action"], "taskId" in listed.details) == ("listed", False)


async def test_a_task_goes_on(tasks):
    await tasks.create()
    started = await tasks.call("TaskUpdate", taskId="1", status="in_progress", subject="Test it")
    assert started.content.splitlines()[0] == "Task 1 was updated."
    done = await tasks.call("TaskUpdate", taskId="1", status="completed")
    assert (shown(done)["tasks"][0]["status"], shown(done)["tasks"][0]["subject"]) == ("completed", "Test it")
    assert (await tasks.call("TaskList")).content.startswith("1 of 1 tasks completed.\n")


@pytest.mark.parametrize(
    ("calls", "code", "words"),
    [
        ([("TaskCreate", {"subject": " ", "description": "d", "activeForm": "a"})], "task.field_empty", "subject is empty"),
        ([("TaskCreate", {"subject": "s", "description": "", "activeForm": "a"})], "task.field_empty", "description is empty"),
        ([("TaskCreate", {"subject": "s", "description": "d", "activeForm": "\n"})], "task.field_empty", "activeForm is empty"),
        ([("TaskUpdate", {"taskId": "1", "status": "completed"})], "task.no_list", "has no tasks yet"),
        ([None, ("TaskUpdate", {"taskId": "2", "status": "completed"})], "task.not_found", "There is no task '2'. The tasks are: 1."),
        ([None, ("TaskUpdate", {"taskId": "1"})], "task.nothing_to_change", "Nothing to change"),
        ([None, ("TaskUpdate", {"taskId": "1", "subject": ""})], "task.field_empty", "subject is empty"),
        ([None, ("TaskUpdate", {"taskId": "1", "status": "done"})], "tool.invalid_arguments", "status"),
        ([None, ("TaskUpdate", {"taskId": "1", "status": None})], "task.nothing_to_change", "Nothing to change"),
        ([("TaskCreate", {"subject": "s", "description": "d", "activeForm": "a", "status": "completed"})], "tool.invalid_arguments", "status"),
    ],
)  # fmt: skip
async def test_errors_change_nothing(tasks, calls, code, words):
    for call in calls:
        result = await (tasks.create() if call is None else tasks.call(call[0], **call[1]))
    before = tasks.board.state
    assert result.error_code == code
    assert words in result.content
    assert tasks.board.state == before


async def test_a_second_task_in_progress_is_refused(tasks):
    """§24.7."""
    await tasks.create()
    await tasks.create("Write")
    await tasks.call("TaskUpdate", taskId="1", status="in_progress")
    result = await tasks.call("TaskUpdate", taskId="2", status="in_progress")
    assert result.error_code == "task.already_in_progress"
    assert result.content == "Task 1 (Test) is in progress. Set it to completed or pending first; one at a time."
    assert (await tasks.call("TaskUpdate", taskId="1", status="in_progress")).error_code is None
    await tasks.call("TaskUpdate", taskId="1", status="pending")
    assert (await tasks.call("TaskUpdate", taskId="2", status="in_progress")).error_code is None


async def test_the_list_survives_a_reload_and_belongs_to_its_run(tasks):
    """§24.7."""
    await tasks.create()
    again = List(tasks.path)
    assert shown(await again.call("TaskList")) == shown(await tasks.call("TaskList"))
    assert shown(await again.create())["nextTaskId"] == 3
    other = await List(tasks.path, run_id="r2").call("TaskList")
    assert other.content.splitlines()[0] == "This run has no tasks."
    assert shown(other) == {"revision": 0, "nextTaskId": 1, "tasks": []}


async def test_a_list_from_before_the_run_had_an_id_is_its_own(tasks):
    await List(tasks.path, run_id=None).create()
    assert len(shown(await List(tasks.path).call("TaskList"))["tasks"]) == 1


async def test_it_is_written_before_the_result_is_there(tasks):
    await tasks.create()
    stored = json.loads(tasks.path.read_text())
    assert (stored["revision"], stored["runId"], stored["tasks"][0]["id"]) == (1, "r1", "1")


async def test_no_secret_is_written(tmp_path):
    board = List(
        tmp_path / "tasks.json", clean=lambda value: json.loads(json.dumps(value).replace("s3cret", "[secret]"))
    )
    await board.create("Use s3cret")
    assert "s3cret" not in board.path.read_text()


async def test_a_failed_write_keeps_the_list(tasks, monkeypatch):
    await tasks.create()
    tasks.path.unlink()
    tasks.path.mkdir()
    with pytest.raises(StorageFault):
        await tasks.create()
    assert len(tasks.board.state.tasks) == 1


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"nextTaskId": 2, "tasks": [1, 1]}, "two tasks have one id"),
        ({"nextTaskId": 1, "tasks": [1]}, "not below nextTaskId"),
        ({"nextTaskId": 3, "tasks": ["1!", "2!"]}, "more than one task is in progress"),
        ({"nextTaskId": 3, "tasks": ["x"]}, "not below nextTaskId"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, document, reason):
    """§14: the loader validates unique ids, at most one in progress, ids below nextTaskId."""
    tasks = [
        {"id": str(t).rstrip("!"), "subject": "s", "description": "d", "activeForm": "a", "status": "in_progress" if "!" in str(t) else "pending"}
        for t in document["tasks"]
    ]  # fmt: skip
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps({**document, "tasks": tasks}))
    with pytest.raises(StorageFault, match=reason) as caught:
        _ = TaskBoard(lambda: path, lambda: "r1", lambda value: value).state
    assert caught.value.code == "storage.tasks_damaged"


def test_there_is_nothing_to_delete_or_reorder():
    assert [declaration.id.native for declaration in TASK_TOOLS] == ["TaskCreate", "TaskUpdate", "TaskList"]
    assert [declaration.read_only for declaration in TASK_TOOLS] == [False, False, True]


STATUS = st.sampled_from(["pending", "in_progress", "completed", None])
STEPS = st.lists(st.tuples(st.integers(1, 5), STATUS, st.one_of(st.none(), st.text(max_size=3))), max_size=12)


@given(st.integers(0, 4), STEPS)
def test_a_list_is_sound_whatever_is_asked(count, steps):
    state = TaskState()
    for number in range(count):
        state = with_task(state, f"s{number}", "d", "a")
    for task_id, status, subject in steps:
        try:
            state = with_change(state, str(task_id), {"subject": subject}, status)
        except ToolError:
            continue
    again = TaskState.model_validate(state.model_dump(mode="json"))
    assert [task.id for task in again.tasks] == [str(n + 1) for n in range(count)]
    assert all(isinstance(task, Task) for task in again.tasks)
