"""Where the text of active entries goes (spec tauritavern §16.2 "Placement", §17.3).

In a notebook there is no character sheet, no author's note and no example dialogue. What belongs around them goes here:

| position | place |
|---|---|
| before, after | before and after the system prompt's own text |
| em_top, em_bottom | behind `after`, in this order |
| an_top, an_bottom | one system message, where SillyTavern puts the note: four messages before the end |
| depth | a message of the entry's role, `depth` messages before the end; 0 is behind the prompt |
| outlet | where the system prompt says `{{outlet::name}}`; nowhere else |
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tt_kernel.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from tt_kernel.domain.worldinfo import LORE_ROLES, ActivatedEntry, Activation, LoreRole, Position

NOTE_DEPTH = 4
SOURCE = "worldinfo"
"""`source` of an entry's message."""

_OUTLET = re.compile(r"\{\{\s*outlet::([^{}]*)\}\}", re.IGNORECASE)


@dataclass(frozen=True)
class Placement:
    """The texts by place; entries of one place are lines of one text. `depths` is by depth and role."""

    texts: Mapping[Position, str]
    depths: Mapping[tuple[int, LoreRole], str]
    outlets: Mapping[str, str]

    def fill_outlets(self, text: str) -> str:
        """Replace `{{outlet::name}}`; an outlet without entries is nothing."""
        return _OUTLET.sub(lambda found: self.outlets.get(found[1].strip(), ""), text)


def place(activation: Activation) -> Placement:
    """Sort the active entries by place; those without text, and outlets without a name, are left out."""
    entries = [entry for entry in activation.entries if entry.content.strip()]
    texts: dict[Position, str] = {
        position: _joined(entry for entry in entries if entry.position == position)
        for position in ("before", "after", "an_top", "an_bottom", "em_top", "em_bottom")
    }
    deep = [entry for entry in entries if entry.position == "depth"]
    depths = {
        (depth, role): _joined(e for e in deep if (e.depth, e.role) == (depth, role))
        for depth, role in dict.fromkeys((e.depth, e.role) for e in deep)
    }
    named = [entry for entry in entries if entry.position == "outlet" and entry.outlet]
    outlets = {name: _joined(e for e in named if e.outlet == name) for name in dict.fromkeys(e.outlet for e in named)}
    return Placement(texts, depths, outlets)


def with_world_info(messages: Sequence[Message], activation: Activation | None) -> list[Message]:
    """The initial messages with the active entries in their places.

    Args:
        messages: As `initial_messages` gives them: the system prompt first, the prompt last.
        activation: None, or without entries: only outlets are emptied.
    """
    placed = place(activation or Activation())
    system = [m for m in messages if isinstance(m, SystemMessage)]
    rest: list[Message] = [m for m in messages if not isinstance(m, SystemMessage)]
    own = placed.fill_outlets("\n\n".join(message.text for message in system))
    texts = placed.texts
    parts = [texts["before"], own, texts["after"], texts["em_top"], texts["em_bottom"]]
    head = "\n\n".join(part for part in parts if part)
    return [*([SystemMessage(text=head)] if head else []), *_with_depths(rest, placed)]


def _with_depths(messages: list[Message], placed: Placement) -> list[Message]:
    notes = dict(placed.depths)
    note = "\n".join(text for text in (placed.texts["an_top"], placed.texts["an_bottom"]) if text)
    if note:
        deep = notes.get((NOTE_DEPTH, "system"))
        notes[NOTE_DEPTH, "system"] = f"{note}\n{deep}" if deep else note
    gaps: dict[int, list[Message]] = {}
    for depth, role in sorted(notes, key=lambda at: (-at[0], LORE_ROLES.index(at[1]))):
        gaps.setdefault(_gap(messages, depth), []).append(_message(role, notes[depth, role]))
    return [m for at in range(len(messages) + 1) for m in (*gaps.get(at, ()), *messages[at : at + 1])]


def _gap(messages: Sequence[Message], depth: int) -> int:
    """Before which message a note of this depth stands: never between calls and their results."""
    at = max(len(messages) - depth, 0)
    while 0 < at < len(messages) and isinstance(messages[at], ToolMessage):
        at -= 1
    return at


def _message(role: LoreRole, text: str) -> Message:
    if role == "system":
        return SystemMessage(text=text)
    return UserMessage(text=text, source=SOURCE) if role == "user" else AssistantMessage(text=text, source=SOURCE)


def _joined(entries: Iterable[ActivatedEntry]) -> str:
    return "\n".join(entry.content.strip("\n") for entry in entries)
