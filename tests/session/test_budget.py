"""A budget over all runs of a notebook: it ends a run politely, refuses the next one, and lets replays be."""

import json
import os
import sys

import pytest

from tt_kernel.domain.budget import Budget, amount
from tt_kernel.domain.errors import BudgetUsedUp, ProfileInvalid
from tt_kernel.domain.runs import TurnEdit
from tt_kernel.domain.turns import Usage
from tt_kernel.experiments.costs import total
from tt_kernel.runtime.loop_thread import submit
from tt_kernel.store.budget import BudgetShelf

from .support import drive, make_session, types

SCRIPT = """
script: 1
conversations:
  - when: roll
    turns:
      - say: First.
        call: dice_roll
        with: {formula: 1d6}
        usage: {input: 100, output: 10, cost: 0.25}
      - say: Second.
        call: dice_roll
        with: {formula: 1d6}
        usage: {input: 100, output: 10, cost: 0.25}
      - say: Third.
        usage: {input: 100, output: 10, cost: 0.25}
  - turns:
      - say: Echo.
        usage: {input: 100, output: 10, cost: 0.25}
"""
ROLL = {"tools": ["dice.roll"]}


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path, SCRIPT)


def run(session, prepared):
    stream = session.stream(prepared)

    async def drain():
        async for _ in stream:
            pass

    submit(drain())[0].result()
    return stream.run


@pytest.mark.parametrize("budget", [Budget(cost_usd=0.5), Budget(tokens=220)])
def test_a_run_that_uses_it_up_ends_with_what_it_has(session, budget):
    session.budget.save(budget)
    made, events = drive(session, "please roll", **ROLL)
    assert (made.status, made.problem.code) == ("limit", "agent.budget_used_up")
    assert types(events)[-3:] == ["agent_invocation_completed", "checkpoint_created", "run_limited"]
    assert [record.result.is_error for record in made.tool_calls] == [False, False]
    assert made.view.text == "Second."
    stored = session.load_stored(made.id)
    assert (stored.status, stored.messages) == ("limit", made.messages)


def test_the_next_run_is_refused_with_what_was_spent_and_the_way_out(session):
    session.budget.save(Budget(cost_usd=0.25))
    drive(session, "one")
    with pytest.raises(BudgetUsedUp) as refused:
        drive(session, "two")
    assert str(refused.value) == (
        "The budget of this notebook is used up: 0.25 of 0.25 USD spent. Raise it (%agent budget 5 USD, or 100000 tokens) or "
        "end it (%agent budget off). What is recorded replays for free."
    )
    assert len(session.index.list()) == 1
    session.budget.save(Budget(cost_usd=1))
    assert drive(session, "two")[0].status == "completed"


def test_replays_go_on_and_count_nothing(session, tmp_path):
    drive(session, "please roll", **ROLL)
    session.budget.save(Budget(cost_usd=0.75))
    for mode in ("auto", "replay"):
        again, _ = drive(make_session(tmp_path), "please roll", mode=mode, **ROLL)
        assert (again.status, again.replayed, again.text) == ("completed", True, "Third.")
    assert session.budget.spent().cost_usd == 0.75
    with pytest.raises(BudgetUsedUp):
        drive(make_session(tmp_path), "please roll", mode="live", **ROLL)


def test_only_the_new_turns_of_a_branch_count(session):
    first, _ = drive(session, "please roll", **ROLL)
    branch = run(session, session.prepare_branch(first.id, TurnEdit(turn=3, message="And?")))
    assert (branch.usage.cost_usd, branch.replayed) == (0.75, False)
    assert session.budget.spent() == Usage(input_tokens=400, output_tokens=40, cost_usd=1.0)
    assert total(session.spending.all(session.index.list())).usage.cost_usd == 1.0


def test_a_branch_that_would_ask_is_refused_before_it_has_a_folder(session):
    first, _ = drive(session, "please roll", **ROLL)
    session.budget.save(Budget(cost_usd=0.75))
    refused = run(session, session.prepare_branch(first.id, TurnEdit(turn=3, message="And?")))
    assert (refused.status, refused.problem.code) == ("failed", "agent.budget_used_up")
    assert [record.id for record in session.index.list()] == [first.id]


def test_a_limited_run_goes_on_when_the_budget_was_raised(session):
    session.budget.save(Budget(cost_usd=0.5))
    made, _ = drive(session, "please roll", **ROLL)
    with pytest.raises(BudgetUsedUp):
        run(session, session.prepare_resume(made.id))
    session.budget.save(Budget(cost_usd=5))
    assert run(session, session.prepare_resume(made.id)).text == "Third."
    assert session.budget.spent().cost_usd == 0.75


@pytest.mark.skipif(sys.platform == "win32", reason="fork")
def test_a_run_of_another_kernel_counts_while_it_goes_on(session, tmp_path):
    """The other process has paid for two turns and has not ended; here nothing more may begin."""
    session.budget.save(Budget(cost_usd=0.5))
    begun, go_on = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        other = make_session(tmp_path)
        stream = other.stream(other.prepare("please roll", **ROLL))

        async def slowly():
            count = 0
            async for event in stream:
                count += event.type == "model_completed"
                if event.type == "model_completed" and count == 2:
                    os.write(begun[1], b"x")
                    os.read(go_on[0], 1)

        submit(slowly())[0].result()
        os._exit(0 if stream.run.status == "limit" else 1)
    try:
        os.read(begun[0], 1)
        assert make_session(tmp_path).index.list()[0].status == "running"
        with pytest.raises(BudgetUsedUp, match=r"0.50 of 0.50 USD spent"):
            drive(make_session(tmp_path), "one")
    finally:
        os.write(go_on[1], b"x")
        status = os.waitpid(child, 0)[1]
    assert status == 0


def test_what_a_killed_run_had_paid_counts(session):
    made, _ = drive(session, "please roll", **ROLL)
    lines = (made.folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    cut = next(i for i, line in enumerate(lines) if json.loads(line)["event"]["type"] == "model_completed") + 1
    (made.folder / "events.jsonl").write_bytes(b"".join(lines[:cut]))
    document = json.loads((made.folder / "run.json").read_text())
    (made.folder / "run.json").write_text(json.dumps(document | {"status": "running", "usage": {}}))
    assert session.budget.spent().cost_usd == 0.25


def test_a_document_that_cannot_be_understood_lets_nothing_be_spent(session):
    session.folder.create()
    (session.folder.root / "budget.json").write_text('{"cost_usd": "much"}')
    with pytest.raises(ProfileInvalid, match="is no budget"):
        drive(session, "one")


def test_without_limits_there_is_no_document(session):
    shelf = BudgetShelf(session.folder)
    assert shelf.load() == Budget()
    shelf.save(Budget(tokens=5))
    assert shelf.load() == Budget(tokens=5)
    stamp = (session.folder.root / "budget.json").stat()
    shelf.save(Budget(tokens=5))
    assert (session.folder.root / "budget.json").stat() == stamp
    shelf.save(Budget())
    assert not (session.folder.root / "budget.json").exists()


@pytest.mark.parametrize(("dollars", "text"), [(2, "2.00"), (0.0137, "0.0137"), (1234.5, "1,234.50"), (0, "0.00")])
def test_amounts(dollars, text):
    assert amount(dollars) == text
