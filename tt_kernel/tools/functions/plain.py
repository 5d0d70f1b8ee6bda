"""Any value as JSON or bounded text: deterministic, without memory addresses."""

import dataclasses
import datetime as dt
import decimal
import enum
import json
import os
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from tt_kernel.domain.canonical import Json
from tt_kernel.tools.functions.pictures import is_instance

MAX_REPR = 2_000
MAX_DEPTH = 40

_ADDRESS = re.compile(r"\s+at 0x[0-9a-fA-F]+|0x[0-9a-fA-F]{8,}")


def text_of(value: object) -> str:
    """A text as itself, what JSON can say as JSON, anything else by its repr."""
    plain = plain_of(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def plain_of(value: Any, depth: int = 0) -> Json:
    """`value` as a JSON value. Sets are sorted, keys become text, what JSON cannot say becomes its bounded repr."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if depth > MAX_DEPTH:
        return bounded_repr(value)
    for kind, turn in _TURNS:
        if isinstance(value, kind):
            return turn(value, depth + 1)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain_of(getattr(value, f.name), depth + 1) for f in dataclasses.fields(value)}
    if is_instance(value, "numpy", "generic") or is_instance(value, "numpy", "ndarray"):
        return plain_of(value.tolist(), depth + 1)
    return bounded_repr(value)


def bounded_repr(value: object, limit: int = MAX_REPR) -> str:
    """Repr without memory addresses, at most `limit` characters."""
    text = _ADDRESS.sub("", repr(value))
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text):,} characters)"


def _mapping(value: Mapping[Any, Any], depth: int) -> Json:
    return {_key(key, depth): plain_of(item, depth) for key, item in value.items()}


def _key(key: Any, depth: int) -> str:
    plain = plain_of(key, depth)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _set(value: Any, depth: int) -> Json:
    items = [plain_of(item, depth) for item in value]
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True, ensure_ascii=False))


_TURNS: tuple[tuple[type | tuple[type, ...], Callable[[Any, int], Json]], ...] = (
    (enum.Enum, lambda value, depth: plain_of(value.value, depth)),
    (str, lambda value, _: str.__str__(value)),
    (int, lambda value, _: int(value)),
    (float, lambda value, _: float(value)),
    (Mapping, _mapping),
    ((list, tuple), lambda value, depth: [plain_of(item, depth) for item in value]),
    ((set, frozenset), _set),
    ((bytes, bytearray), lambda value, _: f"{len(value):,} bytes"),
    ((dt.datetime, dt.date, dt.time), lambda value, _: value.isoformat()),
    ((decimal.Decimal, uuid.UUID, dt.timedelta), lambda value, _: str(value)),
    (os.PathLike, lambda value, _: os.fspath(value)),
    (BaseModel, lambda value, depth: plain_of(value.model_dump(mode="json"), depth)),
)
"""Kinds of values, the first that fits."""
