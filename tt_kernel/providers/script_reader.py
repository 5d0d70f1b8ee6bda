"""Checking a script: every field by name and kind, every complaint with file, line and turn."""

import difflib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from tt_kernel.domain.canonical import Json, digest
from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.domain.turns import Usage
from tt_kernel.providers.script import Conversation, Failure, Script, ScriptedCall, Turn
from tt_kernel.providers.script_yaml import LineProblem, Mapping, parse

ERRORS = (
    "400", "401", "403", "404", "408", "429", "500", "502", "503", "504", "529", "cut", "hang", "tools", "quota",
)  # fmt: skip
FINISH = ("stop", "length", "tool_call", "error")
PACING = ("pace", "chunk", "wait")
"""Keys that decide when something is said, not what."""

MAX_TEXT = 20_000_000
"""Characters of one `say`."""


def load_script(path: Path) -> Script:
    """Read and check a script file.

    Raises:
        ModelUnavailable: `model.script_invalid`: the file is missing or wrong; the message names line and turn.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ModelUnavailable("model.script_invalid", f"There is no script {str(path)!r}.{_near(path)}") from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ModelUnavailable("model.script_invalid", f"Script {str(path)!r} cannot be read: {problem}.") from problem
    return read_script(text, path)


def _near(path: Path) -> str:
    others = sorted(p.name for p in path.parent.glob("*.y*ml"))[:5] if path.parent.is_dir() else []
    return f" In that folder: {', '.join(others)}." if others else ""


@lru_cache(maxsize=8)
def read_script(text: str, path: Path) -> Script:
    """Check a script's text; `path` is for messages. Each run reads its script, and a sweep is many runs: the last ones are kept."""
    try:
        document = parse(text)
    except LineProblem as problem:
        raise _invalid(path, problem.line, "", problem.message) from None
    reader = _Reader(path)
    top = reader.mapping(document, 1, ("script", "images", "pace", "chunk", "conversations", "turns"))
    if top.get("script", 1) != 1:
        reader.fail(top, "script", "this version reads scripts of format 1")
    if ("conversations" in top) == ("turns" in top):
        reader.fail(top, None, "give either `conversations` or `turns`")
    defaults = Turn(line=0, pace=reader.number(top, "pace", 0), chunk=reader.number(top, "chunk", 16, least=1))
    images = reader.of(top, "images", True, bool, "true or false")
    return Script(path, tuple(_conversations(reader, top, defaults)), images)


@dataclass
class _Reader:
    """Reads fields and complains. `where` names the conversation and turn being read."""

    path: Path
    where: str = ""

    def fail(self, mapping: Mapping, key: str | None, message: str) -> NoReturn:
        line = mapping.lines.get(key, mapping.line) if key else mapping.line
        raise _invalid(self.path, line, self.where, f"{key}: {message}" if key else message)

    def mapping(self, value: Json, line: int, known: Collection[str]) -> Mapping:
        if not isinstance(value, Mapping):
            raise _invalid(self.path, line, self.where, f"must be a mapping with {', '.join(known)}")
        for key in value:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                self.fail(
                    value, key, f"unknown; did you mean {near[0]}?" if near else f"unknown; known: {', '.join(known)}"
                )
        return value

    def of(self, mapping: Mapping, key: str, default: Any, kind: type, words: str) -> Any:
        value = mapping.get(key, default)
        if not isinstance(value, kind):
            self.fail(mapping, key, f"must be {words}")
        return value

    def text(self, mapping: Mapping, key: str, default: str = "") -> str:
        return str(self.of(mapping, key, default, str, "text (quote it if YAML reads it as something else)"))

    def texts(self, mapping: Mapping, key: str) -> tuple[str, ...]:
        value = mapping.get(key, [])
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, str) and item for item in items):
            self.fail(mapping, key, "must be text, or a list of texts (quote what YAML reads as something else)")
        return tuple(items)

    def number(self, mapping: Mapping, key: str, default: int, least: int = 0) -> int:
        value = mapping.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.fail(mapping, key, f"must be a whole number, {least} or more")
        return value

    def amount(self, mapping: Mapping, key: str) -> float | None:
        value = mapping.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            self.fail(mapping, key, "must be a number, 0 or more")
        return float(value)


def _invalid(path: Path, line: int, where: str, message: str) -> ModelUnavailable:
    at = f", {where}" if where else ""
    return ModelUnavailable("model.script_invalid", f"Script {path.name}, line {line}{at}: {message}.")


def _conversations(reader: _Reader, top: Mapping, defaults: Turn) -> Iterable[Conversation]:
    if "turns" in top:
        yield _conversation(reader, top, "the only one", (), defaults)
        return
    listed = top["conversations"]
    if not isinstance(listed, list) or not listed:
        reader.fail(top, "conversations", "must be a list with at least one conversation")
    names: set[str] = set()
    for number, item in enumerate(listed, 1):
        reader.where = f"conversation {number}"
        mapping = reader.mapping(item, top.lines["conversations"], ("name", "when", "turns"))
        name = reader.text(mapping, "name", f"conversation {number}")
        if name in names:
            reader.fail(mapping, "name", f"{name!r} is there twice")
        names.add(name)
        yield _conversation(reader, mapping, name, reader.texts(mapping, "when"), defaults)


def _conversation(reader: _Reader, mapping: Mapping, name: str, when: tuple[str, ...], defaults: Turn) -> Conversation:
    reader.where = f"conversation {name!r}"
    listed = mapping.get("turns")
    if not isinstance(listed, list) or not listed:
        reader.fail(mapping, "turns", "must be a list with at least one turn")
    turns = []
    for number, item in enumerate(listed, 1):
        reader.where = f"conversation {name!r}, turn {number}"
        turns.append(_turn(reader, item, mapping.lines["turns"], defaults))
    told = digest([when, [_timeless(item) for item in listed]])
    return Conversation(name, when, tuple(turns), told)


def _timeless(item: Json) -> Json:
    """A turn without what only decides its pace."""
    return {k: v for k, v in item.items() if k not in PACING} if isinstance(item, dict) else item


_TURN_KEYS = (
    "say", "think", "call", "with", "raw", "id", "calls", "expect", "asked", "refuse", "finish", "fail", "usage",
    "wait", "pace", "chunk",
)  # fmt: skip


def _turn(reader: _Reader, item: Json, line: int, defaults: Turn) -> Turn:
    if isinstance(item, str):
        return replace(defaults, line=line, say=item)
    mapping = reader.mapping(item, line, _TURN_KEYS)
    turn = Turn(
        line=mapping.line,
        say=_say(reader, mapping),
        think=reader.text(mapping, "think"),
        calls=tuple(_calls(reader, mapping)),
        expect=reader.texts(mapping, "expect"),
        asked=reader.texts(mapping, "asked"),
        refuse=reader.text(mapping, "refuse") if "refuse" in mapping else None,
        finish=_one_of(reader, mapping, "finish", FINISH) if "finish" in mapping else None,
        fail=_failure(reader, mapping) if "fail" in mapping else None,
        usage=_usage(reader, mapping) if "usage" in mapping else None,
        wait=reader.number(mapping, "wait", 0),
        pace=reader.number(mapping, "pace", defaults.pace),
        chunk=reader.number(mapping, "chunk", defaults.chunk, least=1),
    )
    always_fails = turn.fail is not None and turn.fail.times is None
    if not ({"say", "call", "calls", "refuse"} & mapping.keys() or always_fails):
        reader.fail(mapping, None, "a turn needs `say`, `call`, `calls`, `refuse`, or a `fail` that happens always")
    return turn


def _say(reader: _Reader, mapping: Mapping) -> str:
    value = mapping.get("say", "")
    if not isinstance(value, Mapping):
        return reader.text(mapping, "say")
    repeated = reader.mapping(value, value.line, ("repeat", "times"))
    text, times = reader.text(repeated, "repeat"), reader.number(repeated, "times", 1, least=1)
    if len(text) * times > MAX_TEXT:
        reader.fail(repeated, "times", f"makes more than {MAX_TEXT} characters")
    return text * times


def _calls(reader: _Reader, mapping: Mapping) -> Iterable[ScriptedCall]:
    if "call" in mapping:
        if "calls" in mapping:
            reader.fail(mapping, "calls", "give either `call` or `calls`")
        yield _call(reader, mapping)
        return
    for key in ("with", "raw", "id"):
        if key in mapping:
            reader.fail(mapping, key, "belongs to a `call`")
    listed = mapping.get("calls", [])
    if not isinstance(listed, list):
        reader.fail(mapping, "calls", "must be a list of calls")
    for item in listed:
        yield _call(reader, reader.mapping(item, mapping.lines["calls"], ("call", "with", "raw", "id")))


def _call(reader: _Reader, mapping: Mapping) -> ScriptedCall:
    if "with" in mapping and "raw" in mapping:
        reader.fail(mapping, "raw", "give either `with` or `raw`")
    if "call" not in mapping:
        reader.fail(mapping, None, "a call needs `call`, the name of the tool")
    arguments: Json = reader.text(mapping, "raw") if "raw" in mapping else _plain(mapping.get("with") or {})
    if "raw" not in mapping and not isinstance(arguments, dict):
        reader.fail(mapping, "with", "must be a mapping of arguments; use `raw` for anything else")
    return ScriptedCall(
        reader.text(mapping, "call"), reader.text(mapping, "id") if "id" in mapping else None, arguments
    )


def _failure(reader: _Reader, mapping: Mapping) -> Failure:
    value = mapping["fail"]
    if not isinstance(value, Mapping):
        return Failure(_one_of(reader, mapping, "fail", ERRORS))
    fault = reader.mapping(value, value.line, ("error", "times", "after", "retry_after", "message"))
    always = fault.get("times") == "always"
    return Failure(
        error=_one_of(reader, fault, "error", ERRORS),
        times=None if always else reader.number(fault, "times", 1, least=1),
        after=reader.number(fault, "after", 0),
        retry_after=reader.amount(fault, "retry_after"),
        message=reader.text(fault, "message"),
    )


def _usage(reader: _Reader, mapping: Mapping) -> Usage:
    value = reader.mapping(mapping["usage"], mapping.lines["usage"], ("input", "output", "cached", "cost"))
    count: Callable[[str], int] = lambda key: reader.number(value, key, 0)  # noqa: E731  three short uses below
    return Usage(
        input_tokens=count("input"),
        output_tokens=count("output"),
        cached_tokens=count("cached"),
        cost_usd=reader.amount(value, "cost"),
    )


def _one_of(reader: _Reader, mapping: Mapping, key: str, known: tuple[str, ...]) -> str:
    value = mapping.get(key)
    word = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if word not in known:
        reader.fail(mapping, key, f"must be one of {', '.join(known)}")
    return word


def _plain(value: Json) -> Json:
    """Ordinary dictionaries and lists."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
