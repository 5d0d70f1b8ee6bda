"""`date` and `uptime` by the run's clock, with the formats and the date strings of GNU date that people use."""

import re
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from tt_kernel.tools.shell.child.call import Call
from tt_kernel.tools.shell.child.date_text import read_date
from tt_kernel.tools.shell.child.files import Files
from tt_kernel.tools.shell.child.options import Options, Usage, complain

PLAIN = "%a %b %e %H:%M:%S %Z %Y"
_ISO = {
    "": "%Y-%m-%d",
    "date": "%Y-%m-%d",
    "hours": "%Y-%m-%dT%H%:z",
    "minutes": "%Y-%m-%dT%H:%M%:z",
    "seconds": "%Y-%m-%dT%H:%M:%S%:z",
    "s": "%Y-%m-%dT%H:%M:%S%:z",
    "ns": "%Y-%m-%dT%H:%M:%S,%N%:z",
}
_RFC_3339 = {"date": "%Y-%m-%d", "seconds": "%Y-%m-%d %H:%M:%S%:z", "ns": "%Y-%m-%d %H:%M:%S.%N%:z"}
_DIRECTIVE = re.compile(r"%([-_0^#]*)(\d*)(:{0,3})([A-Za-z%+])")
_MEANS = {
    "c": "%a %b %e %H:%M:%S %Y",
    "D": "%m/%d/%y",
    "F": "%Y-%m-%d",
    "h": "%b",
    "r": "%I:%M:%S %p",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "x": "%m/%d/%y",
    "X": "%H:%M:%S",
    "+": "%Y-%m-%d",
}
# width and filler of the numbers
_NUMBERS = {
    **dict.fromkeys("CdgHImMSUVWy", (2, "0")),
    **dict.fromkeys("ekl", (2, " ")),
    "j": (3, "0"),
    "N": (9, "0"),
    "q": (1, "0"),
    "s": (1, "0"),
    "u": (1, "0"),
    "w": (1, "0"),
    "Y": (1, "0"),
    "G": (1, "0"),
}


async def date(context: Any, call: Call) -> int:
    argv = ["--iso-8601=" + word[2:] if word.startswith("-I") else word for word in context.argv]
    argv = ["--iso-8601=" if word == "--iso-8601" else word for word in argv]
    try:
        options = Options.read(
            argv,
            flags={"-u": "--utc", "--u": "--universal", "-R": "--rfc-email", "--R": "--rfc-2822"},
            values={"-d": "--date", "-r": "--reference", "-s": "--set", "=I": "--iso-8601", "=3": "--rfc-3339"},
        )
        text = _answer(options, context, call)
    except Usage as error:
        return await complain(context, str(error))
    await context.stdout.write(f"{text}\n".encode("utf-8", "replace"))
    return 0


def _answer(options: Options, context: Any, call: Call) -> str:
    if options.value("--set") is not None:
        raise Usage("cannot set date: the clock of a run stands still")
    if len(options.words) > 1:
        raise Usage(f"extra operand '{options.words[1]}'")
    if options.words and not options.words[0].startswith("+"):
        raise Usage(f"invalid date '{options.words[0]}'")
    zone = UTC if options.has("--utc") or options.has("--universal") else _zone(context.env.get("TZ"))
    moment = call.now.astimezone(zone)
    asked = options.value("--date")
    if asked is not None:
        moment = read_date(asked, moment)
    reference = options.value("--reference")
    if reference is not None and not Files(context.fs, context.cwd).exists(reference):
        raise Usage(f"{reference}: No such file or directory")
    return strftime(moment, _format(options))


def _format(options: Options) -> str:
    if options.words:
        return options.words[0][1:]
    if options.has("--rfc-email") or options.has("--rfc-2822"):
        return "%a, %d %b %Y %H:%M:%S %z"
    for name, known in (("--iso-8601", _ISO), ("--rfc-3339", _RFC_3339)):
        kind = options.value(name)
        if kind is not None:
            if kind not in known:
                raise Usage(f"invalid argument '{kind}' for '{name}'; valid: {', '.join(filter(None, known))}")
            return known[kind]
    return PLAIN


def strftime(moment: datetime, text: str) -> str:
    """`text` with the directives of GNU date filled in; an unknown directive stays as it is."""
    return _DIRECTIVE.sub(lambda found: _directive(moment, found), text)


def _directive(moment: datetime, found: re.Match[str]) -> str:
    flags, width, colons, letter = found.groups()
    if letter == "z":
        return _offset(moment, len(colons))
    if letter in _NUMBERS:
        return _number(moment, letter, flags, width)
    if letter in _MEANS:
        text = strftime(moment, _MEANS[letter])
    elif letter in "aAbBpPZ":
        text = _word(moment, letter)
    else:
        return {"n": "\n", "t": "\t", "%": "%"}.get(letter, found[0])
    if "^" in flags:
        text = text.upper()
    if "#" in flags:
        text = text.swapcase()
    return text.rjust(int(width or 0))


def _word(moment: datetime, letter: str) -> str:
    if letter == "P":
        return moment.strftime("%p").lower()
    return moment.strftime(f"%{letter}")


def _number(moment: datetime, letter: str, flags: str, width: str) -> str:
    value = _value(moment, letter)
    places, filler = _NUMBERS[letter]
    if letter == "N":
        return f"{value:09d}"[: int(width or 9)]
    if "-" in flags:
        return str(value)
    filler = " " if "_" in flags else "0" if "0" in flags else filler
    return str(value).rjust(int(width or places), filler)


def _value(moment: datetime, letter: str) -> int:
    hour = moment.hour % 12 or 12
    own = {
        "C": moment.year // 100,
        "e": moment.day,
        "g": moment.isocalendar().year % 100,
        "G": moment.isocalendar().year,
        "k": moment.hour,
        "l": hour,
        "I": hour,
        "N": moment.microsecond * 1000,
        "q": (moment.month + 2) // 3,
        "s": int(moment.timestamp() // 1),
        "u": moment.isoweekday(),
        "V": moment.isocalendar().week,
    }
    return own[letter] if letter in own else int(moment.strftime(f"%{letter}"))


def _offset(moment: datetime, colons: int) -> str:
    seconds = int((moment.utcoffset() or UTC.utcoffset(None)).total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("+", seconds)
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    return (
        f"{sign}{hours:02d}{minutes:02d}",
        f"{sign}{hours:02d}:{minutes:02d}",
        f"{sign}{hours:02d}:{minutes:02d}:{seconds:02d}",
        f"{sign}{hours:02d}",
    )[colons]


def _zone(name: str | None) -> tzinfo:
    """As the C library: a zone that is not known is UTC."""
    if not name:
        return UTC
    try:
        return ZoneInfo(name.removeprefix(":"))
    except (OSError, ValueError, KeyError):
        return UTC


async def uptime(context: Any, call: Call) -> int:
    line = f" {call.now:%H:%M:%S} up 0 min,  0 users,  load average: 0.00, 0.00, 0.00\n"
    await context.stdout.write(line.encode())
    return 0
