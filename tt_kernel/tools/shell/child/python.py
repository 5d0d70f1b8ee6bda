"""`python` and `python3`: pydantic-monty, a subset of Python in a process of its own, over the interpreter's files."""

import asyncio
import posixpath
import re
from dataclasses import dataclass
from typing import Any

from tt_kernel.tools.shell.child.call import Call
from tt_kernel.tools.shell.child.files import Files
from tt_kernel.tools.shell.child.output import Closed, Pump
from tt_kernel.tools.shell.child.python_source import ARGV, ERR, EXIT, OUT, STDIN, SYSTEM_EXIT, fit, restore

MAX_MEMORY = 256 << 20
"""Bytes of Monty's heap."""
MAX_SUSPENSIONS = 1_000_000
"""Most calls from a script to its files, clock and streams."""
WORKERS = 4
"""Most scripts at once (in a pipeline); a further one waits."""

_MODULES = "sys os re json math datetime time random pathlib asyncio collections itertools functools dataclasses typing decimal hashlib base64 copy csv bisect"
_IGNORED = re.compile(r"-(?:[uBEsSIOqRdPx]+|[WX].*)$")


@dataclass(frozen=True)
class _Script:
    code: str
    name: str
    argv: list[str]


class _Fault(Exception):
    """The command line or the script file is at fault. `code` is the exit code."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message)
        self.code = code


class _Pool:
    """Monty's workers, started by the first script and kept for the next ones."""

    def __init__(self) -> None:
        self._pool: Any = None

    async def get(self) -> Any:
        if self._pool is None:
            from pydantic_monty import AsyncMonty  # noqa: PLC0415  a tenth of a second, only for who needs it

            pool = AsyncMonty(max_processes=WORKERS)
            await pool.__aenter__()
            self._pool = pool
        return self._pool


_pool = _Pool()


async def python(context: Any, call: Call) -> int:
    files = Files(context.fs, context.cwd)
    try:
        script = await _script(context, files)
    except _Fault as error:
        await context.stderr.write(f"{context.name}: {error}\n".encode("utf-8", "replace"))
        return error.code
    if script is None:
        await context.stdout.write(b"Python 3.14 (Monty, a subset)\n")
        return 0
    pump = Pump(context.stdout, context.stderr)
    try:
        code = await _run(script, context, call, files, pump)
    except BaseException:
        pump.stop()
        raise
    await pump.finish()
    if pump.failure:
        await context.stderr.write(f"{context.name}: {pump.failure}\n".encode("utf-8", "replace"))
        return 1
    return code


async def _script(context: Any, files: Files) -> _Script | None:
    """What to run; None for `--version`."""
    argv = list(context.argv)
    while argv and _IGNORED.match(argv[0]):
        taken = argv.pop(0)
        if taken in ("-W", "-X") and argv:
            argv.pop(0)
    first = argv.pop(0) if argv else "-"
    if first in ("-V", "--version"):
        return None
    if first.startswith("-c"):
        if first == "-c" and not argv:
            raise _Fault("argument expected for the -c option")
        return _Script(first[2:] or argv.pop(0), "<string>", ["-c", *argv])
    if first == "-":
        data = b"".join([chunk async for chunk in context.stdin])
        return _Script(_decoded(data, "<stdin>"), "<stdin>", ["-", *argv])
    return _Script(_read(files, first), first, [first, *argv])


def _read(files: Files, path: str) -> str:
    if path.startswith("-"):
        what = "-m is not available" if path == "-m" else f"unknown option {path}"
        raise _Fault(f"{what}: give a script file, -c CODE, or - for standard input")
    try:
        data = files.read(path)
    except OSError as error:
        raise _Fault(f"can't open file '{path}': [Errno {error.errno}] {error.strerror}") from None
    return _decoded(data, path)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _Fault(f"{name} is not UTF-8 text", 1) from None


async def _run(script: _Script, context: Any, call: Call, files: Files, pump: Pump) -> int:
    from pydantic_monty import MontyCrashedError, MontyError  # noqa: PLC0415

    from tt_kernel.tools.shell.child.python_system import System  # noqa: PLC0415

    fitted = fit(script.code)
    taken = script.name == "<stdin>" or not fitted.reads_stdin
    system = System(files, call, dict(context.env), b"" if taken else await _all(context.stdin))
    exits: list[Any] = []
    try:
        await _feed(fitted.code, script, context.cwd, call, pump, system, exits)
    except asyncio.CancelledError:
        if not pump.closed:
            raise
        return 141
    except MontyCrashedError as error:
        pump.write(2, f"{context.name}: the Python engine ended unexpectedly ({error})\n")
        return 1
    except MontyError as error:
        return _failed(error, script, pump, exits)
    except OSError as error:
        pump.write(2, f"OSError: {error}\n")
        return 1
    return 0


async def _feed(code: str, script: _Script, cwd: str, call: Call, pump: Pump, system: Any, exits: list[Any]) -> None:
    """Run the script in a worker. An output that nobody reads any more ends it, as CancelledError."""
    from pydantic_monty import MontyFileHandle  # noqa: PLC0415

    def show(stream: str, text: str) -> None:
        # In a thread of Monty's, which therefore may wait. An exception would be noticed only when the script has ended.
        try:
            pump.write(1 if stream == "stdout" else 2, text)
            pump.wait()
        except Closed:
            return

    given: dict[str, Any] = {ARGV: script.argv, STDIN: MontyFileHandle("/dev/stdin", "r")}
    if not script.name.startswith("<"):
        given["__file__"] = posixpath.normpath(posixpath.join(cwd, script.name))
    chance = call.random("python", script.code, *script.argv)
    pool = await _pool.get()
    async with pool.checkout(
        script_name=posixpath.basename(script.name),
        limits={
            # The command's own limit comes first; this is for a worker that cannot be reached.
            "max_feed_duration_secs": call.remaining + 1,
            "max_memory": MAX_MEMORY,
            "max_suspensions": MAX_SUSPENSIONS,
        },
        os_policy={
            "datetime": "call_host",
            "timezone": "utc",
            "sleep": "call_host",
            "random_start": {"seed": f"{chance.getrandbits(128):x}"},
        },
    ) as session:
        feed = asyncio.ensure_future(
            session.feed_run(
                code,
                inputs=given,
                external_lookup=_functions(pump, system, exits),
                print_callback=show,
                os=system,
                cwd=cwd,
            )
        )
        pump.on_close = feed.cancel
        try:
            await feed
        finally:
            system.flush()


async def _all(stdin: Any) -> bytes:
    return b"".join([chunk async for chunk in stdin])


def _functions(pump: Pump, system: Any, exits: list[Any]) -> dict[str, Any]:
    """What scripts call and Monty does not have."""

    def leave(code: Any = None) -> None:
        exits.append(code)
        raise SystemExit("" if code is None else str(code))

    def ask(prompt: str = "") -> str:
        if prompt:
            pump.write(1, str(prompt))
        line = system.line()
        if line is None:
            raise ValueError("EOF when reading a line")
        return str(line)

    def write(stream: int) -> Any:
        def out(text: str) -> int:
            pump.write(stream, text)
            return len(text)

        return out

    return {
        EXIT: leave,
        SYSTEM_EXIT: leave,
        "exit": leave,
        "quit": leave,
        "input": ask,
        OUT: write(1),
        ERR: write(2),
    }


def _failed(error: Any, script: _Script, pump: Pump, exits: list[Any]) -> int:
    """Say why the script failed, as Python does. Returns the exit code."""
    if isinstance(error.exception(), SystemExit):
        code = exits[-1] if exits else str(error.exception()) or None
        if code is None or isinstance(code, int):
            return int(code or 0) & 0xFF
        pump.write(2, f"{code}\n")
        return 1
    text = error.display() if hasattr(error, "display") else str(error)
    text = restore(re.sub(r'File "<python-input-\d+>"', lambda _: f'File "{script.name}"', text))
    try:
        pump.write(2, text.rstrip("\n") + "\n" + _hint(text))
    except Closed:
        return 141
    return 1


def _hint(text: str) -> str:
    last = text.rstrip().rpartition("\n")[2]
    if last.startswith("ModuleNotFoundError"):
        return f"This Python is a subset. Modules: {_MODULES}.\n"
    if last.startswith("NotImplementedError"):
        return "This Python is a subset: no generators, class inheritance or del. js runs full JavaScript.\n"
    return ""
