"""Files copied to where they are worked on: the contents, and neither times nor permissions.

A notebook may lie where nobody can write, and its files and folders say so. Their copies belong to the run.
"""

import os
import shutil
from pathlib import Path


def copy_files(source: Path, target: Path) -> None:
    """Copy every file below a folder, a linked one as what it points to; what is in `target` already stays, or is replaced.

    Args:
        source: A folder.
        target: It is made if it is missing.

    Raises:
        OSError: Something cannot be read or written.
    """
    for folder, _, names in os.walk(source, onerror=_fail):
        place = target / Path(folder).relative_to(source)
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            shutil.copyfile(Path(folder, name), place / name)


def _fail(error: OSError) -> None:
    raise error
