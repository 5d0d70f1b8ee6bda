"""The workspace family without the shell: files of the run that the model reads, writes and publishes.

May import `toolkit`, `store` and `domain`. One module a tool; `desk.py` is what they touch and `read_state.py` what they
remember; read these two first. Paths are logical everywhere: what they mean on the disk is `store/workspace`'s business.
"""

from tt_kernel.toolkit.declare import Declaration
from tt_kernel.toolkit.tool import Tool
from tt_kernel.tools.workspace.committing import commit, finish
from tt_kernel.tools.workspace.desk import Desk
from tt_kernel.tools.workspace.listing import list_files
from tt_kernel.tools.workspace.patching import apply_patch
from tt_kernel.tools.workspace.read_state import ReadState, ReadStates
from tt_kernel.tools.workspace.reading import read_file
from tt_kernel.tools.workspace.searching import search_files
from tt_kernel.tools.workspace.writing import write_file

WORKSPACE_TOOLS: tuple[Declaration, ...] = (
    list_files,
    search_files,
    read_file,
    write_file,
    apply_patch,
    commit,
    finish,
)


def workspace_tools(desk: Desk) -> list[Tool]:
    """The family for one invocation."""
    return [declaration.bind(desk) for declaration in WORKSPACE_TOOLS]


__all__ = ["WORKSPACE_TOOLS", "Desk", "ReadState", "ReadStates", "workspace_tools"]
