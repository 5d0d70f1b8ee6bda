"""Word search without an index: how tokens are made from a query, and how a text scores (spec tauritavern §5.1)."""

from collections.abc import Iterable
from dataclasses import dataclass

MAX_TOKENS = 64
MAX_WEIGHT = 8
SHORT_TOKEN = 2
"""A single token of at most so many characters is searched as it is."""
WHOLE_TOKEN = 8
"""A single token of at most so many characters is searched whole as well; several tokens are cut only from here on."""
SINGLE_BIGRAMS = 32
SEVERAL_BIGRAMS = 8
SNIPPET_CHARS = 200
SNIPPET_LEAD = 40
ELLIPSIS = "..."


def fold(text: str) -> str:
    """Lower case that keeps every character at its position (the dotted capital I is the one that would not)."""
    return text.replace("\u0130", "I").lower()


@dataclass(frozen=True)
class Query:
    """A query as weighted tokens; build it with `Query.of`. No token: the query has no letter and no digit.

    All texts that its methods take must have gone through `fold`.
    """

    weights: dict[str, int]

    @classmethod
    def of(cls, text: str) -> "Query":
        words = "".join(c if c.isalnum() or c == "_" else " " for c in fold(text)).split()
        pieces = _single(words[0]) if len(words) == 1 else [piece for word in words for piece in _one_of_several(word)]
        tokens = list(dict.fromkeys(pieces))[:MAX_TOKENS]
        return cls({token: min(max(len(token), 1), MAX_WEIGHT) for token in tokens})

    def __bool__(self) -> bool:
        return bool(self.weights)

    @property
    def total(self) -> int:
        return sum(self.weights.values())

    def present(self, folded: str) -> list[tuple[str, int]]:
        """The tokens that occur in a text, with their weights."""
        return [(token, weight) for token, weight in self.weights.items() if token in folded]

    def score(self, folded: str) -> float:
        """Matched weight by total weight, 0 to 1; above 0 is a hit."""
        return sum(weight for _, weight in self.present(folded)) / self.total

    def first_match(self, folded: str) -> int:
        """Where the first token that occurs begins; -1 when none does."""
        return min((at for at in map(folded.find, self.weights) if at >= 0), default=-1)

    def snippet(self, text: str, limit: int = SNIPPET_CHARS, lead: int = SNIPPET_LEAD) -> str:
        """At most `limit` characters of `text` around the first match, with `lead` characters before it; `...` where cut."""
        if len(text) <= limit:
            return text
        start = max(self.first_match(fold(text)) - lead, 0)
        # Near the end, show what there is rather than a short piece.
        start = min(start, len(text) - limit + len(ELLIPSIS))
        head = ELLIPSIS if start else ""
        if start + limit - len(head) >= len(text):
            return head + text[start:]
        return head + text[start : start + limit - len(head) - len(ELLIPSIS)] + ELLIPSIS


def _single(word: str) -> list[str]:
    if len(word) <= SHORT_TOKEN:
        return [word]
    whole = [word] if len(word) <= WHOLE_TOKEN else []
    return whole + _bigrams(word, SINGLE_BIGRAMS)


def _one_of_several(word: str) -> Iterable[str]:
    return [word] if word.isascii() or len(word) < WHOLE_TOKEN else _bigrams(word, SEVERAL_BIGRAMS)


def _bigrams(word: str, limit: int) -> list[str]:
    """Pairs of neighbouring characters; evenly sampled when there are more than `limit`."""
    pairs = list(dict.fromkeys(word[i : i + 2] for i in range(len(word) - 1)))
    if len(pairs) <= limit:
        return pairs
    return [pairs[i * len(pairs) // limit] for i in range(limit)]
