"""What the workspace tools touch, and the checks that several of them share."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.profiles import Artifact
from tt_kernel.store.workspace import Place, Workspace, shown
from tt_kernel.tools.workspace.read_state import ReadStates

MAX_NEIGHBOURS = 2000
"""Folders with more entries get no "nearest names" hint."""


@dataclass(frozen=True)
class Desk:
    """One invocation's view of its files.

    Attributes:
        workspace: The roots that it may see.
        reads: What it knows of each file's content.
        body: The artifact that a commit publishes when no path is given.
        call_name: The name under which the model sees a tool; None when it is not bound.
    """

    workspace: Workspace
    reads: ReadStates
    body: Artifact
    call_name: Callable[[ToolId], str | None]

    def pointer(self, tool: str, text: str) -> str:
        """A line of advice that names another workspace tool at `{}`; nothing when that tool is not bound."""
        name = self.call_name(builtin(f"workspace.{tool}"))
        return "\n" + text.format(name) if name else ""

    def file(self, place: Place) -> Place:
        """The place, if a file (or something file-like, which reading will judge) is there.

        Raises:
            ToolError: `workspace.file_not_found`, `workspace.path_is_directory`.
        """
        kind = self.workspace.kind(place)
        if kind is None:
            raise ToolError(
                "workspace.file_not_found", f"There is no file {shown(place.logical)}.{self._elsewhere(place)}"
            )
        if kind == "directory":
            advice = self.pointer("list_files", "Use {} to see what is in it.")
            raise ToolError("workspace.path_is_directory", f"{shown(place.logical)} is a folder, not a file.{advice}")
        return place

    def _elsewhere(self, place: Place) -> str:
        near = self._neighbours(place)
        if near:
            return "\nNearest: " + ", ".join(map(shown, near)) + "."
        return self.pointer("list_files", "Use {} to see which files there are.")

    def _neighbours(self, place: Place) -> list[str]:
        """Paths in the same folder with nearly the same name."""
        folder = Place(place.root, place.parts[:-1])
        if self.workspace.kind(folder) != "directory":
            return []
        names = [entry.parts[-1] for entry in self.workspace.walk(folder, 1) if entry.kind in ("file", "directory")]
        if len(names) > MAX_NEIGHBOURS:
            return []
        return [folder.below(name).logical for name in difflib.get_close_matches(place.parts[-1], sorted(names), n=3)]


def size(chars: int, words: int) -> str:
    return f"{chars} chars / {words} words"
