"""The picture of a RunDiff: what is the same is counted, what differs is shown."""

import json
from collections.abc import Iterator, Sequence
from html import escape

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.views import ImageView, RunView
from tt_kernel.experiments.differences import CallDiff, Differences, TurnDiff, json_lines
from tt_kernel.widgets import styles
from tt_kernel.widgets.cards import ImageBudget, div, picture
from tt_kernel.widgets.differences import Piece, pieces_html, pieces_text, shortened, unified, unified_html
from tt_kernel.widgets.pages import Page, Section
from tt_kernel.widgets.wording import counted, one_line

MOST_ROWS = 200
MOST_SECTIONS = 60


def diff_page(diff: Differences) -> Page:
    rows = [*_state_rows(diff), *_usage_rows(diff), *map(_call_row, _different(diff.calls))]
    sections = [*_texts(diff), *_turns(diff.turns), *_calls(diff), *_files(diff)]
    notes = ["The runs are the same."] if diff.is_same else []
    notes += [f"{counted(sum(c.state == 'same' for c in diff.calls), 'call')} the same."] if diff.calls else []
    notes += _left_out(len(rows), MOST_ROWS, "row") + _left_out(len(sections), MOST_SECTIONS, "section")
    title = f"{diff.before.id} and {diff.after.id}"
    return Page(title, ("what", diff.before.id, diff.after.id), rows[:MOST_ROWS], sections[:MOST_SECTIONS], notes)


def _left_out(count: int, limit: int, noun: str) -> list[str]:
    return (
        [f"{counted(count - limit, noun)} not shown; they are in .calls, .turns and .files."] if count > limit else []
    )


def _state_rows(diff: Differences) -> Iterator[tuple[str, str, str]]:
    for name, (a, b) in {
        "status": (diff.before.view.status, diff.after.view.status),
        "profile": (diff.before.view.profile, diff.after.view.profile),
        "model": (diff.before.view.model, diff.after.view.model),
    }.items():
        if a != b:
            yield name, a, b


def _usage_rows(diff: Differences) -> Iterator[tuple[str, str, str]]:
    for name, (a, b) in diff.usage.items():
        if a or b:
            yield name, f"{a:,}", f"{b:,}" + (f" ({b - a:+,})" if a != b else "")


def _different(calls: Sequence[CallDiff]) -> list[CallDiff]:
    return [call for call in calls if call.state != "same"]


def _call_row(diff: CallDiff) -> tuple[str, str, str]:
    return f"call {diff.call.call.name}", _side(diff, before=True), _side(diff, before=False)


def _side(diff: CallDiff, *, before: bool) -> str:
    record = diff.before if before else diff.after
    if record is None:
        return ""
    names = diff.arguments or sorted(record.call.arguments.for_model)
    shown = {name: record.call.arguments.for_model[name] for name in names if name in record.call.arguments.for_model}
    error = f" error {record.result.error_code}" if record.result and record.result.is_error else ""
    return one_line(f"turn {record.call.turn}{error} " + " ".join(f"{k}={_short(v)}" for k, v in shown.items()), 100)


def _short(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _texts(diff: Differences) -> Iterator[Section]:
    for title, pieces in (("prompt", diff.prompt), ("answer", diff.text)):
        if any(piece.kind != "same" for piece in pieces):
            yield _words(title, pieces, is_open=True)


def _words(title: str, pieces: Sequence[Piece], *, is_open: bool = False) -> Section:
    short = shortened(pieces)
    return Section(title, pieces_text(short), is_open, pieces_html(short))


def _turns(turns: Sequence[TurnDiff]) -> Iterator[Section]:
    for turn in turns[:-1]:  # the last one is shown as the answer
        if any(piece.kind != "same" for piece in turn.text):
            yield _words(f"text of turn {turn.before or '-'} and {turn.after or '-'}", turn.text)


def _calls(diff: Differences) -> Iterator[Section]:
    budget = ImageBudget()
    for call in _different(diff.calls):
        name = call.call.call.name
        for argument, (old, new) in call.arguments.items():
            text = unified(json_lines(old), json_lines(new))
            yield Section(f"{name}: argument {argument}", text, html=unified_html(text), language="diff")
        if call.result:
            yield Section(f"{name}: result", call.result, html=unified_html(call.result), language="diff")
        if call.images[0] != call.images[1]:
            yield _images(diff, call, budget)


def _images(diff: Differences, call: CallDiff, budget: ImageBudget) -> Section:
    """Side by side."""
    names = [", ".join(digest[:16] for digest in side) or "none" for side in call.images]
    sides = [(_shown(diff.before.view, diff, call, before=True)), _shown(diff.after.view, diff, call, before=False)]
    cells = [
        div(styles.HALF, div(styles.LABEL, escape(name)) + "".join(picture(image, budget) for image in images))
        for name, images in zip(names, sides, strict=True)
    ]
    body = f"before {names[0]}\nafter  {names[1]}"
    return Section(f"{call.call.call.name}: images", body, is_open=True, html=div(styles.ROW, "".join(cells)))


def _shown(view: RunView, diff: Differences, call: CallDiff, *, before: bool) -> tuple[ImageView, ...]:
    """The images of a call as its run's view has them; a long run's view leaves out calls in the middle."""
    record, run = (call.before, diff.before) if before else (call.after, diff.after)
    position = next((n for n, known in enumerate(run.tool_calls, start=1) if known is record), None)
    return next((card.images for card in view.calls if card.index == position), ())


def _files(diff: Differences) -> Iterator[Section]:
    for file in diff.files:
        if file.state != "same":
            yield Section(f"{file.path} {file.state}", file.diff, html=unified_html(file.diff), language="diff")
