"""When a key matches a text: spec tauritavern §16.2 steps 10 and 11.

A word, for `match whole words`, is a run of letters, digits and `_` of a script that puts spaces between words. Characters of
the other scripts (Han, kana, hangul, Thai, ...) are no part of such a word, so that a key is found next to them.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from tt_kernel.domain.worldinfo import LoreEntry, WorldInfoSettings
from tt_kernel.runtime.activation.js_regex import JsRegexes, regex_key

_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
_BEFORE = rf"(?<!(?![{_SPACELESS}])\w)"
_AFTER = rf"(?!(?![{_SPACELESS}])\w)"
_EDGE = re.compile(rf"[{_SPACELESS}]")

MARK = "\x01"
"""Stands before every message, so that an expression can tell where one begins."""


@dataclass(frozen=True, eq=False)
class Part:
    """Messages, or other texts that are scanned, each behind a MARK.

    `found` remembers which plain keys it holds: sweeps ask again and again.
    """

    raw: str
    found: dict[tuple[str, bool, bool], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Part":
        return cls("\n".join(MARK + text for text in texts if text))

    @cached_property
    def lower(self) -> str:
        return self.raw.lower()


@dataclass(frozen=True, eq=False)
class Text:
    """What is scanned for an entry. A plain key is within one of the parts; an expression sees all of them as one text."""

    parts: tuple[Part, ...]

    @cached_property
    def whole(self) -> str:
        text = "\n".join(part.raw for part in self.parts if part.raw)
        # Lone surrogates cannot be handed to the engine of expressions.
        return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


@dataclass
class KeyMatcher:
    """Matches keys by an entry's options, or the scan's where it has none.

    Attributes:
        substitute: Replaces macros in a key.
    """

    settings: WorldInfoSettings
    substitute: Callable[[str], str]
    regexes: JsRegexes = field(default_factory=JsRegexes)
    _words: dict[str, re.Pattern[str]] = field(default_factory=dict)

    def matches(self, key: str, text: Text, entry: LoreEntry) -> bool:
        key = self.substitute(key).strip()
        if not key or not text.whole:
            return False
        expression = regex_key(key)
        found = None if expression is None else self.regexes.test(*expression, text.whole)
        return self._plain(key, text, entry) if found is None else found

    def count(self, keys: Iterable[str], text: Text, entry: LoreEntry) -> int:
        return sum(self.matches(key, text, entry) for key in keys)

    def primary(self, entry: LoreEntry, text: Text) -> bool:
        """Any one of the keys matches."""
        return any(self.matches(key, text, entry) for key in entry.key)

    def secondary(self, entry: LoreEntry, text: Text) -> bool:
        """The secondary keys, if there are any, allow it."""
        if not entry.selective or not entry.keysecondary:
            return True
        found = (self.matches(key, text, entry) for key in entry.keysecondary)
        if entry.logic == "and_any":
            return any(found)
        if entry.logic == "and_all":
            return all(found)
        return not any(found) if entry.logic == "not_any" else not all(found)

    def score(self, entry: LoreEntry, text: Text) -> int:
        """How many keys match: what group scoring compares."""
        if not entry.key:
            return 0
        primary = self.count(entry.key, text, entry)
        if not entry.keysecondary:
            return primary
        secondary = self.count(entry.keysecondary, text, entry)
        counts = entry.logic == "and_any" or (entry.logic == "and_all" and secondary == len(entry.keysecondary))
        return primary + secondary if counts else primary

    def _plain(self, key: str, text: Text, entry: LoreEntry) -> bool:
        exact = self.settings.case_sensitive if entry.case_sensitive is None else entry.case_sensitive
        whole = self.settings.match_whole_words if entry.match_whole_words is None else entry.match_whole_words
        if not exact:
            key = key.lower()
        wanted = (key, exact, whole and len(key.split()) == 1)
        return any(self._holds(part, wanted) for part in text.parts)

    def _holds(self, part: Part, wanted: tuple[str, bool, bool]) -> bool:
        known = part.found.get(wanted)
        if known is None:
            key, exact, whole = wanted
            where = part.raw if exact else part.lower
            known = key in where and (not whole or self._word(key).search(where) is not None)
            part.found[wanted] = known
        return known

    def _word(self, key: str) -> re.Pattern[str]:
        pattern = self._words.get(key)
        if pattern is None:
            before = "" if _EDGE.match(key[0]) else _BEFORE
            after = "" if _EDGE.match(key[-1]) else _AFTER
            pattern = self._words[key] = re.compile(before + re.escape(key) + after)
        return pattern
