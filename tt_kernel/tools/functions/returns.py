"""What a tool function returned, taken apart into text, tables and pictures: done on the thread where the values live."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tt_kernel.tools.functions.pictures import is_picture, picture_of
from tt_kernel.tools.functions.plain import text_of
from tt_kernel.tools.functions.tables import Table, is_table, table_of

NOTHING = "This tool ran and returned nothing."


@dataclass(frozen=True)
class Picture:
    """Encoded bytes, not yet normalised."""

    data: bytes


Part = str | Table | Picture


def parts_of(value: Any) -> list[Part]:
    """The parts of a returned value, in order. A list, tuple or dict that holds tables or pictures is taken apart once."""
    if isinstance(value, (list, tuple)) and any(_is_rich(item) for item in value):
        return [part for item in value for part in _one(item)]
    if isinstance(value, Mapping) and any(_is_rich(item) for item in value.values()):
        return [part for key, item in value.items() for part in (f"{key}:", *_one(item))]
    return _one(value)


def _is_rich(value: Any) -> bool:
    return is_picture(value) or is_table(value)


def _one(value: Any) -> list[Part]:
    if isinstance(value, str):
        return [str(value)]
    if value is None:
        return [NOTHING]
    picture = picture_of(value)
    if picture is not None:
        return [Picture(picture)]
    table = table_of(value)
    return [table if table is not None else text_of(value)]
