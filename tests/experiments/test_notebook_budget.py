"""A sweep in a notebook whose budget is used up stops there, and goes on when the budget was raised."""

from support import make_session

from tt_kernel.domain.budget import Budget
from tt_kernel.experiments.sweep import sweep

SCRIPT = """
script: 1
turns:
  - say: Echo.
    usage: {input: 100, output: 10, cost: 0.25}
"""


def test_a_sweep_stops_where_the_notebooks_budget_ends(tmp_path):
    session = make_session(tmp_path, SCRIPT)
    session.budget.save(Budget(cost_usd=0.5))
    found = sweep("Greet @{who}.", vary={"who": list("abcd")}, concurrency=1, session=session)
    assert [row.status for row in found] == ["completed", "completed", "not run", "not run"]
    assert found.stopped.startswith("The budget of this notebook is used up: 0.50 of 0.50 USD spent.")
    session.budget.save(Budget(cost_usd=5))
    again = sweep("Greet @{who}.", vary={"who": list("abcd")}, concurrency=1, session=make_session(tmp_path))
    assert [(row.status, row.replayed) for row in again] == [("completed", True)] * 2 + [("completed", False)] * 2
    assert session.budget.spent().cost_usd == 1.0
