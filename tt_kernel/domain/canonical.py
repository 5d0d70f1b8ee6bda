"""One spelling of a JSON value, so that equal values have equal digests."""

import hashlib
import json
from typing import Any, TypeAlias

from tt_kernel.domain.ids import Digest

# A JSON value. Any, because a recursive alias costs every reader more than it catches.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]


def canonical_json(value: Json) -> str:
    """Sorted keys, no spaces, non-ASCII as itself. NaN and infinities are refused with ValueError."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode_json(text: str) -> bytes:
    """UTF-8; a lone surrogate becomes its JSON escape, so that it survives a round trip."""
    return text.encode("utf-8", "backslashreplace")


def digest(value: Json) -> Digest:
    """Hex SHA-256 of the canonical JSON of `value`."""
    return digest_bytes(encode_json(canonical_json(value)))


def digest_bytes(data: bytes) -> Digest:
    return Digest(hashlib.sha256(data).hexdigest())
