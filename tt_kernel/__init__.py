"""Agents in notebook cells: run them with tools, keep everything in files, replay for free.

`%load_ext tt_kernel` gives a notebook `%%agent`; the names below are the same thing for scripts. Nothing heavy is imported until
a name is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt_kernel.domain.errors import (
        ModelUnavailable,
        OutcomeUnknown,
        ProfileInvalid,
        ReplayMiss,
        RunFailed,
        RunInterrupted,
        ToolError,
        TTError,
        UserError,
    )
    from tt_kernel.domain.runs import Run
    from tt_kernel.experiments.checks import Judge
    from tt_kernel.experiments.diff import diff
    from tt_kernel.experiments.sweep import sweep
    from tt_kernel.session.api import arun, replay, run
    from tt_kernel.session.core import Session
    from tt_kernel.tools.functions import ToolContext, tool

__version__ = "0.1.0"

__all__ = [
    "Judge",
    "ModelUnavailable",
    "OutcomeUnknown",
    "ProfileInvalid",
    "ReplayMiss",
    "Run",
    "RunFailed",
    "RunInterrupted",
    "Session",
    "TTError",
    "ToolContext",
    "ToolError",
    "UserError",
    "arun",
    "diff",
    "load_ipython_extension",
    "replay",
    "run",
    "sweep",
    "tool",
    "unload_ipython_extension",
]

_HOMES = {
    "Judge": "tt_kernel.experiments.checks",
    "Run": "tt_kernel.domain.runs",
    "Session": "tt_kernel.session.core",
    "ToolContext": "tt_kernel.tools.functions",
    "arun": "tt_kernel.session.api",
    "diff": "tt_kernel.experiments.diff",
    "replay": "tt_kernel.session.api",
    "run": "tt_kernel.session.api",
    "sweep": "tt_kernel.experiments.sweep",
    "tool": "tt_kernel.tools.functions",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'tt_kernel' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "tt_kernel.domain.errors")), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Where the built front end is, for `jupyter labextension develop`."""
    return [{"src": "../labextension/build/lab", "dest": "tt-kernel"}]


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext tt_kernel`: registers `%%agent` and `%agent`. Prints nothing, touches no network."""
    import_module("tt_kernel.ipython.extension").load_ipython_extension(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    import_module("tt_kernel.ipython.extension").unload_ipython_extension(ipython)
