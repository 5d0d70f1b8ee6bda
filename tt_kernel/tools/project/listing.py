"""List: spec liveagent §5.7."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.store.workspace import EntryKind, Place, shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.guidance import guided, kind_of
from tt_kernel.tools.project.ignoring import IgnoreRules
from tt_kernel.tools.project.pages import DEFAULT_RESULTS, Limit, Offset, Page
from tt_kernel.tools.project.paths import resolve
from tt_kernel.tools.project.threads import Stop, in_thread

DEFAULT_DEPTH = 2
LABELS: dict[EntryKind, str] = {"directory": "DIR", "file": "FILE", "link": "LINK", "other": "OTHER"}

Row = tuple[tuple[str, ...], EntryKind]
"""Segments and kind; sorts by path."""


@builtin_tool("List", group="files", effect="project", read_only=True)
async def list_entries(
    desk: ProjectDesk,
    path: str = ".",
    depth: Annotated[int, Field(ge=1)] = DEFAULT_DEPTH,
    offset: Offset = 0,
    max_results: Limit = DEFAULT_RESULTS,
) -> Outcome:
    """List files and folders. What .gitignore excludes is left out; hidden files are shown; links are not followed.

    Args:
        path: The folder, relative to the project; leave it out for the project itself.
        depth: How many levels to list.
        offset: How many entries to skip.
        max_results: How many entries to show.
    """
    return await in_thread(lambda stop: _list(desk, path or ".", depth, offset, max_results, stop))


def _list(desk: ProjectDesk, path: str, depth: int, offset: int, limit: int, stop: Stop) -> Outcome:
    place = resolve(desk, path)
    kind = kind_of(desk, place)
    if kind != "directory":
        return _one_file(place, kind)
    unnamed = 0

    def rows() -> Iterator[Row]:
        nonlocal unnamed
        for row, can_be_named in _walk(desk, place, depth, stop):
            if can_be_named:
                yield row
            else:
                unnamed += 1

    with guided(desk, place):
        page = Page(rows(), offset, limit)
    entries = [{"path": Place(place.root, parts).logical, "kind": _kind(kind)} for parts, kind in page.shown]
    lines = [f"[{LABELS[kind]}] {shown(Place(place.root, parts).logical)}" for parts, kind in page.shown]
    notes = page.marker("entries")
    if unnamed:
        notes.append(f"[{unnamed} more with names that no path can express]")
    facts: JsonObject = {
        "kind": "list",
        "path": place.logical,
        "depth": depth,
        "offset": offset,
        "maxResults": limit,
        "total": page.total,
        "hasMore": page.rest > 0,
        "entries": entries,
    }
    return Outcome("\n".join([*(lines or [_nothing(place, offset, page.total)]), *notes]), structured=facts)


def _nothing(place: Place, offset: int, total: int) -> str:
    if offset and total:
        return f"There are only {total} entries."
    return f"There is nothing in {shown(place.logical)} that .gitignore does not exclude."


def _one_file(place: Place, kind: str) -> Outcome:
    label: EntryKind = "file" if kind == "file" else "other"
    row = f"[{LABELS[label]}] {shown(place.logical)}\n[This is one entry, not a folder]"
    facts = {
        "kind": "list",
        "path": place.logical,
        "total": 1,
        "hasMore": False,
        "entries": [{"path": place.logical, "kind": kind}],
    }
    return Outcome(row, structured=facts)


def _walk(desk: ProjectDesk, place: Place, depth: int, stop: Stop) -> Iterator[tuple[Row, bool]]:
    """The entries that are not ignored, with whether a path can name them."""
    rules = IgnoreRules(str(desk.workspace.disk_path(place)))
    left_out: set[tuple[str, ...]] = set()
    for entry in desk.workspace.walk(place, depth, enter=lambda parts: parts not in left_out):
        stop.check()
        below = entry.parts[len(place.parts) :]
        folder = entry.kind == "directory"
        if rules.ignores(below, folder=folder):
            if folder:
                left_out.add(entry.parts)
            continue
        yield (entry.parts, entry.kind), _can_be_named(entry.parts[-1])


def _can_be_named(name: str) -> bool:
    return ":" not in name and "\\" not in name and not any("\ud800" <= c <= "\udfff" for c in name)


def _kind(kind: EntryKind) -> str:
    return {"directory": "dir", "link": "symlink"}.get(kind, kind)
