"""`js`, `node` and `deno`: QuickJS with ES modules over the interpreter's files."""

import asyncio
import re
import threading
from typing import Any

from tt_kernel.tools.shell.child.call import Call
from tt_kernel.tools.shell.child.files import Files
from tt_kernel.tools.shell.child.js_engine import MAIN, Engine, Script
from tt_kernel.tools.shell.child.output import Pump

MAX_ENGINES = 2
"""Engines that run at the same time (spec tauritavern §6)."""

_IGNORED = re.compile(r"--?(?:A|allow-[\w-]+|no-[\w-]+|experimental-[\w-]+|input-type|quiet|q|trace-[\w-]+)(?:=.*)?$")
_PRINT = ("-p", "--print", "-pe")
_TAKE_CODE = ("-e", "--eval", *_PRINT)
_USAGE = "give a script file, -e CODE, -p EXPRESSION, or - for standard input"


class _Fault(Exception):
    """The command line makes no sense."""


class _Seats:
    """Engines in use.

    An engine leaves when its script has ended, not when its output has been read: else a pipeline of three would wait for itself.
    """

    def __init__(self) -> None:
        self._free: asyncio.Semaphore | None = None

    @property
    def free(self) -> asyncio.Semaphore:
        if self._free is None:
            self._free = asyncio.Semaphore(MAX_ENGINES)
        return self._free


_seats = _Seats()


async def js(context: Any, call: Call) -> int:
    return await _command(context, call, list(context.argv))


async def deno(context: Any, call: Call) -> int:
    argv = list(context.argv)
    verb = argv.pop(0) if argv else ""
    if verb == "run":
        return await _command(context, call, argv)
    if verb == "eval":
        flag = "-p" if argv and argv[0] in ("-p", "--print") else "-e"
        return await _command(context, call, [flag, *(argv[1:] if flag == "-p" else argv)])
    if verb in ("-V", "--version", "-v"):
        return await _command(context, call, ["--version"])
    await context.stderr.write(b"deno: only `deno run FILE` and `deno eval CODE` are available\n")
    return 2


async def _command(context: Any, call: Call, argv: list[str]) -> int:
    files = Files(context.fs, context.cwd)
    try:
        script = await _script(context, files, argv)
    except _Fault as error:
        await context.stderr.write(f"{context.name}: {error}\n".encode("utf-8", "replace"))
        return 2
    if script is None:
        await context.stdout.write(b"QuickJS (ECMAScript modules)\n")
        return 0
    pump = Pump(context.stdout, context.stderr)
    try:
        code = await _in_thread(script, call, files, pump)
    except BaseException:
        # The thread cannot be stopped from outside; the process ends with this call.
        call.dirty = True
        pump.stop()
        raise
    await pump.finish()
    if pump.failure:
        await context.stderr.write(f"{context.name}: {pump.failure}\n".encode("utf-8", "replace"))
        return 1
    return code


async def _in_thread(script: Script, call: Call, files: Files, pump: Pump) -> int:
    chance = call.random("js", script.source or script.name, *script.argv)
    loop = asyncio.get_running_loop()
    async with _seats.free:
        ended: asyncio.Future[int] = loop.create_future()
        engine = Engine(files, pump, call.epoch, chance)

        def work() -> None:
            try:
                code = engine.run(script)
            except Exception as error:  # noqa: BLE001  must reach whoever waits
                _settle(loop, ended, None, error)
            else:
                _settle(loop, ended, code, None)

        threading.Thread(target=work, name="js", daemon=True).start()
        return await ended


def _settle(
    loop: asyncio.AbstractEventLoop, ended: asyncio.Future[int], code: int | None, error: Exception | None
) -> None:
    def settle() -> None:
        if ended.done():
            return
        if error is not None:
            ended.set_exception(error)
        else:
            ended.set_result(code or 0)

    loop.call_soon_threadsafe(settle)


async def _script(context: Any, files: Files, argv: list[str]) -> Script | None:
    """What to run; None for `--version`."""
    while argv and _IGNORED.match(argv[0]):
        argv.pop(0)
    first = argv.pop(0) if argv else "-"
    if first in ("-v", "--version"):
        return None
    name, source = MAIN, None
    if first in _TAKE_CODE:
        if not argv:
            raise _Fault(f"{first} needs code")
        source = argv.pop(0)
    elif first == "-":
        source = _decoded(await _all(context.stdin))
    else:
        name = _file(files, first)
    if argv and argv[0] == "--":
        argv.pop(0)
    shown = [context.name] if name == MAIN else [context.name, name]
    stdin = b"" if first == "-" else await _all(context.stdin)
    return Script(name, source, first in _PRINT, [*shown, *argv], dict(context.env), stdin)


def _file(files: Files, path: str) -> str:
    if path.startswith("-"):
        raise _Fault(f"unknown option {path}; {_USAGE}")
    where = files.absolute(path)
    kind = files.kind(where)
    if kind == "directory":
        raise _Fault(f"{path} is a folder")
    if kind is None:
        raise _Fault(f"there is no file {path}")
    return where


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _Fault("standard input is not UTF-8 text") from None


async def _all(stdin: Any) -> bytes:
    return b"".join([chunk async for chunk in stdin])
