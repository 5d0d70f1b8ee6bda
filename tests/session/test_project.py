"""The project family through whole runs: permissions by the real place, recording, replay without execution, rewind, processes."""

import subprocess

import pytest

from tt_kernel.domain.ports import ApprovalAnswer
from tt_kernel.domain.profiles import Permissions
from tt_kernel.domain.specs import PermissionRule
from tt_kernel.store.rewind import RewindConflict

from .support import drive, make_session, snapshot_of


class Yes:
    """Approves everything and remembers what it was asked."""

    def __init__(self, answer="approve", **fields):
        self.asked = []
        self._answer = ApprovalAnswer(decision=answer, **fields)

    async def approve(self, request):
        self.asked.append(request)
        return self._answer


SCRIPT = """
script: 1
turns:
  - call: Read
    with: {path: code.py}
  - call: Edit
    with: {path: code.py, old_string: "a - b", new_string: "a + b"}
  - call: Bash
    with: {command: "cat code.py; git status --short"}
  - say: Fixed.
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "code.py").write_text("def add(a, b):\n    return a - b\n")
    for command in (
        ["init", "-q"],
        ["config", "user.email", "x@y"],
        ["config", "user.name", "x"],
        ["add", "code.py"],
        ["commit", "-qm", "x"],
    ):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def engineer(session):
    return session.profiles.load("engineer")


def test_headless_changes_nothing_and_says_how_to_allow_it(project):
    run, _ = drive(make_session(project, SCRIPT), "fix", profile="engineer")
    assert [c.result.error_code for c in run.tool_calls] == [None, "tool.permission_denied", "tool.permission_denied"]
    assert "%agent permissions" in run.tool_calls[1].result.content
    assert "a - b" in (project / "code.py").read_text()


def test_an_approved_run_changes_the_file_and_replays_without_touching_it(project):
    approver = Yes()
    run, _ = drive(make_session(project, SCRIPT, approver=approver, interactive=True), "fix", profile="engineer")
    assert [c.result.error_code for c in run.tool_calls] == [None, None, None]
    assert "a + b" in (project / "code.py").read_text()
    assert [r.call.name for r in approver.asked] == ["Edit", "Bash"]
    assert "+    return a + b" in approver.asked[0].diff
    (project / "code.py").write_text("somebody else was here\n")
    before = snapshot_of(project)
    again, _ = drive(make_session(project), "fix", profile="engineer", mode="replay")
    assert again.view == run.view
    assert snapshot_of(project) == before


def test_a_run_is_rewound_and_a_conflict_is_told(project):
    session = make_session(project, SCRIPT, approver=Yes(), interactive=True)
    run, _ = drive(session, "fix", profile="engineer")
    assert session.rewind(run.id).restored == ("code.py",)
    assert "a - b" in (project / "code.py").read_text()
    (project / "code.py").write_text("mine\n")
    with pytest.raises(RewindConflict):
        session.rewind(run.id)


def test_a_rule_counts_for_the_real_place(project):
    (project / "secrets").mkdir()
    (project / "secrets" / "key").write_text("k")
    (project / "way").symlink_to("secrets")
    script = """
    script: 1
    turns:
      - calls: [{call: Read, with: {path: ./secrets/key}}, {call: Read, with: {path: way/key}}, {call: Read, with: {path: code.py}}]
      - say: ok
    """
    session = make_session(project, script)
    rules = (PermissionRule(tool="Read", decision="deny", arguments={"path": "secrets/*"}),)
    profile = engineer(session).model_copy(update={"permissions": Permissions(rules=rules)})
    run, _ = drive(session, "go", profile=profile)
    assert [c.result.error_code for c in run.tool_calls] == ["tool.permission_denied", "tool.permission_denied", None]


def test_the_agent_folder_is_not_written(project):
    script = """
    script: 1
    turns:
      - calls: [{call: Write, with: {path: nb.agent/x, content: y}}]
      - say: ok
    """
    run, _ = drive(make_session(project, script, approver=Yes(), interactive=True), "go", profile="engineer")
    assert run.tool_calls[0].result.is_error
    assert not (project / "nb.agent" / "x").exists()


def test_edited_arguments_are_what_runs_and_the_record_says_so(project):
    approver = Yes("edit", arguments={"path": "code.py", "old_string": "a - b", "new_string": "b + a"})
    script = SCRIPT.replace('  - call: Bash\n    with: {command: "cat code.py; git status --short"}\n', "")
    run, _ = drive(make_session(project, script, approver=approver, interactive=True), "fix", profile="engineer")
    assert "b + a" in (project / "code.py").read_text()
    assert "changed the arguments" in run.tool_calls[1].result.content


def test_a_denial_reaches_the_model_with_its_reason_and_replays(project):
    approver = Yes("deny", reason="not today")
    run, _ = drive(make_session(project, SCRIPT, approver=approver, interactive=True), "fix", profile="engineer")
    assert "not today" in run.tool_calls[1].result.content
    again, _ = drive(make_session(project), "fix", profile="engineer", mode="replay")
    assert again.view == run.view
