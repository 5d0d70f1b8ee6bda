"""Runs that end are made durable: where that takes the disk a while, beside the loop, so that other runs go on meanwhile."""

import time
from collections import deque
from collections.abc import Callable

from tt_kernel.runtime.loop_thread import aside

QUICK_SECONDS = 0.001
"""Less than what another thread costs and saves: files in memory, disks that promise more than they do."""
REMEMBERED = 8


class Closing:
    """How long it took lately decides; one that was held up by other work of the machine says nothing."""

    def __init__(self) -> None:
        self._lately: deque[float] = deque(maxlen=REMEMBERED)

    async def __call__(self, work: Callable[[], None]) -> None:
        """Do it, and wait for it."""
        if min(self._lately, default=0.0) > QUICK_SECONDS:
            await aside(lambda: self._timed(work))
        else:
            self._timed(work)

    def _timed(self, work: Callable[[], None]) -> None:
        began = time.perf_counter()
        work()
        self._lately.append(time.perf_counter() - began)
