"""Which commands are ours: name -> function. The rest is bashkit's."""

import re

from tt_kernel.tools.shell.child.chance import mktemp, shuf, uuidgen
from tt_kernel.tools.shell.child.date_command import date, uptime
from tt_kernel.tools.shell.child.interpreter import Command
from tt_kernel.tools.shell.child.javascript import deno, js
from tt_kernel.tools.shell.child.python import python
from tt_kernel.tools.shell.child.stopped_clock import awk, find, jq, ls, stat

STANDING: dict[str, Command] = {
    "date": date,
    "deno": deno,
    "js": js,
    "ls": ls,
    "mktemp": mktemp,
    "node": js,
    "python": python,
    "python3": python,
    "shuf": shuf,
    "stat": stat,
    "uptime": uptime,
    "uuidgen": uuidgen,
}
"""Commands of every interpreter."""

_ASKED = (
    # A wrapper costs a second interpreter, so it is there only for scripts that show what it hides.
    (re.compile(r"\bjq\b[\s\S]*\bnow\b"), {"jq": jq}),
    (re.compile(r"\b(?:srand|systime|strftime)\b"), dict.fromkeys(("awk", "gawk", "mawk", "nawk"), awk)),
    (re.compile(r"\bfind\b(?![\s\S]*-exec)[\s\S]*-(?:ls|printf)\b"), {"find": find}),
)

OURS = re.compile(r"\b(?:" + "|".join(sorted(STANDING)) + r")\b")
"""Finds the names of our commands in a script, wherever they stand."""

_WAITS = re.compile(r"python|\b(?:js|node|deno|sleep|wait|read|timeout|coproc|flock)\b")


def waits(command: str) -> bool:
    """Whether the script runs a language engine or waits for something, as far as its text shows."""
    return _WAITS.search(command) is not None


def asked_for(command: str) -> dict[str, Command]:
    """Further commands that this script needs."""
    return {name: run for pattern, found in _ASKED if pattern.search(command) for name, run in found.items()}
