"""Errors of the file layer in the words of spec liveagent §4.4: what was wrong, and what to do instead."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from tt_kernel.domain.errors import StorageFault, ToolError
from tt_kernel.store.workspace import GuardFailed, LeavesRoot, Place, os_problem, quoted, shown
from tt_kernel.tools.project.desk import ProjectDesk

MAX_CANDIDATES = 5
MAX_SIBLINGS = 5000
"""Folders with more entries are not compared name by name."""
MAX_DISTANCE = 2
STALE = "project.stale_file"
NOT_FOUND = "project.not_found"
NOT_A_FILE = "project.not_a_file"

_CODES = {
    "workspace.file_not_found": NOT_FOUND,
    "workspace.path_is_directory": NOT_A_FILE,
    "workspace.not_regular_file": "project.unsupported_target",
    "workspace.not_utf8": "project.not_utf8",
    "workspace.root_moved": "project.root_changed",
    "workspace.permission_denied": "project.io",
    "workspace.invalid_path": "project.invalid_path",
}


@contextmanager
def guided(desk: ProjectDesk, place: Place) -> Iterator[None]:
    """Errors at `place` leave with the codes of this family and with advice."""
    try:
        with _readable(place):
            yield
    except GuardFailed as error:
        raise stale(desk, place, error.message) from error
    except ToolError as error:
        if error.code == "workspace.file_not_found":
            raise not_found(desk, place) from error
        if isinstance(error, LeavesRoot):
            raise ToolError("project.out_of_bounds", f"{error.message}\n{_bounds(desk)}") from error
        code = _CODES.get(error.code)
        if code is None:
            raise
        raise ToolError(code, error.message + _advice(desk, code)) from error


@contextmanager
def _readable(place: Place) -> Iterator[None]:
    """What the operating system refuses at a place is the model's to leave alone; a full disk ends the run."""
    try:
        yield
    except StorageFault as fault:
        if fault.code == "storage.full":
            raise
        raise ToolError("project.io", fault.message) from fault
    except OSError as error:
        problem = os_problem(error, place)
        raise problem if isinstance(problem, ToolError) else ToolError("project.io", problem.message) from error


def _advice(desk: ProjectDesk, code: str) -> str:
    match code:
        case "project.not_a_file":
            return desk.pointer("List", "Use {} to see what is in it.")
        case "project.not_utf8":
            return desk.pointer(
                "Read", "{} shows documents and pictures, and other encodings as far as they can be read."
            )
        case _:
            return ""


def _bounds(desk: ProjectDesk) -> str:
    names = [quoted(Place(root).logical) for root in desk.workspace.visible if root.writable]
    return f"Only what really lies in these folders can be changed: {', '.join(names) or 'none'}."


def stale(desk: ProjectDesk, place: Place, reason: str = "") -> ToolError:
    first = reason or f"{quoted(place.logical)} has changed since it was last read."
    advice = desk.pointer("Read", "Read it again with {}, work the change out anew, then retry.")
    return ToolError(STALE, f"{first}\nNothing was changed.{advice}")


def kind_of(desk: ProjectDesk, place: Place) -> str:
    """What is at `place`.

    Raises:
        ToolError: `project.not_found`, and what `guided` makes of other errors.
    """
    with guided(desk, place):
        kind = desk.workspace.kind(place)
    if kind is None:
        raise not_found(desk, place)
    return kind


def not_found(desk: ProjectDesk, place: Place) -> ToolError:
    """With up to five names that may have been meant; else with how to look for it."""
    near = candidates(desk, place)
    message = f"{quoted(place.logical)} does not exist."
    if near:
        return ToolError(NOT_FOUND, f"{message}\nDid you mean: {', '.join(map(shown, near))}.")
    pattern = shown("**/" + (place.parts[-1] if place.parts else "*")).replace("{", "{{").replace("}", "}}")
    advice = desk.pointer("Glob", f"Look for it with {{}}, pattern {pattern}.")
    return ToolError(NOT_FOUND, message + (advice or desk.pointer("List", "Look around with {}.")))


def not_a_folder(place: Place) -> ToolError:
    parent = Place(place.root, place.parts[:-1]).logical
    return ToolError(
        "project.not_a_directory", f"{quoted(place.logical)} is a file, not a folder.\nIts folder is {shown(parent)}."
    )


def candidates(desk: ProjectDesk, place: Place) -> list[str]:
    """Logical paths beside `place` whose names are nearly the same, the nearest first."""
    if not place.parts:
        return []
    folder, wanted = Place(place.root, place.parts[:-1]), place.parts[-1]
    try:
        with os.scandir(desk.workspace.disk_path(folder)) as entries:
            names = [entry.name for entry in entries]
    except (OSError, ToolError):
        return []
    if len(names) > MAX_SIBLINGS:
        return []
    ranked = sorted((rank, name) for name in names if (rank := _rank(wanted.casefold(), name.casefold())) is not None)
    return [folder.below(name).logical for _, name in ranked[:MAX_CANDIDATES]]


def _rank(wanted: str, name: str) -> tuple[int, int] | None:
    """Lower is nearer: equal but for case, one holds the other, few letters differ. None: another name."""
    if wanted == name:
        return (0, 0)
    stem = wanted.partition(".")[0]
    if min(len(wanted), len(name)) > MAX_DISTANCE and (wanted in name or name in wanted):
        return (1, abs(len(wanted) - len(name)))
    if len(stem) > MAX_DISTANCE and name.startswith(stem):
        return (2, abs(len(wanted) - len(name)))
    distance = edit_distance(wanted, name)
    return (3, distance) if distance <= MAX_DISTANCE else None


def edit_distance(a: str, b: str) -> int:
    """Levenshtein's; anything above MAX_DISTANCE may be told as MAX_DISTANCE + 1."""
    if abs(len(a) - len(b)) > MAX_DISTANCE:
        return MAX_DISTANCE + 1
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, right in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (left != right))
        if min(row) > MAX_DISTANCE:
            return MAX_DISTANCE + 1
    return row[-1]
