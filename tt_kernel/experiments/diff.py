"""What differs between two runs: turns, calls, texts, files, images, usage. `diff_page.py` draws it."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from tt_kernel.domain.canonical import Json, JsonObject, canonical_json, digest_bytes
from tt_kernel.domain.messages import AssistantMessage, Message
from tt_kernel.domain.runs import CallRecord, Run
from tt_kernel.domain.views import DIFF_MIME
from tt_kernel.experiments.alignment import align_calls
from tt_kernel.experiments.diff_page import diff_page
from tt_kernel.experiments.diff_view import diff_document
from tt_kernel.experiments.differences import CallDiff, Differences, FileDiff, TurnDiff
from tt_kernel.widgets.differences import unified, word_diff
from tt_kernel.widgets.pages import Page

FILE_BYTES = 1_000_000
"""A larger file is compared by its digest alone."""


class RunDiff(Differences):
    """Two runs held against each other. Shows itself; `to_df()` is one row a call."""

    @cached_property
    def page(self) -> Page:
        return diff_page(self)

    def __repr__(self) -> str:
        return self.page.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> JsonObject:
        """What JupyterLab draws; the other forms come from the methods below."""
        del include, exclude
        return {DIFF_MIME: diff_document(self)}

    def _repr_html_(self) -> str:
        return self.page.html

    def _repr_markdown_(self) -> str:
        return self.page.markdown


def diff(before: Run, after: Run) -> RunDiff:
    """Compare two runs.

    Args:
        before: The one to start from.
        after: The one that is held against it.
    """
    calls = tuple(_call_diff(i, j, before.tool_calls, after.tool_calls) for i, j in _pairs(before, after))
    return RunDiff(
        before=before,
        after=after,
        prompt=tuple(word_diff(_prompt(before.messages), _prompt(after.messages))),
        text=tuple(word_diff(before.text, after.text)),
        turns=tuple(_turns(before, after, calls)),
        calls=calls,
        files=tuple(_files(before, after)),
        usage=_usage(before, after),
    )


def _pairs(before: Run, after: Run) -> list[tuple[int | None, int | None]]:
    return align_calls(before.tool_calls, after.tool_calls)


def _call_diff(i: int | None, j: int | None, one: Sequence[CallRecord], other: Sequence[CallRecord]) -> CallDiff:
    before = one[i] if i is not None else None
    after = other[j] if j is not None else None
    images = (_digests(before), _digests(after))
    if before is None or after is None:
        return CallDiff("added" if before is None else "removed", before, after, images=images)
    arguments = _changed_arguments(before, after)
    told = unified(_told(before), _told(after))
    same = not arguments and not told and images[0] == images[1]
    return CallDiff("same" if same else "changed", before, after, arguments, told, images)


def _changed_arguments(before: CallRecord, after: CallRecord) -> dict[str, tuple[Json, Json]]:
    a, b = before.call.arguments, after.call.arguments
    if not (a.is_valid and b.is_valid):
        return {} if a == b else {"(arguments)": (a.value or a.raw, b.value or b.raw)}
    names = sorted({*a.for_model, *b.for_model})  # what comes from disk has lost its order
    pairs = {name: (a.for_model.get(name), b.for_model.get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if canonical_json(pair[0]) != canonical_json(pair[1])}


def _told(record: CallRecord) -> str:
    if record.result is None:
        return "(no result)"
    code = f"error {record.result.error_code}\n" if record.result.is_error else ""
    return code + record.result.content


def _digests(record: CallRecord | None) -> tuple[str, ...]:
    return tuple(str(i.sha256) for i in record.result.images) if record and record.result else ()


def _prompt(messages: Sequence[Message]) -> str:
    return next((m.text for m in reversed(messages) if m.role == "user" and m.source == "prompt"), "")


def _replies(run: Run) -> list[str]:
    """What the model wrote in each turn of this run, without the conversation that it goes on from."""
    start = max((n for n, m in enumerate(run.messages) if m.role == "user" and m.source == "prompt"), default=-1)
    return [message.text for message in run.messages[start + 1 :] if isinstance(message, AssistantMessage)]


def _turns(before: Run, after: Run, calls: Sequence[CallDiff]) -> Iterator[TurnDiff]:
    """Turns that made the same call belong together; what lies between them is paired in order."""
    one, other = _replies(before), _replies(after)
    differing = {(c.before.call.turn, c.after.call.turn) for c in calls if c.before and c.after and c.state != "same"}
    i = j = 0
    for a, b in [*_anchors(calls, len(one), len(other)), (len(one) + 1, len(other) + 1)]:
        for left, right in _gap(range(i, a - 1), range(j, b - 1)):
            yield _turn(left, right, one, other, differing)
        if a <= len(one) and b <= len(other):
            yield _turn(a - 1, b - 1, one, other, differing)
        i, j = a, b


def _gap(one: range, other: range) -> Iterator[tuple[int | None, int | None]]:
    """The turns before a pair: paired from their ends, so that two answers meet."""
    both = min(len(one), len(other))
    yield from ((n, None) for n in one[: len(one) - both])
    yield from ((None, n) for n in other[: len(other) - both])
    yield from zip(one[len(one) - both :], other[len(other) - both :], strict=True)


def _anchors(calls: Sequence[CallDiff], most: int, most_other: int) -> Iterator[tuple[int, int]]:
    a = b = 0
    for call in calls:
        if call.before is None or call.after is None:
            continue
        i, j = call.before.call.turn, call.after.call.turn
        if a < i <= most and b < j <= most_other:
            yield i, j
            a, b = i, j


def _turn(
    i: int | None, j: int | None, one: Sequence[str], other: Sequence[str], differing: set[tuple[int, int]]
) -> TurnDiff:
    old, new = one[i] if i is not None else "", other[j] if j is not None else ""
    before, after = i + 1 if i is not None else None, j + 1 if j is not None else None
    if before is None or after is None:
        return TurnDiff("added" if before is None else "removed", before, after, tuple(word_diff(old, new)))
    same = old == new and (before, after) not in differing
    return TurnDiff("same" if same else "changed", before, after, tuple(word_diff(old, new)))


def _files(before: Run, after: Run) -> Iterator[FileDiff]:
    one, other = _by_name(before), _by_name(after)
    for name in sorted({*one, *other}):
        old, new = _content(one.get(name)), _content(other.get(name))
        if name not in one or name not in other:
            yield FileDiff(name, "added" if name not in one else "removed", _file_diff(name, old, new))
        elif old == new:
            yield FileDiff(name, "same")
        else:
            yield FileDiff(name, "changed", _file_diff(name, old, new))


def _by_name(run: Run) -> dict[str, Path]:
    return {path.relative_to(run.folder).as_posix(): path for path in run.files if path.is_relative_to(run.folder)}


def _content(path: Path | None) -> bytes:
    try:
        return path.read_bytes() if path is not None else b""
    except OSError:
        return b""  # pruned since: the run still says that it wrote it


def _file_diff(name: str, old: bytes, new: bytes) -> str:
    if max(len(old), len(new)) <= FILE_BYTES:
        try:
            return unified(old.decode(), new.decode(), (f"a/{name}", f"b/{name}"))
        except UnicodeDecodeError:
            pass
    return f"before {digest_bytes(old)[:16]}, {len(old):,} bytes\nafter  {digest_bytes(new)[:16]}, {len(new):,} bytes"


def _usage(before: Run, after: Run) -> dict[str, tuple[int, int]]:
    a, b = before.usage, after.usage
    return {
        "turns": (len(_replies(before)), len(_replies(after))),
        "calls": (len(before.tool_calls), len(after.tool_calls)),
        "input tokens": (a.input_tokens, b.input_tokens),
        "cached tokens": (a.cached_tokens, b.cached_tokens),
        "output tokens": (a.output_tokens, b.output_tokens),
    }
