"""spec tauritavern §5.17."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, builtin
from tt_kernel.tools.dice import DICE_TOOLS, Formula, dice_tools, roll_dice


class Loaded(random.Random):
    """Rolls the given numbers."""

    def __init__(self, *numbers):
        super().__init__(0)
        self.numbers = list(numbers)

    def randint(self, a, b):
        number = self.numbers.pop(0)
        assert a <= number <= b
        return number


@pytest.mark.parametrize(
    ("formula", "rolls", "content"),
    [
        ("3d6+4", (2, 5, 6), "Rolled 3d6+4: 2 + 5 + 6 + 4 = 17."),
        ("3d6-4", (2, 5, 6), "Rolled 3d6-4: 2 + 5 + 6 - 4 = 9."),
        ("2D10", (1, 10), "Rolled 2d10: 1 + 10 = 11."),
        ("d20", (14,), "Rolled 1d20: 14."),
        ("20", (14,), "Rolled 1d20: 14."),
        (" 1d20\n", (14,), "Rolled 1d20: 14."),
        ("d20+1", (14,), "Rolled 1d20+1: 14 + 1 = 15."),
        ("d6-6", (1,), "Rolled 1d6-6: 1 - 6 = -5."),
        ("d6+0", (3,), "Rolled 1d6: 3."),
    ],
)
def test_content(formula, rolls, content):
    assert roll_dice(Loaded(*rolls), formula).content == content


def test_structured():
    assert roll_dice(Loaded(2, 5, 6), " 3D6+04 ").structured == {
        "formula": "3d6+4",
        "rolls": [2, 5, 6],
        "modifier": 4,
        "total": 17,
        "min": 7,
        "max": 22,
    }


@pytest.mark.parametrize("formula", ["1d1", "100d1000000", "d1000000+1000000", "1d6-1000000", "1000000", "1"])
def test_limits_are_inclusive(formula):
    result = roll_dice(random.Random(1), formula)
    assert result.structured["min"] <= result.structured["total"] <= result.structured["max"]


@pytest.mark.parametrize(
    "formula",
    [
        "", " ", "d", "0d6", "01d6", "101d6", "1d0", "1d06", "1d1000001", "1000001", "0", "06", "-6", "+6", "1d6+", "1d6+-1",
        "1d6+1000001", "1d6-1000001", "1d6+1+1", "1 d6", "1d6 + 1", "1d 6", "3d6kh1", "3d6!", "d%", "d6,d8", "2d6d8", "6+1",
        "1d6+1.5", "1e3", "๓d6", "1d６", "1d6\x00", "1d6\n+1", "1d6+" + "9" * 10_000, "9" * 10_000, "9" * 10_000 + "d6", "ad6",
    ],
)  # fmt: skip
def test_nothing_else_is_a_formula(formula):
    with pytest.raises(ToolError) as error:
        Formula.parse(formula)
    assert error.value.code == "dice.invalid_formula"
    assert len(error.value.message) < 500


GRAMMAR = re.compile(r"([1-9]\d*)?d([1-9]\d*)([+-]\d+)?|[1-9]\d*", re.ASCII | re.IGNORECASE)


@given(st.text("0123456789dD+- k", max_size=12))
def test_the_grammar(text):
    found = GRAMMAR.fullmatch(text.strip())
    allowed = bool(found) and (
        int(found[1] or 1) <= 100 and int(found[2]) <= 1_000_000 and abs(int(found[3] or 0)) <= 1_000_000
        if found[2]
        else int(text.strip()) <= 1_000_000
    )
    try:
        formula = Formula.parse(text)
    except ToolError:
        assert not allowed
        return
    assert allowed
    assert Formula.parse(str(formula)) == formula, "the normalised form means the same"


@given(st.integers(1, 100), st.integers(1, 1_000_000), st.integers(-1_000_000, 1_000_000), st.integers())
def test_every_roll_is_within_bounds_and_the_sum_is_right(count, sides, modifier, seed):
    facts = roll_dice(random.Random(seed), f"{count}d{sides}{modifier:+d}").structured
    assert len(facts["rolls"]) == count
    assert all(1 <= roll <= sides for roll in facts["rolls"])
    assert facts["total"] == sum(facts["rolls"]) + modifier
    assert (facts["min"], facts["max"]) == (count + modifier, count * sides + modifier)


def test_every_face_comes_up():
    rng = random.Random(7)
    assert {roll_dice(rng, "d6").structured["total"] for _ in range(200)} == {1, 2, 3, 4, 5, 6}


async def call(tools, **arguments):
    request = ToolCall(
        id=CallId("c"),
        tool_id=builtin("dice.roll"),
        name="dice_roll",
        arguments=ToolArguments(value=arguments),
        invocation_id=ROOT_INVOCATION,
        turn=1,
        index=0,
    )
    return await tools[0].call(request)


async def test_equal_seeds_roll_equal_dice_and_the_stream_goes_on():
    first, second = dice_tools(random.Random(3)), dice_tools(random.Random(3))
    one = [(await call(first, formula="4d100")).content for _ in range(5)]
    two = [(await call(second, formula="4d100")).content for _ in range(5)]
    assert one == two
    assert len(set(one)) == 5


async def test_as_a_tool():
    tools = dice_tools(random.Random(3))
    spec = tools[0].spec
    assert (spec.id, spec.effect, spec.read_only, spec.contexts) == (
        "builtin:dice.roll",
        "none",
        True,
        ("cell", "session"),
    )
    assert spec.input_schema["required"] == ["formula"]
    assert len(DICE_TOOLS) == 1
    assert (await call(tools)).error_code == "tool.invalid_arguments"
    assert (await call(tools, formula=6)).error_code == "tool.invalid_arguments"
    assert (await call(tools, formula="6 sided")).error_code == "dice.invalid_formula"
