"""Which memory a cell's run begins with: that of the nearest run above it, so that a copied or branched notebook keeps its own.

A run's state is in the metadata of its cell's output (DESIGN §4, spec tauritavern §7.4); for cells that were executed in this
kernel it is known from the run itself.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.views import RUN_MIME


def memory_above(path: Path | None, cell: str | None, executed: Mapping[str, str | None], last: str) -> str | None:
    """The state to begin with.

    Args:
        path: The saved notebook.
        cell: The calling cell; None where cells have no names.
        executed: The states that cells left in this kernel.
        last: What is returned where the place of the cell is not known: the state of the last run.
    """
    cells = _cells(path) if path is not None and cell is not None else []
    ids = [c.get("id") for c in cells]
    if cell not in ids:
        return last
    for above in reversed(cells[: ids.index(cell)]):
        name = str(above.get("id"))
        state = executed[name] if name in executed else _saved_state(above)
        if state is not None:
            return state
    return None


def _cells(path: Path) -> list[JsonObject]:
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [c for c in cells if isinstance(c, dict)] if isinstance(cells, list) else []


def _saved_state(cell: JsonObject) -> str | None:
    """Of the last run in the cell's saved outputs."""
    found: Any = None
    for output in cell.get("outputs") or ():
        meta = (output.get("metadata") or {}).get(RUN_MIME) if isinstance(output, dict) else None
        found = meta.get("persistState", found) if isinstance(meta, dict) else found
    return found if isinstance(found, str) else None
