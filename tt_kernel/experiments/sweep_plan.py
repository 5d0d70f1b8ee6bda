"""What a sweep will run: every combination of what is varied, each so many times."""

import difflib
import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.profiles import Profile
from tt_kernel.session.settings import field_names

ARGUMENTS = ("model", "profile", "tools", "prompt")
"""What can be varied besides profile fields and the variables of the prompt."""
MOST_RUNS = 100_000

_VARIABLE = re.compile(r"@\{(\w+)\}")


@dataclass(frozen=True)
class Case:
    """One run of a sweep.

    Attributes:
        number: Its place in the sweep, from 0.
        point: What is varied -> the value of this run.
        repeat: Which repeat of its point it is, from 1; the n-th repeat has the n-th recording.
        prompt: With the variables of the point in it.
        arguments: For `Session.prepare`: settings, and model, profile or tools if they are varied.
    """

    number: int
    point: Mapping[str, Json]
    repeat: int
    prompt: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return " ".join(f"{name}={shown(value)}" for name, value in self.point.items()) or "as it is"


def cases(prompt: str, vary: Mapping[str, Sequence[Json]], repeat: int = 1) -> list[Case]:
    """Every combination, in the order of what is varied, the repeats of a point together.

    Args:
        prompt: May hold `@{name}` for what is varied under that name.
        vary: `model`, `profile`, `tools` (lists of tools), `prompt`, a dotted profile field, or a variable of the prompt -> values.
        repeat: How often each point is run.

    Raises:
        UsageProblem: A name that is none of these, one without values, or more runs than anybody can mean.
    """
    if repeat < 1:
        raise UsageProblem(message=f"--repeat needs a number from 1 on, not {repeat}.")
    prompts = [prompt, *map(str, vary.get("prompt", ()))]
    for name, values in vary.items():
        _check(name, values, prompts)
    points = [dict(zip(vary, values, strict=True)) for values in itertools.product(*vary.values())]
    if len(points) * repeat > MOST_RUNS:
        raise UsageProblem(message=f"That would be {len(points) * repeat:,} runs; at most {MOST_RUNS:,} are possible.")
    numbered = itertools.product(points, range(1, repeat + 1))
    return [_case(number, point, n, prompt) for number, (point, n) in enumerate(numbered)]


def _check(name: str, values: Sequence[Json], prompts: Sequence[str]) -> None:
    if isinstance(values, str) or not values:
        raise UsageProblem(message=f"{name} needs a list of values to vary.")
    known = [*ARGUMENTS, *(v for text in prompts for v in _VARIABLE.findall(text)), *field_names(Profile)]
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        raise UsageProblem(message=f"{name!r} is no profile field, and the prompt has no @{{{name}}}.{hint}")


def _case(number: int, point: Mapping[str, Json], repeat: int, prompt: str) -> Case:
    text = str(point.get("prompt", prompt))
    used = {name for name in _VARIABLE.findall(text) if name in point}
    text = _VARIABLE.sub(lambda m: str(point[m[1]]) if m[1] in used else m[0], text)
    rest = {name: value for name, value in point.items() if name not in used and name != "prompt"}
    arguments: dict[str, Any] = {name: rest.pop(name) for name in ARGUMENTS if name in rest}
    if "tools" in arguments:
        tools = arguments["tools"]
        arguments["tools"] = tuple(tools.split("+")) if isinstance(tools, str) else tuple(tools)
    return Case(number, dict(point), repeat, text, arguments | {"settings": rest})


def shown(value: Json) -> str:
    """A value in a table: text as itself, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
