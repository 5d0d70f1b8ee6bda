"""What no project tool may change: repositories' insides, agent folders, the running notebook, the user's own documents."""

import os

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import Place, is_inside, quoted
from tt_kernel.tools.project.desk import ProjectDesk

CODE = "project.protected"
HIDDEN_FOLDERS = (".git", "*.agent")
"""What listings and searches leave out as well."""


def is_agent_folder(name: str) -> bool:
    return name.casefold().endswith(".agent") and len(name) > len(".agent")


def is_hidden(name: str) -> bool:
    """Whether a folder of this name is left out of listings and searches."""
    return name.casefold() == ".git" or is_agent_folder(name)


def refuse_sealed(desk: ProjectDesk, place: Place, real: Place, disk: str) -> None:
    """Raise ToolError `project.protected` for a place that must not be changed.

    Args:
        desk: Says what is sealed besides.
        place: As the model wrote it.
        real: The same without links, as far as they are followed.
        disk: The path of `real` on the disk.
    """
    name = quoted(place.logical)
    for where in (place, real):
        if any(part.casefold() == ".git" for part in where.parts):
            raise ToolError(CODE, f"{name} belongs to git, which this tool does not change.\nUse git commands instead.")
        if any(map(is_agent_folder, where.parts[:-1])) or (
            is_agent_folder(where.parts[-1]) and os.path.isdir(disk)  # noqa: PTH112  the disk path is text here
        ):
            raise ToolError(CODE, f"{name} is a record of agents' runs, which tools do not change.")
    for sealed in desk.sealed:
        kept = os.path.realpath(sealed)
        if is_inside(disk, kept) or is_inside(kept, disk):
            raise ToolError(CODE, f"{name} is in use by this notebook or its settings.{_advice(disk)}")


def _advice(disk: str) -> str:
    if not disk.endswith(".ipynb"):
        return "\nTools do not change it."
    return "\nIt is open: the next save would undo a change of the file. Tell the user what to change in it."
