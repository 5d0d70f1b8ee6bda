"""Nothing leaves: in a guarded process no connection goes beyond it and its children, and files are written only where allowed.

- An audit hook: it sees every socket and every file that Python opens, in any library, and nothing can take it away.
- On this machine only servers of the process and its children may be talked to: a model server on localhost is not asked either.
- Python processes that it starts are guarded too, unless they are started without its environment (`-I`, `-E`, `env={}`): they
  find a `sitecustomize.py` that is this file. Other programs are not: what `git` or `curl` do is not seen.

It is copied into processes of any Python, so it needs nothing but the standard library.
"""

import atexit
import ipaddress
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

GUARD_VARIABLE = "TT_GUARD"
"""Folders, joined as in PATH, that a guarded kernel may write to besides the temporary ones."""
CHILD_VARIABLE = "TT_GUARD_CHILD"
"""Folders that a child of a guarded process may write to."""
REPORT_VARIABLE = "TT_REPORT"
"""The file that runs and refusals of a guarded kernel are reported to."""

_LOCAL_NAMES = frozenset({"localhost", "", None})
_WRITING = frozenset("wax+")
_WRITE_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES: Mapping[str, tuple[tuple[int, int | None], ...]] = {
    "os.remove": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.mkdir": ((0, 2),),
    "os.rmdir": ((0, 1),),
    "os.truncate": ((0, None),),
    "os.link": ((1, 3),),
    "os.symlink": ((1, 2),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
}
"""Audit events that change the file system: the positions among their arguments of each path, and of the descriptor of the folder
that it is relative to.
"""
_F_GETPATH = 50
"""Of macOS: the path of a descriptor."""


WRITE = "write to"
"""What every refusal to write says."""


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
            for path, folder in _CHANGES[event]:
                self._changed(arguments[path], -1 if folder is None else arguments[folder])
        elif event in ("socket.connect", "socket.sendto"):
            self._connected(arguments[1])
        elif event == "socket.getaddrinfo":
            self._host(arguments[0])

    def _opened(self, path: Any, mode: str | None, flags: int) -> None:
        writes = bool(_WRITING & set(mode)) if mode else bool(flags & _WRITE_FLAGS)
        if writes and not isinstance(path, int):
            self._changed(path)

    def _changed(self, path: Any, folder: int = -1) -> None:
        if isinstance(path, int):
            return  # it was opened before
        name = os.fsdecode(path)
        place = os.path.realpath(os.path.join(_path_of(folder) if folder >= 0 else os.getcwd(), name))  # noqa: PTH109, PTH118  texts
        if not any(place == folder or place.startswith(folder + os.sep) for folder in self.folders):
            self._refuse(f"{WRITE} {place}")

    def _connected(self, address: Any) -> None:
        if isinstance(address, tuple) and address:
            self._host(address[0])
            if not _is_own(address[1]):
                self._refuse(f"connection to {address[0]!r} port {address[1]}, which is no server of this process")
        elif isinstance(address, str | bytes) and address[:1] not in ("", b"", "\0", b"\0"):
            self._changed(address)  # a socket in the file system

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
    _guard_children(found.folders)
    sys.dont_write_bytecode = True
    found.active = True
    return found


def _guard_children(folders: Sequence[str]) -> None:
    """Let every Python that is started from here find this file as its `sitecustomize`."""
    place = tempfile.mkdtemp(prefix="tt-guard-")
    atexit.register(_remove, place, os.getpid())
    text = Path(__file__).read_text(encoding="utf-8")
    Path(place, "sitecustomize.py").write_text(f"{text}\nstart_as_sitecustomize()\n", encoding="utf-8")
    os.environ[CHILD_VARIABLE] = os.pathsep.join(folders)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([place, *([before] if before else [])])


def _remove(place: str, owner: int) -> None:
    if os.getpid() == owner:  # not in a fork
        shutil.rmtree(place, ignore_errors=True)


def start_as_sitecustomize() -> None:
    """Guard a child, and go on with the `sitecustomize` that this one stands before."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120
    found = guard()
    found.folders = tuple(filter(None, os.environ.get(CHILD_VARIABLE, "").split(os.pathsep)))
    found.active = True
    others = [place for place in sys.path if os.path.abspath(place) != here]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


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
    runtime = (".local/share/jupyter/runtime", "Library/Jupyter/runtime", "AppData/Roaming/jupyter/runtime")
    own = (".cache", ".ipython", ".config/matplotlib", "Library/Caches", *runtime)
    return [*filter(None, map(os.environ.get, names)), *(os.path.join(home, name) for name in own)]  # noqa: PTH118


def _path_of(descriptor: int) -> str:
    """The folder that a descriptor stands for; where it cannot be known, the temporary one: what deletes trees asks for it."""
    try:
        if sys.platform == "darwin":
            import fcntl  # noqa: PLC0415  not everywhere

            return os.fsdecode(fcntl.fcntl(descriptor, _F_GETPATH, bytes(1024)).rstrip(b"\0"))
        return os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115  a text
    except OSError:
        return tempfile.gettempdir()


def _is_own(port: object) -> bool:
    """Whether a port of this machine is listened to by this process, or by one that it started."""
    try:
        import psutil  # noqa: PLC0415  another Python, in a child, may not have it

        own = psutil.Process()
        return any(_listens(process, port) for process in (own, *own.children(recursive=True)))
    except ImportError:
        return False


def _listens(process: Any, port: object) -> bool:
    import psutil  # noqa: PLC0415  see above

    try:
        connections = process.net_connections(kind="inet")
    except psutil.Error:
        return False  # it ended meanwhile
    listening = (psutil.CONN_LISTEN, psutil.CONN_NONE)  # the second: a socket for datagrams
    return any(one.status in listening and one.laddr and one.laddr.port == port for one in connections)


def _is_local(host: object) -> bool:
    if isinstance(host, bytes | bytearray):
        host = host.decode("ascii", "replace")
    if host in _LOCAL_NAMES or host == platform.node():
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False
