"""Lorebooks as people have them: hundreds of entries, several programs' habits, odd fields. All texts are written for the tests."""

from datetime import UTC, datetime

from tt_kernel.domain.chat import ChatMessage, anchor_of
from tt_kernel.domain.worldinfo import LoreBook, LoreEntry, WorldInfoSettings
from tt_kernel.runtime.activation import Scene, activate
from tt_kernel.toolkit.clockwork import Clockwork

PLACES = ("harbour", "mill", "observatory", "tannery", "orchard", "quarry", "lighthouse", "library", "foundry", "marsh")
PEOPLE = ("Ilse", "Bram", "Oduya", "Ферапонт", "佐藤", "김하늘", "Zoë", "Ngaio")
CHANCE = Clockwork(datetime(2026, 1, 1, tzinfo=UTC), 7).random


def book(*entries: LoreEntry, name: str = "town", **fields) -> LoreBook:
    """Entries without a uid get one, by their order."""
    numbered = [e if e.uid is not None else e.model_copy(update={"uid": n}) for n, e in enumerate(entries)]
    return LoreBook(name=name, entries=tuple(numbered), **fields)


def entry(*keys: str, content: str = "", **fields) -> LoreEntry:
    return LoreEntry(key=keys, content=content or "Words.", **fields)


def chat(*texts: str) -> tuple[ChatMessage, ...]:
    """Messages of the user and the assistant in turn; the last is the prompt."""
    return tuple(
        ChatMessage(
            index=n,
            role="assistant" if n % 2 else "user",
            name="Bot" if n % 2 else "You",
            text=text,
            anchor=anchor_of(text),
        )
        for n, text in enumerate(texts)
    )


def active(
    books, *texts: str, settings: WorldInfoSettings | None = None, scene: Scene | None = None, **more
) -> list[str]:
    """Labels of the active entries in the order of placement."""
    books = [books] if isinstance(books, LoreBook) else books
    more.setdefault("chance", CHANCE)
    result = activate(books, chat(*texts), settings or WorldInfoSettings(), scene=scene or Scene(), **more)
    return [found.display_name for found in result.entries]


def large_document(entries: int = 400) -> dict:
    """A SillyTavern export: entries by uid, with what real exports carry besides."""
    return {
        "entries": {str(uid): _exported(uid) for uid in range(entries)},
        "originalData": {"name": "Vael", "extensions": {"depth_prompt": {"depth": 4}}},
        "extensions": {"some_plugin": {"colour": "#aabbcc", "nested": [1, None, {"x": 0.5}]}},
        "recursive_scanning": None,
    }


def _exported(uid: int) -> dict:
    place, person = PLACES[uid % len(PLACES)], PEOPLE[uid % len(PEOPLE)]
    entry = {
        "uid": uid,
        "key": [f"{place} {uid}", f"{person}{uid}", *(["/\\bgate[ -]?" + str(uid) + "\\b/i"] if uid % 7 == 0 else [])],
        "keysecondary": ["winter", "冬"] if uid % 5 == 0 else [],
        "comment": f"{place.title()} of {person}" if uid % 3 else "",
        "content": f"The {place} number {uid} belongs to {person}. See also the {PLACES[(uid + 1) % 10]} {uid + 1}.",
        "constant": uid % 97 == 0,
        "vectorized": False,
        "selective": True,
        "selectiveLogic": uid % 4,
        "addMemo": True,
        "order": 100 if uid % 2 else uid,
        "position": uid % 8,
        "disable": uid % 50 == 49,
        "excludeRecursion": uid % 11 == 0,
        "preventRecursion": uid % 13 == 0,
        "delayUntilRecursion": False,
        "probability": 100,
        "useProbability": True,
        "depth": 4,
        "group": "weather" if uid % 40 == 0 else "",
        "groupOverride": False,
        "groupWeight": 100,
        "scanDepth": None,
        "caseSensitive": None,
        "matchWholeWords": None,
        "useGroupScoring": None,
        "automationId": "",
        "role": None,
        "sticky": 0,
        "cooldown": None,
        "delay": None,
        "displayIndex": uid,
        "characterFilter": {"isExclude": False, "names": [], "tags": []},
    }
    odd = {
        0: {"id_from_another_program": "e-0", "weights": {"a": 1.25}},
        1: {"order": "75", "probability": None},
        2: {"delayUntilRecursion": True, "sticky": "2"},
        3: {"key": "mill 3, Ферапонт3", "role": 1, "outletName": "notes"},
        4: {"selective": "true", "characterFilter": None},
        5: {"depth": -3, "group": None, "triggers": ["normal", "continue"]},
        6: {"content": None, "comment": 12, "hash": 987654321987654321},
    }
    return entry | odd.get(uid, {})


def character_book(entries: int = 30) -> dict:
    """The book inside a character card."""
    return {
        "name": "Lanterns of Vael",
        "description": "Kept by the guild.",
        "scan_depth": 3,
        "token_budget": 512,
        "recursive_scanning": True,
        "extensions": {"risu": {"bias": []}},
        "entries": [
            {
                "id": number + 1,
                "keys": [f"lantern {number}", "灯"],
                "secondary_keys": ["oil"] if number % 2 else [],
                "comment": f"Lantern {number}",
                "content": f"Lantern {number} burns blue.",
                "constant": number == 0,
                "selective": bool(number % 2),
                "insertion_order": 50 + number,
                "enabled": number != 3,
                "position": "after_char" if number % 2 else "before_char",
                "case_sensitive": None,
                "priority": 10,
                "name": "",
                "extensions": {
                    "position": 4 if number == 5 else number % 2,
                    "depth": 2,
                    "role": 2,
                    "selectiveLogic": 3 if number == 1 else 0,
                    "exclude_recursion": number == 2,
                    "prevent_recursion": True,
                    "delay_until_recursion": False,
                    "probability": 40,
                    "useProbability": True,
                    "group": "lanterns",
                    "group_override": False,
                    "group_weight": 10,
                    "scan_depth": 7,
                    "match_whole_words": True,
                    "case_sensitive": True,
                    "automation_id": "q",
                    "sticky": 3,
                    "cooldown": 1,
                    "delay": 2,
                    "triggers": ["normal"],
                    "ignore_budget": True,
                    "outlet_name": "lamp",
                    "match_scenario": True,
                    "plugin_x": {"kept": True},
                },
            }
            for number in range(entries)
        ],
    }
