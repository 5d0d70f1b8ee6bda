"""Command lines of the commands written here: short and long options, clustered flags, `--`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Usage(Exception):
    """The command line makes no sense; the text says why."""


@dataclass
class Options:
    """What was asked: long names of flags, values by long name, and the other words in order."""

    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)

    def has(self, flag: str) -> bool:
        return flag in self.flags

    def value(self, name: str) -> str | None:
        return self.values.get(name)

    @classmethod
    def read(cls, argv: list[str], *, flags: Mapping[str, str], values: Mapping[str, str]) -> "Options":
        """Read a command line.

        Args:
            argv: Without the command's name.
            flags: Short form -> long form of options without a value.
            values: The same for options with a value. A key that is empty or starts with `=` has no short form.

        Raises:
            Usage: An unknown option, or one that lacks its value.
        """
        found = cls()
        rest = list(argv)
        while rest:
            word = rest.pop(0)
            if word == "--":
                found.words += rest
                break
            if word.startswith("--"):
                found._long(word, rest, flags, values)
            elif word.startswith("-") and word != "-":
                found._short(word, rest, flags, values)
            else:
                found.words.append(word)
        return found

    def _long(self, word: str, rest: list[str], flags: Mapping[str, str], values: Mapping[str, str]) -> None:
        name, equals, text = word.partition("=")
        if name in flags.values() and not equals:
            self.flags.add(name)
        elif name in values.values():
            self.values[name] = text if equals else _next(rest, name)
        else:
            raise Usage(f"unrecognized option '{word}'")

    def _short(self, word: str, rest: list[str], flags: Mapping[str, str], values: Mapping[str, str]) -> None:
        for index, letter in enumerate(word[1:], 1):
            option = f"-{letter}"
            if option in flags:
                self.flags.add(flags[option])
            elif option in values:
                self.values[values[option]] = word[index + 1 :] or _next(rest, option)
                return
            else:
                raise Usage(f"invalid option -- '{letter}'")


def _next(rest: list[str], option: str) -> str:
    if not rest:
        raise Usage(f"option '{option}' requires an argument")
    return rest.pop(0)


async def complain(context: Any, message: str, code: int = 1) -> int:
    """`<command>: <message>` on standard error. Returns the exit code, for the command to return."""
    await context.stderr.write(f"{context.name}: {message}\n".encode("utf-8", "replace"))
    return code
