"""THE FILE LAYER: a table of roots, and the only code that turns a logical path into a place on the disk.

May import `domain` only. Both tool families stand on it. What it refuses, it refuses for everybody: `..`, NUL, drive letters,
absolute paths (`paths.py`), links that leave a root (`boundary.py`), pipes and devices (`reading.py`), writes that would
overwrite what the writer does not know (`writing.py`). Errors name logical paths only. Read `space.py` first.
"""

from tt_kernel.store.workspace.boundary import is_inside, os_problem, real_root
from tt_kernel.store.workspace.listing import Entry, EntryKind
from tt_kernel.store.workspace.paths import LeavesRoot, invalid_path, quoted, shown, split_path
from tt_kernel.store.workspace.removing import entry_kind
from tt_kernel.store.workspace.roots import Life, Place, Root
from tt_kernel.store.workspace.scan import TextScan
from tt_kernel.store.workspace.space import Workspace
from tt_kernel.store.workspace.writing import (
    UNCHECKED,
    FileLocks,
    Guard,
    GuardFailed,
    MustMatch,
    MustNotExist,
    Unchecked,
)

__all__ = [
    "UNCHECKED",
    "Entry",
    "EntryKind",
    "FileLocks",
    "Guard",
    "GuardFailed",
    "LeavesRoot",
    "Life",
    "MustMatch",
    "MustNotExist",
    "Place",
    "Root",
    "TextScan",
    "Unchecked",
    "Workspace",
    "entry_kind",
    "invalid_path",
    "is_inside",
    "os_problem",
    "quoted",
    "real_root",
    "shown",
    "split_path",
]
