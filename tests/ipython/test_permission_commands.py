"""`%agent permissions` and `%agent approve` in a real shell: DESIGN §10, spec liveagent §16, notes/ux.md."""

import json

import pytest

from tt_kernel.domain.runs import Run
from tt_kernel.ipython.listing import Listing

SCRIPT = {
    "script": 1,
    "conversations": [
        {
            "when": "plan it",
            "turns": [
                {"call": "ExitPlanMode", "with": {"plan": "# The plan"}},
                {"asked": "The plan is approved. Carry it out.", "call": "dice_roll", "with": {"formula": "1d1+1"}},
                {"say": "Carried out."},
            ],
        },
        {
            "when": "plan again",
            "turns": [
                {"call": "ExitPlanMode", "with": {"plan": "First."}},
                {"asked": "shorter", "call": "ExitPlanMode", "with": {"plan": "Second."}},
            ],
        },
        {"turns": [{"say": "Echo."}]},
    ],
}


def value(cells, cell):
    result, _ = cells(cell)
    assert result.success, result.error_in_exec
    return result.result


def rules(cells):
    return json.loads((cells.folder / "nb.agent" / "permissions.json").read_text())["rules"]


def test_nothing_yet(cells):
    listing = value(cells, "%agent permissions")
    assert isinstance(listing, Listing)
    assert list(listing) == []
    assert "No rules besides those of the profile and the defaults. %agent permissions [list" in repr(listing)
    assert not (cells.folder / "nb.agent").exists()


def test_the_line_of_a_refusal_can_be_run_as_it_is(cells):
    """notes/ux.md: Allow it with %agent permissions allow Bash --pattern "pytest*"."""
    listing = value(cells, '%agent permissions allow Bash --pattern "command=pytest*"')
    assert [(r.tool, r.decision, r.arguments) for r in listing] == [("Bash", "allow", {"command": "pytest*"})]
    assert rules(cells) == [{"tool": "Bash", "decision": "allow", "arguments": {"command": "pytest*"}}]
    assert "command=pytest*" in repr(listing)


def test_a_glob_alone_is_for_the_first_argument(cells):
    (rule,) = value(cells, '%agent permissions allow Bash --pattern "git status*"')
    assert rule.arguments == {"command": "git status*"}


def test_rules_of_the_user_and_of_the_notebook(cells):
    value(cells, "%agent permissions deny Bash --user")
    listing = value(cells, "%agent permissions ask Write --pattern path=src/*")
    assert [(r.tool, r.decision) for r in listing] == [("Write", "ask"), ("Bash", "deny")]
    assert [row[3] for row in listing.rows] == ["notebook", "user"]
    user = json.loads((cells.folder / "config" / "tt_kernel" / "permissions.json").read_text())
    assert user["rules"][0]["tool"] == "Bash"
    assert value(cells, "%agent permissions remove Bash --user")[0].tool == "Write"


def test_a_newer_rule_replaces_one_for_the_same(cells):
    value(cells, "%agent permissions allow Bash")
    (rule,) = value(cells, "%agent permissions deny Bash")
    assert rule.decision == "deny"
    assert list(value(cells, "%agent permissions remove Bash")) == []


def test_safety(cells):
    assert "safety = ask (notebook)" in repr(value(cells, "%agent permissions safety ask"))
    assert "safety =" not in repr(value(cells, "%agent permissions safety auto"))


def test_an_unknown_tool_is_accepted_and_said(cells):
    assert "There is no tool 'Bahs' now; the rule waits for one. Did you mean Bash?" in repr(
        value(cells, "%agent permissions allow Bahs")
    )
    assert "no tool" not in repr(value(cells, "%agent permissions allow mcp_*"))
    assert "no tool" not in repr(value(cells, "%agent permissions deny group:shell"))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("remove Bash", "The notebook's rules have none for 'Bash'; there are: none."),
        ("safety loose", "the modes are auto, ask, sandbox, sandbox-offline"),
        ("allow", "Write: %agent permissions [list"),
        ("allow Bash Write", "Write: %agent permissions [list"),
        ("allow Bash --pattern comand=x", "Bash has the arguments command"),
        ("allow Bash --pattern", "--pattern needs a value: --pattern ARGUMENT=GLOB"),
        ("allow Bash --patern x", "--patern is no option here"),
        ("remove Bash --pattern command=x", "--pattern belongs to allow, ask and deny"),
        ('allow "mcp_*" --pattern x*', "The arguments of mcp_* are not known here"),
    ],
)
def test_what_makes_no_sense_is_said_with_the_way_to_write_it(cells, line, words):
    result, _ = cells(f"%agent permissions {line}")
    assert words in result.error_in_exec.message
    assert not (cells.folder / "nb.agent" / "permissions.json").exists()


def test_a_sentence_that_begins_with_the_word_is_a_prompt(cells):
    cells("%agent permissions are what I want to understand")
    assert list((cells.folder / "nb.agent" / "runs").iterdir())


# ---- plans


def last(cells):
    return value(cells, "_")


def test_a_plan_is_approved_and_carried_out(cells):
    cells("%%agent --plan -t dice.roll\nplan it")
    plan = last(cells)
    assert isinstance(plan, Run)
    assert plan.text == "# The plan"
    cells(f"%agent approve {plan.id}")
    run = last(cells)
    assert (run.text, [c.call.name for c in run.tool_calls]) == ("Carried out.", ["dice_roll"])
    record = json.loads((run.folder / "run.json").read_text())
    assert (record["continueFrom"], record["profile"]["run"]["plan"], record["extraTools"]) == (
        plan.id,
        False,
        ["dice.roll"],
    )


def test_approve_without_a_run_is_the_last_one(cells):
    cells("%%agent --plan -t dice.roll\nplan it")
    cells("%agent approve")
    assert last(cells).text == "Carried out."


def test_anything_else_is_feedback_and_goes_on_planning(cells):
    cells("%%agent --plan\nplan again")
    cells("%%agent --plan --continue\nshorter")
    run = last(cells)
    assert run.text == "Second."
    assert json.loads((run.folder / "run.json").read_text())["profile"]["run"]["plan"] is True


def test_run_all_again_replays_both(cells, shell):
    from tt_kernel.ipython.extension import load_ipython_extension, unload_ipython_extension

    seen = []
    for _ in range(2):
        cells("%%agent --plan -t dice.roll\nplan it")
        plan = last(cells)
        cells(f"%agent approve {plan.id}")
        seen.append((plan.id, last(cells).id, last(cells).replayed))
        unload_ipython_extension(shell)
        load_ipython_extension(shell)
    assert seen[1] == (*seen[0][:2], True)
    assert len(list((cells.folder / "nb.agent" / "runs").iterdir())) == 2


def test_there_must_be_a_plan_to_approve(cells):
    cells("%%agent\nhello")
    run = last(cells)
    result, _ = cells(f"%agent approve {run.id}")
    assert result.error_in_exec.code == "agent.plan_missing"
    assert result.error_in_exec.message == f"Run {run.id} has no plan: it was not started with --plan."


def test_both_stand_in_the_help(cells):
    from tt_kernel.ipython.help import help_text

    assert "%agent approve [RUN]" in help_text()
    assert "%agent permissions ACTION" in help_text()
    assert "--plan" in help_text()
