"""An exception of a tool function as text for the model: what, and where in the user's own code."""

import os
import sysconfig
import traceback
from pathlib import PurePath
from types import FrameType, TracebackType

MAX_MESSAGE = 2_000

_PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})
_STDLIB = tuple(os.path.normcase(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))
_OWN = __name__.partition(".")[0]


def told(error: BaseException) -> str:
    """Type and message; then the last line of the user's code that was running, without a path."""
    message = str(error)
    message = message if len(message) <= MAX_MESSAGE else message[:MAX_MESSAGE] + "..."
    head = f"{type(error).__name__}: {message}" if message else type(error).__name__
    place = _place(error.__traceback__)
    return f"{head}\n{place}" if place else head


def _place(trace: TracebackType | None) -> str | None:
    """`in line 4 of plot_hist: return df[column].mean()`."""
    places = [(frame, line) for frame, line in traceback.walk_tb(trace) if _is_users(frame)]
    if not places:
        return None
    frame, number = places[-1]
    source = traceback.FrameSummary(frame.f_code.co_filename, number, frame.f_code.co_name).line
    return f"in line {number} of {frame.f_code.co_name}" + (f": {source}" if source else "")


def _is_users(frame: FrameType) -> bool:
    """Neither of this package nor of a library: a cell, a script, a module of the user's."""
    file = frame.f_code.co_filename
    if str(frame.f_globals.get("__name__", "")).partition(".")[0] == _OWN:
        return False
    is_library = not _PACKAGE_FOLDERS.isdisjoint(PurePath(file).parts) or os.path.normcase(file).startswith(_STDLIB)
    return not is_library and not file.startswith("<frozen")
