"""Which notebook this kernel belongs to: notes/frontend.md §4, in that order. Nothing is guessed from the files around."""

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

API_SECONDS = 2.0
"""For all Jupyter servers together."""

VARIABLE = "TT_NOTEBOOK"
NOTEBOOKS = (".ipynb", ".py", ".md")
"""How a session of a notebook may be called: jupytext opens text files as notebooks. A console's session is called otherwise."""


class NotebookPath:
    """Finds the path and keeps it while the file is there (after a rename it is looked for again).

    Attributes:
        chosen: What `%agent notebook PATH` set; None leaves it to detection.
    """

    def __init__(self, namespace: Mapping[str, Any], *, in_kernel: bool = True) -> None:
        """Args:
        namespace: The user's: VS Code leaves the path there.
        in_kernel: Whether this process is a Jupyter kernel; a terminal has no notebook, so no server is asked.
        """
        self._namespace = namespace
        self._in_kernel = in_kernel
        self._found: Path | None = None
        self._asked = False
        self.chosen: Path | None = None

    def get(self) -> Path | None:
        """The absolute path, or None when nothing tells."""
        if self.chosen is not None:
            return self.chosen
        if self._asked and (self._found is None or self._found.exists()):
            return self._found
        self._asked = True
        self._found = next(self._candidates(), None)
        return self._found

    def _candidates(self) -> Iterator[Path]:
        named = os.environ.get(VARIABLE) or self._namespace.get("__vsc_ipynb_file__")
        if isinstance(named, str) and named:
            yield Path(named).absolute()
        if self._in_kernel:
            yield from _from_servers()
        session = os.environ.get("JPY_SESSION_NAME")
        if session and session.endswith(NOTEBOOKS):
            yield Path(session).absolute()
        yield from _from_pytest()


def _from_pytest() -> Iterator[Path]:
    """Under nbval and nbmake a kernel runs in the notebook's folder; the name in the variable is relative to another one."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    if test.endswith(".ipynb"):
        path = Path.cwd() / Path(test).name
        if path.exists():
            yield path


def _from_servers() -> Iterator[Path]:
    """Ask the Jupyter servers of this machine which notebook has this kernel; right after a rename, unlike JPY_SESSION_NAME."""
    kernel = _kernel_id()
    if kernel is None:
        return
    from jupyter_core.paths import jupyter_runtime_dir  # noqa: PLC0415  only in kernels

    until = time.monotonic() + API_SECONDS
    for file in sorted(Path(jupyter_runtime_dir()).glob("jpserver-*.json")):
        left = until - time.monotonic()
        if left <= 0:
            return
        try:
            server = json.loads(file.read_text(encoding="utf-8"))
            sessions = _get(server["url"] + "api/sessions", server.get("token", ""), left)
        except (OSError, URLError, ValueError, KeyError):
            continue  # a server that is gone leaves its file behind
        for session in sessions:
            if (session.get("kernel") or {}).get("id") == kernel and session.get("path"):
                yield Path(server["root_dir"], session["path"])


def _kernel_id() -> str | None:
    """From the name of the connection file; None outside a kernel."""
    from ipykernel.kernelapp import IPKernelApp  # noqa: PLC0415  only in kernels
    from traitlets.config import MultipleInstanceError  # noqa: PLC0415

    try:
        app = IPKernelApp.instance() if IPKernelApp.initialized() else None
    except MultipleInstanceError:  # another application of IPython
        return None
    if app is None:
        return None
    name = Path(app.abs_connection_file).name
    return re.sub(r"^.*kernel-|\.json$", "", name)


def _get(url: str, token: str, timeout: float) -> Any:
    request = Request(url, headers={"Authorization": f"token {token}"} if token else {})  # noqa: S310  a server of this user
    with urlopen(request, timeout=timeout) as answer:  # noqa: S310
        return json.loads(answer.read())
