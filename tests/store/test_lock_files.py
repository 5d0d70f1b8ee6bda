"""DESIGN §4: two kernels on one notebook do not corrupt it."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tt_kernel.domain.errors import StorageFault
from tt_kernel.store.lock_files import acquire, is_held, let_go

ROOT = Path(__file__).parents[2]

HOLDER = """
import sys
import threading
from pathlib import Path
from tt_kernel.store.lock_files import acquire
lock = acquire(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def holder(path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_is_seen_in_this_process_and_goes_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    assert not is_held(path)
    assert not path.exists()
    lock = acquire(path)
    assert is_held(path)
    with pytest.raises(StorageFault) as caught:
        acquire(path, wait=0)
    assert caught.value.code == "storage.busy"
    assert str(tmp_path) in caught.value.message
    let_go(path, lock)
    assert not is_held(path)
    assert not path.exists()


@pytest.mark.parametrize("death", ["kill", "exit"])
def test_a_lock_of_another_process_ends_with_it(death: str, tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with holder(path) as process:
        assert is_held(path)
        with pytest.raises(StorageFault, match="Another process is writing"):
            acquire(path, wait=0.1)
        if death == "kill":
            process.kill()
        else:
            assert process.stdin is not None
            process.stdin.close()
        process.wait(timeout=20)
    assert path.exists()
    assert not is_held(path)
    let_go(path, acquire(path, wait=1))


def test_a_lock_may_be_released_by_another_thread(tmp_path: Path) -> None:
    lock = acquire(tmp_path / ".lock")
    thread = threading.Thread(target=lock.release)
    thread.start()
    thread.join()
    assert not is_held(tmp_path / ".lock")


def test_a_place_without_locks_is_named(read_only_folder: Path) -> None:
    with pytest.raises(StorageFault, match=r"Cannot lock .*\.lock") as caught:
        acquire(read_only_folder / ".lock")
    assert caught.value.code == "storage.denied"
    assert not is_held(read_only_folder / ".lock")
