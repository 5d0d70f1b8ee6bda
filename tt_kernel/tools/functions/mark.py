"""The mark that makes a function a tool. There is no registry: a tool exists as long as the notebook has the function."""

import inspect
import types
from dataclasses import dataclass

ATTRIBUTE = "__tt_kernel_tool__"
TIMEOUT_SECONDS = 60.0
"""spec tauritavern §15.2."""


@dataclass(frozen=True)
class ToolMark:
    """What `tool(...)` was told. None: taken from the function."""

    name: str | None = None
    description: str | None = None
    read_only: bool = False
    returns_images: bool = False
    timeout: float = TIMEOUT_SECONDS


def mark_of(value: object) -> ToolMark | None:
    """The mark of a callable, or None. Looks only at what is stored, so that objects which answer to any name are safe."""
    holder = value.__func__ if isinstance(value, types.MethodType) else value
    found = inspect.getattr_static(holder, ATTRIBUTE, None)
    return found if isinstance(found, ToolMark) else None
