"""What refers to the runs of an agent folder from outside of them: the notebook's cells, sessions, the manifest, other documents.

A replay makes no folder: what a cell replays from is told by the run that its saved output shows. Where an agent cell has no
saved output, or need not show all of its runs (a sweep, a call from Python), nobody can tell which recordings the notebook needs.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tt_kernel.store.atomic import read_if_there
from tt_kernel.store.layout import AgentFolder

_RUN = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:\.[1-9][0-9]*)?(?![0-9a-f])")
_AGENT = re.compile(r"^\s*%%?agent\b(?P<options>[^\n]*)", re.MULTILINE)
_MANY = re.compile(r"--(?:vary|repeat)\b")
_LISTS = re.compile(r"^\s*%agent\s+(?:prune|runs|find|tree|costs)\b", re.MULTILINE)
"""What lists runs, or what to delete, needs none of them."""
_QUIET = re.compile(r"(?:^|\s)(?:-q|--quiet)(?:\s|$)")
_PYTHON = re.compile(r"(?<!subprocess\.)\b(?:run|arun|sweep|Session)\s*\(")
_OWN = frozenset({"runs", "recordings", ".cache", "persist"})
"""Parts of the folder that say nothing about which runs are wanted."""


@dataclass(frozen=True)
class References:
    """Attributes:
    named: Run id -> who names it: a cell, by its source or its saved output, a session, a document.
    unsure: Why nobody can tell which other recordings the notebook needs; empty where that can be told.
    text: All that was read, to look for names of files in.
    """

    named: dict[str, str]
    unsure: str
    text: str


def references(folder: AgentFolder, notebook: Path | None) -> References:
    """Read everything that may refer to a run.

    Args:
        notebook: The notebook's file; None, or a script: it cannot tell.

    Raises:
        StorageFault: A file that is there and cannot be read.
    """
    named: dict[str, str] = {}
    texts = []
    for path in _documents(folder):
        text = read_if_there(path).decode("utf-8", "replace")
        texts.append(text)
        for run in _RUN.findall(text):
            named.setdefault(run, f"{_owner(path.relative_to(folder.root))} has it")
    cells = _cells(notebook)
    if cells is None:
        return References(named, "there is no saved notebook that tells what it replays", "\n".join(texts))
    texts.append(json.dumps(cells, ensure_ascii=False))
    unsure = ""
    for number, cell in enumerate(cells, start=1):
        source = _joined(cell.get("source"))
        for run in _RUN.findall(source):
            named.setdefault(run, f"cell {number} names it")
        for run in () if _LISTS.search(source) else _RUN.findall(json.dumps(cell.get("outputs"))):
            named.setdefault(run, f"cell {number} shows it")
        unsure = unsure or _unsure(number, source, cell)
    return References(named, unsure, "\n".join(texts))


def _documents(folder: AgentFolder) -> Iterator[Path]:
    if not folder.root.is_dir():
        return
    for top in sorted(folder.root.iterdir()):
        if top.name not in _OWN and top.name != ".gitignore":
            yield from sorted(path for path in (top.rglob("*") if top.is_dir() else [top]) if path.is_file())


def _owner(place: Path) -> str:
    parts = place.parts
    return f"session {parts[1]}" if parts[0] == "sessions" and len(parts) > 1 else place.as_posix()


def _cells(notebook: Path | None) -> list[dict[str, Any]] | None:
    """The code cells as they are saved, or None where there is no notebook to be read."""
    if notebook is None or notebook.suffix != ".ipynb":
        return None
    try:
        found = json.loads(read_if_there(notebook))["cells"]
        return [cell for cell in found if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError):
        return None


def _unsure(number: int, source: str, cell: dict[str, Any]) -> str:
    """Why a cell does not tell what it replays."""
    lines = list(_AGENT.finditer(source))
    if any(_MANY.search(line["options"]) for line in lines):
        return f"cell {number} sweeps, and its table need not name every run"
    if any(_QUIET.search(line["options"]) for line in lines):
        return f"cell {number} does not show its run"
    if lines and not cell.get("outputs"):
        return f"cell {number} has no saved output"
    if not lines and _PYTHON.search(source):
        return f"cell {number} may call agents from Python"
    return ""


def _joined(source: Any) -> str:
    return "".join(source) if isinstance(source, list) else str(source or "")
