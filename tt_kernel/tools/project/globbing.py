"""Glob: spec liveagent §5.8. ripgrep lists the files; the pattern is matched here."""

from typing import Annotated, Literal

from pydantic import Field

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import Place, shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.globs import Glob
from tt_kernel.tools.project.guidance import kind_of
from tt_kernel.tools.project.pages import DEFAULT_RESULTS, Limit, Offset, Page
from tt_kernel.tools.project.paths import resolve
from tt_kernel.tools.project.ripgrep import SECONDS, Ended, Scope, scope_of, search
from tt_kernel.tools.project.threads import Stop, in_thread

MAX_BYTES = 256 * 1024 * 1024
"""Of all paths together."""


@builtin_tool("Glob", group="files", effect="project", read_only=True)
async def glob(
    desk: ProjectDesk,
    pattern: Annotated[str, Field(min_length=1)],
    path: str = ".",
    offset: Offset = 0,
    max_results: Limit = DEFAULT_RESULTS,
    sort_by: Literal["path"] = "path",
) -> Outcome:
    """Find files by a pattern: `*.py` at any depth, `src/**/*.{ts,tsx}` below the folder. What .gitignore excludes is left out.

    Args:
        pattern: `*` and `?` within a name, `**` for any folders, `[a-z]`, `{a,b}`. With a "/" it is relative to path.
        path: The folder to search in; leave it out for the project.
        offset: How many files to skip.
        max_results: How many files to show.
        sort_by: The order.
    """
    wanted = Glob.of(pattern)
    base = await in_thread(lambda _: folder_of(desk, path or "."))
    found, ended = await list_files(desk, base, wanted)
    page = await in_thread(lambda stop: _page(found, wanted, offset, max_results, stop))
    paths = [_logical(base, inner) for inner in page.shown]
    lines = [shown(one) for one in paths] or [_nothing(pattern, base, offset, page.total)]
    notes = [*page.marker("files"), *late_note(ended, page.total)]
    facts: JsonObject = {
        "kind": "glob",
        "pattern": pattern,
        "path": base.logical,
        "sortBy": sort_by,
        "total": page.total,
        "hasMore": page.rest > 0,
        "paths": paths,
    }
    return Outcome("\n".join([*lines, *notes]), structured=facts)


def folder_of(desk: ProjectDesk, path: str) -> Place:
    """The folder that a path names; of a file, the one that it is in."""
    place = resolve(desk, path)
    kind = kind_of(desk, place)
    return place if kind == "directory" else Place(place.root, place.parts[:-1])


async def list_files(desk: ProjectDesk, base: Place, wanted: Glob) -> tuple["Found", Ended]:
    """The files below a folder whose names may match."""
    pieces: list[bytes] = []
    size = 0

    def take(piece: bytes) -> bool:
        nonlocal size
        pieces.append(piece)
        size += len(piece)
        return size <= MAX_BYTES

    async with scope_of(desk, base) as scope:
        ended = await search(scope, ["--files", "--null", *type_filter(wanted)], take)
    if ended.code > 1 and not pieces and ended.error:
        raise ToolError("project.io", f"The files could not be listed: {ended.error}")
    return Found(scope, pieces), ended


class Found:
    """Paths as ripgrep printed them, not looked at yet."""

    def __init__(self, scope: Scope, pieces: list[bytes]) -> None:
        self._scope = scope
        self._pieces = pieces

    def paths(self, wanted: Glob, stop: Stop) -> "list[str]":
        """Those that match, relative to the base."""
        found = []
        for number, raw in enumerate(b"".join(self._pieces).split(b"\0")):
            if number % 16 == 0:
                stop.check()
            inner = self._scope.relative(raw.decode("utf-8", "replace"))
            if inner and wanted.matches(inner):
                found.append(inner)
        return found


def type_filter(wanted: Glob) -> list[str]:
    """Options that leave out most files that cannot match; unlike `--glob`, they override no .gitignore."""
    if not wanted.names:
        return []
    return [*(f"--type-add=wanted:{name}" for name in wanted.names), "--type=wanted"]


def _logical(base: Place, inner: str) -> str:
    return Place(base.root, (*base.parts, *inner.split("/"))).logical


def late_note(ended: Ended, found: int) -> list[str]:
    """A line when the time was over. Raises ToolError `project.search_timeout` when nothing was found until then."""
    if ended.late and not found:
        raise ToolError(
            "project.search_timeout",
            f"The search was stopped after {SECONDS:.0f} s and had found nothing.\nName a smaller folder.",
        )
    return [f"[Stopped after {SECONDS:.0f} s: there may be more; name a smaller folder]"] if ended.late else []


def _page(found: Found, wanted: Glob, offset: int, limit: int, stop: Stop) -> Page[str]:
    return Page(found.paths(wanted, stop), offset, limit)


def _nothing(pattern: str, base: Place, offset: int, total: int) -> str:
    if offset and total:
        return f"There are only {total} files."
    return f"No file in {shown(base.logical)} matches {shown(pattern)}."
