"""Rolling dice: spec tauritavern §5.17."""

import random
import re
from dataclasses import dataclass

from tt_kernel.domain.errors import ToolError
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome, Tool

MAX_COUNT = 100
MAX_SIDES = 1_000_000
MAX_MODIFIER = 1_000_000

_FORMULA = re.compile(r"(?:(?P<count>[1-9][0-9]*)?[dD])?(?P<sides>[1-9][0-9]*)(?P<modifier>[+-][0-9]+)?")
_GRAMMAR = (
    "A formula is [N]dS, [N]dS+M or [N]dS-M, or just S for one die with S sides: "
    f"N 1 to {MAX_COUNT}, S 1 to {MAX_SIDES}, M 0 to {MAX_MODIFIER}, no spaces inside."
)
MAX_ECHO = 80


@dataclass(frozen=True)
class Formula:
    """`count` dice with `sides` sides each, and one number added at the end."""

    count: int
    sides: int
    modifier: int = 0

    @classmethod
    def parse(cls, text: str) -> "Formula":
        """Read a formula. Raises ToolError `dice.invalid_formula`, telling the grammar."""
        found = _FORMULA.fullmatch(text.strip())
        if found is None or (found["modifier"] and "d" not in text.lower()):
            raise _invalid(text)
        formula = cls(_number(found["count"] or "1"), _number(found["sides"]), _number(found["modifier"] or "0"))
        if formula.count > MAX_COUNT or formula.sides > MAX_SIDES or abs(formula.modifier) > MAX_MODIFIER:
            raise _invalid(text)
        return formula

    def __str__(self) -> str:
        return f"{self.count}d{self.sides}" + (f"{self.modifier:+d}" if self.modifier else "")

    @property
    def minimum(self) -> int:
        return self.count + self.modifier

    @property
    def maximum(self) -> int:
        return self.count * self.sides + self.modifier


def _number(digits: str) -> int:
    """Bounded: text of any length is a number beyond every limit rather than a slow one."""
    sign = -1 if digits.startswith("-") else 1
    plain = digits.lstrip("+-").lstrip("0") or "0"
    return sign * int(plain[:9])


def _invalid(text: str) -> ToolError:
    echo = text if len(text) <= MAX_ECHO else text[:MAX_ECHO] + "..."
    return ToolError("dice.invalid_formula", f"{echo!r} is not a dice formula.\n{_GRAMMAR}")


@builtin_tool("dice.roll", group="dice", effect="none", read_only=True)
def roll_dice(rng: random.Random, formula: str) -> Outcome:
    """Roll dice and get the numbers. Use it whenever chance should decide.

    Args:
        formula: [N]dS[+M|-M], for example 3d6+4, d20 or 2d10-1; just S means one die with S sides. N is 1 to 100, S and M
            at most 1000000.
    """
    dice = Formula.parse(formula)
    rolls = [rng.randint(1, dice.sides) for _ in range(dice.count)]
    total = sum(rolls) + dice.modifier
    structured = {
        "formula": str(dice),
        "rolls": rolls,
        "modifier": dice.modifier,
        "total": total,
        "min": dice.minimum,
        "max": dice.maximum,
    }
    return Outcome(f"Rolled {dice}: {_sum(rolls, dice.modifier)}{total}.", structured=structured)


def _sum(rolls: list[int], modifier: int) -> str:
    """`2 + 5 + 4 = `; nothing for a single die without a modifier."""
    if len(rolls) == 1 and not modifier:
        return ""
    tail = "" if not modifier else f" {'+' if modifier > 0 else '-'} {abs(modifier)}"
    return " + ".join(map(str, rolls)) + tail + " = "


DICE_TOOLS = (roll_dice,)


def dice_tools(rng: random.Random) -> list[Tool]:
    """The family, rolling with `rng`: equal seeds roll equal dice."""
    return [declaration.bind(rng) for declaration in DICE_TOOLS]
