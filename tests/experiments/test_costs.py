"""What runs cost: those that are there, and those that were deleted."""

import pytest
from support import drive, make_session

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.experiments.costs import costs, total

SCRIPT = """
script: 1
conversations:
  - when: dear
    turns:
      - say: Dear.
        usage: {input: 100, output: 10, cached: 40, cost: 0.25}
  - turns:
      - say: Unpriced.
        usage: {input: 1000, output: 1}
"""


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path, SCRIPT)


def test_the_dearest_first_and_unknown_prices_are_unknown(session):
    for prompt in ("dear one", "dear two", "other"):
        drive(session, prompt)
        drive(session, prompt)
    records = session.index.list()
    spent = session.spending.all(records)
    assert [(c.name, c.runs, c.dollars) for c in costs(spent, "prompt")] == [
        ("dear one", 2, "$0.5000"),
        ("dear two", 2, "$0.5000"),
        ("other", 2, "?"),
    ]
    whole = total(spent)
    assert (whole.usage.input_tokens, whole.usage.cached_tokens, whole.dollars) == (2_400, 160, "$1.0000 + ?")
    (day,) = costs(spent, "day")
    assert (day.name, day.runs) == (records[0].started_at[:10], 6)


def test_replays_cost_nothing(session, tmp_path):
    drive(session, "dear one")
    again = make_session(tmp_path)
    drive(again, "dear one")
    assert total(again.spending.all(again.index.list())).usage.cost_usd == 0.25


def test_another_word_is_refused(session):
    with pytest.raises(UsageProblem, match="not by 'hour'"):
        costs([], "hour")
