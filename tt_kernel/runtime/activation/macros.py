"""`{{name}}` in keys and contents (spec tauritavern §16.2 step 10, and the content of active entries).

Known are the values of the scene, and what lorebooks use for chance and layout; anything else stays as it is.
"""

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_MACRO = re.compile(r"\{\{([^{}]*)\}\}")
_DICE = re.compile(r"(?:([1-9]\d{0,2})?d)?([1-9]\d{0,6})", re.IGNORECASE)
MAX_ROUNDS = 5
"""Macros may stand inside of macros; so deep they are replaced."""

LAYOUT = {"newline": "\n", "noop": "", "trim": ""}


@dataclass(frozen=True)
class Macros:
    """Replaces macros.

    Attributes:
        values: By name, in lower case.
        chance: Gives the stream for `{{random}}`, `{{pick}}` and `{{roll}}` by name; None: these stay as they are.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    chance: Callable[[str], random.Random] | None = None

    def replace(self, text: str, stream: str = "worldinfo") -> str:
        """`text` with its macros replaced; chance comes from the stream of this name."""
        if "{{" not in text:
            return text
        rng = self.chance(f"{stream}:macros") if self.chance else None
        for _ in range(MAX_ROUNDS):
            replaced = _MACRO.sub(lambda found: self._value(found[0], found[1], rng), text)
            if replaced == text:
                break
            text = replaced
        return text

    def _value(self, whole: str, inner: str, rng: random.Random | None) -> str:
        name, colons, rest = inner.partition(":")
        name = name.strip().lower()
        if inner.lstrip().startswith("//"):
            return ""
        if not colons:
            return self.values.get(name, LAYOUT.get(name, whole))
        if rng is None:
            return whole
        if name in ("random", "pick"):
            return rng.choice(_choices(rest))
        return _rolled(rest, rng, whole) if name == "roll" else whole


def _choices(rest: str) -> list[str]:
    """`a,b` or, where the parts hold commas, `:a::b`."""
    return [part.strip() for part in (rest.removeprefix(":").split("::") if rest.startswith(":") else rest.split(","))]


def _rolled(rest: str, rng: random.Random, whole: str) -> str:
    dice = _DICE.fullmatch(rest.removeprefix(":").strip())
    if dice is None:
        return whole
    return str(sum(rng.randint(1, int(dice[2])) for _ in range(int(dice[1] or 1))))
