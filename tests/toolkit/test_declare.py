"""How a built-in tool is written and called."""

import random

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.errors import ContractBroken, StorageFault, ToolError
from tt_kernel.domain.ids import ToolId
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome


@builtin_tool("dice.roll", group="dice", effect="none", read_only=True)
async def roll(rng: random.Random, formula: str, *, times: int = 1) -> Outcome:
    """Roll dice.

    Args:
        formula: For example `3d6`.
    """
    if formula == "bad":
        raise ToolError("dice.invalid_formula", "No dice.", {"formula": formula})
    return Outcome(f"{formula} x {times}: {rng.random():.3f}", structured={"times": times})


@builtin_tool("echo", group="test", effect="none")
def echo(desk: list, call: ToolCall, text: str = "nothing") -> str:
    """Say it again."""
    desk.append(call.id)
    return text


def call(tool, arguments, name="the_name"):
    return ToolCall(
        id="c1",
        tool_id=tool.spec.id,
        name=name,
        arguments=ToolArguments.decode(arguments),
        invocation_id="inv_root",
        turn=1,
        index=0,
    )


def test_spec():
    spec = roll.spec
    assert spec.id == ToolId.parse("builtin:dice.roll")
    assert (spec.group, spec.effect, spec.read_only, spec.contexts) == ("dice", "none", True, ("cell", "session"))
    assert spec.description == "Roll dice."
    assert list(spec.input_schema["properties"]) == ["formula", "times"]
    assert spec.input_schema["additionalProperties"] is False
    assert roll.spec is spec


async def test_bound_tool_answers():
    tool = roll.bind(random.Random(7))
    result = await tool.call(call(tool, {"formula": "3d6", "times": 2.0}))
    assert result.content == f"3d6 x 2: {random.Random(7).random():.3f}"
    assert result.structured == {"times": 2}
    assert (result.call_id, result.tool_id, result.is_error) == ("c1", tool.spec.id, False)


async def test_sync_function_text_and_injected_call():
    desk: list = []
    tool = echo.bind(desk)
    assert (await tool.call(call(tool, None))).content == "nothing"
    assert desk == ["c1"]
    assert "call" not in tool.spec.input_schema["properties"]


@pytest.mark.parametrize("empty", [None, "", "null", "{}", '"{}"', "  "])
async def test_all_parameters_optional_can_be_called_with_nothing(empty):
    """Spec tauritavern §3, §23.1."""
    tool = echo.bind([])
    assert not (await tool.call(call(tool, empty))).is_error


async def test_arguments_that_are_no_object_are_echoed():
    """Spec tauritavern §3, §23.2."""
    tool = echo.bind([])
    result = await tool.call(call(tool, '{"path": "out'))
    assert result.error_code == "tool.invalid_arguments"
    assert result.content == 'the_name: the arguments must be one JSON object, got: {"path": "out'
    assert result.structured == {"error": {"code": "tool.invalid_arguments", "message": result.content}}


async def test_tool_errors_become_results_with_their_facts():
    tool = roll.bind(random.Random(1))
    result = await tool.call(call(tool, {"formula": "bad"}))
    assert (result.is_error, result.error_code, result.content) == (True, "dice.invalid_formula", "No dice.")
    assert result.structured["formula"] == "bad"


async def test_other_errors_are_not_the_models():
    @builtin_tool("broken", group="test", effect="none")
    async def broken(desk: None) -> str:
        """Break."""
        raise StorageFault(message="disk full")

    tool = broken.bind(None)
    with pytest.raises(StorageFault):
        await tool.call(call(tool, {}))


def test_check_reads_without_calling():
    desk: list = []
    tool = echo.bind(desk)
    tool.check(call(tool, {"text": "a"}))
    with pytest.raises(ToolError) as caught:
        tool.check(call(tool, {"text": 1}))
    assert caught.value.code == "tool.invalid_arguments"
    assert desk == []


async def test_a_declaration_can_be_called_as_the_function():
    assert (await roll(random.Random(1), "d6")).content.startswith("d6 x 1")


def test_a_tool_without_a_manual_is_a_bug():
    @builtin_tool("silent", group="test", effect="none")
    def silent(desk: None) -> str:
        return ""

    with pytest.raises(ContractBroken, match="docstring"):
        _ = silent.spec
