"""`%agent diff why …` in a real shell."""

import pytest

from tt_kernel.domain.errors import BudgetUsedUp, NotFound, UsageProblem

SCRIPT = """
script: 1
conversations:
  - when: roll
    turns:
      - call: dice_roll
        with: {formula: 1d6}
      - say: Rolled once.
  - turns:
      - say: Echo.
"""


def failed(result, kind):
    error = result.error_in_exec or result.error_before_exec
    assert isinstance(error, kind), error
    return str(error)


def test_diff_of_variables_ids_and_last(cells):
    cells("%%agent -o a\nhello")
    cells("%%agent -o b -t dice.roll\nplease roll")
    ns = cells.shell.user_ns
    by_name, out = cells("%agent diff a b")
    by_id, _ = cells(f"%agent diff {ns['a'].id} {ns['b'].id}")
    with_last, _ = cells("%agent diff a")
    assert repr(by_name.result) == repr(by_id.result) == repr(with_last.result)
    assert "dice_roll" in out
    assert [call.state for call in by_name.result.calls] == ["added"]


def test_diff_names_what_is_no_run(cells):
    cells("number = 3")
    assert "number is a int, not a Run" in failed(cells("%agent diff number last")[0], UsageProblem)
    failed(cells("%agent diff 0123 4567")[0], NotFound)


def test_a_sentence_that_begins_with_diff_is_a_prompt(cells):
    _, out = cells("%agent diff the two files in this folder please")
    assert "Echo." in out
    _, out = cells("%agent why is the sky blue")
    assert "Echo." in out


def test_why_of_the_last_run(cells):
    cells("%%agent\nhello")
    cells("%%agent\nhello there")
    result, out = cells("%agent why")
    assert [c.kind for c in result.result.why.contrasts] == ["prompt"]
    assert "hello{+ +}{+there+}" in out or "hello{+ there+}" in out


def test_check_reads_the_saved_notebook(cells):
    import nbformat

    assert "Save it first" in failed(cells("%agent check")[0], NotFound)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("%%agent\nhello")])
    nbformat.write(notebook, cells.folder / "nb.ipynb")
    result, _ = cells("%agent check")
    assert [finding.kind for finding in result.result] == ["not run"]


def test_find_by_words_and_facts(cells):
    cells("%%agent -t dice.roll\nplease roll")
    cells("%%agent\nhello")
    assert [hit.where for hit in cells("%agent find Rolled")[0].result] == ["answer"]
    assert len(cells("%agent find tool:dice_roll")[0].result) == 1
    assert len(cells("%agent find status:completed in:prompt the words hello please")[0].result) == 0
    assert "No run fits." in cells("%agent find nothing")[1]
    assert [hit.where for hit in cells("%agent find please roll tool:dice_roll in:prompt")[0].result] == ["prompt"]
    # However many words there are, and whatever they are: it is never a prompt.
    for line in ("the heaviest penguin of all", "me every run in which somebody asks: what is it?", "-- a b c d e"):
        result, out = cells(f"%agent find {line}")
        assert len(result.result) == 0
        assert "No run fits." in out
    assert "Echo." in cells("%agent -- find the heaviest penguin of all")[1]


def test_branch_runs_shows_and_replays_and_tree_draws_it(cells):
    cells("%%agent -o a -t dice.roll\nplease roll")
    run = cells.shell.user_ns["a"]
    line = f'%agent branch {run.id} --turn 2 --result 1="you rolled 99"'
    _, out = cells(line)
    made = cells.shell.user_ns["_"]
    assert made.id != run.id
    assert made.tool_calls[0].result.content == "you rolled 99"
    assert out.count("Rolled once.") == 1
    cells(line + " --replay")
    assert cells.shell.user_ns["_"].view == made.view
    _, drawn = cells("%agent tree")
    assert f"└─ {made.id} completed [branch at turn 2] result 1: you rolled 99" in drawn


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("", "Write: %agent branch RUN"),
        ("last --turn x", "--turn needs a number"),
        ("last --nope", "--nope is no option here"),
        ("last --result 1", "--result 1 is no assignment"),
        ("last --turn 7 --message hi", "can be branched at the turns 1 to 1"),
    ],
)
def test_branch_says_what_is_wrong(cells, rest, says):
    cells("%%agent\nhello")
    assert says in failed(cells(f"%agent branch {rest}")[0], UsageProblem)


def test_a_sweep_is_one_table_and_replays(cells):
    line = "%%agent -o s --vary who=Ann,Bob --vary sampling.temperature=0,1 --repeat 2 --check \"'Echo' in text\"\nGreet @{who}."
    _, out = cells(line)
    found = cells.shell.user_ns["s"]
    assert len(found) == 8
    assert [row.case.prompt for row in found.rows[:5]] == ["Greet Ann."] * 4 + ["Greet Bob."]
    assert out.count("sweep of 4 points, 8 runs, 8 completed") == 1
    assert "2/2 (34% to 100%)" in out
    _, again = cells(line)
    assert all(row.replayed for row in cells.shell.user_ns["s"])
    assert again == out
    timed, shown = cells("%%time\n" + line)
    assert "sweep of 4 points" in shown
    assert timed.result is cells.shell.user_ns["s"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--vary nonsense=1,2 --vary who=a", "is no profile field"),
        ("--vary model", "--vary needs FIELD"),
        ("--repeat 0", "--repeat needs a number"),
        ("--repeat 2 --session x", "leave out --session"),
        ("--vary who=[1", "is no JSON list"),
    ],
)
def test_a_sweep_that_makes_no_sense_starts_nothing(cells, line, says):
    assert says in failed(cells(f"%%agent {line}\nGreet @{{who}}.")[0], UsageProblem)
    assert not (cells.folder / "nb.agent" / "runs").exists()


def test_costs_by_model_and_cell(cells):
    cells("%%agent\nhello")
    cells("%%agent\nhello again")
    result, out = cells("%agent costs")
    assert [(c.name, c.runs, c.unpriced) for c in result.result] == [("scripted:script.yaml", 2, 2)]
    assert "?" in out
    by_cell, out = cells("%agent costs cell")
    assert {c.name for c in by_cell.result} == {"hello", "hello again"}
    assert any(line.startswith("all ") for line in out.splitlines())
    assert "Echo." in cells("%agent costs of living in Norway")[1]


PRICED = """
script: 1
turns:
  - say: Echo.
    usage: {input: 100, output: 10, cost: 0.25}
"""


def test_budget_is_set_told_and_ended(cells):
    (cells.folder / "script.yaml").write_text(PRICED)
    assert "no budget. Set one: %agent budget [AMOUNT USD]" in cells("%agent budget")[1]
    assert "budget: 0.00 of 0.25 USD spent, 0.25 USD left." in cells("%agent budget 0.25 USD")[1]
    assert "budget: 0 of 1,000 tokens used, 1,000 left." in cells("%agent budget 1,000 tokens")[1]
    cells("%%agent\nhello")
    assert "is used up: 0.25 of 0.25 USD spent" in failed(cells("%%agent\nhello you")[0], BudgetUsedUp)
    _, out = cells("%agent costs")
    assert "budget: 0.25 of 0.25 USD spent, 0.00 USD left.\nbudget: 110 of 1,000 tokens used, 890 left." in out
    assert "no budget" in cells("%agent budget off")[1]
    cells("%%agent\nhello you")


@pytest.mark.parametrize("words", ["2", "2 USD 3", "USD 2", "1.5 tokens", "2 off"])
def test_a_budget_that_makes_no_sense_is_refused(cells, words):
    failed(cells(f"%agent budget {words}")[0], UsageProblem)
    assert not (cells.folder / "nb.agent" / "budget.json").exists()


def test_costs_by_cell_model_and_day(cells):
    (cells.folder / "script.yaml").write_text(PRICED)
    for prompt in ("hello", "hello", "hello you"):
        cells(f"%%agent\n{prompt}")
    for by, name in (
        ("cell", "hello"),
        ("model", "scripted:script.yaml"),
        ("profile", "assistant"),
        ("status", "completed"),
    ):
        result, out = cells(f"%agent costs {by}")
        assert out.splitlines()[1].split() == [by, "runs", "input", "cached", "output", "cost"]
        assert name in [cost.name for cost in result.result]
        assert sum(cost.runs for cost in result.result) == 3
        assert "$0.7500" in out
    [day] = cells("%agent costs day")[0].result
    assert (len(day.name), day.dollars) == (10, "$0.7500")


def test_a_sweep_that_is_large_wants_a_word_more(cells):
    result, _ = cells("%%agent --repeat 101\nGreet me.")
    said = failed(result, UsageProblem)
    assert said.startswith("This is a sweep of 101 runs, 0 recorded, 101 live. Write --yes to run it, or --budget USD")
    assert not (cells.folder / "nb.agent" / "runs").exists()
    result, out = cells("%%agent --repeat 101 --yes --concurrency 50\nGreet me.")
    assert result.success
    assert "101 runs, 101 completed" in out
    assert cells("%%agent --repeat 101\nGreet me.")[0].success, "what is recorded is no cost"


def test_a_sweep_that_is_dear_wants_a_word_more(cells):
    (cells.folder / "dear.yaml").write_text(
        "script: 1\nturns:\n  - {say: Yes., usage: {input: 9, output: 5, cost: 0.30}}\n"
    )
    assert cells("%%agent -m scripted:dear.yaml\nWhat is it?")[0].success
    result, _ = cells("%%agent -m scripted:dear.yaml --repeat 5\nWhat is it now?")
    assert "5 runs, 0 recorded, 5 live, about $1.50." in failed(result, UsageProblem)
    result, _ = cells("%%agent -m scripted:dear.yaml --repeat 5 --budget 0.5 --concurrency 1 -o s\nWhat is it now?")
    assert "The budget of $0.5 is spent" in str(result.error_in_exec)
    assert [row.status for row in cells.shell.user_ns["s"]] == ["completed"] * 2 + ["not run"] * 3


@pytest.mark.parametrize("line", ["--budget much", "--budget -1", "--budget inf", "--concurrency 0", "--concurrency x"])
def test_bounds_that_make_no_sense(cells, line):
    result, _ = cells(f"%%agent --repeat 2 {line}\nGreet me.")
    assert line.split()[0] in failed(result, UsageProblem)
