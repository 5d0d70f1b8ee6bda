"""From a logical place to a path on the disk. Nobody else in tt_kernel does this for a path that a model wrote.

- The root's own real path is the boundary. It is asked for again on every call: a run's folder moves.
- The segments are walked one by one with lstat. A link is refused, or (root.follow_links) replaced by its real path.
- The result is checked against the boundary once more, so that reparse points that are no links are caught as well.
- Opening uses O_NOFOLLOW, so that a link put there in between is not followed.
"""

# ruff: noqa: PTH112, PTH114, PTH118
# Plain strings: building Path objects costs more than the calls that they wrap.

import os
import stat
from pathlib import Path

from tt_kernel.domain.errors import StorageFault, ToolError
from tt_kernel.store.atomic import storage_fault
from tt_kernel.store.workspace.paths import LeavesRoot, invalid_path, quoted
from tt_kernel.store.workspace.roots import Place, Root


def locate(place: Place) -> str:
    """The real path of `place`, which need not exist.

    Raises:
        ToolError: `workspace.invalid_path` for a link that is not allowed, `workspace.root_moved` for a root that is no
            longer the granted folder.
    """
    top = real_root(place.root)
    try:
        path = _walk(place, top)
        if not is_inside(os.path.realpath(path), top):
            raise _refused(place, "it leads out of its folder")
    except OSError as error:
        raise os_problem(error, place) from error
    return path


def locate_entry(place: Place) -> str:
    """The path of `place` itself: a link at its end is not followed. For deleting and for looking.

    Raises:
        ToolError: as `locate`, for the folder that holds it.
    """
    assert place.parts, "a root is no entry of itself"
    return os.path.join(locate(Place(place.root, place.parts[:-1])), place.parts[-1])


def resolved(place: Place) -> Place:
    """The same place without links: the segments of its real path. What is recorded of a file goes by these."""
    top, path = real_root(place.root), locate(place)
    if os.path.normcase(path) == os.path.normcase(top):
        return Place(place.root)
    return Place(place.root, Path(path).relative_to(top).parts)


def _walk(place: Place, top: str) -> str:
    current = top
    for position, part in enumerate(place.parts):
        candidate = os.path.join(current, part)
        try:
            status = os.lstat(candidate)
        except (FileNotFoundError, NotADirectoryError):
            # Below what is not there, there are no links.
            return os.path.join(candidate, *place.parts[position + 1 :])
        current = _followed(place, candidate, top) if stat.S_ISLNK(status.st_mode) else candidate
    return current


def real_root(root: Root) -> str:
    folder = os.fspath(root.folder)
    if not root.follow_links and os.path.islink(folder):
        raise _refused(Place(root), "it is a symbolic link")
    real = os.path.realpath(folder)
    if root.pinned is not None and not _is_pinned(real, os.fspath(root.pinned)):
        raise ToolError(
            "workspace.root_moved",
            f"Folder {quoted(Place(root).logical)} is no longer the folder that was granted.\nThe user must grant it again.",
        )
    return real


def _is_pinned(real: str, pinned: str) -> bool:
    """Whether a granted folder is where it was; one that is gone must not be made anew by writing below it."""
    return os.path.normcase(real) == os.path.normcase(pinned) and os.path.isdir(real)


def is_inside(path: str, top: str) -> bool:
    """Whether a real path is `top` or below it."""
    inner, outer = os.path.normcase(path), os.path.normcase(top)
    return inner == outer or inner.startswith(outer.rstrip(os.sep) + os.sep)


def _followed(place: Place, link: str, top: str) -> str:
    if not place.root.follow_links:
        raise _refused(place, "it goes through a symbolic link")
    target = os.path.realpath(link)
    if not is_inside(target, top):
        raise _refused(place, "it goes through a symbolic link that leads out of its folder")
    if os.path.islink(target) or os.path.realpath(target) != target:
        raise _refused(place, "it goes through a symbolic link that leads in a circle")
    return target


def _refused(place: Place, problem: str) -> ToolError:
    return invalid_path(place.logical, problem, LeavesRoot)


_RECOVERABLE = {
    "FileNotFoundError": ("workspace.file_not_found", "does not exist"),
    "NotADirectoryError": ("workspace.file_not_found", "does not exist: a part of its path is a file"),
    "IsADirectoryError": ("workspace.path_is_directory", "is a folder"),
    "PermissionError": ("workspace.permission_denied", "cannot be opened: the operating system denies it"),
}
_NAME_ERRNOS = frozenset({"ENAMETOOLONG", "EILSEQ", "EINVAL", "ELOOP"})


def os_problem(error: OSError, place: Place) -> ToolError | StorageFault:
    """What an operating system error at a logical place means: the model's mistake, or a fault that ends the run."""
    import errno  # noqa: PLC0415  only when something went wrong

    name = quoted(place.logical)
    if type(error).__name__ in _RECOVERABLE:
        code, problem = _RECOVERABLE[type(error).__name__]
        return ToolError(code, f"{name} {problem}.")
    symbol = errno.errorcode.get(error.errno or 0, "")
    if symbol in _NAME_ERRNOS:
        return invalid_path(place.logical, f"the operating system refuses it ({os.strerror(error.errno or 0)})")
    if symbol == "EROFS":
        return ToolError("workspace.permission_denied", f"{name} cannot be written: its file system is read-only.")
    return storage_fault("read or write", Path(place.logical), error)
