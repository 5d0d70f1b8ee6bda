"""workspace.list_files: spec tauritavern §5.4."""

import heapq
from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import Entry, EntryKind, Place, shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.workspace.desk import Desk

DEFAULT_DEPTH = 2
MAX_DEPTH = 4
MAX_ENTRIES = 200
EMPTY = "There are no files here."

Line = tuple[bool, str]
"""(is no folder, logical path): sorts as it is shown, folders first."""


@builtin_tool("workspace.list_files", group="workspace", effect="workspace", read_only=True)
def list_files(
    desk: Desk,
    path: str = "",
    depth: Annotated[int, Field(ge=1, json_schema_extra={"maximum": MAX_DEPTH})] = DEFAULT_DEPTH,
) -> Outcome:
    """List the files and folders of the workspace. Folders end with "/". At most 200 entries are shown.

    Args:
        path: The folder to list; leave it out to list everything that is visible.
        depth: How many levels to list.
    """
    if depth > MAX_DEPTH:
        raise ToolError(
            "workspace.list_depth_too_large", f"depth is {depth}; this tool lists at most {MAX_DEPTH} levels."
        )
    skipped: dict[EntryKind, int] = {"link": 0, "other": 0}
    lines = (
        _everything(desk, depth, skipped)
        if desk.workspace.is_everything(path)
        else _below(desk, desk.workspace.place(path), depth, skipped)
    )
    shown_lines = heapq.nsmallest(MAX_ENTRIES + 1, lines)
    truncated = len(shown_lines) > MAX_ENTRIES
    del shown_lines[MAX_ENTRIES:]
    content = [shown(name if is_file else f"{name}/") for is_file, name in shown_lines] or [EMPTY]
    if truncated:
        content.append(f"[truncated at {MAX_ENTRIES}: list one folder, or fewer levels, to see the rest]")
    content += _not_shown(skipped)
    entries = [{"path": name, "kind": "file" if is_file else "directory"} for is_file, name in shown_lines]
    return Outcome("\n".join(content), structured={"entries": entries, "truncated": truncated})


def _everything(desk: Desk, depth: int, skipped: dict[EntryKind, int]) -> Iterator[Line]:
    for root in desk.workspace.visible:
        top = Place(root)
        yield False, top.logical
        if depth > 1 and desk.workspace.kind(top) == "directory":
            yield from _walked(desk, top, depth - 1, skipped)


def _below(desk: Desk, place: Place, depth: int, skipped: dict[EntryKind, int]) -> Iterator[Line]:
    kind = desk.workspace.kind(place)
    if kind is None:
        advice = "\nLeave path out to see everything that is visible."
        raise ToolError("workspace.path_not_found", f"There is nothing at {shown(place.logical)}.{advice}")
    if kind == "directory":
        yield from _walked(desk, place, depth, skipped)
    elif kind == "file":
        yield True, place.logical
    else:
        skipped["other"] += 1


def _walked(desk: Desk, place: Place, depth: int, skipped: dict[EntryKind, int]) -> Iterator[Line]:
    for entry in desk.workspace.walk(place, depth):
        if entry.kind in skipped:
            skipped[entry.kind] += 1
        else:
            yield entry.kind == "file", _path(place, entry)


def _path(place: Place, entry: Entry) -> str:
    return Place(place.root, entry.parts).logical


def _not_shown(skipped: dict[EntryKind, int]) -> Iterator[str]:
    words = {
        "link": ("symbolic link", "symbolic links"),
        "other": ("special file or name that is no valid path", "special files or names that are no valid paths"),
    }
    for kind, count in skipped.items():
        if count:
            yield f"[not shown: {count} {words[kind][count > 1]}]"
