"""Undoing what a run did to project files: spec liveagent §5.10.

The changes are undone from the last to the first. Before each one, what is there is held against what the run left there:
anything else means that somebody has changed it since, and is a conflict. All of it is decided before anything is touched.
"""

import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tt_kernel.domain.canonical import digest_bytes
from tt_kernel.domain.errors import StorageFault, ToolError, UserError
from tt_kernel.store.atomic import write_bytes
from tt_kernel.store.preimages import ABSENT, SUBFOLDER, Change, Condition, move_folder, read_changes
from tt_kernel.store.workspace import Place, Root, Workspace, entry_kind

Action = Literal["undo", "done", "conflict", "lost"]
"""undo: can be put back. done: is as it was before. conflict: was changed since. lost: what was there was not kept."""
OnConflict = Literal["refuse", "keep", "overwrite"]
_MOST_LISTED = 10


class RewindConflict(UserError):
    """Nothing was changed, because some of it cannot be undone without losing what somebody did since."""

    default_code = "rewind.conflict"


@dataclass(frozen=True)
class Step:
    """What undoing one change comes to. `expected` is what must be there when it is carried out."""

    change: Change
    action: Action
    expected: Condition
    reason: str = ""


@dataclass(frozen=True)
class Rewound:
    """What was done, as shown paths in the order of the run: put back, left alone with the reason, nothing to do."""

    restored: tuple[str, ...]
    kept: tuple[tuple[str, str], ...]
    unchanged: tuple[str, ...]


def plan(folder: Path, workspace: Workspace) -> list[Step]:
    """How each change of a run could be undone now, the last change first. Nothing is touched.

    Args:
        folder: The run's `checkpoints/`.
        workspace: The roots of the project, with the folders that are granted today.

    Raises:
        StorageFault: The checkpoints cannot be read.
    """
    world = _World(folder / SUBFOLDER, workspace)
    return [_step(world, change) for change in reversed(read_changes(folder))]


def rewind(folder: Path, workspace: Workspace, *, on_conflict: OnConflict = "refuse") -> Rewound:
    """Put the project's files back to what they were before a run.

    Args:
        folder: The run's `checkpoints/`.
        workspace: As for `plan`.
        on_conflict: `refuse` changes nothing when anything was changed since; `keep` leaves such files as they are;
            `overwrite` puts the former content back all the same.

    Raises:
        RewindConflict: With `refuse`, naming the files and the reasons.
        StorageFault: Something could not be written; what was put back so far stays, and a second rewind goes on.
    """
    steps = plan(folder, workspace)
    troubled = [step for step in steps if step.action in ("conflict", "lost")]
    if troubled and on_conflict == "refuse":
        raise RewindConflict(message=_conflict_message(troubled))
    kept, restored, unchanged = [], [], []
    for step in steps:
        overwrite = on_conflict == "overwrite" and step.action == "conflict"
        if step.action == "done":
            unchanged.append(step.change.shown)
        elif step.action == "undo" or overwrite:
            problem = _carry_out(folder / SUBFOLDER, workspace, step, overwrite=overwrite)
            if problem is None:
                restored.append(step.change.shown)
            else:
                kept.append((step.change.shown, problem))
        else:
            kept.append((step.change.shown, step.reason))
    return Rewound(_unique(restored), tuple(dict.fromkeys(reversed(kept))), _unique(unchanged))


def _unique(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reversed(names)))


def _conflict_message(steps: list[Step]) -> str:
    lines = list(dict.fromkeys(f"{step.change.shown}: {step.reason}" for step in reversed(steps)))
    more = [f"... and {len(lines) - _MOST_LISTED} more"] if len(lines) > _MOST_LISTED else []
    head = "Nothing was changed, because not everything can be put back:"
    return "\n".join([head, *lines[:_MOST_LISTED], *more, "Keep these files as they are, or overwrite them."])


def _step(world: "_World", change: Change) -> Step:
    try:
        now = world.condition(change.root, change.parts)
    except (ToolError, StorageFault) as error:
        return Step(change, "lost", ABSENT, error.message.splitlines()[0])
    if now.is_like(change.before) and change.before.lost is None and not _is_waiting(world, change):
        world.set(change, change.before)
        return Step(change, "done", now)
    if change.before.lost is not None:
        return Step(change, "lost", now, f"its former content was not kept: {change.before.lost}")
    if not now.is_like(change.after):
        world.set(change, change.before)
        return Step(change, "conflict", now, _what_happened(now))
    world.set(change, change.before)
    return Step(change, "undo", now)


def _is_waiting(world: "_World", change: Change) -> bool:
    """A folder is there, but not the one that was deleted: that one still waits to be put back."""
    return change.before.kind == "directory" and (world.folder / (change.before.kept or "")).exists()


def _what_happened(now: Condition) -> str:
    return "it is gone by now" if now.kind == "absent" else "it was changed since"


@dataclass
class _World:
    """The project as it would be after the steps planned so far."""

    folder: Path
    workspace: Workspace
    _set: dict[tuple[str, tuple[str, ...]], Condition] = field(default_factory=dict)

    def set(self, change: Change, condition: Condition) -> None:
        below = len(change.parts)
        for root, parts in list(self._set):
            if root == change.root and parts[:below] == change.parts:
                del self._set[root, parts]
        self._set[change.root, change.parts] = condition
        if condition.kind == "absent":
            for above in list(_folders_above(change.parts))[: change.made_folders]:
                if not self._will_be_empty(change.root, above):
                    break
                self._set[change.root, above] = ABSENT

    def _will_be_empty(self, root: str, folder: tuple[str, ...]) -> bool:
        with suppress(ToolError, OSError):
            disk = self._disk(root, folder)
            names = [entry.name for entry in disk.iterdir()] if disk else []
            left = (self._set.get((root, (*folder, name))) for name in names)
            return all(condition is not None and condition.kind == "absent" for condition in left)
        return False

    def condition(self, root: str, parts: tuple[str, ...]) -> Condition:
        if (root, parts) in self._set:
            return self._set[root, parts]
        disk = self._disk(root, parts)
        return look(disk) if disk else ABSENT

    def _disk(self, root: str, parts: tuple[str, ...]) -> Path | None:
        """Where on the disk the entry is now; None when nothing will be there, because of what is planned above it."""
        for above in (parts, *_folders_above(parts)):
            planned = self._set.get((root, above))
            if planned is None:
                continue
            if planned.kind != "directory":
                return None
            moved = self.folder / (planned.kept or "")
            if planned.kept and moved.exists():
                return moved.joinpath(*parts[len(above) :])
            break  # put back by an earlier rewind: it is in its place
        return Path(self.workspace.entry_path(Place(root_named(self.workspace, root), parts)))


def _folders_above(parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    return (parts[:length] for length in range(len(parts) - 1, 0, -1))


def root_named(workspace: Workspace, name: str) -> Root:
    """Raises ToolError `project.unknown_root` for a folder that is not granted any more."""
    found = next((root for root in workspace.roots if root.name == name), None)
    if found is None:
        raise ToolError("project.unknown_root", f"root://{name} is not granted any more")
    return found


def look(path: Path) -> Condition:
    """What is at a path of the disk, a link not followed."""
    match entry_kind(str(path)):
        case None:
            return ABSENT
        case "link":
            return Condition(kind="link", target=str(path.readlink()))
        case "directory":
            return Condition(kind="directory")
        case "file":
            return Condition(
                kind="file", sha256=digest_bytes(path.read_bytes()), mode=stat.S_IMODE(path.stat().st_mode)
            )
        case _:
            return Condition(kind="other")


def _carry_out(folder: Path, workspace: Workspace, step: Step, *, overwrite: bool) -> str | None:
    """Put one thing back; says why not when the disk is not as planned."""
    change = step.change
    try:
        place = Place(root_named(workspace, change.root), change.parts)
        disk = Path(workspace.entry_path(place))
        if not overwrite and not look(disk).is_like(step.expected):
            return "it was changed while this went on"
        if overwrite and entry_kind(str(disk)) == "directory":
            return "a folder is in its place"
        _put_back(folder, workspace, place, disk, change.before)
    except ToolError as error:
        return error.message.splitlines()[0]
    except OSError as error:
        return str(error)
    _remove_made_folders(disk, change.made_folders)
    return None


def _put_back(folder: Path, workspace: Workspace, place: Place, disk: Path, before: Condition) -> None:
    kept = folder / (before.kept or "")
    match before.kind:
        case "absent":
            workspace.remove(place)
        case "file":
            if entry_kind(str(disk)) == "link":
                disk.unlink()
            write_bytes(disk, kept.read_bytes())
            if before.mode is not None:
                disk.chmod(before.mode)
        case "link":
            disk.unlink(missing_ok=True)
            disk.parent.mkdir(parents=True, exist_ok=True)
            disk.symlink_to(before.target or "")
        case "directory":
            if entry_kind(str(disk)) is not None:
                disk.unlink()
            disk.parent.mkdir(parents=True, exist_ok=True)
            move_folder(kept, disk)


def _remove_made_folders(disk: Path, count: int) -> None:
    """Folders that were made for the file go with it, when nothing else is in them by now."""
    for folder in list(disk.parents)[:count]:
        with suppress(OSError):
            folder.rmdir()
