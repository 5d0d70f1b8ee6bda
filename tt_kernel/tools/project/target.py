"""Which file a change is for, whether it is still the one that was read, and how it is changed on record."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.canonical import digest_bytes
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ids import Digest
from tt_kernel.store.preimages import Kept
from tt_kernel.store.workspace import MustMatch, MustNotExist, Place, entry_kind, quoted, shown
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.guidance import NOT_A_FILE, guided, stale
from tt_kernel.tools.project.paths import resolve
from tt_kernel.tools.project.scanning import Scan, scan
from tt_kernel.tools.project.sealed import refuse_sealed
from tt_kernel.tools.project.seen import Version
from tt_kernel.tools.project.threads import Stop

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """A file that is to be changed.

    Attributes:
        place: As the model wrote it.
        real: The same without links; what checkpoints go by.
        disk: Its path on the disk.
        exists: There is a file.
    """

    place: Place
    real: Place
    disk: str
    exists: bool

    @property
    def name(self) -> str:
        return shown(self.place.logical)


def file_target(desk: ProjectDesk, path: str) -> Target:
    """The file that a path of the model names, for writing.

    Raises:
        ToolError: `project.not_a_file` for a folder, `project.unsupported_target` for a pipe or device, `project.protected`,
            and what `resolve` raises.
    """
    place = resolve(desk, path, "write")
    if not place.parts:
        raise ToolError(NOT_A_FILE, f"{quoted(place.logical)} is a folder. Name a file below it.")
    with guided(desk, place):
        disk = str(desk.workspace.disk_path(place))
        real = desk.workspace.resolved(place)
        refuse_sealed(desk, place, real, disk)
        kind = entry_kind(disk)
        if kind == "directory":
            raise ToolError(
                NOT_A_FILE,
                f"{quoted(place.logical)} is a folder.\nTo write into it, name a file below it; folders are made as needed.",
            )
        if kind not in ("file", None):
            raise ToolError(
                "project.unsupported_target",
                f"{quoted(place.logical)} is a pipe, socket or device, not a regular file.",
            )
        return Target(place, real, disk, exists=kind == "file")


def checked_scan(desk: ProjectDesk, target: Target, stop: Stop) -> Scan:
    """The file as it is now, when it is the one that the model knows (or it knows none).

    Raises:
        ToolError: `project.stale_file`: its content or its time is not what was read (spec liveagent §5.1).
    """
    now = scan(desk, target.place, stop)
    known = desk.seen.version(target.disk)
    if known is not None and known != now.version:
        raise stale(desk, target.place)
    return now


def replace_content(
    desk: ProjectDesk, call: ToolCall, target: Target, data: bytes, before: Digest | None
) -> Kept | None:
    """Write a file in one step, its former content on record.

    Args:
        desk: Whose file.
        call: The call that does it.
        target: Which file.
        data: The new content.
        before: Digest of the content that it replaces; None when there is no file.

    Raises:
        ToolError: `project.stale_file` when something else is there by now.
    """
    guard = MustNotExist() if before is None else MustMatch(before)
    write = lambda: desk.workspace.write_bytes(target.place, data, guard)  # noqa: E731  short, and used once
    return on_record(desk, call, target, digest_bytes(data), write)


def on_record(
    desk: ProjectDesk, call: ToolCall, target: Target, sha256: Digest, write: Callable[[], object]
) -> Kept | None:
    """Keep what is there, then write; what failed is taken off the record again."""
    kept = None
    if desk.checkpoints is not None:
        kept = desk.checkpoints.before_writing(target.real, target.disk, sha256, call.id, call.name)
    try:
        write()
    except BaseException:
        if kept:
            kept.withdraw()
        raise
    remember(desk, target, sha256)
    return kept


def remember(desk: ProjectDesk, target: Target, sha256: Digest) -> None:
    """What was just written is what the model knows, so the next change needs no reading."""
    try:
        mtime_ns = os.stat(target.disk).st_mtime_ns  # noqa: PTH116  the disk path is text here
    except OSError:
        desk.seen.forget(target.disk)
        return
    desk.seen.saw(target.disk, Version(sha256, mtime_ns))


def not_kept(kept: Kept | None) -> str:
    """A line for the result when a rewind will not bring back what was there."""
    return f"\nNot kept for a rewind: {kept.lost}." if kept is not None and kept.lost else ""
