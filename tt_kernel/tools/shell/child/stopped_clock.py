"""bashkit's own commands, with the run's clock in place of the machine's: file dates, `now`, seeds.

Each runs the original in a second interpreter that sees the same files, with arguments or output changed. Comparisons of file
dates (`-nt`, `find -newer`, make) keep using the real ones: only what is shown stands still.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from bashkit import Bash, ExecutionProfile, FileSystem

from tt_kernel.tools.shell.child.call import Call

Filter = Callable[[bytes], bytes]

_LS_DATE = re.compile(rb"^([-bcdlps][-rwxsStT]{9}\s+[\d.]+[KMGTP]?) \d{4}-\d\d-\d\d \d\d:\d\d ", re.MULTILINE)
_FIND_DATE = re.compile(
    rb"^((?:\s*\d+){2} [-bcdlps][-rwxsStT]{9}\s+\d+ \S+\s+\S+\s+\d+) \w{3} [ \d]\d \d\d:\d\d ", re.MULTILINE
)
_STAT_DATE = re.compile(rb"^Modify: \d+$", re.MULTILINE)
_STAT_DIRECTIVE = re.compile(r"%([-#0 ]*\d*)([XYZWxyzw%])")
_FIND_DIRECTIVE = re.compile(r"%(%|[act]|[ACTB]([@+A-Za-z]))")
_SRAND = re.compile(r"\bsrand\s*\(\s*\)")
_SYSTIME = re.compile(r"\bsystime\s*\(\s*\)")
_STRFTIME = re.compile(r"\bstrftime\s*\(\s*(\"(?:[^\"\\]|\\.)*\"\s*)?\)")


async def ls(context: Any, call: Call) -> int:
    shown = call.now.strftime("%Y-%m-%d %H:%M").encode()
    # Options that only dress the output up, which bashkit does not have.
    arguments = [a for a in context.argv if not a.startswith(("--color", "--time-style"))]
    return await _native(context, call, "ls", arguments, lambda out: _LS_DATE.sub(rb"\1 " + shown + b" ", out))


async def stat(context: Any, call: Call) -> int:
    def fill(found: re.Match[str]) -> str:
        letter = found[2]
        if letter == "%":
            return found[0]
        return str(int(call.epoch)) if letter.isupper() else call.now.strftime("%Y-%m-%d %H:%M:%S.%f000 +0000")

    arguments: list[str] = []
    for argument in context.argv:
        is_format = argument.startswith(("-c", "--format=", "--printf=")) or (
            arguments and arguments[-1] in ("-c", "--format", "--printf")
        )
        arguments.append(_STAT_DIRECTIVE.sub(fill, argument) if is_format else argument)
    shown = f"Modify: {int(call.epoch)}".encode()
    return await _native(context, call, "stat", arguments, lambda out: _STAT_DATE.sub(shown, out))


async def find(context: Any, call: Call) -> int:
    def fill(found: re.Match[str]) -> str:
        if found[1] == "%":
            return found[0]
        if found[2] is None:
            return call.now.strftime("%a %b %e %H:%M:%S.%f0000 %Y")
        return f"{call.epoch:.10f}" if found[2] == "@" else call.now.strftime(f"%{found[2]}")

    arguments = list(context.argv)
    for index, argument in enumerate(arguments):
        if index and arguments[index - 1] in ("-printf", "-fprintf"):
            arguments[index] = _FIND_DIRECTIVE.sub(fill, argument)
    shown = call.now.strftime("%b %e %H:%M").encode()
    return await _native(context, call, "find", arguments, lambda out: _FIND_DATE.sub(rb"\1 " + shown + b" ", out))


async def jq(context: Any, call: Call) -> int:
    arguments = list(context.argv)
    at = _program(arguments, _JQ_TAKES)
    if at is not None and not re.match(r"\s*(?:import|include)\b", arguments[at]):
        arguments[at] = f"def now: {call.epoch:.15g}; {arguments[at]}"
    return await _native(context, call, "jq", arguments, stdin=True)


async def awk(context: Any, call: Call) -> int:
    arguments = list(context.argv)
    at = _program(arguments, _AWK_TAKES)
    if at is not None:
        now = int(call.epoch)
        text = _SRAND.sub(f"srand({call.random('awk', *context.argv).randrange(1 << 31)})", arguments[at])
        text = _STRFTIME.sub(lambda found: f"strftime({found[1] or _AWK_FORMAT}, {now})", text)
        arguments[at] = _SYSTIME.sub(str(now), text)
    return await _native(context, call, context.name, arguments, stdin=True)


_AWK_FORMAT = '"%a %b %e %H:%M:%S %Z %Y"'
_AWK_TAKES = {"-F": 1, "-v": 1, "-f": None}
_JQ_TAKES = {
    **dict.fromkeys(("--arg", "--argjson", "--slurpfile", "--rawfile"), 2),
    **dict.fromkeys(("--indent", "-L"), 1),
    **dict.fromkeys(("-f", "--from-file"), None),
}


def _program(arguments: Sequence[str], takes: dict[str, int | None]) -> int | None:
    """Where the program text is among the arguments; None when it comes from a file (an option with value None)."""
    index = 0
    while index < len(arguments):
        argument = arguments[index]
        if argument == "--":
            index += 1
            break
        if not argument.startswith("-") or argument == "-":
            break
        skip = takes.get(argument, 0)
        if skip is None:
            return None
        index += 1 + skip
    return index if index < len(arguments) else None


async def _native(
    context: Any, call: Call, name: str, arguments: Sequence[str], change: Filter | None = None, *, stdin: bool = False
) -> int:
    """Run bashkit's command `name`. Output goes through `change` when that is given, otherwise as it comes."""
    inner = Bash(
        profile=ExecutionProfile.Interactive, timeout_seconds=call.remaining, cwd=context.cwd, env=dict(context.env)
    )
    inner.mount("/", context.fs)
    script = shlex.join([name, *arguments])
    if stdin:
        given = FileSystem()
        given.write_file("/in", b"".join([chunk async for chunk in context.stdin]))
        inner.mount("/.stdin", given)
        script += " </.stdin/in"
    held: list[bytes] = []

    async def out(data: bytes) -> None:
        if change is None:
            await context.stdout.write(data)
        else:
            held.append(data)

    async def err(data: bytes) -> None:
        await context.stderr.write(data)

    finished = False
    try:
        result = await inner.execute(script, stdout=out, stderr=err)
        finished = True
    finally:
        if not finished:
            inner.cancel()
            call.dirty = True
    if change is not None:
        await context.stdout.write(change(b"".join(held)))
    if result.error:
        await context.stderr.write(f"{name}: {result.error}\n".encode())
    return int(result.exit_code)
