"""Offsets and limits of listings: how they are declared, and what is said about the rest."""

import heapq
from collections.abc import Iterable
from typing import Annotated, Generic, TypeVar

from pydantic import Field

T = TypeVar("T")

Offset = Annotated[int, Field(ge=0)]
Limit = Annotated[int, Field(ge=1)]
DEFAULT_RESULTS = 200
MAX_RESULTS = 5000
"""More is cut to this, and told."""


class Page(Generic[T]):
    """The entries `offset` to `offset + limit` of all, in order; only so many are ever sorted.

    Attributes:
        shown: The entries.
        total: How many there are.
        rest: How many come after the shown ones.
    """

    def __init__(self, entries: Iterable[T], offset: int, limit: int) -> None:
        self.total = 0
        limit = min(limit, MAX_RESULTS)
        self.shown = heapq.nsmallest(offset + limit, self._counted(entries))[offset:]  # type: ignore[type-var]
        self._offset = offset
        self.rest = max(self.total - offset - len(self.shown), 0)

    def _counted(self, entries: Iterable[T]) -> Iterable[T]:
        for entry in entries:
            self.total += 1
            yield entry

    def marker(self, noun: str, parameter: str = "offset") -> list[str]:
        """A line that says how to go on, when there is more."""
        if not self.rest:
            return []
        following = self._offset + len(self.shown)
        return [f"[{self.rest} more {noun} of {self.total}: go on with {parameter}={following}]"]
