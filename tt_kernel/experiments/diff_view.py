"""A RunDiff as front ends draw it: side by side. What the static pictures show is in `diff_page.py`."""

from collections.abc import Callable, Iterator, Sequence

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.runs import CallRecord, Run
from tt_kernel.domain.views import (
    ArgumentDiffView,
    CallPairView,
    CallView,
    ComparedRunView,
    DiffView,
    FileDiffView,
    NumberPairView,
    PieceView,
    ReplyPairView,
)
from tt_kernel.experiments.differences import CallDiff, Differences, json_lines
from tt_kernel.runtime.fitting import shown_arguments
from tt_kernel.runtime.summaries import call_summary
from tt_kernel.widgets.bundle import fitted
from tt_kernel.widgets.differences import Piece, unified

ARGUMENT_BYTES = 2_000
CONTENT_CHARS = 2_000
PICTURE_CHARS = 160_000
"""Inline pictures of one view together, in base64, where the view is too large with all of them."""


def diff_document(diff: Differences) -> Json:
    """The JSON of the comparison's view, at most MAX_VIEW_BYTES."""
    return fitted(
        diff_view(diff), (_images(PICTURE_CHARS), _images(0), _cut(20_000), _cut(2_000), _fewer(100), _fewer(20))
    )[1]


def diff_view(diff: Differences) -> DiffView:
    one, other = _drawn(diff.before), _drawn(diff.after)
    return DiffView(
        before=_side(diff.before),
        after=_side(diff.after),
        is_same=diff.is_same,
        prompt=_pieces(diff.prompt),
        answer=_pieces(diff.text),
        replies=tuple(
            ReplyPairView(state=turn.state, before=turn.before, after=turn.after, text=_pieces(turn.text))
            for turn in diff.turns[:-1]  # the last one is the answer
        ),
        pairs=tuple(_pair(call, one, other) for call in diff.calls),
        file_diffs=tuple(FileDiffView(path=file.path, state=file.state, diff=file.diff) for file in diff.files),
        numbers=tuple(NumberPairView(name=name, before=a, after=b) for name, (a, b) in diff.usage.items() if a or b),
    )


def _side(run: Run) -> ComparedRunView:
    view = run.view
    return ComparedRunView(id=view.id, status=view.status, profile=view.profile, model=view.model, folder=view.folder)


def _pieces(pieces: Sequence[Piece]) -> tuple[PieceView, ...]:
    return tuple(PieceView(kind=piece.kind, text=piece.text) for piece in pieces)


def _pair(
    diff: CallDiff, one: Callable[[CallRecord], CallView], other: Callable[[CallRecord], CallView]
) -> CallPairView:
    before = one(diff.before) if diff.before else None
    after = other(diff.after) if diff.after else None
    if diff.state == "same" and after:
        after = after.model_copy(update={"content": "", "images": ()})
    arguments = (
        ArgumentDiffView(name=name, diff=unified(json_lines(old), json_lines(new)))
        for name, (old, new) in diff.arguments.items()
    )
    return CallPairView(
        state=diff.state,
        before=before,
        after=after,
        arguments=tuple(arguments),
        result=diff.result,
        same_images=diff.images[0] == diff.images[1],
    )


def _drawn(run: Run) -> Callable[[CallRecord], CallView]:
    """The card of a call as its run's view has it; a long run's view leaves out calls in the middle."""
    cards = {card.index: card for card in run.view.calls}
    places = {id(record): number for number, record in enumerate(run.tool_calls, start=1)}

    def card(record: CallRecord) -> CallView:
        number = places[id(record)]
        return cards.get(number) or _bare(record, number)

    return card


def _bare(record: CallRecord, number: int) -> CallView:
    call, result = record.call, record.result
    return CallView(
        index=number,
        turn=call.turn,
        name=call.name,
        tool_id=call.tool_id,
        group="other",
        state="cancelled" if result is None else "error" if result.is_error else "done",
        arguments=shown_arguments(call.arguments.value or {}, ARGUMENT_BYTES),
        raw_arguments=call.arguments.raw and call.arguments.raw[:ARGUMENT_BYTES],
        summary=call_summary(result) if result else "",
        content=result.content[:CONTENT_CHARS] if result else "",
        content_truncated=bool(result and len(result.content) > CONTENT_CHARS),
        error_code=result.error_code if result else None,
    )


# ---- what goes first where it is too much


def _images(limit: int) -> Callable[[DiffView], DiffView]:
    """At most `limit` characters of inline pictures; the others are named."""

    def cut(view: DiffView) -> DiffView:
        left = limit

        def within(call: CallView | None) -> CallView | None:
            nonlocal left
            if call is None or not call.images:
                return call
            left -= sum(len(image.data or "") for image in call.images)
            bare = {} if left >= 0 else {"data": None, "data_mime_type": None}
            return call.model_copy(update={"images": tuple(image.model_copy(update=bare) for image in call.images)})

        return _with_pairs(view, [(within(pair.before), within(pair.after), pair) for pair in view.pairs])

    return cut


def _cut(limit: int) -> Callable[[DiffView], DiffView]:
    """Every text of the view in at most `limit` characters."""

    def call(card: CallView | None) -> CallView | None:
        arguments = shown_arguments(card.arguments, limit // 4) if card else {}
        return card and card.model_copy(update={"content": card.content[: limit // 4], "arguments": arguments})

    def cut(view: DiffView) -> DiffView:
        pairs = [
            pair.model_copy(
                update={
                    "arguments": tuple(a.model_copy(update={"diff": _start(a.diff, limit)}) for a in pair.arguments),
                    "result": _start(pair.result, limit),
                }
            )
            for pair in view.pairs
        ]
        changes = {
            "prompt": tuple(_within(view.prompt, limit)),
            "answer": tuple(_within(view.answer, limit)),
            "replies": tuple(r.model_copy(update={"text": tuple(_within(r.text, limit))}) for r in view.replies),
            "file_diffs": tuple(f.model_copy(update={"diff": _start(f.diff, limit)}) for f in view.file_diffs),
        }
        return _with_pairs(view.model_copy(update=changes), [(call(p.before), call(p.after), p) for p in pairs])

    return cut


def _start(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n… {len(text) - limit:,} more characters"


def _within(pieces: Sequence[PieceView], limit: int) -> Iterator[PieceView]:
    left = limit
    for piece in pieces:
        yield piece.model_copy(update={"text": _start(piece.text, left)})
        left -= len(piece.text)
        if left <= 0:
            return


def _fewer(limit: int) -> Callable[[DiffView], DiffView]:
    """What differs comes before what is the same; `limit` of each kind."""

    def cut(view: DiffView) -> DiffView:
        differing = [n for n, pair in enumerate(view.pairs) if pair.state != "same"]
        same = [n for n, pair in enumerate(view.pairs) if pair.state == "same"]
        kept = sorted([*differing, *same][:limit])
        changes = {
            "pairs": tuple(view.pairs[n] for n in kept),
            "hidden_pairs": view.hidden_pairs + len(view.pairs) - len(kept),
            "replies": view.replies[:limit],
            "file_diffs": view.file_diffs[:limit],
        }
        return view.model_copy(update=changes)

    return cut


def _with_pairs(view: DiffView, pairs: Sequence[tuple[CallView | None, CallView | None, CallPairView]]) -> DiffView:
    changed = (pair.model_copy(update={"before": before, "after": after}) for before, after, pair in pairs)
    return view.model_copy(update={"pairs": tuple(changed)})
