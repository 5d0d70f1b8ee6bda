"""One run as one output: the bundle of all its pictures (DESIGN §8).

Everything in `data` is a function of the RunView alone, so that an output that is made again is the same to the byte; what
is volatile (time, cost, replayed or not) goes to the metadata.
"""

import json
from collections.abc import Callable, Sequence
from typing import TypeVar

from tt_kernel.domain.canonical import Json, JsonObject
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.views import MAX_VIEW_BYTES, RUN_MIME, CallView, RunView, ViewMeta
from tt_kernel.widgets.html import run_html
from tt_kernel.widgets.markdown import run_markdown
from tt_kernel.widgets.text import run_text
from tt_kernel.widgets.wording import clean

MAX_HTML_CHARS = 512 * 1024

V = TypeVar("V", bound=Frozen)


def bundle(view: RunView, meta: ViewMeta | None = None) -> tuple[JsonObject, JsonObject]:
    """The output of a run.

    Returns:
        `data` (MIME type -> content) and `metadata` for a display_data message. The view's JSON takes at most MAX_VIEW_BYTES,
        the html at most MAX_HTML_CHARS: what is too large loses its images first, then contents, then calls in the middle.
    """
    view, document = fitted(view, _CUTS)
    data = {
        RUN_MIME: document,
        "text/html": _fitted_html(view),
        "text/markdown": run_markdown(view),
        "text/plain": run_text(view),
    }
    volatile = (meta or ViewMeta()).model_dump(mode="json", exclude_none=True)
    return data, {RUN_MIME: volatile}


def fitted(view: V, cuts: Sequence[Callable[[V], V]]) -> tuple[V, Json]:
    """A view, cut until its JSON has at most MAX_VIEW_BYTES or all `cuts` are made; and its JSON."""
    for cut in (None, *cuts):
        view = cut(view) if cut else view
        text = json.dumps(_scrubbed(view.model_dump()), ensure_ascii=False)
        if len(text.encode()) <= MAX_VIEW_BYTES:
            break
    return view, json.loads(text)


def _fitted_html(view: RunView) -> str:
    for cut in (None, *_CUTS):
        view = cut(view) if cut else view
        html = run_html(view)
        if len(html) <= MAX_HTML_CHARS:
            break
    return html


def _scrubbed(value: Json) -> Json:
    """Without what JSON in a message cannot carry (lone surrogates) and a front end must not interpret (escapes)."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _scrubbed(item) for key, item in value.items()}
    return [_scrubbed(item) for item in value] if isinstance(value, list | tuple) else value


def _without_images(view: RunView) -> RunView:
    def bare(call: CallView) -> CallView:
        return call.model_copy(update={"images": tuple(i.model_copy(update={"data": None}) for i in call.images)})

    return _with_calls(view, [bare(call) for call in view.calls])


def _shorter(limit: int) -> Callable[[RunView], RunView]:
    def cut(call: CallView) -> CallView:
        changes: JsonObject = {
            "content": call.content[:limit],
            "raw_arguments": call.raw_arguments and call.raw_arguments[:limit],
        }
        changes["content_truncated"] = call.content_truncated or len(call.content) > limit
        if len(json.dumps(call.arguments)) > limit:
            changes["arguments"] = {str(k)[:100]: str(v)[: limit // 4] for k, v in list(call.arguments.items())[:20]}
        return call.model_copy(update=changes)

    return lambda view: _with_calls(view, [cut(call) for call in view.calls])


def _fewer(limit: int) -> Callable[[RunView], RunView]:
    """The first and the last calls, `limit` in all; the notes and files likewise; the answer as much as there is room for."""

    def cut(view: RunView) -> RunView:
        half = limit // 2
        calls = view.calls if len(view.calls) <= limit else view.calls[:half] + view.calls[-half:]
        text = view.text[: limit * 400]
        changes: JsonObject = {
            "notes": view.notes[:half],
            "files": view.files[:limit],
            "text": text,
            "text_truncated": view.text_truncated or len(text) < len(view.text),
        }
        return _with_calls(view.model_copy(update=changes), calls)

    return cut


def _with_calls(view: RunView, calls: Sequence[CallView]) -> RunView:
    hidden = view.hidden_calls + len(view.calls) - len(calls)
    return view.model_copy(update={"calls": tuple(calls), "hidden_calls": hidden})


_CUTS = (_without_images, _shorter(1_000), _shorter(200), _fewer(200), _fewer(100), _fewer(20))
