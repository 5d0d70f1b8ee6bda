"""Which tool a prompt speaks of: the words it shares with names and descriptions."""

import re
from collections.abc import Sequence

from tt_kernel.domain.specs import ToolOffer

NAME_WEIGHT = 3
ENOUGH = 3
"""Score from which a tool is meant: one word of its name, or three of its description."""

_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "twenty": 20, "hundred": 100,
}  # fmt: skip
_NUMBER_WORD = re.compile(rf"\b({'|'.join(_NUMBERS)})\b", re.IGNORECASE)
_COMMON = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "by",
        "can",
        "do",
        "does",
        "for",
        "from",
        "give",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "of",
        "on",
        "or",
        "our",
        "please",
        "say",
        "so",
        "some",
        "tell",
        "that",
        "the",
        "them",
        "then",
        "there",
        "these",
        "this",
        "to",
        "us",
        "use",
        "want",
        "was",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "you",
        "your",
        "get",
        "tool",
        "tools",
        "call",
        "answer",
        "result",
        "results",
        "return",
        "returns",
        "returned",
        "value",
        "values",
        "workspace",
        "notebook",
        "mcp",
        "name",
        "number",
        "one",
        "new",
        "given",
        "such",
        "example",
        "each",
        "any",
        "all",
        "not",
        "no",
        "only",
        "also",
    ]
)
_PATH = re.compile(
    r"(?<![\w/.])[\w.-]*(?:/[\w.-]+)+|(?<![\w/.])(?!e\.g\b|i\.e\b)[\w-]+\.(?:[a-z]{1,5}[0-9]?)\b", re.IGNORECASE
)
_ADDRESS = re.compile(r"\b[a-z]+://\S+", re.IGNORECASE)


def words(text: str) -> set[str]:
    """The words that mean something, in a common form: `readFiles` has read and file."""
    split = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    return {_stem(word) for word in re.findall(r"[a-z]+|[0-9][0-9a-z]*", split.lower())} - _COMMON


def digits(text: str) -> str:
    """`two dice` -> `2 dice`: a small model copies better than it translates."""
    return _NUMBER_WORD.sub(lambda match: str(_NUMBERS[match[1].lower()]), text)


def paths(text: str) -> list[str]:
    """What looks like a path of a file, in order, once each."""
    return list(dict.fromkeys(path.rstrip("./") for path in _PATH.findall(_ADDRESS.sub(" ", text))))


def meant(prompt: str, tools: Sequence[ToolOffer]) -> list[ToolOffer]:
    """The tools that the prompt speaks of most: none, one, or several with equal score (then those that need least)."""
    scores = [(_score(words(prompt), tool), -len(tool.input_schema.get("required") or ()), tool) for tool in tools]
    best = max(((score, need) for score, need, _ in scores), default=(0, 0))
    return [tool for score, need, tool in scores if (score, need) == best and score >= ENOUGH]


def likeness(one: str, other: str) -> float:
    """From 0 (nothing shared) to 1 (the same words)."""
    first, second = words(one), words(other)
    return len(first & second) / len(first | second) if first and second else 0.0


def _score(prompt: set[str], tool: ToolOffer) -> int:
    about = re.split(r"(?<=[.!?])\s", tool.description.strip(), maxsplit=1)[0]
    in_name = prompt & words(tool.name)
    return NAME_WEIGHT * len(in_name) + len((prompt & words(about)) - in_name)


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:  # noqa: PLR2004  shorter stems are no words
            return word[: -len(ending)]
    return {"die": "dice"}.get(word, word)
