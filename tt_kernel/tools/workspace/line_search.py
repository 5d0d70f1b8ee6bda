"""The best lines of many texts for a query.

- A text that holds no token, or too few to reach the best hits, is dropped before its lines are looked at. Lines are found
  from the tokens, not the other way round.
- Only so many lines are kept as can matter; each brings its context along, so that no text is read twice.
"""

import heapq
from dataclasses import dataclass

from tt_kernel.toolkit.scoring import Query, fold

MAX_LINE_CHARS = 400
"""Longer lines are cut around the match."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that matches. `line` counts from 1; `window` is the line with its context, from line `first` on."""

    score: float
    path: str
    line: int
    first: int
    window: tuple[str, ...]


class Search:
    """Keeps the best lines of all files that it looked into.

    Args:
        query: What to look for.
        keep: How many lines to keep.
        context: Lines before and after a hit.
    """

    def __init__(self, query: Query, keep: int, context: int) -> None:
        self._query = query
        self._total = query.total
        self._keep = keep
        self._context = context
        # A heap with the worst kept hit on top: of equal weights, the one added last. The number is unique: hits are not compared.
        self._heap: list[tuple[int, int, Hit]] = []
        self._added = 0
        self._hits = 0

    @property
    def dropped(self) -> bool:
        """Whether there were more hits than could be kept."""
        return self._hits > self._keep

    def best(self) -> list[Hit]:
        """Best first; equal ones by path and line."""
        return sorted((hit for _, _, hit in self._heap), key=lambda hit: (-hit.score, hit.path, hit.line))

    def look_into(self, path: str, text: str) -> None:
        """Files must come in path order: of equal lines, the earlier one stays."""
        folded = fold(text)
        present = self._query.present(folded)
        if not present:
            return
        if self._beaten(sum(weight for _, weight in present)):
            self._hits += 1
            return
        weights = _line_weights(folded, present)
        line, counted = 1, 0
        for end in sorted(end for end, weight in weights.items() if not self._beaten(weight)):
            if self._beaten(weights[end]):
                continue
            line += folded.count("\n", counted, end)
            counted = end
            self._add(path, line, _window(text, end, self._context), weights[end])
        self._hits += len(weights)

    def _beaten(self, weight: int) -> bool:
        return len(self._heap) == self._keep and weight <= self._heap[0][0]

    def _add(self, path: str, line: int, window: tuple[int, list[str]], matched: int) -> None:
        before, lines = window
        cut = tuple(self._query.snippet(text.removesuffix("\r"), MAX_LINE_CHARS) for text in lines)
        hit = Hit(matched / self._total, path, line, line - before, cut)
        self._added += 1
        item = (matched, -self._added, hit)
        if len(self._heap) < self._keep:
            heapq.heappush(self._heap, item)
        else:
            heapq.heapreplace(self._heap, item)


def _line_weights(folded: str, present: list[tuple[str, int]]) -> dict[int, int]:
    """Where each line with a token ends -> what its tokens weigh together. One `find` for each pair of a token and a line."""
    weights: dict[int, int] = {}
    last = len(folded)
    for token, weight in present:
        at = folded.find(token)
        while at >= 0:
            end = folded.find("\n", at)
            if end < 0:
                weights[last] = weights.get(last, 0) + weight
                break
            weights[end] = weights.get(end, 0) + weight
            at = folded.find(token, end)
    return weights


def _window(text: str, end: int, context: int) -> tuple[int, list[str]]:
    """How many lines come before the line that ends at `end` (at most `context`), and the lines from there to the context after it."""
    start = text.rfind("\n", 0, end) + 1
    before = 0
    while before < context and start > 0:
        start = text.rfind("\n", 0, start - 1) + 1
        before += 1
    limit = len(text) - text.endswith("\n")
    stop = end
    for _ in range(context):
        if stop >= limit:
            break
        following = text.find("\n", stop + 1, limit)
        stop = following if following >= 0 else limit
    return before, text[start:stop].split("\n")
