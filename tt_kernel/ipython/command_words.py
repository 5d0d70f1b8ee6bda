"""The words after `%agent COMMAND`: options, and what is none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tt_kernel.domain.errors import UsageProblem

OPTIONS = {
    "-m": "MODEL",
    "--model": "MODEL",
    "-t": "TOOL",
    "--tool": "TOOL",
    "--as": "ID",
    "--from": "PROFILE",
    "--pattern": "ARGUMENT=GLOB",
    "--base-url": "URL",
    "--credential": "VARIABLE",
}
"""Options with a value, and what it is."""
SHORT = {"-m": "--model", "-t": "--tool"}
FLAGS = frozenset({"--user", "--replace"})


@dataclass(frozen=True)
class Parsed:
    """`text` is what follows `--`; None: there is no `--`."""

    words: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    text: str | None = None

    def value(self, name: str) -> str | None:
        """The last value of an option."""
        return self.values[name][-1] if self.values.get(name) else None


def plain_words(rest: Sequence[str]) -> list[str]:
    """The words that are neither options nor their values, up to `--`."""
    found, queue = [], list(rest)
    while queue:
        word = queue.pop(0)
        if word == "--":
            break
        if word in OPTIONS:
            del queue[:1]
        elif not word.startswith("-"):
            found.append(word)
    return found


def parsed(rest: Sequence[str], usage: str, *, takes: Sequence[str] = ()) -> Parsed:
    """Read the words of one command.

    Args:
        rest: The words after the command.
        usage: How it is written, for errors.
        takes: The options it takes, by their long names.

    Raises:
        UsageProblem: An option that it does not take, or one without its value.
    """
    words: list[str] = []
    values: dict[str, tuple[str, ...]] = {}
    flags: set[str] = set()
    queue = list(rest)
    while queue:
        word = queue.pop(0)
        if word == "--":
            return Parsed(tuple(words), values, frozenset(flags), " ".join(queue))
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        name = SHORT.get(word, word)
        if name not in takes:
            raise UsageProblem(message=f"{word} is no option here. Write: {usage}")
        if name in FLAGS:
            flags.add(name)
        elif not queue:
            raise UsageProblem(message=f"{word} needs a value: {word} {OPTIONS[word]}. Write: {usage}")
        else:
            values[name] = (*values.get(name, ()), queue.pop(0))
    return Parsed(tuple(words), values, frozenset(flags))
