"""A part of a text by characters: how chat messages and lorebook entries are read (spec tauritavern §5.2, §5.3)."""

from collections.abc import Iterable
from dataclasses import dataclass

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.text import count_words

MAX_CHARS = 8000
"""Of a text read whole, and of a part."""
MAX_TOTAL = 20_000
"""Of all parts of a call."""
MAX_READS = 20
"""Parts of a call."""


@dataclass(frozen=True)
class Codes:
    """The error codes of a family."""

    invalid_range: str
    too_large: str


@dataclass(frozen=True)
class Excerpt:
    """Characters `start` to `end` (exclusive, from 0) of a text of `total`."""

    text: str
    start: int
    end: int
    total: int

    @property
    def is_cut(self) -> bool:
        """There is more behind it."""
        return self.end < self.total

    @property
    def span(self) -> str:
        return f"chars {self.start}-{self.end} of {self.total}"

    @property
    def words(self) -> int:
        return count_words(self.text)

    def facts(self) -> JsonObject:
        """For `structured`."""
        return {
            "startChar": self.start,
            "endChar": self.end,
            "totalChars": self.total,
            "words": self.words,
            "truncated": self.is_cut,
        }


def excerpt(text: str, start: int | None, count: int | None, what: str, codes: Codes) -> Excerpt:
    """The part asked for.

    Args:
        text: The whole text.
        start: First character, from 0; None: the beginning.
        count: How many characters; None: up to MAX_CHARS, but the whole text when `start` is None too.
        what: How the message calls the text, for errors.
        codes: Of the errors.

    Raises:
        ToolError: The text does not reach `start`, or too much is asked for.
    """
    total = len(text)
    advice = f"Ask for a part with start_char and max_chars (at most {MAX_CHARS})."
    if count is not None and count > MAX_CHARS:
        raise ToolError(codes.too_large, f"max_chars is {count} for {what}; it must be 1 to {MAX_CHARS}.")
    if start is None and count is None and total > MAX_CHARS:
        message = f"{what} has {total} characters; at most {MAX_CHARS} can be read at once.\n{advice}"
        raise ToolError(codes.too_large, message)
    first = start or 0
    if first >= total and first > 0:
        raise ToolError(codes.invalid_range, f"start_char is {first}, but {what} has {total} characters (from 0).")
    end = min(first + (MAX_CHARS if count is None else count), total)
    return Excerpt(text[first:end], first, end, total)


def check_total(parts: Iterable[Excerpt], codes: Codes) -> None:
    """All parts of a call together. Raises ToolError."""
    total = sum(len(part.text) for part in parts)
    if total > MAX_TOTAL:
        raise ToolError(
            codes.too_large,
            f"These are {total} characters together; at most {MAX_TOTAL} can be read in one call.\n"
            "Ask for fewer or shorter parts.",
        )
