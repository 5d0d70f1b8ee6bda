"""Which calls of two runs are the same call: by tool and arguments, in order."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from tt_kernel.domain.canonical import Json, digest
from tt_kernel.domain.runs import CallRecord

MOST_CELLS = 40_000
"""Two stretches of calls whose product is larger are paired by their tools alone."""
SAME_TOOL = 0.25
"""Likeness of two calls of one tool that share no argument; each share of equal arguments adds to it."""

Pair = tuple[int | None, int | None]
"""Positions in the two runs; None where the other one has no such call."""


@dataclass(frozen=True)
class _Key:
    tool: str
    arguments: str


def align_calls(one: Sequence[CallRecord], other: Sequence[CallRecord]) -> list[Pair]:
    """Every call of both runs once, in order; equal calls first, then those of the same tool between them."""
    a, b = [_key(record) for record in one], [_key(record) for record in other]
    pairs: list[Pair] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += zip(range(i, j), range(k, m), strict=True)
        else:
            pairs += _between(one, other, range(i, j), range(k, m))
    return pairs


def _key(record: CallRecord) -> _Key:
    arguments = record.call.arguments
    return _Key(str(record.call.tool_id), digest([arguments.value, arguments.raw]))


def _between(one: Sequence[CallRecord], other: Sequence[CallRecord], rows: range, columns: range) -> list[Pair]:
    if len(rows) * len(columns) > MOST_CELLS:
        return _by_tool(one, other, rows, columns)
    return _best_path(one, other, rows, columns)


def _by_tool(one: Sequence[CallRecord], other: Sequence[CallRecord], rows: range, columns: range) -> list[Pair]:
    names = [str(one[i].call.tool_id) for i in rows], [str(other[j].call.tool_id) for j in columns]
    pairs: list[Pair] = []
    for tag, i, j, k, m in difflib.SequenceMatcher(None, *names, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += zip(rows[i:j], columns[k:m], strict=True)
        else:
            pairs += [*((n, None) for n in rows[i:j]), *((None, n) for n in columns[k:m])]
    return pairs


def _best_path(one: Sequence[CallRecord], other: Sequence[CallRecord], rows: range, columns: range) -> list[Pair]:
    """The order-keeping pairs of the highest total likeness."""
    likeness = [[_likeness(one[i], other[j]) for j in columns] for i in rows]
    best = [[0.0] * (len(columns) + 1) for _ in range(len(rows) + 1)]
    for i in reversed(range(len(rows))):
        for j in reversed(range(len(columns))):
            paired = likeness[i][j] + best[i + 1][j + 1] if likeness[i][j] else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    pairs: list[Pair] = []
    i = j = 0
    while i < len(rows) and j < len(columns):
        if likeness[i][j] and best[i][j] == likeness[i][j] + best[i + 1][j + 1]:
            pairs.append((rows[i], columns[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            pairs.append((rows[i], None))
            i += 1
        else:
            pairs.append((None, columns[j]))
            j += 1
    return [*pairs, *((n, None) for n in rows[i:]), *((None, n) for n in columns[j:])]


def _likeness(one: CallRecord, other: CallRecord) -> float:
    """0 for different tools; more the more arguments are equal."""
    if one.call.tool_id != other.call.tool_id:
        return 0.0
    a, b = one.call.arguments.for_model, other.call.arguments.for_model
    names = {*a, *b}
    equal = sum(1 for name in names if _same(a.get(name), b.get(name)))
    return SAME_TOOL + (equal / len(names) if names else 1.0)


def _same(one: Json, other: Json) -> bool:
    return bool(one == other and type(one) is type(other))
