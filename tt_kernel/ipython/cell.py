"""Which cell runs now."""

from typing import Any

from tt_kernel.domain.canonical import JsonObject


def parent_of(shell: Any) -> JsonObject:
    """The request that this context belongs to; empty outside a kernel."""
    kernel = getattr(shell, "kernel", None)
    return (kernel.get_parent() or {}) if kernel is not None else {}


def cell_of(shell: Any) -> tuple[str | None, str | None]:
    """The running cell and the execution of it; both None where cells have no names (nbclient, consoles)."""
    parent = parent_of(shell)
    cell = (parent.get("metadata") or {}).get("cellId")
    return cell, parent.get("header", {}).get("msg_id") if cell else None
