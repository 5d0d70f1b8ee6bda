"""The user's thread here is pytest's main thread: signals are real."""

import asyncio
import concurrent.futures
import contextlib
import contextvars
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from tt_kernel.runtime.foreground import Foreground
from tt_kernel.runtime.loop_thread import submit

VAR = contextvars.ContextVar("VAR", default="outside")
posix = pytest.mark.skipif(sys.platform == "win32", reason="os.kill with SIGINT")


@pytest.fixture
def fg():
    before = signal.getsignal(signal.SIGINT)
    yield Foreground()
    assert signal.getsignal(signal.SIGINT) == before, "SIGINT was not given back"


def sigint_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def waited(fg, coro, how):
    """Wait for a coroutine of the agent loop in one of the two ways."""
    if how == "blocked":
        return fg.wait(*submit(coro))

    async def cell():
        return await fg.wait_async(*submit(coro))

    return asyncio.run(cell())


both = pytest.mark.parametrize("how", ["blocked", "loop"])


@both
def test_a_function_runs_on_the_waiting_thread_in_the_context_of_the_caller(fg, how):
    def touch():
        return threading.current_thread(), VAR.get()

    async def run():
        assert threading.current_thread() is not threading.main_thread()
        return await fg.call(touch, 5)

    token = VAR.set("cell 3")
    try:
        assert waited(fg, run(), how) == (threading.main_thread(), "cell 3")
    finally:
        VAR.reset(token)


@both
def test_what_the_function_raises_reaches_the_agent(fg, how):
    async def run():
        with pytest.raises(KeyError, match="mass"):
            await fg.call(lambda: {}["mass"], 5)
        with pytest.raises(RuntimeError, match="SystemExit"):
            await fg.call(lambda: sys.exit(1), 5)
        return await fg.call(lambda: "and on", 5)

    assert waited(fg, run(), how) == "and on"


@both
def test_many_calls_at_once_run_one_after_the_other(fg, how):
    busy = []

    def one(n):
        assert not busy
        busy.append(n)
        time.sleep(0.002)
        busy.pop()
        return n

    async def run():
        return await asyncio.gather(*(fg.call(lambda n=n: one(n), 5) for n in range(20)))

    assert waited(fg, run(), how) == list(range(20))


@posix
@both
def test_a_blocking_function_is_stopped_at_its_time_out(fg, how):
    """The kernel must not stay stuck in time.sleep(600) (issue 2 item 5: 60 s time-out)."""
    seen = []

    def block():
        try:
            time.sleep(600)
        except Exception:  # what careless code does; it must not swallow the stop
            seen.append("swallowed")
            time.sleep(600)
        finally:
            seen.append("cleaned up")

    async def run():
        began = time.monotonic()
        with pytest.raises(TimeoutError, match=r"0\.2 s"):
            await fg.call(block, 0.2)
        assert time.monotonic() - began < 15
        return await fg.call(lambda: "free again", 5)

    assert waited(fg, run(), how) == "free again"
    assert seen == ["cleaned up"]


@posix
@both
def test_cancelling_the_run_stops_the_function(fg, how):
    seen = []

    def block():
        try:
            time.sleep(600)
        finally:
            seen.append("cleaned up")

    async def run():
        task = asyncio.create_task(fg.call(block, 60))
        while not task.done():
            await asyncio.sleep(0.1)
            task.cancel()
        assert task.cancelled()
        return "run went on"

    assert waited(fg, run(), how) == "run went on"
    assert seen == ["cleaned up"]


@both
def test_a_function_that_cannot_begin_is_given_up_and_never_runs(fg, how):
    ran = []

    async def run():
        first = asyncio.create_task(fg.call(lambda: time.sleep(0.6), 5))
        await asyncio.sleep(0.1)
        with pytest.raises(TimeoutError, match="busy"):
            await fg.call(lambda: ran.append(1), 0.2)
        await first

    waited(fg, run(), how)
    assert ran == []


def test_without_a_waiting_thread_the_call_times_out(fg):
    async def run():
        with pytest.raises(TimeoutError, match="busy"):
            await fg.call(lambda: 1, 0.1)
        return "went on"

    assert submit(run())[0].result(5) == "went on"


def test_a_call_made_before_the_wait_is_parked_until_then(fg):
    async def run():
        return await fg.call(threading.current_thread, 5)

    future, cancel = submit(run())
    time.sleep(0.1)
    assert not future.done()
    assert fg.wait(future, cancel) is threading.main_thread()


@posix
@both
def test_sigint_cancels_the_run_and_waits_until_it_has_cleaned_up(fg, how):
    async def run():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.1)
            return "partial"

    began = time.monotonic()
    sigint_after(0.2)
    assert waited(fg, run(), how) == "partial"
    assert time.monotonic() - began < 15


@posix
@both
def test_sigint_interrupts_the_function_and_cancels_the_run(fg, how):
    seen = []

    def block():
        try:
            time.sleep(600)
        except KeyboardInterrupt:
            seen.append("KeyboardInterrupt")
            raise

    async def run():
        try:
            await fg.call(block, 60)
        except asyncio.CancelledError:
            return "cancelled"

    sigint_after(0.2)
    assert waited(fg, run(), how) == "cancelled"
    assert seen == ["KeyboardInterrupt"]


@posix
@both
def test_a_second_sigint_gives_up_a_run_that_does_not_end(fg, how):
    release = threading.Event()

    async def stubborn():
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.05)

    sigint_after(0.2)
    sigint_after(0.5)
    with pytest.raises(KeyboardInterrupt):
        waited(fg, stubborn(), how)
    release.set()


@posix
@both
def test_without_a_cancel_function_sigint_ends_the_wait(fg, how):
    release = threading.Event()

    async def slow():
        while not release.is_set():
            await asyncio.sleep(0.02)

    def wait(future):
        if how == "blocked":
            return fg.wait(future)

        async def cell():
            return await fg.wait_async(future)

        return asyncio.run(cell())

    sigint_after(0.2)
    with pytest.raises(KeyboardInterrupt):
        wait(submit(slow())[0])
    release.set()


async def test_the_waiting_loop_goes_on(fg):
    """Comm messages are handled between: the loop of the cell is never blocked by the wait (notes/frontend.md §3)."""
    ticks = []

    async def tick():
        while True:
            ticks.append(1)
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())

    async def run():
        await asyncio.sleep(0.2)
        return await fg.call(lambda: len(ticks), 5)

    assert await fg.wait_async(*submit(run())) > 5
    ticking.cancel()


async def test_cancelling_the_waiting_task_cancels_the_run(fg):
    ended = []

    async def run():
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            ended.append("cleaned up")

    task = asyncio.create_task(fg.wait_async(*submit(run())))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["cleaned up"]


async def test_waits_that_end_in_another_order_give_sigint_back(fg):
    before = signal.getsignal(signal.SIGINT)

    async def run(seconds):
        await asyncio.sleep(seconds)

    await asyncio.gather(*(fg.wait_async(*submit(run(s))) for s in (0.05, 0.15, 0.1)))
    assert signal.getsignal(signal.SIGINT) == before


@both
def test_a_function_may_start_and_wait_for_another_run(fg, how):
    """A notebook function that itself runs an agent: its jobs reach the innermost wait."""

    async def inner():
        return await fg.call(lambda: "inner on " + threading.current_thread().name, 5)

    async def outer():
        return await fg.call(lambda: fg.wait(*submit(inner())), 5)

    assert waited(fg, outer(), how) == "inner on " + threading.main_thread().name


@posix
@both
def test_stopping_an_outer_function_also_ends_the_wait_inside_it(fg, how):
    ended = []

    async def inner():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("inner")

    async def outer():
        with pytest.raises(TimeoutError):
            await fg.call(lambda: fg.wait(*submit(inner())), 0.3)
        return "outer went on"

    assert waited(fg, outer(), how) == "outer went on"
    assert ended == ["inner"]


def test_a_wait_in_another_thread_serves_calls_too(fg):
    async def run():
        return await fg.call(lambda: threading.current_thread().name, 5)

    with concurrent.futures.ThreadPoolExecutor(1, "worker") as pool:
        assert pool.submit(lambda: fg.wait(*submit(run()))).result(5).startswith("worker")


@posix
def test_a_plain_script_can_be_interrupted_at_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import asyncio\n"
        "from tt_kernel.runtime.foreground import Foreground\n"
        "from tt_kernel.runtime.loop_thread import submit\n"
        "async def run():\n"
        "    print('started', flush=True)\n"
        "    try:\n"
        "        await asyncio.sleep(60)\n"
        "    except asyncio.CancelledError:\n"
        "        return 'partial text'\n"
        "print(Foreground().wait(*submit(run())))\n"
    )
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "started\n"
    time.sleep(0.5)  # until the main thread waits
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=10)
    assert out == "partial text\n"
    assert process.returncode == 0
    assert time.monotonic() - began < 15
