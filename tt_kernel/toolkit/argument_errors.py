"""What is wrong with the arguments of a call, in words that let the model mend it: one problem a line."""

import difflib
import json
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tt_kernel.domain.canonical import Json, JsonObject

MAX_PROBLEMS = 8
"""How many problems one error lists; a model mends the first ones first."""
MAX_GOT_CHARS = 80

_MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
_NO_TEXT = frozenset({"string_unicode", "json_invalid"})


def explain(tool: str, names: Sequence[str], given: JsonObject, first: ValidationError, last: ValidationError) -> str:
    """The problems that are left in `last`.

    Args:
        tool: Call name of the tool.
        names: Its parameters.
        given: What the model sent.
        first: The errors before mending; where a place is wrong in both, these words are nearer to what was sent.
        last: The errors after mending.
    """
    before = {place_of(given, error): error for error in reversed(first.errors(include_url=False))}
    problems: dict[tuple[Any, ...], list[str]] = {}
    for error in last.errors(include_url=False):
        where = place_of(given, error)
        told = before.get(where, error) if error["type"] in _MISSING else error
        text = _problem(names, where, told)
        problems.setdefault(where, []).append(text)
    lines = [f"{tool}: {_either(texts)}" for texts in problems.values()]
    if len(lines) > MAX_PROBLEMS:
        lines = [*lines[:MAX_PROBLEMS], f"{tool}: {len(lines) - MAX_PROBLEMS} more problems of this kind."]
    return "\n".join(lines)


def place_of(values: Json, error: ErrorDetails) -> tuple[Any, ...]:
    """Where in the arguments an error is, without the labels that pydantic adds for the branches of a union."""
    where: list[Any] = []
    box = values
    for step in error["loc"]:
        if _holds(box, step):
            box = box[step]
        elif isinstance(box, dict) and step == error["loc"][-1] and error["type"] in _MISSING:
            box = None
        else:
            continue
        where.append(step)
    return tuple(where)


def _holds(box: Json, step: Any) -> bool:
    return step in box if isinstance(box, dict) else isinstance(box, list) and isinstance(step, int) and step < len(box)


def _problem(names: Sequence[str], where: tuple[Any, ...], error: ErrorDetails) -> str:
    name = _spelled(where)
    if error["type"] in _MISSING:
        return f"parameter {name!r} is missing."
    if error["type"] in _UNKNOWN:
        return _unknown(names, where, name)
    if error["type"] in _NO_TEXT:
        return "the arguments hold a lone surrogate, which is no Unicode text."
    expected = (
        error["msg"]
        .removeprefix("Value error, ")
        .replace("Input should be", "must be", 1)
        .replace("Input should", "must", 1)
    )
    return f"parameter {name!r} {expected}, got {_got(error['input'])}."


def _unknown(names: Sequence[str], where: tuple[Any, ...], name: str) -> str:
    if len(where) > 1:
        return f"there is no parameter {name!r}."
    near = difflib.get_close_matches(name, names, n=1) or [n for n in names if n in name][:1]
    hint = f" Did you mean {near[0]!r}?" if near else ""
    known = f" Parameters: {', '.join(names)}." if names else " This tool takes no parameters."
    return f"there is no parameter {name!r}.{hint}{known}"


def _either(texts: list[str]) -> str:
    """The complaints of the branches of a union as one sentence."""
    heads = list(dict.fromkeys(text.rpartition(", got ")[0] or text for text in texts))
    if len(heads) == 1 or not all(" must be " in head for head in heads):
        return texts[0]
    subject = heads[0].partition(" must be ")[0]
    branches = " or ".join(head.partition(" must be ")[2] for head in heads)
    return f"{subject} must be {branches}, got {texts[0].rpartition(', got ')[2]}"


def _got(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= MAX_GOT_CHARS else text[:MAX_GOT_CHARS] + "..."


def _spelled(where: tuple[Any, ...]) -> str:
    text = ""
    for step in where:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text
