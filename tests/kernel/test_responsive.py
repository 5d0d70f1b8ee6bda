"""issue 4, "Done when": a hostile tree and hostile commands are refused or handled with a clear result, and the kernel answers a
comm message within 100 ms meanwhile.

A real kernel, runs of the profile `engineer` in a cell that awaits, and a front end that sends one message after the other.
A shared machine may itself be late, so each call is a run of its own; what is too slow is run again, after a cell that only
waits has shown how late the machine is by itself. Work that holds the kernel is late every time, and later than that.
What each tool says to each of these paths is held in `tests/tools/project/test_project_hostile.py`.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import pytest
from kernels import Output, kernel
from test_approvals import FrontEnd, results

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="such files need POSIX"), pytest.mark.timeout(300)]

LATE = 0.1
"""Seconds."""
TRIES = 6
FOLDERS, FILES = 100, 1000
NAMES = ("new\nline.txt", "\u202egnp.exe", "tab\t.txt", "-rf", "\x1b[31mred", "$(reboot)")
SETUP = """
import asyncio
import tt_kernel
@tt_kernel.tool
async def pause(seconds: float) -> str:
    'Wait.'
    await asyncio.sleep(seconds)
    return 'ok'
"""


@pytest.fixture(scope="session")
def hundred_thousand():
    """A folder with 100,000 files, in memory where that is possible: on a busy disk making them takes minutes."""
    memory = Path("/dev/shm")
    home = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="tt-many-", dir=home) as folder:
        for number in range(FOLDERS):
            below = Path(folder, f"d{number}")
            below.mkdir()
            for file in range(FILES):
                os.close(os.open(below / f"f{file}.py", os.O_CREAT | os.O_WRONLY))
        (Path(folder) / "d50" / "f500.py").write_text("needle\n")
        yield Path(folder)


def hostile(folder):
    """Everything else that is hostile in one folder."""
    folder.mkdir()
    (folder / "plain.txt").write_text("needle\n")
    for name in NAMES:
        (folder / name).write_text("needle\n")
    os.mkfifo(folder / "pipe")
    links = {"zero": "/dev/zero", "etc": "/etc", "top": "/", "loop": "loop", "dangling": "nowhere/at/all"}
    for name, target in links.items():
        (folder / name).symlink_to(target)
    with (folder / "sparse.bin").open("wb") as out:
        out.truncate(1 << 30)
    with (folder / "sparse.txt").open("wb") as out:
        out.write(b"needle\n" * 2000)
        out.truncate(1 << 30)


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts a kernel in a project; nothing is recorded, so that each try is a run of its own."""

    def begin(project, works):
        agent = project / "nb.agent"
        agent.mkdir()
        rules = {"rules": [{"tool": "*", "decision": "allow", "arguments": {}}]}
        (agent / "permissions.json").write_text(json.dumps(rules))
        text = "script: 1\nconversations:\n"
        for number, calls in enumerate(works):
            text += f"  - when: work {number}.\n    turns:\n"
            text += "".join(f"      - {{call: {name}, with: {json.dumps(args)}}}\n" for name, args, _ in calls)
            text += "      - say: done\n"
        (agent / "script.yaml").write_text(text)
        monkeypatch.setenv("TT_MODEL", f"scripted:{agent / 'script.yaml'}")
        monkeypatch.setenv("TT_NOTEBOOK", str(project / "nb.ipynb"))
        monkeypatch.setenv("TT_RECORD_ALWAYS", "off")
        return kernel(project)

    return begin


class Messages(FrontEnd):
    """Says something for as long as a cell runs, and measures how long the answers take."""

    def __init__(self, running):
        super().__init__(running)
        self.waits = []

    def through(self, request, seconds=120):
        """The output of a cell that was sent, after the answer to the last message."""
        output, number, sent, idle, end = Output({}), 0, None, False, time.monotonic() + seconds
        while sent or not idle:
            assert time.monotonic() < end, f"the cell has not ended after {seconds} s"
            if sent is None:
                number, sent = number + 1, time.perf_counter()
                self.send(type="approval_answered", id=str(number))
            message = self.kernel.client.get_iopub_msg(timeout=30)
            content = message["content"]
            if message["msg_type"] == "comm_msg" and content["data"] == {"type": "not_pending", "id": str(number)}:
                self.waits.append(time.perf_counter() - sent)
                sent = None
            if message["parent_header"].get("msg_id") == request:
                output.absorb(message)
                idle = message["msg_type"] == "status" and content["execution_state"] == "idle"
        output.reply = self.kernel.client.get_shell_msg(timeout=30)["content"]
        return output


def worked(start, project, *works):
    """Runs, each of which makes one call, or several: (tool, arguments, the code that is expected). Gives all results."""
    works = [[work] if isinstance(work, tuple) else work for work in works]
    found = []
    with start(project, works) as running:
        running.run(SETUP)
        # Once without measuring: the first run of a kernel imports what runs need, on the kernel's own thread.
        running.run("%%agent engineer\nwork 0.", cell="c1", timeout=120)
        for number, calls in enumerate(works):
            found += answered_in_time(running, project, f"work {number}.", calls)
    return found


def answered_in_time(running, project, prompt, calls):
    worst, machine = [], 0.0
    for _ in range(TRIES):
        began = time.monotonic()
        output, wait = waited(running, f"%%agent engineer\n{prompt}")
        seconds = time.monotonic() - began
        assert output.view["status"] == "done", output.view
        found = results(project)
        assert [(*call[:2], result["errorCode"]) for call, result in zip(calls, found, strict=True)] == calls
        assert all(result["content"].strip() for result in found)
        worst.append(wait)
        if wait <= LATE + machine:
            return found
        _, machine = waited(running, f"await asyncio.sleep({max(seconds, 1):.1f})")
    raise AssertionError(
        f"a message waited for {min(worst):.3f} s during {calls}, {machine:.3f} s while nothing is done"
    )


def waited(running, code):
    """The output of a cell, and the longest that a message waited for its answer meanwhile."""
    front = Messages(running)
    output = front.through(running.send(code, cell="c1"))
    front.close()
    return output, max(front.waits)


OUT = "project.out_of_bounds"
BAD = "project.invalid_path"
ODD = "project.unsupported_target"
BINARY = "project.binary_file"


def test_traversal(start, tmp_path):
    hostile(tmp_path / "project")
    paths = {
        "../../etc/passwd": BAD, "/etc/passwd": OUT, "plain.txt/../../x": BAD, "~/../../etc/passwd": BAD, "\\..\\x": BAD,
        "file:///etc/passwd": OUT, "/proc/self/mem": OUT,
    }  # fmt: skip
    worked(
        start,
        tmp_path / "project",
        *[
            (tool, {"path": path, **more}, code)
            for path, code in paths.items()
            for tool, more in {"Read": {}, "Write": {"content": "x"}, "Delete": {}, "List": {}}.items()
        ],
    )
    assert not (tmp_path / "x").exists()


def test_links_pipes_and_devices(start, tmp_path):
    hostile(tmp_path / "project")
    worked(
        start,
        tmp_path / "project",
        *[(tool, {"path": path, **more}, OUT)
          for path in ("zero", "etc/passwd", "top/etc/passwd")
          for tool, more in {"Read": {}, "Write": {"content": "x"}, "Edit": {"old_string": "a", "new_string": "b"}}.items()],
        ("Read", {"path": "loop"}, OUT),
        ("Read", {"path": "dangling"}, "project.not_found"),
        ("Read", {"path": "pipe"}, ODD),
        ("Write", {"path": "pipe", "content": "x"}, ODD),
        ("Grep", {"pattern": "x", "path": "pipe"}, ODD),
        ("Image", {"path": "zero"}, OUT),
        ("Grep", {"pattern": "needle", "output_mode": "files"}, None),
        ("List", {}, None),
        ("Glob", {"pattern": "**"}, None),
        ("Bash", {"command": "cat pipe", "timeout_ms": 1000}, "process.timed_out"),
        [("Bash", {"command": "cat zero", "timeout_ms": 1000}, None), ("pause", {"seconds": 1.2}, None)],
        ("Bash", {"command": ":(){ :|:& };:"}, "process.background_refused"),
    )  # fmt: skip


def test_names_with_line_ends_and_marks_of_direction(start, tmp_path):
    hostile(tmp_path / "project")
    works = [
        [
            ("Write", {"path": name, "content": "needle\n"}, None),
            ("Edit", {"path": name, "old_string": "needle", "new_string": "needle 2"}, None),
            ("Read", {"path": name}, None),
        ]
        for name in NAMES
    ]
    found = worked(
        start,
        tmp_path / "project",
        *works,
        ("List", {}, None),
        ("Grep", {"pattern": "needle 2"}, None),
        ("Bash", {"command": "ls -N"}, None),
    )
    listed, grepped, printed = (result["content"] for result in found[-3:])
    assert all(sign not in listed + grepped for sign in ("\u202e", "\x1b", "\t.txt"))
    assert grepped.count("needle 2") == len(NAMES)
    assert "\x1b" not in printed


def test_a_sparse_file_of_a_gigabyte(start, tmp_path):
    hostile(tmp_path / "project")
    worked(
        start,
        tmp_path / "project",
        ("Read", {"path": "sparse.bin"}, BINARY),
        ("Write", {"path": "sparse.bin", "content": "x"}, BINARY),
        ("Edit", {"path": "sparse.bin", "old_string": "a", "new_string": "b"}, BINARY),
        ("Image", {"path": "sparse.bin"}, "project.too_large"),
        ("Grep", {"pattern": "needle", "path": "sparse.bin"}, BINARY),
        ("Read", {"path": "sparse.txt", "limit": 2}, None),
        ("Grep", {"pattern": "other", "path": "."}, None),
        ("Edit", {"path": "sparse.txt", "old_string": "other", "new_string": "b"}, "project.edit_no_match"),
    )
    assert (tmp_path / "project" / "sparse.bin").stat().st_size == 1 << 30


def test_a_hundred_thousand_files(start, hundred_thousand):
    found = worked(
        start,
        hundred_thousand,
        ("List", {"depth": 9, "max_results": 5000}, None),
        ("Glob", {"pattern": "d*/**/*.py"}, None),
        ("Grep", {"pattern": "needle"}, None),
        ("Grep", {"pattern": "^", "output_mode": "count"}, None),
        ("Read", {"path": "d50/f5000.py"}, "project.not_found"),
        ("Bash", {"command": "find d* -name 'f*' | wc -l"}, None),
    )
    assert "d50/f500.py" in found[2]["content"]
    assert str(FOLDERS * FILES) in found[5]["content"]


FLOODS = ("yes 'a line of an endless flood'", "cat /dev/zero", "tr '\\0' x </dev/zero", "cat /dev/urandom")


@pytest.mark.parametrize("flood", FLOODS)
def test_a_command_that_floods_its_output(start, tmp_path, flood):
    """It goes on in the background to its limit, and what is kept of it stays bounded."""
    (tmp_path / "project").mkdir()
    calls = [
        ("Bash", {"command": flood, "timeout_ms": 2000}, None),
        ("pause", {"seconds": 2.2}, None),
        ("Bash", {"command": "echo still here"}, None),
    ]
    first, _, last = worked(start, tmp_path / "project", calls)
    assert first["content"].startswith("status: running\n")
    assert len(first["content"]) < 300_000
    assert "still here" in last["content"]
