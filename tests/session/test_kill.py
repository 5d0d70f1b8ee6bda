"""kill -9 at every event boundary of a run leaves a folder that opens, with the run shown as interrupted."""

import os
import signal
import sys

import pytest

from tt_kernel.domain.errors import ReplayMiss
from tt_kernel.runtime.loop_thread import submit

from .support import drive, make_session, types

SCRIPT = """
script: 1
turns:
  - say: First I write.
    calls: [{call: workspace_write_file, with: {path: output/a.md, content: "one"}}, {call: dice_roll, with: {formula: 3d6}}]
  - call: workspace_read_file
    with: {path: output/a.md}
  - say: All done.
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="fork and SIGKILL")


def die_at(folder, boundary: int) -> None:
    """In a forked child: run, and be killed right after event number `boundary`."""
    session = make_session(folder)
    stream = session.stream(session.prepare("go", tools=["dice.roll"]))

    async def go():
        count = 0
        async for _ in stream:
            count += 1
            if count == boundary:
                os.kill(os.getpid(), signal.SIGKILL)

    future, _ = submit(go())
    future.result()


def killed_run(folder, boundary: int) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            die_at(folder, boundary)
        finally:
            os._exit(3)
    return os.waitpid(pid, 0)[1]


@pytest.fixture(scope="module")
def boundaries(tmp_path_factory):
    _, events = drive(make_session(tmp_path_factory.mktemp("count"), SCRIPT), "go", tools=["dice.roll"])
    assert types(events)[-1] == "run_completed"
    return len(events)


def test_every_boundary(tmp_path, boundaries):
    assert boundaries > 20
    for boundary in range(1, boundaries):
        folder = tmp_path / str(boundary)
        make_session(folder, SCRIPT)
        assert os.WTERMSIG(killed_run(folder, boundary)) == signal.SIGKILL
        session = make_session(folder)
        (record,) = session.index.list()
        assert record.status == "interrupted", boundary
        run = session.load(record.id)
        assert (run.status, run.view.status) == ("interrupted", "interrupted"), boundary
        asked = [part.id for m in run.messages if m.role == "assistant" for part in m.calls]
        answered = [m.call_id for m in run.messages if m.role == "tool"]
        assert asked == answered, boundary


def test_after_a_kill_the_same_cell_goes_on_from_what_was_recorded(tmp_path, boundaries):
    make_session(tmp_path, SCRIPT)
    killed_run(tmp_path, boundaries - 6)
    session = make_session(tmp_path)
    with pytest.raises(ReplayMiss):
        drive(session, "other", mode="replay")
    run, _ = drive(session, "go", tools=["dice.roll"])
    assert (run.status, run.text) == ("completed", "All done.")
    assert sorted(r.status for r in session.index.list()) == ["completed", "interrupted"]
    again, _ = drive(make_session(tmp_path), "go", tools=["dice.roll"], mode="replay")
    assert again.view == run.view


def test_an_interrupted_run_can_be_continued(tmp_path, boundaries):
    make_session(tmp_path, SCRIPT)
    killed_run(tmp_path, boundaries // 2)
    session = make_session(tmp_path, SCRIPT.replace("All done.", "Continued."))
    run, _ = drive(session, "and now?", continue_from="last")
    assert run.status == "completed"
