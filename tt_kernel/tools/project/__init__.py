"""The project family: files beside the notebook, and in the folders that were granted besides.

May import `toolkit`, `store` and `domain`. `desk.py` is what the tools touch, `paths.py` how a model may spell a path; read
these two first. One module a tool. All file work is done in threads (`threads.py`), searching by ripgrep (`ripgrep.py`), looking
into documents and pictures by a child process (`previews.py`): the loop is never held up. Changes are guarded (`target.py`) and
kept for a rewind (the checkpoints of `store`).
"""

from tt_kernel.toolkit.declare import Declaration
from tt_kernel.toolkit.tool import Tool
from tt_kernel.tools.project.approval_diffs import preview
from tt_kernel.tools.project.deleting import delete
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.editing import edit
from tt_kernel.tools.project.globbing import glob
from tt_kernel.tools.project.judged import judged_arguments
from tt_kernel.tools.project.listing import list_entries
from tt_kernel.tools.project.pictures import image
from tt_kernel.tools.project.reading import read
from tt_kernel.tools.project.searching import grep
from tt_kernel.tools.project.seen import SeenFiles
from tt_kernel.tools.project.writing import write

PROJECT_TOOLS: tuple[Declaration, ...] = (read, list_entries, glob, grep, write, edit, delete, image)


def project_tools(desk: ProjectDesk) -> list[Tool]:
    """The family for one invocation."""
    return [declaration.bind(desk) for declaration in PROJECT_TOOLS]


__all__ = ["PROJECT_TOOLS", "ProjectDesk", "SeenFiles", "judged_arguments", "preview", "project_tools"]
