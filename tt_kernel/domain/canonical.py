"""One spelling of a JSON value, so that equal values have equal digests."""

import hashlib
import json
from typing import Any, TypeAlias

from pydantic_core import PydanticSerializationError, to_json

from tt_kernel.domain.ids import Digest

# A JSON value. Any, because a recursive alias costs every reader more than it catches.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]


def canonical_json(value: Json) -> str:
    """Sorted keys, no spaces, non-ASCII as itself. NaN and infinities are refused with ValueError."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def indented_json(value: Json) -> bytes:
    """A document: sorted keys, two spaces, a newline at the end, non-ASCII as itself. NaN and infinities: ValueError."""
    try:
        return to_json(_sorted(value), indent=2) + b"\n"
    except (_Unusual, PydanticSerializationError):
        text = json.dumps(value, sort_keys=True, ensure_ascii=False, indent=2, allow_nan=False)
        return encode_json(text + "\n")


class _Unusual(Exception):
    """A value that Rust's encoder spells otherwise than Python's, three times slower, one."""


_LEAVES = frozenset({str, int, bool, type(None)})


def _sorted(value: Json) -> Json:
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind is dict:
        try:
            names = sorted(value)
        except TypeError as error:
            raise _Unusual from error
        if names and type(names[0]) is not str:
            raise _Unusual
        return {n: item if type(item := value[n]) in _LEAVES else _sorted(item) for n in names}
    if kind is list or kind is tuple:
        return [item if type(item) in _LEAVES else _sorted(item) for item in value]
    if kind is float and not set(repr(value)) & set("en"):  # no exponent, not nan, not inf
        return value
    raise _Unusual


def encode_json(text: str) -> bytes:
    """UTF-8; a lone surrogate becomes its JSON escape, so that it survives a round trip."""
    return text.encode("utf-8", "backslashreplace")


def digest(value: Json) -> Digest:
    """Hex SHA-256 of the canonical JSON of `value`."""
    return digest_bytes(encode_json(canonical_json(value)))


def digest_bytes(data: bytes) -> Digest:
    return Digest(hashlib.sha256(data).hexdigest())
