"""The line of `%%agent` and `%agent`: DESIGN §8.

Words are separated by white space. A word, or what follows its first `=`, may be quoted with `'…'` or `"…"`; a quote
anywhere else is a plain character, so `it's` needs no care.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, NoReturn

from tt_kernel.domain.errors import UsageProblem


@dataclass(frozen=True)
class Options:
    """What the line says. `text` is the prompt of the line form; None in the cell form, whose prompt is the body."""

    profile: str | None = None
    model: str | None = None
    output: str | None = None
    continue_from: str | None = None
    session: str | None = None
    tools: tuple[str, ...] = ()
    mode: Literal["live", "replay"] | None = None
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    raw: bool = False
    quiet: bool = False
    vary: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    repeat: int = 1
    checks: tuple[str, ...] = ()
    budget_usd: float | None = None
    concurrency: int | None = None
    confirmed: bool = False
    text: str | None = None

    @property
    def is_sweep(self) -> bool:
        """More than one run, or one that is checked."""
        return bool(self.vary or self.checks) or self.repeat != 1


LAST = "last"
"""`--continue` without a run goes on from the last one."""


@dataclass(frozen=True)
class Option:
    """One option: its spellings, the name of its value (empty: it takes none), what it does, and its effect on Options."""

    names: tuple[str, ...]
    value: str
    help: str
    apply: Callable[[Options, str], Options]
    optional: bool = False  # the value may be left out, and is given with `=`


def _setting(name: str) -> Callable[[Options, str], Options]:
    return lambda options, value: replace(options, settings={**options.settings, name: value})


def _set(options: Options, value: str) -> Options:
    name, equals, text = value.partition("=")
    if not equals or not name:
        raise UsageProblem(message=f"--set needs FIELD=VALUE, for example --set sampling.temperature=0; got {value!r}.")
    return _setting(name)(options, text)


def _output(options: Options, value: str) -> Options:
    if not value.isidentifier():
        raise UsageProblem(message=f"-o needs the name of a variable; {value!r} is none.")
    return replace(options, output=value)


def _mode(mode: Literal["live", "replay"]) -> Callable[[Options, str], Options]:
    def apply(options: Options, _: str) -> Options:
        if options.mode not in (None, mode):
            raise UsageProblem(message="--live and --replay exclude each other: choose one.")
        return replace(options, mode=mode)

    return apply


def _profile(options: Options, value: str) -> Options:
    if options.profile is not None:
        raise UsageProblem(
            message=f"A run has one profile; got {options.profile!r} and {value!r}. The prompt stands below the %%agent line."
        )
    return replace(options, profile=value)


def _vary(options: Options, value: str) -> Options:
    name, equals, text = value.partition("=")
    if not equals or not name or not text:
        raise UsageProblem(message=f"--vary needs FIELD=VALUE,VALUE, for example --vary model=a:x,b:y; got {value!r}.")
    return replace(options, vary={**options.vary, name: text})


def _repeat(options: Options, value: str) -> Options:
    if not value.isdigit() or value == "0":
        raise UsageProblem(message=f"--repeat needs a number from 1 on; got {value!r}.")
    return replace(options, repeat=int(value))


def _budget(options: Options, value: str) -> Options:
    try:
        amount = float(value.removeprefix("$"))
    except ValueError:
        amount = -1.0
    if not 0 <= amount < float("inf"):
        raise UsageProblem(message=f"--budget needs an amount in dollars, for example --budget 2.50; got {value!r}.")
    return replace(options, budget_usd=amount)


def _concurrency(options: Options, value: str) -> Options:
    if not value.isdigit() or value == "0":
        raise UsageProblem(message=f"--concurrency needs a number from 1 on; got {value!r}.")
    return replace(options, concurrency=int(value))


OPTIONS = (
    Option(("-p", "--profile"), "PROFILE", "the agent's profile (default: assistant)", _profile),
    Option(("-m", "--model"), "MODEL", "the model, as provider:model", lambda o, v: replace(o, model=v)),
    Option(("-o", "--output"), "NAME", "also store the Run in this variable", _output),
    Option(
        ("--continue",),
        "RUN",
        "go on from the last run's conversation, or --continue=RUN from another's",
        lambda o, v: replace(o, continue_from=v or LAST),
        optional=True,
    ),
    Option(("--session",), "NAME", "say it in this session: a conversation that survives restarts", lambda o, v: replace(o, session=v)),
    Option(("-t", "--tool"), "TOOL", "offer one more tool or notebook function (repeat it)", lambda o, v: replace(o, tools=(*o.tools, v))),
    Option(("--live",), "", "ask the model anew, whatever is recorded", _mode("live")),
    Option(("--replay",), "", "only what is recorded; anything else is an error", _mode("replay")),
    Option(("--set",), "FIELD=VALUE", "change one field of the profile (repeat it)", _set),
    Option(("--temperature",), "NUMBER", "short for --set sampling.temperature=NUMBER", _setting("sampling.temperature")),
    Option(("--seed",), "NUMBER", "short for --set sampling.seed=NUMBER", _setting("sampling.seed")),
    Option(("--max-tokens",), "NUMBER", "short for --set sampling.max_tokens=NUMBER", _setting("sampling.max_tokens")),
    Option(("--plan",), "", "only look around and end with a plan; %agent approve carries it out", lambda o, _: _setting("run.plan")(o, "true")),
    Option(("--vary",), "FIELD=V1,V2", "run with each value of a profile field, model, profile, tools or @{name} (repeat it)", _vary),
    Option(("--repeat",), "N", "run it N times; the n-th has the n-th recording", _repeat),
    Option(("--check",), "EXPR", "check each answer: an expression of text, calls, run ... (repeat it)", lambda o, v: replace(o, checks=(*o.checks, v))),
    Option(("--budget",), "USD", "begin no more runs of a sweep once they have cost so much", _budget),
    Option(("--concurrency",), "N", "how many runs of a sweep go on at once (default: 8)", _concurrency),
    Option(("--yes",), "", "run a sweep of more than 100 live runs, or more than $1", lambda o, _: replace(o, confirmed=True)),
    Option(("--raw",), "", "leave @{…} in the prompt as it is", lambda o, _: replace(o, raw=True)),
    Option(("-q", "--quiet"), "", "show nothing; the Run is in _", lambda o, _: replace(o, quiet=True)),
)  # fmt: skip

NOT_YET = ("--background",)
"""Words of the grammar whose time has not come."""

_BY_NAME = {name: option for option in OPTIONS for name in option.names}
_WORD = re.compile(r"\S+")
_OPTION = re.compile(r"--?[A-Za-z]")


@dataclass(frozen=True)
class Word:
    """One word of the line without its quotes, and where it stands."""

    text: str
    start: int
    end: int


def words(line: str) -> Iterator[Word]:
    at = 0
    while found := _WORD.search(line, at):
        at = _end(line, found)
        yield Word(_unquoted(line[found.start() : at]), found.start(), at)


def parse_cell(line: str) -> Options:
    """The first line of `%%agent`: options and at most one profile, in any order.

    Raises:
        UsageProblem: Names the option, and what it needs.
    """
    options, rest = _parse(list(words(line)), stop_at_text=False)
    for word in rest:
        options = _profile(options, word.text)
    return options


def parse_line(line: str) -> Options:
    """`%agent OPTIONS TEXT`: options first; from the first other word on all is the prompt, as it is. `--` ends the options."""
    options, rest = _parse(list(words(line)), stop_at_text=True)
    return replace(options, text=line[rest[0].start :] if rest else "")


def _parse(all_words: list[Word], *, stop_at_text: bool) -> tuple[Options, list[Word]]:
    options, rest = Options(), []
    queue = all_words
    while queue:
        word, queue = queue[0], queue[1:]
        if stop_at_text and (word.text == "--" or not _is_option(word)):
            return options, queue if word.text == "--" else [word, *queue]
        if not _is_option(word):
            rest.append(word)
            continue
        option, value = _lookup(word.text)
        if value is None and option.value and not option.optional:
            if not queue or _is_option(queue[0]):
                raise UsageProblem(message=f"{word.text} needs a value: {word.text} {option.value}.")
            value, queue = queue[0].text, queue[1:]
        options = option.apply(options, value or "")
    return options, rest


def _is_option(word: Word) -> bool:
    return _OPTION.match(word.text) is not None


def _lookup(text: str) -> tuple[Option, str | None]:
    """The option, and the value that is given with `=`."""
    name, equals, value = text.partition("=")
    option = _BY_NAME.get(name)
    if option is None:
        _unknown(name)
    if equals and not option.value:
        raise UsageProblem(message=f"{name} takes no value; got {value!r}.")
    return option, value if equals else None


def _unknown(name: str) -> NoReturn:
    if name in NOT_YET:
        raise UsageProblem(message=f"{name} is not available yet.")
    near = difflib.get_close_matches(name, _BY_NAME, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}?" if near else " %agent? lists the options."
    raise UsageProblem(message=f"There is no option {name}.{hint}")


def _end(line: str, found: "re.Match[str]") -> int:
    """Where a word ends: a quote at its start, or after its first `=`, takes white space in up to a closing one."""
    start = found.start()
    equals = found[0].find("=")
    for opening in (start, start + equals + 1 if equals > 0 else start):
        quote = line[opening : opening + 1]
        if quote in ("'", '"'):
            closing = re.compile(rf"{quote}(?=\s|$)").search(line, opening + 1)
            if closing:
                return closing.end()
    return found.end()


def _unquoted(word: str) -> str:
    name, equals, value = "", "", word
    if word[:1] not in ("'", '"'):
        name, equals, value = word.partition("=")
        if not equals:
            return word
    if len(value) > 1 and value[0] == value[-1] and value[0] in ("'", '"'):
        value = value[1:-1]
    return name + equals + value


def usage_lines() -> list[str]:
    """Each option with what it does, for the help text."""
    shown = [(_spelling(option), option.help) for option in OPTIONS]
    width = max(len(spelling) for spelling, _ in shown)
    return [f"  {spelling.ljust(width)}  {text}" for spelling, text in shown]


def _spelling(option: Option) -> str:
    value = f" {option.value}" if option.value and not option.optional else ""
    return ", ".join(option.names) + value
