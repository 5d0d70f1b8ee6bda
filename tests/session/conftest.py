"""Sessions that a test made are closed with it: they own a child process."""

import pytest

from tt_kernel.runtime.loop_thread import submit

from . import support


@pytest.fixture(autouse=True)
def _closed_sessions():
    support.MADE.clear()
    yield
    for session in support.MADE:
        submit(session.aclose())[0].result(timeout=10)
    support.MADE.clear()
