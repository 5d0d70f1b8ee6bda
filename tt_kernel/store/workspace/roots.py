"""The table of roots: spec tauritavern §7.1, DESIGN §5.3."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Life = Literal["run", "chat", "session", "view", "project"]
"""How long the files of a root live. view: a read-only picture of something that is kept elsewhere."""


@dataclass(frozen=True)
class Root:
    """A folder that tools may see, under a name.

    Attributes:
        name: First segment of the logical paths below it (`output`).
        path: The folder, or how to ask for it: a run's folder moves while it runs. It need not exist yet.
        readable: Whether tools see it at all.
        writable: Whether tools may write below it (never the folder itself).
        life: How long its files live.
        prefix: What its logical paths are shown with; `name/` when None.
        follow_links: Follow symbolic links that stay inside the root; False refuses every link.
        pinned: The real path that was granted. When the folder's real path is another, the root is refused (DESIGN §5.3).
    """

    name: str
    path: Path | Callable[[], Path]
    readable: bool = True
    writable: bool = False
    life: Life = "run"
    prefix: str | None = None
    follow_links: bool = False
    pinned: Path | None = None

    @property
    def folder(self) -> Path:
        """Where the root is now."""
        return self.path() if callable(self.path) else self.path


@dataclass(frozen=True)
class Place:
    """A logical place: a root and the segments below it. It says nothing about what is on the disk."""

    root: Root
    parts: tuple[str, ...] = ()

    @property
    def logical(self) -> str:
        """The path as the model writes it."""
        prefix = f"{self.root.name}/" if self.root.prefix is None else self.root.prefix
        return (prefix + "/".join(self.parts)) if self.parts else (prefix.rstrip("/") or ".")

    def below(self, name: str) -> "Place":
        return Place(self.root, (*self.parts, name))
