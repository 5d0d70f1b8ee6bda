"""Commands that are refused before anything starts (spec liveagent §6.3): a leading sleep, a background job that keeps the
session's output open. A small lexer of shell text: quotes, comments, here-documents, redirections, lists.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tt_kernel.domain.errors import ToolError

SLEEP_REFUSED = "process.sleep_refused"
BACKGROUND_REFUSED = "process.background_refused"

LONGEST_SLEEP = 2.0
"""Seconds of a leading sleep from which on it is refused."""

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "ms": 0.001}

_SLEEP = re.compile(
    r"""[\s({]* (?:(?:\w+=\S*|command|builtin|exec|time|nohup|env|sudo)\s+)* \\?(?:[\w./-]*/)?
    (?:sleep|start-sleep(?:\s+-(?:s|seconds))?|timeout\s+/t)
    \s+ (?P<number>\d+\.?\d*|\.\d+|inf(?:inity)?)(?P<unit>ms|[smhd]?) (?=[\s;&|)}]|\Z)""",
    re.VERBOSE | re.IGNORECASE,
)

_TOKEN = re.compile(
    r"""(?s)
      (?P<space>(?:[ \t\r]|\\\n)+)
    | (?P<comment>(?<![^\s;&|(])\#[^\n]*)
    | (?P<quoted>'[^']*(?:'|\Z) | "(?:[^"\\]|\\.)*(?:"|\Z) | `(?:[^`\\]|\\.)*(?:`|\Z) | \\. | \$?\(\(.{0,300}?\)\))
    | (?P<heredoc><<(?P<tabs>-?)[ \t]*(?P<mark>'[^'\n]*'|"[^"\n]*"|\\?[^\s<>&|;()'"\\]+))
    | (?P<herestring><<<)
    | (?P<both>&>>? | >&(?![ \t]*(?:\d|-)))
    | (?P<copy>(?P<from>\d*)[<>]&[ \t]*(?P<to>\d+|-))
    | (?P<redirect>(?P<fd>\d*)(?:>>|>\||<>|>|<))
    | (?P<andor>&&|\|\|)
    | (?P<pipe>\|&?)
    | (?P<end>;;?&?|\n)
    | (?P<background>&)
    | (?P<close>\))
    | (?P<word>[^\s'"`\\&|;<>()#]+ | .)
    """,
    re.VERBOSE,
)

_CLOSING = frozenset({"}", "done", "fi", "esac"})
"""Words after which the redirections that follow are those of the whole group."""


def check_command(command: str, wait_tool: str | None, *, posix: bool = True) -> None:
    """Refuse what must not be started.

    Args:
        command: Text for a shell.
        wait_tool: Call name of the tool that waits for a session, if there is one.
        posix: The shell is one of the POSIX family; elsewhere `&` means something else.

    Raises:
        ToolError: `process.sleep_refused`, `process.background_refused`.
    """
    seconds = leading_sleep(command)
    if seconds >= LONGEST_SLEEP:
        way_out = f"To wait for a running command, use {wait_tool}." if wait_tool else "Leave the sleep out."
        raise ToolError(
            SLEEP_REFUSED, f"This command starts with a sleep of {seconds:g} s, so it was not run.\n{way_out}"
        )
    segment = open_background(command) if posix else None
    if segment is not None:
        raise ToolError(
            BACKGROUND_REFUSED,
            f'This command runs "{segment} &" in the background with its output still attached, so it was not run.\n'
            "Leave the & out: a command that takes long goes on by itself and can be waited for.\n"
            "Or send both outputs of that part to a file: part >part.log 2>&1 &",
        )


def leading_sleep(command: str) -> float:
    """Seconds of the sleep that the command starts with; 0 when it starts with something else or the time is not literal."""
    found = _SLEEP.match(command)
    if found is None:
        return 0.0
    return float(found["number"]) * _UNITS[found["unit"].lower()]


def open_background(command: str) -> str | None:
    """The first background part whose stdout or stderr is not redirected; None when there is none."""
    segment = _Segment()
    for kind, match in _tokens(command):
        if kind == "background":
            if not segment.is_quiet:
                return " ".join(command[segment.start : match.start()].split())[:80]
            segment = _Segment(match.end())
        elif kind == "end":
            segment = _Segment(match.end())
        else:
            segment.read(kind, match)
    return None


@dataclass
class _Segment:
    """A list of commands up to `;`, `&` or a line end. `closed`: which outputs of the current command lead elsewhere;
    `joined`: its stderr goes where its stdout goes; `leaks`: an earlier command of the list has an open output.
    """

    start: int = 0
    closed: dict[str, bool] = field(default_factory=dict)
    joined: bool = False
    leaks: bool = False

    @property
    def is_quiet(self) -> bool:
        return not self.leaks and self._closes("1") and self._closes("2")

    def read(self, kind: str, match: re.Match[str]) -> None:
        if kind == "both":
            self.closed = {"1": True, "2": True}
        elif kind == "redirect":
            self.closed[match["fd"] or ("0" if "<" in match[0] else "1")] = True
        elif kind == "copy":
            self._copy(match["from"] or "1", match["to"])
        elif kind == "pipe":
            # The next command reads stdout, and stderr with |& or 2>&1.
            self._next(leaks=not (self._closes("2") or self.joined or match[0] == "|&"))
        elif kind == "andor":
            self._next(leaks=not (self._closes("1") and self._closes("2")))
        elif kind == "close" or (kind == "word" and match[0] in _CLOSING):
            self._next(leaks=False)
            self.leaks = False

    def _closes(self, output: str) -> bool:
        return self.closed.get(output, False)

    def _copy(self, output: str, to: str) -> None:
        self.closed[output] = to == "-" or self._closes(to)
        self.joined = (output, to) == ("2", "1")

    def _next(self, *, leaks: bool) -> None:
        self.leaks = self.leaks or leaks
        self.closed, self.joined = {}, False


def _tokens(command: str) -> Iterator[tuple[str, re.Match[str]]]:
    """(kind, match) of each token; the bodies of here-documents are left out."""
    at = 0
    bodies: list[re.Match[str]] = []
    while at < len(command):
        match = _TOKEN.match(command, at)
        assert match is not None, "the last alternative matches any character"
        at = match.end()
        kind = match.lastgroup or ""
        if kind == "heredoc":
            bodies.append(match)
        elif match[0] == "\n" and bodies:
            at = _after_bodies(command, at, bodies)
            bodies = []
        yield kind, match


def _after_bodies(command: str, at: int, bodies: list[re.Match[str]]) -> int:
    for body in bodies:
        mark = body["mark"].strip("'\"").lstrip("\\")
        tabs = r"\t*" if body["tabs"] else ""
        end = re.compile(rf"^{tabs}{re.escape(mark)}$", re.MULTILINE).search(command, at)
        if end is None:
            return len(command)
        at = min(end.end() + 1, len(command))
    return at
