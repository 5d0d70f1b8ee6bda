"""The child process: it may die, hang or be killed; the kernel and the next call do not."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from tt_kernel.tools.shell import Mount, ShellWorker
from tt_kernel.tools.shell import process as process_module
from tt_kernel.tools.shell.answer import CANCELLED
from tt_kernel.tools.shell.job import Job, Printed

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups")

BOMB = """x='eval "$x"'; eval "$x\""""


async def test_a_crash_is_an_error_result_and_the_next_call_works(bench):
    """Issue 2, "it is done when"."""
    assert await bench.out("echo before") == "before"
    pid = bench.worker.pid
    result = await bench.run(BOMB)
    assert (result.is_error, result.error_code) == (True, "workspace.shell_failed")
    assert "ended unexpectedly" in result.content
    assert await bench.out("echo after") == "after"
    assert bench.worker.pid not in (None, pid)


async def test_a_crash_keeps_files_written_before_it(bench):
    result = await bench.run(f"echo kept > /output/a.txt; {BOMB}")
    assert result.error_code == "workspace.shell_failed"
    assert (bench.folder / "output/a.txt").read_text() == "kept\n"


@posix
async def test_kill_9_in_the_middle_of_a_command(bench):
    task = asyncio.create_task(bench.run("echo started > /output/mark; sleep 300"))
    await _until(lambda: (bench.folder / "output/mark").exists())
    os.kill(bench.worker.pid, signal.SIGKILL)
    result = await asyncio.wait_for(task, 15)
    assert (result.error_code, "SIGKILL" in result.content) == ("workspace.shell_failed", True)
    assert await bench.out("echo after") == "after"


@posix
async def test_kill_9_between_commands(bench):
    assert await bench.out("echo one") == "one"
    process = psutil.Process(bench.worker.pid)
    process.kill()
    await _until(lambda: bench.worker.pid is None)
    assert await bench.out("echo two") == "two"


async def test_a_stopped_child_is_given_up_after_its_time(bench, monkeypatch):
    if not hasattr(signal, "SIGSTOP"):
        pytest.skip("POSIX")
    monkeypatch.setattr("tt_kernel.tools.shell.talk.TIMEOUT_GRACE", 0.1)
    await bench.out("true")
    os.kill(bench.worker.pid, signal.SIGSTOP)
    ending, _ = await asyncio.wait_for(bench.raw("echo never", timeout=0.3), 15)
    assert ending.reason == "timeout"
    assert await bench.out("echo after") == "after"


@pytest.mark.parametrize(
    ("command", "survives"),
    [
        ("echo part; sleep 30", True),
        ("echo part; sleep 30 & wait", True),
        ("echo part; while :; do :; done", True),
        ("echo part; python -c 'while True: pass'", True),
        ("python -c 'print(\"part\")\nwhile True: pass'", True),
        ("js -e 'console.log(\"part\"); for (;;);'", False),
        ("echo part; awk 'BEGIN { while (1); }'", False),
    ],
)
async def test_cancelling_takes_less_than_half_a_second_and_keeps_the_output(bench, command, survives):
    await bench.out("python -c '1'")  # engines started: the time measured is that of stopping
    pid = bench.worker.pid
    task = asyncio.create_task(bench.run(command))
    await _until(lambda: bench.desk.partial == f"{CANCELLED}\npart")
    await asyncio.sleep(0.2)
    start = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - start < 15, "half a second, and some for a busy machine"
    assert bench.desk.partial == f"{CANCELLED}\npart"
    assert (bench.worker.pid == pid) is survives
    assert await bench.out("echo after") == "after"


async def test_cancelling_at_once(bench):
    """Before the child has even begun."""
    for pause in (0, 0, 0.001, 0.01):
        task = asyncio.create_task(bench.run("echo a; sleep 300"))
        await asyncio.sleep(pause)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 15)
        assert await asyncio.wait_for(bench.out("echo after"), 15) == "after"


async def test_cancelling_a_call_that_waits_for_its_turn(bench):
    first = asyncio.create_task(bench.out("sleep 0.3; echo first"))
    second = asyncio.create_task(bench.out("echo second"))
    await asyncio.sleep(0.1)
    second.cancel()
    assert await first == "first"
    with pytest.raises(asyncio.CancelledError):
        await second


async def test_a_second_cancellation_does_not_leave_a_child_behind(bench):
    await bench.out("true")
    pid = bench.worker.pid
    task = asyncio.create_task(bench.run("js -e 'for (;;);'"))
    await asyncio.sleep(0.3)
    task.cancel()
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _until(lambda: not psutil.pid_exists(pid))
    assert await bench.out("echo after") == "after"


async def test_nothing_is_started_before_the_first_command_and_closing_ends_it():
    async with ShellWorker() as worker:
        assert worker.pid is None
        await worker.start()
        pid = worker.pid
        assert psutil.pid_exists(pid)
    assert worker.pid is None
    assert not psutil.pid_exists(pid)
    ending = await worker.run(Job("echo x", "/", [], 0, 1), Printed.nothing())
    assert (ending.reason, ending.message) == ("died", "The shell is closed.")


@pytest.mark.parametrize("pause", [0, 0.01, 0.05, 0.2, 1])
async def test_closing_ends_a_running_command(bench, pause):
    """And one whose child is just being started."""
    task = asyncio.create_task(bench.run("sleep 300"))
    await _until(lambda: bench.worker.pid is not None)
    await asyncio.sleep(pause)
    await bench.worker.aclose()
    result = await asyncio.wait_for(task, 15)
    assert result.error_code == "workspace.shell_failed"


@posix
async def test_closing_ends_what_the_child_started(bench):
    assert await bench.out("python -c 'print(1)'") == "1"
    family = psutil.Process(bench.worker.pid).children(recursive=True)
    assert family, "Python runs in a worker of its own"
    await bench.worker.aclose()
    await _until(lambda: all(map(_dead, family)), 15)


@posix
async def test_the_child_ends_with_its_kernel(tmp_path):
    """The kernel is killed while a script runs that would never end."""
    code = textwrap.dedent(
        """
        import asyncio, sys
        from tt_kernel.tools.shell import ShellWorker
        from tt_kernel.tools.shell.job import Job, Printed

        async def main():
            worker = ShellWorker()
            await worker.run(Job("python -c '1'", "/", [], 0, 1), Printed.nothing())
            print(worker.pid, flush=True)
            await worker.run(Job("python -c 'while True: pass'", "/", [], 0, 1), Printed.nothing())

        asyncio.run(main())
        """
    )
    kernel = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with kernel:
        child = psutil.Process(int(kernel.stdout.readline()))
        family = [child, *child.children(recursive=True)]
        await asyncio.sleep(0.3)
        kernel.kill()
    await _until(lambda: all(map(_dead, family)), 15)


async def test_a_child_that_cannot_start_is_an_error_result(bench, monkeypatch):
    monkeypatch.setattr(process_module.sys, "executable", str(bench.folder / "no-python"))
    result = await bench.run("echo x")
    assert (result.error_code, "could not be started" in result.content) == ("workspace.shell_failed", True)
    monkeypatch.undo()
    assert await bench.out("echo x") == "x"


async def test_a_child_that_ends_at_once_is_an_error_result(bench, monkeypatch):
    monkeypatch.setattr(process_module, "_START", "raise SystemExit(3)")
    result = await bench.run("echo x")
    assert (result.error_code, "exit code 3" in result.content) == ("workspace.shell_failed", True)


@posix
async def test_limits_of_the_child(bench):
    import resource

    await bench.out("true")
    limits = psutil.Process(bench.worker.pid)
    assert limits.rlimit(resource.RLIMIT_CORE) == (0, 0)
    assert limits.rlimit(resource.RLIMIT_AS)[0] == 4 << 30


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="Linux")
async def test_the_child_s_environment_holds_no_credential(bench, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-value")
    await bench.out("true")
    environment = Path(f"/proc/{bench.worker.pid}/environ").read_bytes()
    assert b"sk-secret-value" not in environment
    assert b"HOME=" not in environment


async def test_the_child_does_not_load_what_it_does_not_need(bench):
    """A start must stay cheap: the packages above the child's modules are not run (pydantic alone costs more than the rest)."""
    probe = process_module._START.replace("main()", "print(sorted(sys.modules))")
    command = process_module._command()
    command[command.index(process_module._START)] = probe
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    loaded = done.stdout
    for heavy in ("pydantic", "pydantic_monty", "quickjs", "tt_kernel.domain", "tt_kernel.toolkit", "IPython"):
        assert f"'{heavy}'" not in loaded
    assert "'tt_kernel.tools.shell.child.serve'" in loaded


async def test_a_file_next_to_the_notebook_hides_no_module(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise RuntimeError('the wrong json')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "output").mkdir()
    async with ShellWorker() as worker:
        printed = Printed.nothing()
        ending = await worker.run(Job("echo fine", "/", [Mount("output", tmp_path / "output", True)], 0, 1), printed)
    assert (ending.reason, bytes(printed.stdout)) == ("exit", b"fine\n")


async def test_many_interpreters_do_not_fill_the_memory(bench):
    await bench.out("true")
    child = psutil.Process(bench.worker.pid)
    for command in ("echo x", "date", "js -e 1"):
        await bench.raw(command)
    before = child.memory_info().rss
    for _ in range(150):
        await bench.raw("echo x; date")
    for _ in range(30):
        await bench.raw("js -e 'console.log(1)'")
    assert child.memory_info().rss - before < 40 << 20


def _dead(process: psutil.Process) -> bool:
    """Gone, or waiting for an init that does not come round."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def _until(condition, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.01)
