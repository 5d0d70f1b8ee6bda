"""The run is stopped while commands run: spec liveagent §6.2 (Chat Stop), field reports 36, 37 and 46."""

import asyncio
import os
import threading
import time
from dataclasses import replace

import pytest

from tt_kernel.runtime.loop_thread import THREAD_NAME, submit
from tt_kernel.tools.processes import ProcessTable, keeps_output
from tt_kernel.tools.processes.ending import tagged
from tt_kernel.tools.processes.launching import launch
from tt_kernel.tools.processes.running import Running

from .support import Bench, gone, pids_in

LONG = "echo begun; echo $$ >> pids; while :; do sleep 0.1; done"


async def interrupted(bench, task, request, wanted="begun"):
    await bench.live_text(request, wanted)
    began = time.monotonic()
    task.cancel()
    result = await asyncio.wait_for(task, 15)
    assert time.monotonic() - began < 15
    return result


async def test_a_cancelled_bash_kills_its_tree_and_keeps_its_output(bench) -> None:
    request = bench.request("Bash", command=LONG)
    task = asyncio.create_task(bench.send(request))
    result = await interrupted(bench, task, request)
    assert result.structured["status"] == "cancelled" and not result.is_error
    assert result.content.endswith("output:\nbegun")
    assert task.cancelling(), "the dispatcher sees that the run is to be stopped"
    for pid in await pids_in(bench.project / "pids", 1):
        assert await gone(pid, 0.5)


async def test_a_cancelled_wait_stops_every_session_of_the_run(bench) -> None:
    """Chat Stop: sessions started in the run are stopped."""
    first = await bench.bash(LONG, yield_time_ms=250)
    second = await bench.bash(LONG, yield_time_ms=250)
    request = bench.request("ProcessWait", session_id=second.structured["sessionId"], cursor=0, yield_time_ms=60_000)
    task = asyncio.create_task(bench.send(request))
    result = await interrupted(bench, task, request)
    assert result.structured["status"] == "cancelled"
    assert bench.table.find(first.structured["sessionId"]).status == "cancelled"
    for pid in await pids_in(bench.project / "pids", 2):
        assert await gone(pid, 0.5)


async def test_a_session_of_another_run_is_left_alone(bench) -> None:
    other = Bench(bench.project, bench.table, seed=99)
    theirs = (await other.bash(LONG, yield_time_ms=250)).structured["sessionId"]
    request = bench.request("Bash", command=LONG)
    task = asyncio.create_task(bench.send(request))
    await interrupted(bench, task, request)
    assert bench.table.find(theirs).status == "running"


async def test_without_the_wrapper_a_cancellation_is_one(bench) -> None:
    """What records results must never see an interrupted command as a result."""
    request = bench.request("Bash", command=LONG)
    task = asyncio.create_task(bench._tools[request.tool_id].call(request))
    await bench.live_text(request, "begun")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    kept = bench.desk.take_interrupted(request.id)
    assert kept.structured["status"] == "cancelled"
    assert bench.desk.take_interrupted(request.id) is None


async def test_other_cancelled_calls_pass_through_the_wrapper(bench) -> None:
    async def inner(_request):
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await keeps_output(bench.desk)(inner)(bench.request("Bash", command="true"))


async def test_a_cancellation_while_starting_leaves_nothing(bench) -> None:
    """An abort during the start: wherever it hits, no process is left and no session is listed as running."""
    for delay in [0, 0, 0.001, 0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02]:
        request = bench.request("Bash", command=LONG)
        task = asyncio.create_task(bench.send(request))
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.wait([task], timeout=15)
        assert task.done()
    assert [session.id for session in bench.table.sessions if session.status == "running"] == []
    pids = bench.project / "pids"
    for pid in [int(line) for line in pids.read_text().split()] if pids.exists() else []:
        assert await gone(pid, 0.5)


@pytest.mark.parametrize("steps", range(8))
async def test_a_process_that_is_just_being_started_is_not_lost(bench, steps) -> None:
    """The cancellation comes between the fork and the answer of the loop."""
    running = Running(await launch(bench.desk, LONG, None, None), bench.table.next_tag(), bench.table.limits, print)
    task = asyncio.create_task(running.start())
    for _ in range(steps):
        await asyncio.sleep(0)
    was_done = task.done()
    task.cancel()
    if was_done:
        await task
        await running.end("cancelled")
    else:
        with pytest.raises(asyncio.CancelledError):
            await task
    assert tagged(bench.table.tag) == set()
    running.release()


async def test_a_second_interrupt_does_not_wait_and_loses_nobody(bench) -> None:
    bench.table.limits = replace(bench.table.limits, grace=30.0)
    deaf = "trap '' TERM; " + LONG
    request = bench.request("Bash", command=deaf)
    task = asyncio.create_task(bench.send(request))
    await bench.live_text(request, "begun")
    task.cancel()
    await asyncio.sleep(0.05)
    task.cancel()
    began = time.monotonic()
    await asyncio.wait([task], timeout=15)
    assert task.done() and time.monotonic() - began < 15, "before the grace is over"
    for pid in await pids_in(bench.project / "pids", 1):
        assert await gone(pid), "it is killed all the same"


async def test_waiting_for_a_free_place_can_be_interrupted(bench) -> None:
    running = [asyncio.create_task(bench.bash("sleep 1.5; true")) for _ in range(4)]
    while len(bench.table.sessions) < 4:
        await asyncio.sleep(0.01)
    fifth = asyncio.create_task(bench.bash("true"))
    await asyncio.sleep(0.1)
    fifth.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fifth
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert (await bench.bash("echo free")).content.endswith("free")


def test_blocking_functions_do_not_delay_an_interrupt(project) -> None:
    """Field report 36: functions of the notebook may hold all shared threads with time.sleep; the child is killed at once."""
    blocked = threading.Event()

    async def scenario():
        loop = asyncio.get_running_loop()
        held = [loop.run_in_executor(None, blocked.wait) for _ in range(64)]
        async with ProcessTable() as table:
            bench = Bench(project, table)
            request = bench.request("Bash", command=LONG)
            task = asyncio.create_task(bench.send(request))
            result = await interrupted(bench, task, request)
        blocked.set()
        await asyncio.gather(*held)
        return result

    future, _cancel = submit(scenario())
    try:
        assert future.result(30).structured["status"] == "cancelled"
    finally:
        blocked.set()


def test_the_kernels_own_loop_need_not_be_able_to_start_processes(project) -> None:
    """Field report 46: NotImplementedError from create_subprocess_exec of the kernel's loop on Windows. Ours is another loop."""

    class KernelLoop(asyncio.SelectorEventLoop):
        async def subprocess_exec(self, *args, **kwargs):
            raise NotImplementedError

    threads = []

    async def scenario():
        threads.append(threading.current_thread().name)
        async with ProcessTable() as table:
            return await Bench(project, table).bash("echo from the agent loop")

    async def cell():
        with pytest.raises(NotImplementedError):
            await asyncio.create_subprocess_exec("true")
        future, _cancel = submit(scenario())
        return await asyncio.wrap_future(future)

    with asyncio.Runner(loop_factory=KernelLoop) as runner:
        result = runner.run(cell())
    assert result.content.endswith("from the agent loop")
    assert threads == [THREAD_NAME]


def test_the_runs_cancel_reaches_the_command(project) -> None:
    """As a cell's interrupt does: `cancel` of loop_thread.submit."""

    async def scenario():
        async with ProcessTable() as table:
            return await Bench(project, table).bash(LONG, yield_time_ms=30_000)

    future, cancel = submit(scenario())
    while not (project / "pids").exists():
        time.sleep(0.02)
    cancel()
    assert future.result(8).structured["status"] == "cancelled"
    pid = int((project / "pids").read_text().split()[0])
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
