"""Plan mode: spec liveagent §16."""

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.specs import Binding, Snapshot, ToolSpec
from tt_kernel.toolkit.planning import MAX_NUDGES, MAX_ROUNDS, MAX_SAME, Planning, may_plan, plan_snapshot


def spec(tool, effect="project", read_only=False):
    return ToolSpec(
        id=ToolId.parse(tool),
        description="d",
        input_schema={"type": "object"},
        group="g",
        effect=effect,
        read_only=read_only,
    )


@pytest.mark.parametrize(
    ("tool", "allowed"),
    [
        (spec("builtin:Read", read_only=True), True),
        (spec("builtin:ProcessWait", "host", read_only=True), True),
        (spec("builtin:TaskList", "none", read_only=True), True),
        (spec("builtin:workspace.read_file", "workspace", read_only=True), True),
        (spec("builtin:AskUserQuestion", "external", read_only=True), True),
        (spec("builtin:ExitPlanMode", "none"), True),
        (spec("builtin:Agent", "external"), True),
        (spec("builtin:SendMessage", "none"), True),
        (spec("extension/notebook:look", "external", read_only=True), True),
        (spec("builtin:Write"), False),
        (spec("builtin:Bash", "host"), False),
        (spec("builtin:TaskCreate", "none"), False),
        (spec("builtin:MemoryManager", "project"), False),
        (spec("mcp/files:read", "external"), False),
        (spec("mcp/files:read", "external", read_only=True), False),
        (spec("extension/other:look", "external", read_only=True), False),
        (spec("extension/notebook:act", "external"), False),
    ],
)
def test_what_is_there_in_plan_mode(tool, allowed):
    assert may_plan(tool) is allowed


def test_the_snapshot_keeps_what_looks_and_ends_by_the_plan():
    tools = [spec("builtin:Read", read_only=True), spec("builtin:Write"), spec("mcp/a:b", "external", read_only=True)]
    snapshot = Snapshot(completion="reply", bindings=[Binding(name=s.id.native, spec=s) for s in tools])
    planned = plan_snapshot(snapshot, spec("builtin:ExitPlanMode", "none"))
    assert [binding.name for binding in planned.bindings] == ["Read", "ExitPlanMode"]


class Bench:
    def __init__(self):
        self.saved = []
        self.executed = 0
        self.planning = Planning(self.saved.append)
        self.specs = {}
        self.caller = self.planning.guard(lambda call: self.specs[call.tool_id])(self.inner)

    async def inner(self, call):
        self.executed += 1
        return ToolResult(call_id=call.id, tool_id=call.tool_id, content="looked")

    async def call(self, tool, **arguments):
        self.specs[tool.id] = tool
        return await self.caller(
            ToolCall(
                id="c", tool_id=tool.id, name=tool.id.native, arguments=ToolArguments(value=arguments),
                invocation_id="inv_root", turn=1, index=0,
            )
        )  # fmt: skip


READ, WRITE, EXIT = spec("builtin:Read", read_only=True), spec("builtin:Write"), spec("builtin:ExitPlanMode", "none")


async def test_a_call_that_got_through_the_filter_is_refused_all_the_same():
    """§16: only the model's list is filtered, so the gate is the backstop for a hallucinated call."""
    bench = Bench()
    result = await bench.call(WRITE, path="a")
    assert (result.error_code, bench.executed) == ("plan.tool_not_available", 0)
    assert result.content.startswith("Write was not run: this run only plans.")


async def test_the_same_call_is_blocked_when_it_comes_more_than_twice():
    bench = Bench()
    results = [await bench.call(READ, path="a") for _ in range(MAX_SAME + 1)]
    assert [r.error_code for r in results] == [None, None, "plan.repeated_call"]
    assert (await bench.call(READ, path="b")).error_code is None
    for _ in range(5):
        assert (await bench.call(EXIT, plan="p")).error_code is None


async def test_the_bounds():
    """§16: 32 research rounds, then one nudge run of at most 4 rounds with a forced tool choice, then the end."""
    bench = Bench()
    steps = [bench.planning.step() for _ in range(MAX_ROUNDS)]
    assert steps == ["go"] * 32
    assert bench.planning.choice.kind == "auto"
    assert [bench.planning.step() for _ in range(6)] == ["nudge", "go", "go", "go", "over", "over"]
    assert MAX_NUDGES == 4
    assert (bench.planning.choice.kind, bench.planning.choice.name) == ("specific", "ExitPlanMode")


async def test_an_answer_without_a_call_ends_the_research_and_each_one_is_reminded():
    planning = Bench().planning
    assert planning.step() == "go"
    planning.talked()
    assert planning.step() == "nudge"
    assert planning.step() == "go"
    planning.talked()
    assert planning.step() == "nudge"
    assert "Call ExitPlanMode now" in planning.reminder


async def test_after_the_research_only_the_plan_can_be_handed_over():
    bench = Bench()
    bench.planning.talked()
    bench.planning.step()
    assert (await bench.call(READ, path="a")).error_code == "plan.research_over"
    assert (await bench.call(EXIT, plan="p")).error_code is None
    assert bench.executed == 1


def test_exit_is_a_built_in_tool():
    assert EXIT.id == builtin("ExitPlanMode")
