"""From JSON to lorebooks, leniently: real books are written by many programs and by hand.

- Both shapes are read: SillyTavern's world info (entries by uid) and the `character_book` of character cards (a list).
- A value of a wrong type counts as its default, and is kept in `extra`, so that the book can be written back as it was.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, get_args

from tt_kernel.domain.canonical import Json, JsonObject, canonical_json
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.worldinfo import CharacterFilter, LoreBook, LoreEntry, Source, Uid

INVALID = "worldinfo.book_invalid"
LARGEST = 10**9
"""Numbers are cut to this size: nothing that they count is larger."""


def read_book(document: Json, name: str, source: Source, told: str) -> LoreBook:
    """A lorebook from its JSON value.

    Args:
        document: What was read.
        name: The world's name.
        source: Whose lore it is, unless the document says it (`extensions.tt_kernel.source`).
        told: How error messages call the document.

    Raises:
        UsageProblem: `worldinfo.book_invalid`, naming the document and the entry.
    """
    if not isinstance(document, dict) or not isinstance(document.get("entries"), dict | list):
        raise UsageProblem(INVALID, f"{told} is no lorebook: it has no `entries`.")
    raws = list(_raw_entries(document["entries"], told))
    taken: set[str] = set()
    entries = tuple(read_entry(raw, _uid(raw, key, taken)) for key, raw in raws)
    extra = {key: value for key, value in document.items() if key != "entries"}
    return LoreBook(name=name, source=_source(extra, source), entries=entries, extra=extra)


def read_entry(raw: JsonObject, uid: Uid) -> LoreEntry:
    """One entry in SillyTavern's shape."""
    values = {name: _READERS[name](raw[alias]) for alias, name in _NAMES.items() if alias in raw}
    known = LoreEntry(uid=uid, **{name: value for name, value in values.items() if value is not None})
    said = known.document()
    extra = {key: value for key, value in raw.items() if key not in said or _differs(said[key], value)}
    return known.model_copy(update={"extra": extra}) if extra else known


def from_character_book(raw: JsonObject, number: int) -> JsonObject:
    """An entry of a character card's book in SillyTavern's shape.

    The card's own members that mean nothing there stay beside the others; `extensions` are kept and also spelled out.
    """
    extensions: JsonObject = said if isinstance(said := raw.get("extensions"), dict) else {}
    entry: JsonObject = {key: value for key, value in raw.items() if key not in _CARD_NAMES and key != "use_regex"}
    entry |= {new: raw[old] for old, new in _CARD_NAMES.items() if raw.get(old) is not None}
    entry |= {_extension_name(key): value for key, value in extensions.items() if _extension_name(key) in _NAMES}
    if not isinstance(raw.get("id"), int | str):
        entry["uid"] = number
    entry.setdefault("comment", raw.get("name") or "")
    entry["disable"] = raw.get("enabled") is False
    entry["selective"] = bool(raw.get("selective"))
    if "position" not in extensions:
        entry["position"] = 1 if raw.get("position") == "after_char" else 0
    if raw.get("use_regex") is True:
        flags = "" if raw.get("case_sensitive") else "i"
        entry["key"] = [_as_regex(key, flags) for key in _texts(entry.get("key")) or ()]
        entry["keysecondary"] = [_as_regex(key, flags) for key in _texts(entry.get("keysecondary")) or ()]
    return entry


# Entries and their identity


def _raw_entries(entries: Json, told: str) -> Iterator[tuple[str | None, JsonObject]]:
    """Every entry in order, with its key in the document; a card's entries turned into SillyTavern's."""
    pairs: list[tuple[str | None, Json]] = [(None, entry) for entry in entries]
    if isinstance(entries, dict):
        pairs = [*sorted(entries.items(), key=_document_order)]
    for number, (key, raw) in enumerate(pairs):
        if not isinstance(raw, dict):
            where = repr(key) if key is not None else f"number {number + 1}"
            raise UsageProblem(INVALID, f"{told}: entry {where} is {_kind(raw)}, not an object.")
        yield key, from_character_book(raw, number) if "keys" in raw and "key" not in raw else raw


def _document_order(pair: tuple[str, Json]) -> tuple[bool, int]:
    """Numbers first and by size, as JavaScript keeps them; the others as they stand."""
    number = re.fullmatch(r"[0-9]{1,15}", pair[0]) is not None
    return (not number, int(pair[0]) if number else 0)


def _uid(raw: JsonObject, key: str | None, taken: set[str]) -> Uid:
    """What the entry calls itself, else its key in the document; None when both are taken or unusable."""
    candidates: list[Json] = [raw.get("uid"), int(key) if key and key.isdecimal() and len(key) < 16 else key]  # noqa: PLR2004
    for uid in candidates:
        if isinstance(uid, int | str) and not isinstance(uid, bool) and uid != "" and str(uid) not in taken:
            taken.add(str(uid))
            return uid
    return None


def _source(extra: JsonObject, given: Source) -> Source:
    extensions = extra.get("extensions")
    own = extensions.get("tt_kernel") if isinstance(extensions, dict) else None
    said = own.get("source") if isinstance(own, dict) else None
    return next((source for source in get_args(Source) if source == said), given)


def _kind(value: Json) -> str:
    return "a list" if isinstance(value, list) else canonical_json(value)[:40]


def _differs(one: Json, other: Json) -> bool:
    """As JSON: true is not 1."""
    return one is not other and canonical_json(one) != canonical_json(other)


# Values. A reader gives None for what it cannot understand: then the default counts.


def _text(value: Json) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _texts(value: Json) -> tuple[str, ...] | None:
    """A list of texts, or one text with commas, as old books have it."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    if not isinstance(value, list):
        return None
    return tuple(text for item in value if (text := _text(item)) is not None)


def _flag(value: Json) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}.get(value.strip().lower())
    return bool(value) if isinstance(value, int | float) else None


def _number(value: Json) -> int | float | None:
    if isinstance(value, str):
        try:
            value = float(value) if re.search(r"[.eE]", value) else int(value[:20])
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return max(min(value, LARGEST), -LARGEST)


def _whole(value: Json) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _count(value: Json) -> int | None:
    number = _whole(value)
    return None if number is None else max(number, 0)


def _level(value: Json) -> int | None:
    """`true` is the first level of delayed recursion."""
    return int(value) if isinstance(value, bool) else _count(value)


def _filter(value: Json) -> CharacterFilter | None:
    if not isinstance(value, dict):
        return None
    return CharacterFilter(
        is_exclude=_flag(value.get("isExclude")) or False,
        names=_texts(value.get("names")) or (),
        tags=_texts(value.get("tags")) or (),
    )


_SPECIAL: dict[str, Callable[[Json], Any]] = {
    "delay_until_recursion": _level,
    "scan_depth": _count,
    "character_filter": _filter,
}
_BY_TYPE: dict[Any, Callable[[Json], Any]] = {
    str: _text,
    bool: _flag,
    bool | None: _flag,
    int: _whole,
    int | None: _whole,
    int | float: _number,
    tuple[str, ...]: _texts,
}
_NAMES: dict[str, str] = {
    str(field.alias): name for name, field in LoreEntry.model_fields.items() if name not in ("uid", "extra")
}
"""SillyTavern's name -> ours."""
_READERS = {
    name: _SPECIAL.get(name)
    or (_count if name in ("sticky", "cooldown", "delay", "depth") else _BY_TYPE[field.annotation])
    for name, field in LoreEntry.model_fields.items()
    if name in _NAMES.values()
}


# Character cards

_CARD_NAMES = {
    "id": "uid",
    "keys": "key",
    "secondary_keys": "keysecondary",
    "comment": "comment",
    "insertion_order": "order",
    "case_sensitive": "caseSensitive",
    "enabled": "disable",
    "position": "position",
}
"""Members of a card's entry with another name, or another meaning, in SillyTavern's shape."""


def _extension_name(name: str) -> str:
    """`prevent_recursion` -> `preventRecursion`; some are spelled like that already."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def _as_regex(key: str, flags: str) -> str:
    if re.fullmatch(r"/.+/[a-z]*", key, re.DOTALL):
        return key
    return "/" + re.sub(r"(?<!\\)/", r"\\/", key) + f"/{flags}"
