"""Walking a root with os.scandir; links are told, never followed."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from tt_kernel.store.atomic import TEMPORARY_PREFIX
from tt_kernel.store.workspace.boundary import os_problem
from tt_kernel.store.workspace.roots import Place

# What `atomic` calls a file that is being written; listings leave it out.
_UNFINISHED = re.compile(re.escape(TEMPORARY_PREFIX) + r"[0-9a-f]{12}\Z")

EntryKind = Literal["directory", "file", "link", "other"]
"""`other`: pipes, sockets, devices, and names that no logical path can express (a backslash on POSIX, undecodable bytes)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Something found by a walk. `depth` counts from 1 below where the walk began; `path` is on the disk."""

    parts: tuple[str, ...]
    kind: EntryKind
    depth: int
    path: str


def walk(
    place: Place, path: str, depth: int, enter: Callable[[tuple[str, ...]], bool] = lambda _parts: True
) -> Iterator[Entry]:
    """Everything below a folder, unordered, at most `depth` levels. A folder that vanishes meanwhile is empty.

    Args:
        place: The folder.
        path: Its located path on the disk.
        depth: Levels; 1 is the folder's own entries.
        enter: Asked for each folder, after it was given: whether what is in it is wanted.
    """
    pending = [(place.parts, path, 1)]
    while pending:
        parts, folder, level = pending.pop()
        for entry in _scanned(place, folder, required=level == 1):
            kind = _kind(entry)
            found = Entry((*parts, entry.name), kind, level, entry.path)
            yield found
            if kind == "directory" and level < depth and enter(found.parts):
                pending.append((found.parts, entry.path, level + 1))


def _scanned(place: Place, folder: str, *, required: bool) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not _UNFINISHED.match(entry.name)]
    except (FileNotFoundError, PermissionError):
        return []
    except OSError as error:
        if required:
            raise os_problem(error, place) from error
        return []


def _kind(entry: "os.DirEntry[str]") -> EntryKind:
    if not _is_expressible(entry.name):
        return "other"
    if entry.is_symlink() or _is_junction(entry):
        return "link"
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"


def _is_expressible(name: str) -> bool:
    if "\\" in name:
        return False
    # Undecodable bytes arrive as lone surrogates, which no tool argument can carry.
    return name.isascii() or name.isprintable() or not any("\ud800" <= c <= "\udfff" for c in name)


def _is_junction(entry: "os.DirEntry[str]") -> bool:
    if os.name != "nt":
        return False
    reparse = 0x400  # FILE_ATTRIBUTE_REPARSE_POINT
    return bool(getattr(entry.stat(follow_symlinks=False), "st_file_attributes", 0) & reparse)
