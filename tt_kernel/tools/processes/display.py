"""Output as the model sees it: the text of a page, and paths as the model writes them instead of their places on the disk."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from tt_kernel.store.workspace import Place, Root
from tt_kernel.tools.processes.cleaning import as_text
from tt_kernel.tools.processes.ring import Page

_NAME = r"\w.\-"
"""Characters of file names: a path is replaced only where it stands on its own."""


class PathDisplay:
    """Replaces the paths of roots: `/home/me/project/src/a.py` is shown as `src/a.py`, the project itself as `.`.

    What a command does with such a path stays right, since commands run in the project folder. A path that a page cuts in
    two is not seen.

    Args:
        roots: The project first.
    """

    def __init__(self, roots: Iterable[Root]) -> None:
        self._places = _spellings(roots)
        longest_first = sorted(self._places, key=len, reverse=True)
        paths = "|".join(map(re.escape, longest_first))
        self._pattern = re.compile(rf"(?<![{_NAME}/\\])(?P<path>{paths})(?:(?P<below>[/\\])|(?![{_NAME}]))")
        self._none = not self._places

    def text(self, text: str) -> str:
        """Text of a command with those paths replaced."""
        return text if self._none else self._pattern.sub(self._shown, text)

    def path(self, path: Path) -> str:
        """One path on the disk."""
        return self.text(str(path))

    def _shown(self, match: re.Match[str]) -> str:
        root = self._places[match["path"]]
        itself = Place(root).logical
        if not match["below"]:
            return itself
        return "" if itself == "." else f"{itself}/"


def page_text(page: Page, display: PathDisplay) -> str:
    """The output in the order of its arrival; where stderr takes part, marked by stream."""
    texts = [(stream, display.text(as_text(data))) for stream, data in page.pieces]
    if all(stream == "stdout" for stream, _ in texts):
        return "".join(text for _, text in texts).rstrip("\n")
    return "\n".join(f"[{stream}]\n" + text.rstrip("\n") for stream, text in texts)


def _spellings(roots: Iterable[Root]) -> dict[str, Root]:
    found: dict[str, Root] = {}
    for root in roots:
        for path in (root.folder, Path(os.path.realpath(root.folder))):
            if len(path.parts) > 1:  # not the top of a file system
                found.setdefault(str(path), root)
                found.setdefault(path.as_posix(), root)
    return found
