import asyncio
import concurrent.futures
import contextvars
import os
import sys
import threading

import pytest

from tt_kernel.runtime.loop_thread import THREAD_NAME, agent_loop, submit

WAIT = 10
VAR = contextvars.ContextVar("VAR", default="outside")


def test_one_daemon_thread_runs_everything():
    async def where():
        return threading.current_thread(), asyncio.get_running_loop()

    first, second = (submit(where())[0].result(WAIT) for _ in range(2))
    assert first == second
    assert first[0].daemon
    assert first[0].name == THREAD_NAME
    assert first[1] is agent_loop()


def test_the_coroutine_sees_the_callers_context_variables():
    async def see():
        await asyncio.sleep(0)
        return VAR.get()

    token = VAR.set("cell 7")
    try:
        future, _ = submit(see())
        VAR.set("cell 8")
        assert future.result(WAIT) == "cell 7"
    finally:
        VAR.reset(token)


def test_cancel_lets_the_coroutine_clean_up_and_return_a_value():
    started = threading.Event()

    async def work():
        try:
            started.set()
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.05)
            return "partial"

    future, cancel = submit(work())
    assert started.wait(WAIT)
    cancel()
    assert future.result(WAIT) == "partial"
    cancel()  # afterwards it does nothing


def test_cancel_before_the_start_means_that_it_never_runs():
    blocked, ran = threading.Event(), []
    agent_loop().call_soon_threadsafe(blocked.wait, WAIT)

    async def work():
        ran.append(1)
        await asyncio.sleep(60)

    future, cancel = submit(work())
    cancel()
    blocked.set()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result(WAIT)


def test_an_error_reaches_the_caller_unchanged():
    async def fail():
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        submit(fail())[0].result(WAIT)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_what_would_end_the_thread_becomes_an_error_of_its_caller(error):
    async def leave():
        raise error

    with pytest.raises(RuntimeError, match=type(error).__name__):
        submit(leave())[0].result(WAIT)

    async def still_there():
        return "alive"

    assert submit(still_there())[0].result(WAIT) == "alive"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_a_forked_child_gets_a_thread_of_its_own_and_leaves_the_parents_alone():
    async def pid():
        return os.getpid()

    assert submit(pid())[0].result(WAIT) == os.getpid()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, str(submit(pid())[0].result(WAIT)).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as answer:
        assert int(answer.read()) == child
    assert submit(pid())[0].result(WAIT) == os.getpid()


def test_subprocesses_can_be_started_on_the_agent_loop():
    async def run():
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "print(6*7)", stdout=asyncio.subprocess.PIPE
        )
        out, _ = await process.communicate()
        return out.strip()

    assert submit(run())[0].result(WAIT) == b"42"


def test_asyncio_is_left_as_it_was():
    assert asyncio.run.__module__ == "asyncio.runners"
    assert asyncio.run(asyncio.sleep(0, "fine")) == "fine"
