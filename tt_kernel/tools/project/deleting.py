"""Delete: spec liveagent §5.6. A file, a link itself, or a folder with all that is in it."""

import os
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.errors import ToolError
from tt_kernel.store.preimages import Kept
from tt_kernel.store.workspace import EntryKind, Place, entry_kind, quoted, shown
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.guidance import guided, not_found
from tt_kernel.tools.project.paths import resolve
from tt_kernel.tools.project.sealed import CODE, is_agent_folder, refuse_sealed
from tt_kernel.tools.project.threads import Stop, in_thread

KINDS: dict[EntryKind, str] = {"file": "file", "directory": "dir", "link": "symlink", "other": "other"}


@builtin_tool("Delete", group="files", effect="project")
async def delete(desk: ProjectDesk, call: ToolCall, path: Annotated[str, Field(min_length=1)]) -> Outcome:
    """Delete a file, a symbolic link (not what it points to), or a folder with everything in it.

    Args:
        path: What to delete, relative to the project.
    """
    return await in_thread(lambda stop: _delete(desk, call, path, stop))


@dataclass(frozen=True)
class Doomed:
    """What is to be deleted. `real` has no links above its last segment; `disk` is its path on the disk."""

    place: Place
    real: Place
    disk: str
    kind: EntryKind


def doomed(desk: ProjectDesk, path: str) -> Doomed:
    """What a path of the model names, for deleting.

    Raises:
        ToolError: `project.not_found`, `project.protected`, and what `resolve` raises.
    """
    place = resolve(desk, path, "write")
    if not place.parts:
        raise ToolError("project.unsupported_target", f"{quoted(place.logical)} is a top folder; it cannot be deleted.")
    with guided(desk, place):
        disk = desk.workspace.entry_path(place)
        real = desk.workspace.resolved(Place(place.root, place.parts[:-1])).below(place.parts[-1])
        refuse_sealed(desk, place, real, disk)
        kind = entry_kind(disk)
        if kind is None:
            raise not_found(desk, place)
        return Doomed(place, real, disk, kind)


def _delete(desk: ProjectDesk, call: ToolCall, path: str, stop: Stop) -> Outcome:
    target = doomed(desk, path)
    if target.kind == "directory":
        _refuse_records(target, stop)
    stop.check()
    with guided(desk, target.place):
        kept = _remove(desk, call, target)
    desk.seen.forget(target.disk)
    kind = KINDS[target.kind]
    name = shown(target.place.logical)
    lost = f"\nNot kept for a rewind: {kept.lost}." if kept is not None and kept.lost else ""
    facts = {
        "kind": "delete",
        "path": target.place.logical,
        "targetKind": kind,
        "changed": True,
        "restorable": kept is not None and kept.lost is None,
    }
    return Outcome(f"Deleted {name}, kind={kind}.{lost}", structured=facts)


def _remove(desk: ProjectDesk, call: ToolCall, target: Doomed) -> Kept | None:
    kept = None
    if desk.checkpoints is not None:
        kept = desk.checkpoints.before_deleting(target.real, target.disk, call.id, call.name)
    try:
        # A folder that was kept is moved away, not copied; over a border of file systems, rests may be left.
        desk.workspace.remove(target.place)
    except BaseException:
        if kept and not kept.moved:
            kept.withdraw()
        raise
    return kept


def _refuse_records(target: Doomed, stop: Stop) -> None:
    """Raise ToolError `project.protected` when there is an agent folder somewhere in a folder."""
    for folder, names, _ in os.walk(target.disk):
        stop.check()
        found = next(filter(is_agent_folder, names), None)
        if found is not None:
            inside = os.path.relpath(os.path.join(folder, found), target.disk)  # noqa: PTH118  text only
            raise ToolError(
                CODE,
                f"{quoted(target.place.logical)} holds {shown(inside)}, a record of agents' runs, which tools do not delete.",
            )
