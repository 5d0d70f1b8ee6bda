"""Ending whole trees, and the watchdog that ends them when the kernel dies: spec liveagent §6.2, issue 4.4."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tt_kernel.tools.processes import ProcessTable
from tt_kernel.tools.processes.ending import TAG, added_tag, birth_of, end_all, process_of, tagged, tree

from .support import gone, pids_in

ORPHAN = "python -c \"import os, time; os.fork() and os._exit(0); os.setsid(); {before}; open('pids', 'a').write(str(os.getpid()) + '\\n'); time.sleep(300)\""
DEAF = "import signal; [signal.signal(s, signal.SIG_IGN) for s in (1, 2, 15)]"
"""Ignores SIGHUP, SIGINT and SIGTERM."""


async def pids(project: Path, count: int) -> list[int]:
    return await pids_in(project / "pids", count)


async def test_stop_kills_grandchildren(bench) -> None:
    """§24.4."""
    command = "(sh -c 'echo $$ >> pids; sleep 300; true' | cat); sh -c 'sleep 300'"
    session = (await bench.bash(command, yield_time_ms=250)).structured["sessionId"]
    shell = (await pids(bench.project, 1))[0]
    family = psutil.Process(bench.table.find(session).pid).children(recursive=True)
    assert shell in [process.pid for process in family]
    began = time.monotonic()
    assert (await bench.stop(session)).structured["status"] == "cancelled"
    assert time.monotonic() - began < 15
    assert [process for process in family if not await gone(process.pid, 0.5)] == []


@pytest.mark.parametrize("before", ["pass", DEAF], ids=["ordinary", "deaf"])
async def test_stop_also_catches_orphans_in_a_session_of_their_own(bench, before) -> None:
    """Issue 4.4: setsid children; their parent has exited, so only the environment tells whose they are."""
    command = f"{ORPHAN.format(before=before)}; sleep 300"
    session = (await bench.bash(command, yield_time_ms=250)).structured["sessionId"]
    orphan = (await pids(bench.project, 1))[0]
    assert os.getsid(orphan) == orphan
    began = time.monotonic()
    await bench.stop(session)
    assert time.monotonic() - began < 15, "a deaf one is killed after a grace of 300 ms"
    assert await gone(orphan, 0.5)


async def test_an_orphan_without_the_tag_is_caught_in_the_session(bench) -> None:
    """While its root lives, the POSIX session tells as well: a job that was cleaned of its environment and lost its parent."""
    command = "(env -i sh -c 'echo $$ >> pids; while :; do /bin/sleep 0.1; done' >log 2>&1 &); sleep 300"
    session = (await bench.bash(command, yield_time_ms=250)).structured["sessionId"]
    orphan = (await pids(bench.project, 1))[0]
    assert TAG not in psutil.Process(orphan).environ()
    await bench.stop(session)
    assert await gone(orphan, 0.5)


async def test_a_time_limit_ends_the_whole_tree(bench) -> None:
    result = await bench.bash(
        f"{ORPHAN.format(before=DEAF)}; {ORPHAN.format(before='pass')}; sleep 300", timeout_ms=1000
    )
    assert result.structured["status"] == "timed_out"
    for orphan in await pids(bench.project, 2):
        assert await gone(orphan)


async def test_a_tree_that_goes_on_starting_processes_is_ended(bench) -> None:
    command = "trap '' TERM; while :; do sh -c 'trap \"\" TERM; sleep 20' >/dev/null 2>&1 & sleep 0.01; done"
    session = (await bench.bash(command, yield_time_ms=1000)).structured["sessionId"]
    began = time.monotonic()
    assert (await bench.stop(session)).structured["status"] == "cancelled"
    assert time.monotonic() - began < 15
    assert tagged(bench.table.tag) == set()


async def test_what_a_finished_command_left_is_ended_by_a_stop(bench) -> None:
    result = await bench.bash(f"{ORPHAN.format(before='pass')} >log 2>&1 & wait")
    assert result.structured["status"] == "completed"
    orphan = (await pids(bench.project, 1))[0]
    assert (await bench.stop(result.structured["sessionId"])).structured["status"] == "completed"
    assert await gone(orphan, 0.5)


async def test_closing_the_table_ends_everything(bench) -> None:
    await bench.bash(f"{ORPHAN.format(before=DEAF)} >log 2>&1 & wait")
    running = await bench.bash(LONG, yield_time_ms=250)
    assert running.structured["status"] == "running"
    dog = bench.table.watchdog_pid
    began = time.monotonic()
    await bench.table.aclose()
    assert time.monotonic() - began < 15
    for pid in [*await pids(bench.project, 2), dog]:
        assert await gone(pid, 0.5)
    await bench.table.aclose()
    assert (await bench.bash("echo again")).content.endswith("again"), "a table can be used again"


async def test_an_exit_status_is_never_taken_from_whoever_waits_for_it(bench) -> None:
    """Looking at a process must not reap it: the loop's child watcher would then see status 255."""
    results = []
    for _ in range(5):
        session = (await bench.bash("trap 'exit 7' TERM; while :; do sleep 0.02; done", yield_time_ms=250)).structured
        running = bench.table.find(session["sessionId"])
        await bench.stop(session["sessionId"])
        results.append(running._transport.get_returncode())
    assert set(results) == {7}


# ---- the kernel dies


KERNEL = """
import asyncio, os, sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from support import Bench, ProcessTable

async def main():
    bench = Bench(Path({project!r}), ProcessTable())
    for command in {commands!r}:
        await bench.bash(command, yield_time_ms=250)
    {before}
    print(bench.table.watchdog_pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def kernel(project: Path, *commands: str, before: str = "pass") -> tuple[subprocess.Popen[str], int]:
    code = KERNEL.format(tests=str(Path(__file__).parent), project=str(project), commands=list(commands), before=before)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


LONG = "echo $$ >> pids; while :; do sleep 0.1; done"


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM], ids=lambda s: s.name)
async def test_a_dead_kernel_leaves_nothing_behind(project, sent) -> None:
    """Issue 4.4: sessions ended when the kernel dies, killed without warning too."""
    process, dog = kernel(project, LONG, f"{ORPHAN.format(before=DEAF)}; sleep 300")
    victims = await pids(project, 2)
    process.send_signal(sent)
    process.wait()
    process.stdout.close()
    for pid in [*victims, dog]:
        assert await gone(pid), pid


async def test_a_kernel_that_just_ends_leaves_nothing_behind(project) -> None:
    process, dog = kernel(project, LONG, before="print(bench.table.watchdog_pid, flush=True); os._exit(0)")
    victims = await pids(project, 1)
    process.wait()
    process.stdout.close()
    for pid in [*victims, dog]:
        assert await gone(pid), pid


async def test_a_forked_copy_of_the_kernel_does_not_hide_its_death(project) -> None:
    """The copy holds the pipe to the watchdog open; the parent's death is seen all the same."""
    before = "child = os.fork() or (time.sleep(20), os._exit(0))"
    process, dog = kernel(project, LONG, before=before)
    victims = await pids(project, 1)
    copies = psutil.Process(process.pid).children()
    process.kill()
    process.wait()
    process.stdout.close()
    for pid in [*victims, dog]:
        assert await gone(pid), pid
    for copy in copies:
        if copy.is_running():
            copy.kill()


async def test_the_watchdog_survives_signals_to_the_kernels_group(bench) -> None:
    await bench.bash("true")
    dog = bench.table.watchdog_pid
    await asyncio.sleep(0.3)
    assert os.getsid(dog) == dog
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        os.kill(dog, getattr(signal, name))
    await asyncio.sleep(0.2)
    assert not await gone(dog, 0.1)


async def test_a_dead_watchdog_is_replaced(bench) -> None:
    await bench.bash("true")
    first = bench.table.watchdog_pid
    os.kill(first, signal.SIGKILL)
    await gone(first)
    await bench.bash("true")
    assert bench.table.watchdog_pid != first and not await gone(bench.table.watchdog_pid, 0.1)


async def test_a_kernel_inside_a_session_belongs_to_it(bench, tmp_path) -> None:
    """An agent may run a notebook whose agent runs commands: stopping the outer session ends those as well."""
    inner = tmp_path / "inner"
    inner.mkdir()
    code = KERNEL.format(tests=str(Path(__file__).parent), project=str(inner), commands=[LONG], before="pass")
    (bench.project / "kernel.py").write_text(code)
    session = (await bench.bash("python kernel.py", yield_time_ms=250)).structured["sessionId"]
    pid = (await pids(inner, 1))[0]
    assert psutil.Process(pid).environ()[TAG].startswith(f"{bench.table.tag}.1/")
    await bench.stop(session)
    assert await gone(pid)


# ---- the parts


def test_a_root_that_is_gone_has_no_tree() -> None:
    process = subprocess.Popen(["sleep", "30"])
    root = psutil.Process(process.pid)
    try:
        assert root in tree(root)
    finally:
        process.kill()
        process.wait()
    assert tree(root) == set() and process_of(process.pid) is None


async def test_a_watchdog_takes_no_later_process_with_the_same_id(bench) -> None:
    """What it is told again after a restart may be gone: it ends only what was born when it is told."""
    await bench.bash("true")
    others = [subprocess.Popen(["sleep", "30"]) for _ in range(2)]
    try:
        told, same_id = (psutil.Process(other.pid) for other in others)
        bench.table._watchdog.watch(told)
        bench.table._watchdog._tell(f"{same_id.pid} {birth_of(same_id) - 60}\n".encode())
        bench.table._watchdog.close()
        assert others[0].wait(5) == -signal.SIGTERM
        assert others[1].poll() is None
    finally:
        for other in others:
            other.kill()
            other.wait()


def test_giving_up_is_told() -> None:
    process = subprocess.Popen(["sleep", "30"])
    try:
        found = psutil.Process(process.pid)
        assert not end_all(lambda: {Immortal(found.pid)}, grace=0.05, limit=0.2)
    finally:
        process.kill()
        process.wait()


def test_a_zombie_is_nobody_to_wait_for() -> None:
    """In a container without an init process, ended orphans stay zombies for ever."""
    process = subprocess.Popen(["sleep", "30"])
    process.kill()
    found = psutil.Process(process.pid)
    try:
        began = time.monotonic()
        assert end_all(lambda: {found}, grace=5, limit=10)
        assert time.monotonic() - began < 15
        assert found.status() == psutil.STATUS_ZOMBIE, "its exit status is left to whoever started it"
    finally:
        process.wait()


class Immortal(psutil.Process):
    """As one in an uninterruptible system call."""

    def send_signal(self, sig) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None: ...


def test_tags_are_told_apart(monkeypatch) -> None:
    monkeypatch.setenv(TAG, "outer.1")
    assert added_tag("inner.10") == "outer.1/inner.10"
    environ = {**os.environ, TAG: added_tag("inner.10")}
    process = subprocess.Popen(["sleep", "30"], env=environ)
    try:
        found = {
            tag: [p.pid for p in tagged(tag)] for tag in ("inner", "inner.10", "outer.1", "outer", "inner.1", "inn")
        }
    finally:
        process.kill()
        process.wait()
    with_it = [tag for tag, members in found.items() if process.pid in members]
    assert with_it == ["inner", "inner.10", "outer.1", "outer"]


@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
async def test_a_table_in_a_forked_copy_owns_nothing(bench) -> None:
    await bench.bash(LONG, yield_time_ms=250)
    pid = (await pids(bench.project, 1))[0]
    child = os.fork()
    if child == 0:
        try:
            coroutine = bench.table.aclose()
            coroutine.send(None)
        except StopIteration:
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert not await gone(pid, 0.2)


def test_a_table_needs_no_loop_to_be_made() -> None:
    assert ProcessTable().sessions == ()
