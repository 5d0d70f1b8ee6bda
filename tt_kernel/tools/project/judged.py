"""Arguments as permission rules should see them: one spelling of each path, links resolved.

A rule `{"tool": "Write", "arguments": {"path": "secrets/*"}, "decision": "deny"}` must also hold for `./secrets/x`, for the absolute
path, and through a link.
"""

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.store.workspace import Place
from tt_kernel.tools.project.desk import ProjectDesk
from tt_kernel.tools.project.paths import resolve

_TOOLS = frozenset(map(builtin, ("Read", "List", "Glob", "Grep", "Write", "Edit", "Delete", "Image")))


def judged_arguments(desk: ProjectDesk, tool: ToolId, arguments: JsonObject) -> JsonObject:
    """The arguments with `path` as results show it; unchanged for other tools, and where the call will be refused anyway.

    Args:
        desk: Knows the roots.
        tool: Which tool is called.
        arguments: As the model gave them.
    """
    path = arguments.get("path")
    if tool not in _TOOLS or not isinstance(path, str):
        return arguments
    try:
        place = resolve(desk, path, "image" if tool == builtin("Image") else "read")
        real = _entry(desk, place) if tool == builtin("Delete") else desk.workspace.resolved(place)
    except (ToolError, OSError):
        return arguments
    return arguments | {"path": real.logical}


def _entry(desk: ProjectDesk, place: Place) -> Place:
    """What is deleted is the link, not what it points to."""
    if not place.parts:
        return place
    return desk.workspace.resolved(Place(place.root, place.parts[:-1])).below(place.parts[-1])
