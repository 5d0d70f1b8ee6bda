"""Sessions with a scripted model, as the tests of `session` have them; closed after each test."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "session"))
import support  # the one of tests/session

from tt_kernel.runtime.loop_thread import submit


@pytest.fixture(autouse=True)
def _closed_sessions():
    support.MADE.clear()
    yield
    for session in support.MADE:
        submit(session.aclose())[0].result(timeout=10)
    support.MADE.clear()
