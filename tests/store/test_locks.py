"""A run's folder has one writer, and everybody can see whether it lives."""

import errno
import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tt_kernel.domain.errors import StorageFault
from tt_kernel.store import locks
from tt_kernel.store.locks import hold, is_written, locked

ROOT = Path(__file__).parents[2]
HOLDER = """
import sys
from pathlib import Path
from tt_kernel.store.locks import hold
held = hold(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(params=["folder", "file"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Locks of the folder itself, and a file system that has none."""
    if request.param == "file" and sys.platform != "win32":
        real = locks.fcntl.flock

        def flock(descriptor: int, operation: int) -> None:
            if os.path.isdir(f"/proc/self/fd/{descriptor}"):
                raise OSError(errno.EBADF, "no locks of folders")
            real(descriptor, operation)

        monkeypatch.setattr(locks.fcntl, "flock", flock)
    return str(request.param)


def test_one_writer_at_a_time(kind: str, tmp_path: Path) -> None:
    assert not is_written(tmp_path)
    held = hold(tmp_path)
    assert is_written(tmp_path)
    assert is_written(tmp_path)
    assert list(tmp_path.iterdir()) == ([] if kind == "folder" else [tmp_path / ".lock"])
    with pytest.raises(StorageFault) as caught:
        hold(tmp_path, wait=0.05)
    assert (caught.value.code, str(tmp_path) in caught.value.message) == ("storage.busy", True)
    held.release()
    held.release()
    assert not is_written(tmp_path)
    assert list(tmp_path.iterdir()) == []
    hold(tmp_path, wait=0).release()


def test_whoever_waits_gets_it(kind: str, tmp_path: Path) -> None:
    first = hold(tmp_path)
    threading.Timer(0.1, first.release).start()
    hold(tmp_path, wait=30).release()


@pytest.mark.parametrize("death", ["kill", "exit"])
def test_a_dead_writer_holds_nothing(death: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "held\n"
        assert is_written(tmp_path)
        if death == "kill":
            process.kill()
        else:
            process.stdin.close()
        process.wait(timeout=60)
    assert not is_written(tmp_path)


def test_locked_is_for_shared_documents(tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    with locked(folder):
        assert is_written(folder)
    assert not is_written(folder)
    with locked(folder):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_hold_what_its_parent_holds(tmp_path: Path) -> None:
    held = hold(tmp_path)
    here, there = multiprocessing.Pipe()
    child = os.fork()
    if child == 0:
        try:
            here.close()
            there.send("up")
            held.release()  # the parent's object: harmless here
            there.recv()
        finally:
            os._exit(0)
    there.close()
    try:
        assert here.recv() == "up"
        assert is_written(tmp_path)
        held.release()
        assert not is_written(tmp_path)
    finally:
        here.close()
        os.waitpid(child, 0)
