"""What differs between two recorded requests, by kind: the words for a person, and both texts for who wants to see all."""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tt_kernel.domain.canonical import Json, JsonObject, canonical_json

Kind = Literal["model", "provider", "setting", "tool", "system", "prompt", "message", "image", "result", "other"]
"""What a difference is of: `provider` is what else decides the answers (address, script ...), `system` the system prompt."""

_PARTS: Mapping[str, Kind] = {"model": "model", "sampling": "setting", "tools": "tool"}


@dataclass(frozen=True)
class Contrast:
    """One thing that differs.

    Attributes:
        kind: What it is of.
        sentence: For a person, one or two sentences.
        name: The tool, the setting, or the section of the system prompt.
        old: As recorded; for tools the description and schema. Empty where there is none.
        new: As it is now.
    """

    kind: Kind
    sentence: str
    name: str = ""
    old: str = ""
    new: str = ""


@dataclass(frozen=True)
class Side:
    """One request: its line in a recording, and what it has in common with its neighbours."""

    line: JsonObject
    fixed: JsonObject

    @property
    def messages(self) -> list[JsonObject]:
        messages: list[JsonObject] = self.line["messages"]
        return messages


def contrasts(then: Side, now: Side) -> Iterator[Contrast]:
    """Everything that differs: model, settings, tools, the messages in order, then what people seldom change: the provider."""
    for part, kind in _PARTS.items():
        old, new = then.fixed.get(part), now.fixed.get(part)
        if canonical_json(old) == canonical_json(new):
            continue
        if part == "tools":
            yield from _tools(old or [], new or [])
        elif part == "sampling":
            yield from _settings(old or {}, new or {})
        else:
            yield _differing(part, kind, old, new)
    yield from _messages(then.messages, now.messages)
    if canonical_json(old := then.fixed.get("identity")) != canonical_json(new := now.fixed.get("identity")):
        yield _differing("identity", "provider", old, new)
    if then.line.get("choice") != now.line.get("choice"):
        sentence = f"The tool choice differs: recorded {then.line.get('choice')}, now {now.line.get('choice')}."
        yield Contrast("setting", sentence, "tool choice")


def _differing(part: str, kind: Kind, old: Json, new: Json) -> Contrast:
    return Contrast(
        kind, f"The {part} differs: recorded {_short(old)}, now {_short(new)}.", old=_text(old), new=_text(new)
    )


def distance(then: Side, now: Side) -> int:
    """Fewer differing parts are nearer; a message that shares its beginning is nearer than one that does not.

    The prompt counts most: who runs a cell again after a change means the recording of that cell.
    """
    differing = [k for k in now.fixed if canonical_json(then.fixed.get(k)) != canonical_json(now.fixed.get(k))]
    far = sum(400 if part == "identity" else 1_000 for part in differing)
    far += abs(len(then.messages) - len(now.messages)) * 200
    far += sum(_farness(a, b) for a, b in zip(then.messages, now.messages, strict=False) if a != b)
    old, new = _prompt(then.messages), _prompt(now.messages)
    return far if old == new else far + 5 * _farness(old or {}, new or {})


def _prompt(messages: Sequence[JsonObject]) -> JsonObject | None:
    """The last thing that a person said; None where nobody says anything."""
    return next((message for message in reversed(messages) if _is_said(message)), None)


def _is_said(message: JsonObject) -> bool:
    return message.get("role") == "user" and message.get("source", "prompt") == "prompt"


def _farness(then: JsonObject, now: JsonObject) -> int:
    """Between 200 and 400: how little of two texts is common at their beginning and end; 100 where only digests are known."""
    if "text" not in then or "text" not in now:
        return 100
    old, new = str(then["text"]), str(now["text"])
    longest = max(len(old), len(new), 1)
    return 400 - int(200 * min(_common(old, new) + _common(old[::-1], new[::-1]), longest) / longest)


def _common(old: str, new: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _settings(then: JsonObject, now: JsonObject) -> Iterator[Contrast]:
    for name in sorted({*then, *now}):
        old, new = then.get(name), now.get(name)
        if canonical_json(old) != canonical_json(new):
            sentence = f"The sampling differs in {name}: recorded {_value(then, name)}, now {_value(now, name)}."
            yield Contrast("setting", sentence, name, _value(then, name), _value(now, name))


def _value(settings: JsonObject, name: str) -> str:
    return _short(settings[name]) if name in settings else "the default"


def _tools(then: Sequence[JsonObject], now: Sequence[JsonObject]) -> Iterator[Contrast]:
    old, new = {t["name"]: t for t in then}, {t["name"]: t for t in now}
    for name, tool in new.items():
        if name not in old:
            yield Contrast("tool", f"Tool {name} is new.", name, new=tool_text(tool))
        elif canonical_json(old[name]) != canonical_json(tool):
            yield Contrast("tool", _tool_change(name, old[name], tool), name, tool_text(old[name]), tool_text(tool))
    for name, tool in old.items():
        if name not in new:
            yield Contrast("tool", f"Tool {name} is gone.", name, old=tool_text(tool))
    if list(old) != list(new) and set(old) == set(new):
        yield Contrast("tool", "The order of the tools differs.", old="\n".join(old), new="\n".join(new))


def _tool_change(name: str, then: JsonObject, now: JsonObject) -> str:
    parts = [
        words
        for key, words in (("description", "description"), ("inputSchema", "schema"))
        if canonical_json(then.get(key)) != canonical_json(now.get(key))
    ]
    return f"Tool {name} has another {' and another '.join(parts) or 'description or schema'}."


def tool_text(tool: JsonObject) -> str:
    """A tool as lines, so that a line diff shows what changed in its schema."""
    schema = json.dumps(tool.get("inputSchema"), ensure_ascii=False, indent=1, sort_keys=True)
    return f"{tool.get('description', '')}\n\n{schema}"


def _messages(then: Sequence[JsonObject], now: Sequence[JsonObject]) -> Iterator[Contrast]:
    """Message for message, as far as they stand beside each other; then those that only one side has."""
    gone: list[JsonObject] = []
    added: list[JsonObject] = []
    prompt = _prompt(now)
    texts = [canonical_json(m) for m in then], [canonical_json(m) for m in now]
    for tag, i, j, k, m in difflib.SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        for place, (old, new) in enumerate(zip(then[i:j], now[k:m], strict=False), start=k):
            yield _message(place, old, new, is_prompt=new is prompt)
        gone += then[i + min(j - i, m - k) : j]
        added += now[k + min(j - i, m - k) : m]
    if len(then) != len(now):
        sentence = f"The number of messages differs: recorded {len(then)}, now {len(now)}."
        yield Contrast("message", sentence, old=_texts(gone), new=_texts(added))


def _texts(messages: Sequence[JsonObject]) -> str:
    return "\n".join(str(message.get("text", "")) for message in messages)


def _message(index: int, then: JsonObject, now: JsonObject, *, is_prompt: bool) -> Contrast:
    role = str(now.get("role"))
    if "text" not in now or "text" not in then:
        kind: Kind = "result" if role == "tool" else "message"
        return Contrast(kind, f"Message {index + 1} ({role}) differs.", str(index))
    kind, what = ("message", f"Message {index + 1} ({role})")
    if is_prompt and _is_said(then):
        kind, what = "prompt", "The prompt"
    elif role == then.get("role") == "system":
        kind, what = "system", "The system prompt"
    if then["text"] == now["text"]:
        old, new = _images(then), _images(now)
        if old == new:
            return Contrast("message", f"Message {index + 1} differs in its role or source.")
        return Contrast(
            "image", f"The images of message {index + 1} differ: recorded {old}, now {new}.", old=old, new=new
        )
    sentence, section = _text_change(what, then["text"], now["text"])
    return Contrast(kind, sentence, section, then["text"], now["text"])


def _text_change(what: str, then: str, now: str) -> tuple[str, str]:
    old, new = then.splitlines(), now.splitlines()
    for number, (a, b) in enumerate(zip(old, new, strict=False), start=1):
        if a != b:
            section = _section(new, number)
            return f'{what} differs at line {number}{_in(section)}: recorded "{_cut(a)}", now "{_cut(b)}".', section
    if len(old) != len(new):
        longer, common = max(old, new, key=len), min(len(old), len(new))
        number = next((n for n in range(common, len(longer)) if longer[n].strip()), common) + 1
        section, there = _section(longer, number), f'"{_cut(longer[number - 1])}"'
        sides = f"recorded nothing, now {there}" if longer is new else f"recorded {there}, now nothing"
        return f"{what} differs at line {number}{_in(section)}: {sides}.", section
    return f"{what} differs in white space at the ends of lines.", ""


def _in(section: str) -> str:
    return f' in section "{_cut(section, 60)}"' if section else ""


def _section(lines: Sequence[str], number: int) -> str:
    """The heading that a line is, or stands below."""
    above = (line.strip() for line in reversed(lines[:number]))
    return next((line.lstrip("# ") for line in above if line.startswith("#")), "")


def _images(message: JsonObject) -> str:
    return ", ".join(str(image.get("sha256"))[:16] for image in message.get("images", [])) or "none"


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)


def _short(value: Json) -> str:
    return _cut(canonical_json(value))


def _cut(text: str, width: int = 120) -> str:
    return text if len(text) <= width else text[:width] + "..."
