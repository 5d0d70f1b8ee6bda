"""`labextension/src/protocol.ts`: the types of domain/views.py for TypeScript, written from them and never by hand.

    python -m tt_kernel.widgets.protocol > labextension/src/protocol.ts

tests/test_protocol.py fails when the two differ.
"""

import json
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from tt_kernel.domain.views import (
    DIFF_MIME,
    MAX_VIEW_BYTES,
    RUN_MIME,
    SWEEP_MIME,
    ArgumentDiffView,
    CallPairView,
    CallView,
    ComparedRunView,
    DiffView,
    FileDiffView,
    ImageView,
    NumberPairView,
    OriginView,
    PieceView,
    ReplyPairView,
    RunView,
    SweepCellView,
    SweepColumnView,
    SweepPointView,
    SweepRunView,
    SweepView,
    TextView,
    ViewMeta,
)

VIEWS: tuple[type[BaseModel], ...] = (
    ImageView, CallView, TextView, RunView,
    PieceView, ComparedRunView, ArgumentDiffView, CallPairView, ReplyPairView, FileDiffView, NumberPairView, DiffView,
    SweepColumnView, SweepCellView, SweepRunView, SweepPointView, SweepView,
    OriginView, ViewMeta,
)  # fmt: skip

SILENT = frozenset(
    {"version", "id", "toolId", "turn", "hiddenCalls", "persistState", "origin", "sourceCrc", "profileDigest"}
)
"""Fields that the picture does not show: they are for programs, or what they say is seen otherwise (a gap between indices, the mark on
a stale output)."""


def typescript() -> str:
    """The module's text."""
    return "\n".join(_lines()) + "\n"


def field_names() -> Iterator[str]:
    """The name of every field of every view, as it is in JSON."""
    for view in VIEWS:
        yield from (field.alias or name for name, field in view.model_fields.items())


def _lines() -> Iterator[str]:
    yield "// Written by `python -m tt_kernel.widgets.protocol` from tt_kernel/domain/views.py. Do not edit."
    yield ""
    for name, mime in (("RUN", RUN_MIME), ("DIFF", DIFF_MIME), ("SWEEP", SWEEP_MIME)):
        yield f"export const {name}_MIME = {json.dumps(mime)};"
    yield f"export const MAX_VIEW_BYTES = {MAX_VIEW_BYTES};"
    for view in VIEWS:
        yield ""
        yield f"export interface {view.__name__} {{"
        schema = view.model_json_schema(mode="serialization")
        for name, field in schema["properties"].items():
            is_volatile = "?" if view is ViewMeta else ""  # what is not known is left out of the metadata
            yield f"  {name}{is_volatile}: {_type(field)};"
        yield "}"


def _type(schema: dict[str, Any]) -> str:
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    if "anyOf" in schema:
        return " | ".join(_type(part) for part in schema["anyOf"])
    if schema.get("type") == "array":
        return f"ReadonlyArray<{_type(schema['items'])}>"
    return _PLAIN[schema.get("type", "any")]


_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "object": "{ [name: string]: unknown }",
    "any": "unknown",
}

if __name__ == "__main__":
    print(typescript(), end="")  # noqa: T201
