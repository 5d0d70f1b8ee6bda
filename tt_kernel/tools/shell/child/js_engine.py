"""One JavaScript engine for one script: QuickJS with its limits, and the host side of `js_prelude.js`.

Everything here runs in the engine's own thread, because a QuickJS context belongs to one thread.
"""

import json
import posixpath
import random
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_kernel.tools.shell.child.files import Files
from tt_kernel.tools.shell.child.js_lexer import JsSyntaxError
from tt_kernel.tools.shell.child.js_module import Module, json_module, read_module
from tt_kernel.tools.shell.child.output import Closed, Pump

MAX_HEAP = 32 << 20
"""Bytes of the engine's heap (spec tauritavern §6)."""
MAX_STACK = 256 << 10
"""Bytes of the engine's stack (spec tauritavern §6)."""
MAX_FILES = 10_000
"""Most files that `listFiles` names."""

RUNTIME = "@tauritavern/runtime"
MAIN = "[script]"
"""Name of a script that is no file."""
_FIRST_LINE = 10_000
"""Where the lines of modules start, so that a line number tells the module; below are the prelude's."""
_PLACE = re.compile(r"<input>:(\d+)(?::(\d+))?")
_NATIVE = re.compile(r"\s+at \S+ \(native\)$")
_HIDDEN = "\0prelude\0"
_UNSETTLED = 13
"""Node's exit code for an await that never ends."""


@dataclass(frozen=True)
class Script:
    """What to run.

    Attributes:
        name: Absolute path of the file, or MAIN.
        source: Its text when it is no file.
        value: The text is an expression whose value is printed (`-p`).
        argv: `process.argv`.
        env: `process.env`.
        stdin: What the script may read as /dev/stdin.
    """

    name: str
    source: str | None
    value: bool
    argv: list[str]
    env: dict[str, str]
    stdin: bytes


class HostError(Exception):
    """Told to the script as an exception of the class `name`, with `code` as its code."""

    def __init__(self, message: str, name: str = "Error", code: str | None = None) -> None:
        super().__init__(message)
        self.name = name
        self.code = code


class Engine:
    """Runs one script.

    Args:
        files: The interpreter's files.
        pump: Where output goes.
        epoch: The time, in seconds since 1970.
        chance: Seeds Math.random.
    """

    def __init__(self, files: Files, pump: Pump, epoch: float, chance: random.Random) -> None:
        self._files = files
        self._pump = pump
        self._epoch = epoch
        self._chance = chance
        self._places = _Places()
        self._operations: dict[str, Callable[[Any], Any]] = {
            "write": self._write,
            "readText": self._read_text,
            "writeText": self._write_text,
            "exists": self._exists,
            "listFiles": self._list_files,
            "resolve": self._resolve,
            "load": self._load,
        }

    def run(self, script: Script) -> int:
        """The exit code. What the script did wrong is on its standard error."""
        from quickjs import Context, JSException  # noqa: PLC0415  only for who needs it

        self._script = script
        # The binding's own time limit forbids calls from the script to the host, so there is none here: a script that does
        # not end is ended with the process, by the command's time limit.
        context = Context()
        context.set_memory_limit(MAX_HEAP)
        context.set_max_stack_size(MAX_STACK)
        try:
            return self._drive(context, JSException)
        except JSException as error:
            self._complain(_engine_error(str(error)))
            return 1

    def _drive(self, context: Any, failure: type[Exception]) -> int:
        context.add_callable("__host__", self._answer)
        report = context.eval(_prelude())(json.dumps(self._setup()))
        while self._job(context, failure) and not self._pump.closed:
            pass
        if self._pump.closed:
            return 141
        end = json.loads(report())
        if not end["settled"]:
            self._complain("an await never ended: there are no timers and nothing else is left to run")
            return _UNSETTLED
        return int(end["code"])

    def _job(self, context: Any, failure: type[Exception]) -> bool:
        try:
            return bool(context.execute_pending_job())
        except failure as error:
            if "out of memory" in str(error):
                raise
            return True

    def _setup(self) -> dict[str, Any]:
        return {
            "main": None if self._script.value else self._script.name,
            "argv": self._script.argv,
            "env": self._script.env,
            "cwd": self._files.cwd,
            "epochMs": int(self._epoch * 1000),
            "seed": [self._chance.getrandbits(32) - (1 << 31) for _ in range(4)],
        }

    def _complain(self, message: str) -> None:
        try:
            self._pump.write(2, f"{self._script.argv[0]}: {message}\n")
        except Closed:
            return

    # what the script asks for

    def _answer(self, operation: str, text: str) -> str:
        """The host function. It must not raise: the engine would only say that a Python call failed."""
        try:
            value = self._operations[operation](json.loads(text))
        except HostError as error:
            return json.dumps({"error": {"name": error.name, "message": str(error), "code": error.code}})
        except OSError as error:
            message = f"{error.strerror}: {error.filename}"
            return json.dumps({"error": {"name": "Error", "message": message, "code": _code(error)}})
        except Exception as error:  # noqa: BLE001  a defect of ours, told in words
            return json.dumps({"error": {"name": "Error", "message": f"{type(error).__name__}: {error}"}})
        return json.dumps({"value": value}, ensure_ascii=False)

    def _write(self, asked: list[Any]) -> bool:
        stream, text = asked
        try:
            self._pump.write(stream, self._places.translate(text))
            self._pump.wait()
        except Closed:
            return False
        return not self._pump.closed

    def _read_text(self, path: str) -> str:
        data = self._script.stdin if path == "/dev/stdin" else self._files.read(_text(path))
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise HostError(f"{path} is not UTF-8 text") from None

    def _write_text(self, asked: list[str]) -> None:
        path, text = asked
        self._files.write(_text(path), text.encode("utf-8"))

    def _exists(self, path: str) -> bool:
        return self._files.exists(_text(path))

    def _list_files(self, asked: list[Any]) -> list[str]:
        """Absolute paths, sorted."""
        path, recursive = asked
        found: list[str] = []
        folders = [self._files.absolute(_text(path))]
        while folders:
            folder = folders.pop(0)
            for name, kind in self._files.list(folder):
                where = posixpath.join(folder, name)
                if kind != "directory":
                    found.append(where)
                elif recursive and where not in ("/dev", "/proc"):
                    folders.append(where)
            if len(found) > MAX_FILES:
                raise HostError(f"{path} holds more than {MAX_FILES} files")
        return sorted(found)

    # modules

    def _resolve(self, asked: list[str]) -> str:
        request, importer = asked
        if request == RUNTIME:
            return request
        path = request.removeprefix("file://")
        if not path.startswith(("./", "../", "/")) and path not in (".", ".."):
            raise HostError(f"Cannot find module '{request}' imported by {importer}. {_instead(request)}")
        folder = self._files.cwd if importer == MAIN else posixpath.dirname(importer)
        where = posixpath.normpath(posixpath.join(folder, path))
        for candidate in (where, f"{where}.js", f"{where}.mjs", f"{where}.json", f"{where}/index.js"):
            if self._files.kind(candidate) == "file":
                return candidate
        raise HostError(f"Cannot find module '{request}' imported by {importer}: there is no file {where}")

    def _load(self, name: str | None) -> dict[str, Any]:
        if name is None:
            return {"code": self._places.add(MAIN, self._script.source or "", 0)}
        if name == MAIN:
            module = self._read_module(self._script.source or "", name)
        elif name.endswith((".ts", ".tsx", ".jsx", ".mts")):
            raise HostError(f"{name}: only JavaScript runs here, not TypeScript or JSX", "SyntaxError")
        else:
            text = self._read_text(name)
            module = json_module(text) if name.endswith(".json") else self._read_module(text, name)
        record = module.record()
        record["code"] = self._places.add(name, module.code, module.code.find("yield;") + len("yield;"))
        return record

    @staticmethod
    def _read_module(source: str, name: str) -> Module:
        try:
            return read_module(source)
        except JsSyntaxError as error:
            raise HostError(f"{error} ({name}:{error.line})", "SyntaxError") from None


class _Places:
    """Which line of which module a line number means; every text is evaluated under the one name `<input>`."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._names: list[str] = []
        self._heads: list[int] = []
        self._next = _FIRST_LINE

    def add(self, name: str, code: str, head: int) -> str:
        """`code` moved to lines of its own; `head` characters of its first line are not the module's."""
        start = self._next
        self._starts.append(start)
        self._names.append(name)
        self._heads.append(head)
        self._next += code.count("\n") + 2
        return "\n" * (start - 1) + code

    def translate(self, text: str) -> str:
        """Places in `text` as the user knows them; lines about the prelude and the engine are left out."""
        if "<input>:" not in text and "(native)" not in text:
            return text
        lines = (_PLACE.sub(self._place, line) for line in text.split("\n") if not _NATIVE.match(line))
        return "\n".join(line for line in lines if _HIDDEN not in line)

    def _place(self, found: re.Match[str]) -> str:
        line, column = int(found[1]), int(found[2] or 0)
        at = bisect_right(self._starts, line) - 1
        if at < 0:
            return _HIDDEN
        if line == self._starts[at]:
            column = max(1, column - self._heads[at])
        shown = f"{self._names[at]}:{line - self._starts[at] + 1}"
        return f"{shown}:{column}" if found[2] else shown


def _prelude() -> str:
    return Path(__file__).with_name("js_prelude.js").read_text("utf-8")


def _text(path: Any) -> str:
    if not isinstance(path, str) or not path or "\0" in path:
        raise HostError(f"a path is a non-empty text, not {json.dumps(path)}", "TypeError")
    return path


def _code(error: OSError) -> str:
    return {2: "ENOENT", 13: "EACCES", 17: "EEXIST", 20: "ENOTDIR", 21: "EISDIR", 30: "EROFS", 39: "ENOTEMPTY"}.get(
        error.errno or 0, "EIO"
    )


def _instead(request: str) -> str:
    if request.startswith("@tauritavern/kit/"):
        return f"The kits are not in this version; '{RUNTIME}' is."
    if request.startswith(("http:", "https:", "npm:", "jsr:")):
        return "There is no network: import files of the workspace, for example './lib.js'."
    return f"There are no Node built-ins and no packages: import files ('./lib.js') or '{RUNTIME}' (workspace, log)."


def _engine_error(text: str) -> str:
    if "out of memory" in text:
        return f"out of memory: the heap is limited to {MAX_HEAP >> 20} MiB"
    return text.strip()
