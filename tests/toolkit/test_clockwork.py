"""Clock and chance of a run: DESIGN §7."""

from datetime import UTC, datetime

import pytest

from tt_kernel.toolkit.clockwork import Clockwork

NOW = datetime(2024, 5, 6, tzinfo=UTC)


def test_streams_are_repeatable_and_independent():
    clock = Clockwork(NOW, seed=42)
    first = [clock.random("dice").random() for _ in range(2)]
    assert first[0] == first[1]
    assert clock.random("dice").random() != clock.random("shell").random()
    assert clock.random("dice").random() != Clockwork(NOW, seed=43).random("dice").random()
    # The stream may never change: recorded runs are compared with it.
    assert clock.random("dice").randint(1, 1_000_000) == 258219


def test_a_naive_time_is_refused():
    with pytest.raises(ValueError, match="aware"):
        Clockwork(datetime(2024, 5, 6), seed=1)
