"""Worked examples that the local model imitates: without them, a model of this size does not know what a call is.

Each turn shows the few that are nearest to the prompt. Tools that ship with tt_kernel have examples of their own, by the end of
their call name; any other tool gets the general ones, which show how words of a prompt become arguments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.providers.local_words import likeness

CALLS_SHOWN = 3
REPLIES_SHOWN = 2


@dataclass(frozen=True)
class CallExample:
    prompt: str
    tool: str
    arguments: JsonObject


@dataclass(frozen=True)
class ReplyExample:
    question: str
    result: str
    reply: str


def _of(tool: str, *pairs: tuple[str, JsonObject]) -> tuple[CallExample, ...]:
    return tuple(CallExample(prompt, tool, arguments) for prompt, arguments in pairs)


def _dice(*pairs: tuple[str, str]) -> tuple[CallExample, ...]:
    return _of("dice_roll", *((prompt, {"formula": formula}) for prompt, formula in pairs))


CALLS: Mapping[str, Sequence[CallExample]] = {
    "dice_roll": _dice(
        *(
            (f"Roll {number} dice with {sides} sides.", f"{number}d{sides}")
            for number in (2, 3, 4)
            for sides in (8, 10)
        ),
        *((f"Roll a d{sides}.", f"1d{sides}") for sides in (4, 8, 10, 12, 20)),
        ("Roll 2d10.", "2d10"),
        ("Roll 3d8+2.", "3d8+2"),
        ("Roll 5 10-sided dice.", "5d10"),
        *((f"Throw {number} dice and tell me what you got.", f"{number}d6") for number in (2, 3, 5)),
        *((f"Roll {number} dice.", f"{number}d6") for number in range(10, 1, -1)),
        *((f"Roll {number} dice and tell me the total in one sentence.", f"{number}d6") for number in (3, 2)),
        ("Roll 1 die.", "1d6"),
        ("Roll a die.", "1d6"),
    ),
    "read_file": _of(
        "workspace_read_file",
        ("Read output/notes.md.", {"path": "output/notes.md"}),
        ("What is in plan/todo.md?", {"path": "plan/todo.md"}),
    ),
    "write_file": _of(
        "workspace_write_file",
        ("Write hello to output/main.md.", {"path": "output/main.md", "content": "Hello!"}),
        (
            "Write a short poem about rain to output/rain.md.",
            {
                "path": "output/rain.md",
                "content": "Soft rain on the roof,\na river of small voices,\nthe garden listens.",
            },
        ),
    ),
    "search_files": _of(
        "workspace_search_files",
        ("Search the files for apple.", {"query": "apple"}),
        ("Which files mention the word winter?", {"query": "winter"}),
    ),
    "shell": _of(
        "workspace_shell",
        ("Count the lines of words.txt with the shell.", {"command": "wc -l words.txt"}),
        ("Run a shell command that prints hello.", {"command": "echo hello"}),
        ("Show the date with the shell.", {"command": "date"}),
        ("List the files with the shell.", {"command": "ls -l"}),
    ),
}

GENERAL: Sequence[CallExample] = (
    CallExample("What time is it in Paris?", "clock", {"place": "Paris"}),
    CallExample("Multiply 6 by 7.", "multiply", {"x": 6, "y": 7}),
    CallExample("What is the largest value of the column height?", "largest", {"column": "height"}),
    CallExample("How long is the text: we like tea", "length", {"text": "we like tea"}),
    CallExample("Greet Maria.", "greet", {"name": "Maria"}),
)

REPLIES: Sequence[ReplyExample] = (
    ReplyExample("Roll a d6.", "5", "You rolled a 5."),
    ReplyExample("Throw 3 dice.", "Rolled 3d6: 4 + 1 + 2 = 7.", "You rolled a total of 7."),
    ReplyExample("Roll 2 dice and tell me the result.", "Rolled 2d6: 6 + 3 = 9.", "You rolled a total of 9."),
    ReplyExample("How many words are in the text?", "112", "The number of words in the text is 112."),
    ReplyExample("What is the mean of the column height?", "1.75", "The mean of the column height is 1.75."),
    ReplyExample("What is 4 times 5?", "20", "The answer is 20."),
)

QUOTES: Sequence[ReplyExample] = (
    ReplyExample("Say good morning to Tom.", "Good morning, Tom!", "Here is the greeting:"),
    ReplyExample("Search the files for apple.", "a.md:3: an apple", "This is what the search found:"),
    ReplyExample("Write a song to song.md.", "Wrote song.md (80 characters).", "The song is written:"),
    ReplyExample("Read story.md.", "1| Once upon a time", "This is what the file says:"),
    ReplyExample("List the files.", "a.txt\nb.txt", "These are the files:"),
    ReplyExample("Translate dog to Spanish.", "perro", "The answer is:"),
    ReplyExample("Which colour has the sky?", "blue", "The answer is:"),
)
"""Introductions to a result that is quoted below them."""


def has_examples(tool: str) -> bool:
    return any(tool.endswith(ending) for ending in CALLS)


def call_examples(tool: str, prompt: str) -> list[CallExample]:
    """The nearest last: a small model follows what it read last."""
    known = next((examples for ending, examples in CALLS.items() if tool.endswith(ending)), GENERAL)
    return sorted(known, key=lambda example: likeness(example.prompt, prompt))[-CALLS_SHOWN:]


def reply_examples(bank: Sequence[ReplyExample], question: str, result: str) -> list[ReplyExample]:
    """The nearest last; the most general ones, at the end of the bank, where nothing is near."""
    asked = f"{question} {result}"
    return sorted(bank, key=lambda example: likeness(f"{example.question} {example.result}", asked))[-REPLIES_SHOWN:]
