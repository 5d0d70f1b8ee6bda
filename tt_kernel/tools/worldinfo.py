"""Reading world info: spec tauritavern §5.3, and, beyond it, a search of what is not active.

`worldinfo.read_activated` shows the snapshot of the run, never what was active elsewhere. `worldinfo.search` is an addition of
tt_kernel: without it a model cannot know what the books hold beside that (§16.3 names it as a missing tool).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.text import count_chars, count_words
from tt_kernel.domain.worldinfo import ActivatedEntry, Activation, LoreBook, LoreEntry, Uid, lore_ref
from tt_kernel.toolkit.declare import Declaration, builtin_tool
from tt_kernel.toolkit.excerpts import MAX_CHARS, MAX_READS, MAX_TOTAL, Codes, Excerpt, check_total, excerpt
from tt_kernel.toolkit.scoring import SNIPPET_CHARS, SNIPPET_LEAD, Query, fold
from tt_kernel.toolkit.tool import Outcome, Tool

DEFAULT_LIMIT = 10
MAX_LIMIT = 50
MAX_SNIPPET = 4000
MAX_KEYS_SHOWN = 12
MAX_QUERY_SHOWN = 200
INVALID = "tool.invalid_arguments"
CODES = Codes("worldinfo.invalid_entry_range", "worldinfo.read_too_large")


@dataclass(frozen=True)
class Inactive:
    """An entry that is not active. `folded` is what is searched: label, keys and content."""

    world: str
    entry: LoreEntry
    ref: str | None
    folded: str


@dataclass(frozen=True)
class WorldInfoDesk:
    """One run's world info.

    Attributes:
        activation: The frozen snapshot; None when no books were scanned.
        books: Those that were scanned, as they were then.
        call_name: The name under which the model sees a tool; None when it is not bound.
    """

    activation: Activation | None
    books: Sequence[LoreBook]
    call_name: Callable[[ToolId], str | None]

    @property
    def active(self) -> Activation:
        """Raises ToolError `worldinfo.activation_unavailable`."""
        if self.activation is None:
            raise ToolError("worldinfo.activation_unavailable", "No world info was activated for this run.")
        return self.activation

    @cached_property
    def inactive(self) -> tuple[Inactive, ...]:
        """Every entry that is neither active nor disabled, in the order of the books."""
        active = {
            _key(entry.world, entry.uid, entry.display_name) for entry in (self.activation or Activation()).entries
        }
        entries = ((book.name, entry, lore_ref(book.name, entry.uid)) for book in self.books for entry in book.entries)
        return tuple(
            Inactive(world, entry, ref, fold("\n".join([entry.label, *entry.key, *entry.keysecondary, entry.content])))
            for world, entry, ref in entries
            if not entry.disable and _key(world, entry.uid, entry.label) not in active
        )

    def pointer(self, tool: str, text: str) -> str:
        name = self.call_name(builtin(tool))
        return " " + text.format(name) if name else ""


class EntryPart(BaseModel):
    """One active entry to read, or a part of it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    ref: str = Field(description="Reference of the entry, as the index shows it.")
    start_char: int | None = Field(default=None, ge=0, description="First character to read, from 0.")
    max_chars: int | None = Field(
        default=None, ge=1, description="How many characters to read.", json_schema_extra={"maximum": MAX_CHARS}
    )


@builtin_tool("worldinfo.read_activated", group="worldinfo", effect="none", read_only=True, contexts=("cell",))
def read_activated(
    desk: WorldInfoDesk,
    entries: Annotated[list[EntryPart], Field(min_length=1, max_length=MAX_READS)] | None = None,
) -> Outcome:
    """Read the world info that is active in this run: background that the user's lorebooks hold for what is being talked about.

    Without entries this tool gives the index of what is active; with entries, their contents, at most 8000 characters of one and
    20000 in all.

    Args:
        entries: The entries to read; leave it out for the index.
    """
    active = desk.active
    if entries is None:
        return _index(active)
    by_ref = dict(zip(active.refs, active.entries, strict=True))
    wanted = [(part, _active_entry(by_ref, part.ref.strip(), desk)) for part in entries]
    read = [
        (part.ref.strip(), entry, excerpt(entry.content, part.start_char, part.max_chars, part.ref.strip(), CODES))
        for part, entry in wanted
    ]
    check_total((part for _, _, part in read), CODES)
    blocks = [_block(ref, entry, part) for ref, entry, part in read]
    head = f"Read {_entries(len(read))} of world info ({len(active.entries)} active)."
    structured = {"entries": [{**_identity(ref, entry), **part.facts()} for ref, entry, part in read]}
    return Outcome("\n\n".join([head, *blocks]), structured=structured, resource_refs=tuple(ref for ref, _, _ in read))


def _index(active: Activation) -> Outcome:
    pairs = list(zip(active.refs, active.entries, strict=True))
    if not pairs:
        return Outcome("No world info is active in this run.", structured={"entries": []})
    head = f"World info active in this run: {_entries(len(pairs))}. Contents are omitted; give entries with their ref to read them."
    lines = [f"{number}. {_index_line(ref, entry)}" for number, (ref, entry) in enumerate(pairs, 1)]
    structured = {
        "entries": [
            {**_identity(ref, entry), "chars": count_chars(entry.content), "words": count_words(entry.content)}
            for ref, entry in pairs
        ]
    }
    return Outcome("\n".join([head, *lines]), structured=structured, resource_refs=active.refs)


def _index_line(ref: str, entry: ActivatedEntry) -> str:
    facts = [
        f"ref {ref}",
        f"label {_quoted(entry.display_name)}",
        f"world {_quoted(entry.world)}",
        f"{count_chars(entry.content)} chars",
        f"{count_words(entry.content)} words",
        *([f"position {entry.position}"] if entry.position else []),
        *(["constant"] if entry.constant else []),
    ]
    return ", ".join(facts)


def _active_entry(by_ref: dict[str, ActivatedEntry], ref: str, desk: WorldInfoDesk) -> ActivatedEntry:
    if ref not in by_ref:
        there = "No entry is active." if not by_ref else "Without entries, this tool lists what is active."
        other = desk.pointer("worldinfo.search", "{} finds entries that are not.")
        raise ToolError("worldinfo.entry_not_found", f"No active entry has the ref {ref[:200]!r}. {there}{other}")
    return by_ref[ref]


def _block(ref: str, entry: ActivatedEntry, part: Excerpt) -> str:
    facts = [
        f"ref {ref}",
        f"label {_quoted(entry.display_name)}",
        f"world {_quoted(entry.world)}",
        part.span,
        f"{part.words} words",
        *([f"position {entry.position}"] if entry.position else []),
        *(["[truncated]"] if part.is_cut else []),
    ]
    return f"{', '.join(facts)}\n{part.text}"


def _identity(ref: str, entry: ActivatedEntry) -> JsonObject:
    return {
        "ref": ref,
        "world": entry.world,
        "uid": entry.uid,
        "label": entry.display_name,
        "position": entry.position,
        "constant": entry.constant,
    }


@builtin_tool("worldinfo.search", group="worldinfo", effect="none", read_only=True, contexts=("cell",))
def search_entries(
    desk: WorldInfoDesk,
    query: str,
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT,
    snippet_chars: Annotated[int, Field(ge=40, le=MAX_SNIPPET)] = SNIPPET_CHARS,
) -> Outcome:
    """Search the lorebooks of this run for entries that are not active, by words in their label, keys and content.

    Nothing becomes active by it. Use it when the request touches something that the active world info does not explain.

    Args:
        query: Words to look for; not a regular expression.
        limit: How many entries to show.
        snippet_chars: How much of each entry's content to show; raise it to read an entry whole.
    """
    query = query.strip()
    words = Query.of(query)
    if not words:
        raise ToolError(INVALID, "query has no letter and no digit to search for.")
    scored = [(score, found) for found in desk.inactive if (score := words.score(found.folded)) > 0]
    scored.sort(key=lambda pair: -pair[0])
    told = json.dumps(query[:MAX_QUERY_SHOWN], ensure_ascii=False)
    where = f"among {_entries(len(desk.inactive))} that are not active"
    shown = _within_total(words, scored[:limit], snippet_chars)
    blocks = [block for block, _ in shown]
    head = f"{len(scored)} found for {told} {where}." if scored else f"Nothing found for {told} {where}."
    if len(shown) < len(scored):
        head += f" The best {len(shown)} are shown."
    facts = [fact for _, fact in shown]
    refs = tuple(fact["ref"] for fact in facts if fact["ref"])
    return Outcome("\n\n".join([head, *blocks]), structured={"query": query, "hits": facts}, resource_refs=refs)


def _within_total(words: Query, scored: list[tuple[float, Inactive]], chars: int) -> list[tuple[str, JsonObject]]:
    """The blocks and facts of the best entries, as many as MAX_TOTAL characters of content hold; at least one."""
    shown: list[tuple[str, JsonObject]] = []
    total = 0
    for score, found in scored:
        snippet = words.snippet(found.entry.content, chars, min(SNIPPET_LEAD, chars // 4))
        total += len(snippet)
        if shown and total > MAX_TOTAL:
            break
        entry = found.entry
        keys = ", ".join(entry.key[:MAX_KEYS_SHOWN]) + (", ..." if len(entry.key) > MAX_KEYS_SHOWN else "")
        line = f"score {score:.3f}, label {_quoted(entry.label)}, world {_quoted(found.world)}, keys: {keys or 'none'}"
        size = f"{count_chars(entry.content)} chars, {count_words(entry.content)} words"
        fact = {
            "ref": found.ref,
            "world": found.world,
            "label": entry.label,
            "score": round(score, 3),
            "snippet": snippet,
        }
        shown.append((f"{line}, {size}\n{snippet}", fact))
    return shown


def _key(world: str, uid: Uid, label: str) -> tuple[str, str]:
    """Tells entries apart: by uid, or by label where there is none."""
    return (world, f"label {label}" if uid is None else f"uid {uid}")


def _entries(count: int) -> str:
    return f"{count} {'entry' if count == 1 else 'entries'}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


WORLDINFO_TOOLS: tuple[Declaration, ...] = (read_activated, search_entries)


def worldinfo_tools(desk: WorldInfoDesk) -> list[Tool]:
    """The family for one run."""
    return [declaration.bind(desk) for declaration in WORLDINFO_TOOLS]
