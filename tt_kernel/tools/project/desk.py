"""What the project tools touch."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.store.preimages import PreImages
from tt_kernel.store.workspace import Workspace
from tt_kernel.tools.project.seen import SeenFiles

SaveFile = Callable[..., StoredFile]
"""`ResultStore.save_file`."""


@dataclass(frozen=True)
class ProjectDesk:
    """One invocation's view of the files beside the notebook.

    Attributes:
        workspace: The root `workspace` (`store.roots.project_root`), and what is granted besides (`RootGrants.roots`, `skill`).
        save_file: Keeps an image of a result; `ResultStore.save_file`.
        call_name: The name under which the model sees a tool; None when it is not bound.
        seen: What it knows of the files; a new one for each invocation.
        checkpoints: Where the contents before a change are kept; None keeps nothing (sub-agents' worktrees, cron).
        accepts_images: The model can look at pictures.
        sealed: Files and folders on the disk that tools must not change, besides every `.git` and `*.agent`: the notebook
            that is running, the user's own documents of tt_kernel.
    """

    workspace: Workspace
    save_file: SaveFile
    call_name: Callable[[ToolId], str | None]
    seen: SeenFiles = field(default_factory=SeenFiles)
    checkpoints: PreImages | None = None
    accepts_images: bool = True
    sealed: tuple[Path, ...] = ()

    def pointer(self, tool: str, text: str) -> str:
        """A line of advice that names another tool at `{}`; nothing when that tool is not bound."""
        name = self.call_name(builtin(tool))
        return "\n" + text.format(name) if name else ""
