"""What the pictures of a run say in words: the same in html, markdown and text."""

import json
import re

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.views import CallView, RunView

VALUE_CHARS = 60
"""Longest value in the one-line form of a call's arguments."""
ARGUMENTS_CHARS = 110
"""Longest one-line form of all arguments."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e\ufeff]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_STATUS = {
    "completed": "done",
    "partial_success": "partial",
    "cancelled": "interrupted",
}
"""Record words to view words; all others are the same."""

_MARKS = {"done": "✓", "running": "●", "partial": "◐", "interrupted": "■"}
"""Glyphs that the fonts of all systems have; anything else went wrong: ✗."""


def clean(text: str) -> str:
    """Text of models and tools, safe to show: terminal escapes, control characters and text-direction overrides are removed,
    lone surrogates replaced. Line breaks and tabs stay.
    """
    if text.isprintable():
        return text
    text = _ANSI.sub("", text.replace("\r\n", "\n"))
    return _SURROGATE.sub("\ufffd", _UNPRINTABLE.sub("", text))


def one_line(text: str, limit: int) -> str:
    """All white space as single spaces, cut to `limit` characters."""
    line = " ".join(clean(text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def status_word(view: RunView) -> str:
    """A word of lower-case letters, whatever a damaged file says."""
    return _STATUS.get(view.status, re.sub("[^a-z_]", "", view.status)[:20] or "unknown")


def status_mark(view: RunView) -> str:
    return _MARKS.get(status_word(view), "✗")


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def facts(view: RunView) -> list[str]:
    """The numbers of the status line; what is zero is left out."""
    numbers = ((view.turns, "turn"), (view.call_count, "call"), (view.tokens, "token"))
    return [counted(number, noun) for number, noun in numbers if number]


def arguments_line(call: CallView) -> str:
    """`path="/" depth=2`: every argument, cut to size."""
    if call.raw_arguments is not None:
        return one_line(call.raw_arguments, ARGUMENTS_CHARS)
    pairs = (f"{one_line(str(name), VALUE_CHARS)}={_value(value)}" for name, value in call.arguments.items())
    return one_line(" ".join(pairs), ARGUMENTS_CHARS)


def result_line(call: CallView) -> str:
    """What a call came to, in one line; an error begins with its code."""
    summary = one_line(call.summary, 120)
    if call.state in ("requested", "running"):
        return call.state if call.state == "running" else "waiting"
    if call.state == "cancelled":
        return "cancelled"
    if call.error_code is None:
        return summary or "done"
    code = one_line(call.error_code, 80)
    return f"error {code}: {summary}" if summary else f"error {code}"


def problem_line(view: RunView) -> str:
    """Why the run did not end well; empty when it did."""
    parts = [one_line(part, 2_000) for part in (view.problem_code, view.problem) if part]
    return ": ".join(parts)


def place_line(view: RunView) -> str:
    """Where things are: the run's folder and the files that it wrote."""
    return " · ".join(clean(part) for part in (view.folder, *view.files) if part)


def json_text(value: Json) -> str:
    """A value as a person reads it: text as itself, anything else as JSON."""
    return (
        clean(value)
        if isinstance(value, str)
        else clean(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True))
    )


def _value(value: Json) -> str:
    if isinstance(value, str):
        return f'"{one_line(value, VALUE_CHARS)}"'
    return one_line(json.dumps(value, ensure_ascii=False), VALUE_CHARS)
