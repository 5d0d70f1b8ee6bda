"""spec tauritavern §10.4-10.6, §23(17), §23(20): checkpoints, resume with every refusal, revision, rollback."""

import asyncio
import os
import signal
import sys

import pytest

from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.runtime.loop_thread import submit
from tt_kernel.store.run_checkpoints import RunCheckpoints

from .support import drive, make_session, types
from .test_runs import interrupt

SCRIPT = """
script: 1
turns:
  - call: workspace_write_file
    with: {path: output/main.md, content: "draft"}
  - calls: [{call: workspace_commit, with: {}}]
  - say: Broken here.
    fail: {error: 401, times: 1}
  - calls: [{call: workspace_finish, with: {}}]
"""
MENDED = SCRIPT.replace("  - say: Broken here.\n    fail: {error: 401, times: 1}\n", "")


def resume(session, run_id, guidance=None):
    stream = session.stream(session.prepare_resume(run_id, guidance))

    async def collect():
        return [event async for event in stream]

    future, cancel = submit(collect())
    events = session.foreground.wait(future, cancel)
    return stream.run, events


def stopped(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    run, events = drive(session, "write", profile="writer")
    assert run.status == "partial_success"
    return run, events


def test_checkpoints_are_taken_before_a_commit_and_at_the_end(tmp_path):
    run, events = stopped(tmp_path)
    assert [e.reason for e in events if e.type == "checkpoint_created"] == ["commit", "end"]
    kinds = types(events)
    assert kinds.index("chat_commit_started") < kinds.index("checkpoint_created") < kinds.index("chat_commit_completed")
    assert (run.folder / "checkpoints" / "cp_000001" / "files" / "output" / "main.md").read_text() == "draft"


def test_a_replay_takes_no_checkpoints(tmp_path):
    session = make_session(tmp_path, MENDED)
    drive(session, "write", profile="writer")
    again, events = drive(make_session(tmp_path), "write", profile="writer")
    assert again.replayed
    assert "checkpoint_created" not in types(events)


def test_a_stopped_run_goes_on_in_its_own_folder(tmp_path):
    run, _ = stopped(tmp_path)
    session = make_session(tmp_path, MENDED)
    more, events = resume(session, run.id)
    assert (more.id, more.status, more.text) == (run.id, "completed", "draft")
    assert types(events)[0] == "run_resumed"
    assert len(more.tool_calls) == 3
    assert more.view.call_count == 3
    loaded = make_session(tmp_path).load(run.id)
    assert loaded.view == more.view
    assert loaded.status == "completed"
    assert [r.id for r in session.index.list()] == [run.id]


def test_what_was_read_before_is_still_known(tmp_path):
    """The read state comes from the checkpoint: a write to a file that was written before the stop is not refused."""
    run, _ = stopped(tmp_path)
    script = MENDED.replace(
        "{call: workspace_finish, with: {}}",
        "{call: workspace_write_file, with: {path: output/main.md, content: better}}, {call: workspace_finish, with: {}}",
    )
    more, _ = resume(make_session(tmp_path, script), run.id)
    assert more.tool_calls[2].result.error_code is None


def test_guidance_is_said_first(tmp_path):
    run, _ = stopped(tmp_path)
    more, _ = resume(make_session(tmp_path, MENDED), run.id, "Please finish.")
    assert any("Please finish." in m.text for m in more.messages if m.role == "user")


def refused(session, run_id):
    with pytest.raises(UsageProblem) as caught:
        session.prepare_resume(run_id)
    return caught.value


def test_a_completed_run_can_only_be_revised(tmp_path):
    session = make_session(tmp_path, MENDED)
    run, _ = drive(session, "write", profile="writer")
    problem = refused(session, run.id)
    assert problem.code == "agent.resume_completed"
    assert "%agent fix" in problem.message


def test_a_run_that_goes_on_cannot_be_resumed(tmp_path):
    session = make_session(tmp_path, "script: 1\nturns:\n  - say: slow text that takes a while\n    pace: 50\n")
    stream = session.stream(session.prepare("go"))

    async def during():
        async for event in stream:
            if event.type == "live_text":
                return refused(session, stream.view().id).code
        return None

    future, cancel = submit(during())
    assert session.foreground.wait(future, cancel) == "agent.resume_run_active"


def test_another_notebook_is_refused(tmp_path):
    run, _ = stopped(tmp_path)
    session = make_session(tmp_path, MENDED)
    session.planner.notebook = "copy.ipynb"
    assert refused(session, run.id).code == "agent.resume_other_notebook"


def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path):
    run, _ = stopped(tmp_path)
    path = run.folder / "checkpoints" / "cp_000002" / "checkpoint.json"
    whole = path.read_text()
    path.write_text(whole.replace(f'"run": "{run.id}"', '"run": "ffffffff"'))
    assert refused(make_session(tmp_path), run.id).code == "agent.resume_checkpoint_mismatch"
    path.write_text("{}")
    assert refused(make_session(tmp_path), run.id).code == "agent.resume_checkpoint_mismatch"
    path.write_text(whole)
    journal = run.folder / "events.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:3]))
    assert refused(make_session(tmp_path), run.id).code == "agent.resume_checkpoint_mismatch"


def test_without_a_journal_there_is_nothing_to_go_on_from(tmp_path):
    run, _ = stopped(tmp_path)
    (run.folder / "events.jsonl").unlink()
    assert refused(make_session(tmp_path), run.id).code == "agent.resume_checkpoint_missing"


def test_an_unknown_run(tmp_path):
    stopped(tmp_path)
    with pytest.raises(NotFound):
        make_session(tmp_path).prepare_resume("abcdef01")


SLEEPY = """
script: 1
turns:
  - calls: [{call: outside, with: {}}]
  - say: never
"""


async def outside() -> str:
    """Change something outside."""
    await asyncio.sleep(60)
    return "done"


def test_an_interrupted_outside_call_blocks(tmp_path):
    session = make_session(tmp_path, SLEEPY)
    run = interrupt(session, "go", "tool_call_started", functions=[outside])
    problem = refused(session, run.id)
    assert problem.code == "agent.resume_blocked"
    assert "outside" in problem.message


@pytest.mark.skipif(sys.platform == "win32", reason="fork and SIGKILL")
def test_killed_between_a_calls_start_and_its_result_is_blocked(tmp_path):
    """spec tauritavern §23(17)."""
    make_session(tmp_path, MENDED)
    pid = os.fork()
    if pid == 0:
        session = make_session(tmp_path)
        stream = session.stream(session.prepare("write", profile="writer"))

        async def go():
            async for event in stream:
                if event.type == "tool_call_started":
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            submit(go())[0].result()
        finally:
            os._exit(3)
    os.waitpid(pid, 0)
    session = make_session(tmp_path)
    (record,) = session.index.list()
    problem = refused(session, record.id)
    assert problem.code == "agent.resume_blocked"
    assert "workspace_write_file" in problem.message


def test_a_rolled_back_workspace(tmp_path):
    run, _ = stopped(tmp_path)
    session = make_session(tmp_path)
    body = run.folder / "output" / "main.md"
    body.write_text("spoilt")
    session.rollback(run.id, "cp_000001")
    assert body.read_text() == "draft"
    assert RunCheckpoints(session.folder.run(run.id)).ids() == ["cp_000001", "cp_000002"]


FIX = """
script: 1
turns:
  - calls: [{call: workspace_write_file, with: {path: output/main.md, content: "draft"}}, {call: workspace_commit, with: {}}, {call: workspace_finish, with: {}}]
  - asked: shorter
    calls: [{call: workspace_read_file, with: {path: output/previous_output.md}}, {call: workspace_read_file, with: {path: output/main.md}}]
  - calls: [{call: workspace_write_file, with: {path: output/main.md, content: "d"}}, {call: workspace_commit, with: {}}, {call: workspace_finish, with: {}}]
"""


def fix(session, run_id, request, **options):
    stream = session.stream(session.prepare_fix(run_id, request, **options))

    async def collect():
        return [event async for event in stream]

    future, cancel = submit(collect())
    events = session.foreground.wait(future, cancel)
    return stream.run, events


def test_a_revision_has_the_answer_the_files_and_the_tools_of_its_run(tmp_path):
    """spec tauritavern §10.6."""
    session = make_session(tmp_path, FIX)
    run, _ = drive(session, "write", profile="writer")
    revised, events = fix(session, run.id, "make it shorter")
    assert (revised.status, revised.text) == ("completed", "d")
    assert revised.id != run.id
    started = next(e for e in events if e.type == "agent_invocation_started")
    assert started.kind == "revision"
    assert revised.tool_calls[0].result.content.endswith("draft")
    assert session.load(run.id).text == "draft", "the revised run is untouched"


def test_a_revision_replays(tmp_path):
    session = make_session(tmp_path, FIX)
    run, _ = drive(session, "write", profile="writer")
    revised, _ = fix(session, run.id, "make it shorter")
    fresh = make_session(tmp_path)
    again, _ = fix(fresh, run.id, "make it shorter", mode="replay")
    assert again.view == revised.view
