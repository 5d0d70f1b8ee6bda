"""Keeping a run view within its bytes: what is cut first is what the folder shows best."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from tt_kernel.domain.canonical import JsonObject, canonical_json, encode_json
from tt_kernel.domain.views import MAX_VIEW_BYTES, CallView, RunView, TextView

SHORT_CHARS = 60
IMAGE_BYTES = 150_000
"""Inline pictures of one view together, in base64; later ones are only named."""


@dataclass(frozen=True)
class Level:
    """How much of everything is kept. Characters, but bytes for `arguments`."""

    content: int
    arguments: int
    text: int
    note: int
    calls: int


LEVELS = (
    Level(content=4_000, arguments=2_000, text=60_000, note=4_000, calls=200),
    Level(content=1_000, arguments=600, text=60_000, note=1_000, calls=200),
    Level(content=200, arguments=200, text=20_000, note=200, calls=200),
    Level(content=100, arguments=100, text=10_000, note=0, calls=60),
    Level(content=0, arguments=0, text=4_000, note=0, calls=20),
)


def fitted(view: RunView) -> RunView:
    """The view, cut to at most MAX_VIEW_BYTES of JSON; the first and the last calls stay."""
    view = view.model_copy(update={"calls": tuple(_within_images(view.calls))})
    for level in LEVELS:
        small = _at(view, level)
        if len(encode_json(canonical_json(small.model_dump(mode="json")))) <= MAX_VIEW_BYTES:
            return small
    return small.model_copy(update={"calls": tuple(_without_data(call) for call in small.calls)})


def shown_arguments(arguments: JsonObject, limit: int) -> JsonObject:
    """Arguments in at most about `limit` bytes of JSON.

    Short values first, then by name: the same order live, replayed and loaded, with long texts at the end.
    """
    text = canonical_json(arguments)
    plain: JsonObject = json.loads(text)
    ordered = sorted(plain.items(), key=lambda item: (len(canonical_json(item[1])) > SHORT_CHARS, item[0]))
    if len(encode_json(text)) <= limit:
        return dict(ordered)
    shown: JsonObject = {}
    left = limit
    for name, value in ordered:
        key = _cut(name, 100)
        small = value if len(canonical_json(value)) <= SHORT_CHARS else _cut(_spelled(value), max(0, left // 6))
        left -= len(encode_json(canonical_json({key: small})))
        if left < 0:
            break
        shown[key] = small
    return shown


def _at(view: RunView, level: Level) -> RunView:
    calls = view.calls
    if len(calls) > level.calls:
        half = level.calls // 2
        calls = (*calls[:half], *calls[len(calls) - half :])
    return view.model_copy(
        update={
            "calls": tuple(_call_at(call, level) for call in calls),
            "hidden_calls": view.call_count - len(calls),
            "notes": tuple(_note_at(note, level) for note in view.notes[: level.calls]) if level.note else (),
            "text": view.text[: level.text],
            "text_truncated": view.text_truncated or len(view.text) > level.text,
            "files": view.files[: level.calls],
            "problem": view.problem and view.problem[: level.text // 10],
        }
    )


def _call_at(call: CallView, level: Level) -> CallView:
    return call.model_copy(
        update={
            "arguments": shown_arguments(call.arguments, level.arguments),
            "raw_arguments": call.raw_arguments and call.raw_arguments[: level.arguments],
            "content": call.content[: level.content],
            "content_truncated": call.content_truncated or len(call.content) > level.content,
            "name": call.name[:200],
            "tool_id": call.tool_id[:400],
        }
    )


def _note_at(note: TextView, level: Level) -> TextView:
    if len(note.text) <= level.note:
        return note
    return note.model_copy(update={"text": note.text[: level.note], "truncated": True})


def _within_images(calls: tuple[CallView, ...]) -> Iterator[CallView]:
    left = IMAGE_BYTES
    for call in calls:
        left -= sum(len(image.data or "") for image in call.images)
        yield call if left >= 0 else _without_data(call)


def _without_data(call: CallView) -> CallView:
    if not any(image.data for image in call.images):
        return call
    bare = tuple(image.model_copy(update={"data": None, "data_mime_type": None}) for image in call.images)
    return call.model_copy(update={"images": bare})


def _spelled(value: object) -> str:
    return value if isinstance(value, str) else canonical_json(value)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[:length] + "..."
