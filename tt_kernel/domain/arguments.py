"""Decoding of tool-call arguments: spec tauritavern §3, one decoder for every provider and for stored history."""

import json
from typing import NoReturn

from tt_kernel.domain.canonical import Json, JsonObject, canonical_json
from tt_kernel.domain.frozen import Frozen

ECHO_CHARS = 200
"""How much of an invalid raw text an error repeats."""


class ToolArguments(Frozen):
    """Named arguments of a call: an object, or the raw text that was not one.

    Exactly one of the two is set: `value` (valid) or `raw` (invalid, verbatim; a JSON value that was no object is kept as
    its JSON text).
    """

    value: JsonObject | None = None
    raw: str | None = None

    @classmethod
    def decode(cls, wire: Json = None) -> "ToolArguments":
        """Decode a wire value; a missing field is the default None."""
        value = _unwrap(wire)
        if value is None:
            return cls(value={})
        if isinstance(value, dict):
            return cls(value=value)
        return cls(raw=wire if isinstance(wire, str) else canonical_json(wire))

    @property
    def is_valid(self) -> bool:
        return self.value is not None

    @property
    def for_model(self) -> JsonObject:
        """What the model is shown of its own call: always an object; an invalid one is replayed as {}."""
        return self.value if self.value is not None else {}

    @property
    def echo(self) -> str:
        """The start of the raw text, for an error message."""
        raw = self.raw or ""
        return raw if len(raw) <= ECHO_CHARS else raw[:ECHO_CHARS] + "..."


def _unwrap(value: Json) -> Json:
    """Strip string encodings until something else, or text that is no JSON, is found; blank text is None."""
    while isinstance(value, str):
        if not value.strip():
            return None
        try:
            value = json.loads(value, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return value
    return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
