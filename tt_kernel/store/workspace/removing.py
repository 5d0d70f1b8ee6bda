"""Taking entries away: files, links (never what they point to), folders with all that is in them."""

# ruff: noqa: PTH106, PTH108, PTH112, PTH116
# Plain strings: building Path objects costs more than the calls that they wrap.

import errno
import os
import shutil
import stat

from tt_kernel.store.workspace.boundary import os_problem
from tt_kernel.store.workspace.listing import EntryKind
from tt_kernel.store.workspace.roots import Place

_REPARSE_POINT = 0x400
_NO_NAME = frozenset({errno.ENAMETOOLONG, errno.EINVAL})
"""Nothing can be there: the operating system takes no such name."""


def entry_kind(path: str) -> EntryKind | None:
    """What is at a path on the disk, links not followed; None for nothing."""
    try:
        status = os.stat(path, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno in _NO_NAME:
            return None
        raise
    if stat.S_ISLNK(status.st_mode) or getattr(status, "st_file_attributes", 0) & _REPARSE_POINT:
        return "link"
    if stat.S_ISDIR(status.st_mode):
        return "directory"
    return "file" if stat.S_ISREG(status.st_mode) else "other"


def remove(place: Place, path: str) -> EntryKind | None:
    """Delete the entry at `path`; says what it was.

    Args:
        place: For error messages.
        path: On the disk, from `locate_entry`.

    Raises:
        ToolError: The operating system refuses. Of a folder, a part may be gone then.
    """
    try:
        kind = entry_kind(path)
        if kind == "directory":
            # Safe against links that are put there meanwhile, where the platform can be (all but Windows).
            shutil.rmtree(path)
        elif kind == "link" and os.path.isdir(path) and os.name == "nt":
            os.rmdir(path)
        elif kind is not None:
            os.unlink(path)
    except OSError as error:
        raise os_problem(error, place) from error
    return kind
