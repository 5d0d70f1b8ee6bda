"""No secret is stored or shown: what is written passes a Scrubber (DESIGN §7).

- Known values (credentials of the environment) become `[secret NAME]`, values that look like a key `[secret]`.
- Nothing of the value is left, no first and last letters: masks that keep some have leaked keys.
- Text without a secret, which is nearly all of it, costs a few quick searches and is returned as it is.
"""

import math
import os
import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from tt_kernel.domain.canonical import Json, canonical_json, encode_json
from tt_kernel.store.secret_shapes import (
    ASCII_ESCAPE,
    CAPITAL_HINTS,
    HINTS,
    KEY_CHARS,
    PRECISE,
    capital_end,
    needle,
    pieces,
    spelling,
)

SHORTEST_SECRET = 8
"""Shorter values are no credentials worth the name, and replacing them would spoil ordinary text."""

ANONYMOUS = "[secret]"

_CREDENTIAL_NAME = re.compile(
    r"(?:^|_)(?:API_?KEY|TOKEN|SECRET|(?:ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION)_KEY|PASSPHRASE)$|PASSWO?R?D$",
    re.IGNORECASE,
)
_MASKED_REACH = 512


def is_credential_name(name: str) -> bool:
    """Whether an environment variable is named like a credential (`*_API_KEY`, `*_TOKEN`, `*PASSWORD` ...)."""
    return _CREDENTIAL_NAME.search(name) is not None


class Scrubber:
    """Replaces secrets in text and JSON. Immutable, so it may be shared between threads."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """Args:
        values: Name -> secret value. Values under 8 characters are ignored.
        """
        self._names = _usable(values or {})
        self._pieces = {piece: name for value, name in self._names.items() for piece in pieces(value)}
        needles = [needle(value) for value in self._names if not pieces(value)]
        self._always = None in needles
        found = {*self._pieces, *(n for n in needles if n)}
        capitals = {end for end in map(capital_end, found) if end}
        patterns = [*HINTS, "|".join([*CAPITAL_HINTS, *map(re.escape, sorted(capitals))])]
        self._hints: list[Callable[[str], object]] = [re.compile(pattern).search for pattern in patterns]
        self._needles = sorted(n for n in found if not capital_end(n))

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str] | None = None, *, also: Mapping[str, str] | None = None
    ) -> "Scrubber":
        """Know the values of environment variables that are named like credentials (`*_API_KEY`, `*_TOKEN`, ...).

        Args:
            environ: Read instead of the process's environment.
            also: More names and values, such as a keyring's.
        """
        known = os.environ if environ is None else environ
        return cls({name: v for name, v in known.items() if is_credential_name(name)} | dict(also or {}))

    def suspects(self, text: str) -> bool:
        """Quick: False means that the text holds no secret, True that it deserves a look."""
        if self._always:
            return True
        for search in self._hints:
            if search(text) is not None:
                return True
        return any(n in text for n in self._needles) if self._needles else False

    def text(self, text: str) -> str:
        """The text with every secret replaced."""
        if not self.suspects(text):
            return text
        scrubbed = self._replaced(text)
        if "\\u00" in scrubbed:
            plain = ASCII_ESCAPE.sub(_unescaped, scrubbed)
            again = self._replaced(plain)
            scrubbed = scrubbed if again == plain else again
        return scrubbed

    def json(self, value: Json, *, keep: frozenset[str] = frozenset()) -> Json:
        """The JSON value with every secret in its strings and names replaced.

        Args:
            value: Any JSON value; it is not changed.
            keep: Strings that are never secrets where they stand alone: the fixed words of a schema.
        """
        if isinstance(value, str):
            return value if value in keep else self.text(value)
        if isinstance(value, dict):
            return self._object(value, keep)
        if isinstance(value, list | tuple):
            return [self.json(item, keep=keep) for item in value]
        if isinstance(value, int | float) and str(value) in self._names:
            return self._labels[self._names[str(value)]]
        return value

    def clean(self, value: Json, *, words: Callable[[], frozenset[str]] = frozenset) -> Json:
        """The value itself when it holds no secret, else as `json` gives it.

        Args:
            value: Any JSON value.
            words: Gives what `json` calls `keep`; asked only when there is something to look at.
        """
        return self.json(value, keep=words()) if self.suspects(canonical_json(value)) else value

    def line(self, value: Json, *, words: Callable[[], frozenset[str]] = frozenset) -> bytes:
        """The canonical JSON line of a value, cleaned, with its newline. Numbers that are not finite become null."""
        try:
            line = canonical_json(value)
        except ValueError:
            value = _finite(value)
            line = canonical_json(value)
        if self.suspects(line):
            line = canonical_json(self.json(value, keep=words()))
        return encode_json(line + "\n")

    def _replaced(self, text: str) -> str:
        text = self._pattern.sub(self._placeholder, text)
        for piece, name in self._pieces.items():
            if piece in text:
                text = _without_token(text, piece, self._labels[name])
        return text

    def _object(self, value: dict[str, Any], keep: frozenset[str]) -> dict[str, Any]:
        scrubbed: dict[str, Any] = {}
        for name, item in value.items():
            key = name if name in keep else self.text(name)
            unique = key
            while unique in scrubbed:
                unique += "'"  # two names became one; losing a value would be worse than an odd name
            scrubbed[unique] = self.json(item, keep=keep)
        return scrubbed

    @cached_property
    def _labels(self) -> dict[str, str]:
        """Name -> placeholder. A name that itself holds a secret is not told."""
        labels = {}
        for name in self._names.values():
            label = f"[secret {name}]"
            labels[name] = ANONYMOUS if any(value in label for value in self._names) else label
        return labels

    @cached_property
    def _order(self) -> list[str]:
        return sorted(self._names, key=len, reverse=True)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        known = [f"(?P<s{number}>{spelling(value)})" for number, value in enumerate(self._order)]
        return re.compile("|".join([*known, f"(?x:{PRECISE})"]))

    def _placeholder(self, match: re.Match[str]) -> str:
        group = match.lastgroup
        if group is None:
            return ANONYMOUS
        if group == "bearer":
            return match["bearer"] + ANONYMOUS
        return self._labels[self._names[self._order[int(group[1:])]]]


def literal_words(schema: Json) -> frozenset[str]:
    """The fixed words of a JSON schema: property names, constants, choices."""
    words: set[str] = set()
    _collect(schema, words)
    return frozenset(words)


def _collect(schema: Json, words: set[str]) -> None:
    if isinstance(schema, dict):
        words.update(schema.get("properties", ()))
        fixed = [schema.get("const"), *schema.get("enum", ())]
        words.update(word for word in fixed if isinstance(word, str))
        for item in schema.values():
            _collect(item, words)
    elif isinstance(schema, list):
        for item in schema:
            _collect(item, words)


def _usable(values: Mapping[str, str]) -> dict[str, str]:
    """Secret value -> its name; the URL-encoded spelling of a value is one more value."""
    from urllib.parse import quote  # noqa: PLC0415  not needed to import the store

    names: dict[str, str] = {}
    for name, value in sorted(values.items()):
        stripped = value.strip()
        for spelled in (stripped, quote(stripped, safe="")):
            if len(spelled) >= SHORTEST_SECRET and spelled not in ANONYMOUS:
                names.setdefault(spelled, name)
    return names


def _unescaped(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return match.group() if char in '"\\' else char


def _without_token(text: str, piece: str, label: str) -> str:
    """Replace each run of key characters that contains `piece`."""
    kept: list[str] = []
    start = 0
    while (at := text.find(piece, start)) >= 0:
        before = text[max(start, at - _MASKED_REACH) : at]
        left = at - (len(before) - len(before.rstrip(KEY_CHARS)))
        end = at + len(piece)
        after = text[end : end + _MASKED_REACH]
        kept += (text[start:left], label)
        start = end + len(after) - len(after.lstrip(KEY_CHARS))
    return "".join([*kept, text[start:]])


def _finite(value: Json) -> Json:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
