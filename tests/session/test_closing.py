"""A run that ends waits for the disk on the loop only where that is quick."""

import asyncio
import threading
import time

from tt_kernel.session.closing import QUICK_SECONDS, REMEMBERED, Closing


async def test_a_slow_disk_is_waited_for_beside_the_loop():
    closing, threads = Closing(), []

    def slow() -> None:
        threads.append(threading.current_thread())
        time.sleep(2 * QUICK_SECONDS)

    for _ in range(REMEMBERED):
        await closing(slow)
    assert threads[0] is threading.current_thread()
    assert threads[-1] is not threading.current_thread()


async def test_a_cancelled_task_waits_for_the_end_and_goes_on():
    closing, done = Closing(), []
    closing._lately.append(1.0)
    began = threading.Event()

    def work() -> None:
        began.set()
        time.sleep(0.05)
        done.append(1)

    async def end() -> str:
        await closing(work)
        return "ended"

    task = asyncio.create_task(end())
    while not began.is_set():
        await asyncio.sleep(0.001)
    task.cancel()
    assert await task == "ended"
    assert (done, task.cancelled(), task.cancelling()) == ([1], False, 0)
