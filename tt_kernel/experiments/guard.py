"""Nothing leaves: in a guarded process no connection goes beyond this machine, and files are written only where allowed.

An audit hook: it sees every socket and every file that Python opens, in any library, and nothing can take it away. It does
not see what other programs do that the process starts.
"""

import ipaddress
import os
import platform
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

GUARD_VARIABLE = "TT_GUARD"
"""Folders, joined as in PATH, that a guarded kernel may write to besides the temporary ones."""
REPORT_VARIABLE = "TT_REPORT"
"""The file that runs and refusals of a guarded kernel are reported to."""

_LOCAL_NAMES = frozenset({"localhost", "", None})
_WRITING = frozenset("wax+")
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES: Mapping[str, tuple[int, ...]] = {
    "os.remove": (0,),
    "os.rename": (0, 1),
    "os.mkdir": (0,),
    "os.rmdir": (0,),
    "os.truncate": (0,),
    "os.link": (1,),
    "os.symlink": (1,),
}
"""Audit events that change the file system: the positions of the paths among their arguments."""


class Refused(PermissionError):
    """Raised instead of connecting or writing: an OSError, as code that meets a dead network or a read-only disk expects."""


@dataclass
class Guard:
    """What is allowed, and what was refused (in order, each once).

    Attributes:
        folders: Absolute folders that may be written to, links resolved.
        active: Nothing is refused while False.
    """

    folders: tuple[str, ...] = ()
    active: bool = False
    refusals: dict[str, None] = field(default_factory=dict)

    def watch(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The audit hook."""
        if not self.active:
            return
        if event == "open":
            self._opened(*arguments)
        elif event in _CHANGES:
            for position in _CHANGES[event]:
                self._changed(arguments[position])
        elif event in ("socket.connect", "socket.sendto"):
            self._connected(arguments[1])
        elif event == "socket.getaddrinfo":
            self._host(arguments[0])

    def _opened(self, path: Any, mode: str | None, flags: int) -> None:
        writes = bool(_WRITING & set(mode)) if mode else bool(flags & _WRITE_FLAGS)
        if writes and not isinstance(path, int):
            self._changed(path)

    def _changed(self, path: Any) -> None:
        place = os.path.realpath(os.path.abspath(os.fsdecode(path)))  # noqa: PTH100  a text; Path would be slow here
        if not any(place == folder or place.startswith(folder + os.sep) for folder in self.folders):
            self._refuse(f"write to {place}")

    def _connected(self, address: Any) -> None:
        if isinstance(address, tuple) and address:
            self._host(address[0])

    def _host(self, host: Any) -> None:
        if not _is_local(host):
            self._refuse(f"connection to {host!r}")

    def _refuse(self, what: str) -> None:
        self.refusals.setdefault(what)
        raise Refused(f"Replay only: {what} refused.")


@cache
def guard() -> Guard:
    """The one of this process; its hook is installed when it is first asked for."""
    made = Guard()
    sys.addaudithook(made.watch)
    return made


def start_guard(folders: Iterable[str | os.PathLike[str]] = ()) -> Guard:
    """Refuse from here on.

    Args:
        folders: What may be written to, besides the temporary folder and devices.
    """
    allowed = [tempfile.gettempdir(), *(os.fspath(folder) for folder in folders), *_caches(), "/dev"]
    found = guard()
    found.folders = tuple(os.path.realpath(folder) for folder in allowed)
    sys.dont_write_bytecode = True
    found.active = True
    return found


def start_from_environment() -> None:
    """Guard this process if TT_GUARD says so, and report its runs to TT_REPORT. Does nothing otherwise, or a second time."""
    folders = os.environ.get(GUARD_VARIABLE)
    if folders is None or guard().active:
        return
    from tt_kernel.experiments.witness import start_witness  # noqa: PLC0415  a guarded process only

    report = os.environ.get(REPORT_VARIABLE)
    if report:
        start_witness(report)
    start_guard(filter(None, folders.split(os.pathsep)))


def _caches() -> list[str]:
    """Where libraries and Jupyter keep what is theirs, and may be deleted: fonts, history, connection files."""
    home = os.path.expanduser("~")  # noqa: PTH111  a text, not a path
    names = ("XDG_CACHE_HOME", "MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR")
    own = (".cache", ".ipython", ".config/matplotlib", ".local/share/jupyter/runtime", "Library/Caches")
    return [*filter(None, map(os.environ.get, names)), *(os.path.join(home, name) for name in own)]  # noqa: PTH118


def _is_local(host: object) -> bool:
    if isinstance(host, bytes | bytearray):
        host = host.decode("ascii", "replace")
    if host in _LOCAL_NAMES or host == platform.node():
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False
