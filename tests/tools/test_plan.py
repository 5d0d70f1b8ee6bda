"""Handing over a plan: spec liveagent §16."""

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import Commit, Finish, ToolCall
from tt_kernel.domain.ids import builtin
from tt_kernel.tools.plan import MAX_PLAN_CHARS, PlanDesk, plan_tools


@pytest.fixture
def hand_over(tmp_path):
    (tool,) = plan_tools(PlanDesk(lambda: tmp_path / "plan"))

    async def call(plan):
        return await tool.call(
            ToolCall(
                id="c", tool_id=builtin("ExitPlanMode"), name="ExitPlanMode", arguments=ToolArguments(value={"plan": plan}),
                invocation_id="inv_root", turn=1, index=0,
            )
        )  # fmt: skip

    call.folder = tmp_path / "plan"
    return call


async def test_the_plan_is_kept_published_and_ends_the_run(hand_over):
    result = await hand_over("# Plan\n1. Test ✓")
    assert result.content == "The plan was handed to the user and is in plan/plan.md. This run ends here."
    assert result.effects == (
        Commit(path="plan/plan.md", text="# Plan\n1. Test ✓", mode="replace", reason="plan"),
        Finish(reason="plan"),
    )
    assert (hand_over.folder / "plan.md").read_text(encoding="utf-8") == "# Plan\n1. Test ✓"


async def test_a_plan_has_64_000_characters_at_most(hand_over):
    assert MAX_PLAN_CHARS == 64_000
    assert (await hand_over("x" * 64_000)).error_code is None
    result = await hand_over("x" * 64_001)
    assert (result.error_code, result.effects) == ("tool.invalid_arguments", ())


@pytest.mark.parametrize("plan", ["", "  \n"])
async def test_an_empty_plan_is_none(hand_over, plan):
    result = await hand_over(plan)
    assert (result.error_code, result.effects) == ("plan.empty", ())
    assert not hand_over.folder.exists()


def test_a_text_that_becomes_the_plan_may_hold_a_lone_surrogate(tmp_path):
    """The last text of a model that never handed over a plan (toolkit/planning.py)."""
    PlanDesk(lambda: tmp_path / "plan").save("a \ud800 b")
    assert (tmp_path / "plan" / "plan.md").read_bytes() == b"a \\ud800 b"
