"""Going round in circles: spec liveagent §4.4 (loop breaker), field report 56."""

import asyncio

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.toolkit.breaker import DOING_MOST, DOING_NOTE, REFUSED_MOST, SAME_MOST, Breaker

READ_ONLY = {"Read", "Grep"}


def spec_of(call: ToolCall) -> ToolSpec:
    name = call.tool_id.native
    return ToolSpec(
        id=call.tool_id, description="d", input_schema={"type": "object"}, group="g", effect="project",
        read_only=name in READ_ONLY,
    )  # fmt: skip


class Bench:
    """Calls tools of which it is said what they answer: text, or an error when it begins with `!`."""

    def __init__(self, **options):
        self.answers = {}
        self.executed = []
        self.turn = 0
        self.breaker = Breaker(spec_of, **options)
        self.caller = self.breaker(self.inner)

    async def inner(self, call):
        self.executed.append(call.name)
        text = self.answers.get(call.name, "ok")
        if text.startswith("!"):
            return ToolResult.error(call, "x.failed", text[1:])
        return ToolResult(call_id=call.id, tool_id=call.tool_id, content=text)

    async def call(self, name, answer="ok", *, turn=None, index=0, **arguments):
        self.answers[name] = answer
        if turn is None:
            self.turn += 1
        return await self.caller(
            ToolCall(
                id=f"c{self.turn}.{index}", tool_id=builtin(name), name=name, arguments=ToolArguments(value=arguments),
                invocation_id="inv_root", turn=turn or self.turn, index=index,
            )
        )  # fmt: skip


async def test_the_second_failure_of_a_kind_says_how_often():
    """§4.4: same tool, same path, same error text; from the 2nd time a sentence is appended."""
    bench = Bench()
    first = await bench.call("Edit", "!no match", path="a.py", old="x")
    second = await bench.call("Edit", "!no match", path="a.py", old="y")
    third = await bench.call("Edit", "!no match", path="a.py", old="z")
    assert first.content == "no match"
    assert second.content.startswith(
        "no match\n\nThis tool has now failed 2 times in the same way. Do not call it again unchanged"
    )
    assert "failed 3 times" in third.content
    assert (third.error_code, third.is_error) == ("x.failed", True)


@pytest.mark.parametrize(
    "between",
    [
        ("Edit", "!another error", {"path": "a.py"}),
        ("Edit", "ok", {"path": "a.py"}),
    ],
)
async def test_another_outcome_begins_the_count_again(between):
    bench = Bench()
    await bench.call("Edit", "!no match", path="a.py")
    name, answer, arguments = between
    await bench.call(name, answer, **arguments)
    assert (await bench.call("Edit", "!no match", path="a.py")).content == "no match"


async def test_another_path_or_tool_is_another_matter():
    bench = Bench()
    await bench.call("Edit", "!no match", path="a.py")
    assert (await bench.call("Edit", "!no match", path="b.py")).content == "no match"
    assert (await bench.call("Write", "!no match", path="a.py")).content == "no match"


async def test_without_a_path_the_arguments_tell():
    bench = Bench()
    await bench.call("Bash", "!exit 1", command="a")
    assert (await bench.call("Bash", "!exit 1", command="b")).content == "exit 1"
    assert "failed 2 times" in (await bench.call("Bash", "!exit 1", command="b")).content


async def test_looking_again_and_again_is_noted_then_refused_then_the_end():
    bench = Bench()
    results = [await bench.call("Read", "text", path="a") for _ in range(SAME_MOST + REFUSED_MOST)]
    assert [r.content for r in results[:2]] == ["text", "text"]
    assert results[2].content == "text\n\nThis is the same call with the same result as before, 3 times in a row."
    assert len(bench.executed) == SAME_MOST
    refused = results[SAME_MOST]
    assert (refused.error_code, refused.structured["repeats"]) == ("tool.repeated_call", SAME_MOST)
    assert refused.content.startswith("Read was not run: the same call has had the same result 5 times in a row.")
    assert "refused 10 times in a row" in bench.breaker.exhausted()


async def test_220_identical_calls_do_not_happen():
    """Field report 56."""
    bench = Bench()
    for _ in range(220):
        await bench.call("Bash", "!exit 1", command="make")
        if bench.breaker.exhausted():
            break
    assert len(bench.executed) == SAME_MOST
    assert bench.turn == SAME_MOST + REFUSED_MOST


async def test_two_calls_in_turn_are_a_circle_too():
    bench = Bench()
    for _ in range(SAME_MOST):
        await bench.call("Read", "text", path="a")
        await bench.call("Grep", "hits", pattern="x")
    assert (await bench.call("Read", "text", path="a")).error_code == "tool.repeated_call"


async def test_a_change_in_between_makes_a_second_look_worth_while():
    """Tests run after each edit are no circle, even when they fail in the same way."""
    bench = Bench()
    for number in range(30):
        await bench.call("Edit", "done", path="a", old=number)
        assert (await bench.call("Bash", "!1 failed", command="pytest")).error_code == "x.failed"
    assert bench.executed.count("Bash") == 30


async def test_another_result_is_no_repetition():
    bench = Bench()
    for number in range(30):
        assert (await bench.call("Read", f"text {number}", path="a")).content == f"text {number}"


async def test_a_tool_that_does_something_may_do_it_often():
    """A robot that goes forward: the same words each time, and each time it is somewhere else."""
    bench = Bench()
    results = [await bench.call("forward", "ok") for _ in range(DOING_MOST + 1)]
    assert results[DOING_NOTE - 2].content == "ok"
    assert f"{DOING_NOTE} times in a row" in results[DOING_NOTE - 1].content
    assert len(bench.executed) == DOING_MOST
    assert results[-1].error_code == "tool.repeated_call"


async def test_what_is_meant_to_be_repeated_is_exempt():
    bench = Bench(exempt=lambda call: call.tool_id == ToolId("builtin:dice"))
    for _ in range(50):
        assert (await bench.call("dice", "1")).content == "1"


async def test_another_call_after_refusals_takes_the_end_back():
    bench = Bench()
    for _ in range(SAME_MOST + REFUSED_MOST):
        await bench.call("Read", "text", path="a")
    await bench.call("Read", "text", path="b")
    assert bench.breaker.exhausted() is None


async def test_concurrent_calls_of_a_turn_say_the_same_in_every_order():
    """A live run and its replay end the calls of a turn in different orders; their results must not differ."""

    async def turns(order):
        bench, gates = Bench(), [asyncio.Event() for _ in range(3)]

        async def inner(call):
            await gates[call.index].wait()
            return ToolResult.error(call, "x.failed", "gone")

        bench.caller = bench.breaker(inner)
        contents = []
        for turn in (1, 2):
            tasks = [asyncio.create_task(bench.call("Read", turn=turn, index=i, path="a")) for i in range(3)]
            for index in order:
                await asyncio.sleep(0)
                gates[index].set()
            contents += [(await task).content for task in tasks]
        return contents

    assert await turns([0, 1, 2]) == await turns([2, 0, 1])


async def test_in_a_turn_of_changes_the_earlier_calls_count():
    bench = Bench()
    await bench.call("Edit", "!no match", turn=1, index=0, path="a")
    assert "failed 2 times" in (await bench.call("Edit", "!no match", turn=1, index=1, path="a")).content
