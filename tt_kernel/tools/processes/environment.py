"""What a command finds in its environment: the kernel's, without credentials and without what only a notebook needs.

- Variables that are named like credentials are left out: a command that a model wrote gets no key. What it prints is scrubbed
  of their values besides, by the session.
- What ipykernel sets for itself (colours, the inline backend of matplotlib) is taken back; a program that would ask a person
  or open a pager does not.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tt_kernel.store.secrets import is_credential_name

_OF_THE_KERNEL = frozenset(
    {"FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "JPY_PARENT_PID", "JPY_INTERRUPT_EVENT", "JPY_SESSION_NAME"}
)
_QUIET = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "PYTHONUNBUFFERED": "1",  # so that the output of a long run is seen while it runs
}
_INLINE = "module://"
"""Such a matplotlib backend is a module of the kernel's environment; another Python may not have it."""


def command_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for commands.

    Args:
        environ: Taken instead of the kernel's.
    """
    given = os.environ if environ is None else environ
    clean = {
        name: value
        for name, value in given.items()
        if not is_credential_name(name) and name not in _OF_THE_KERNEL and not _is_inline_backend(name, value)
    }
    clean.update(_QUIET)
    clean["PATH"] = _with_own_python(given.get("PATH", os.defpath))
    return clean


def _is_inline_backend(name: str, value: str) -> bool:
    return name == "MPLBACKEND" and value.startswith(_INLINE)


def _with_own_python(path: str) -> str:
    """The kernel's own environment comes first, also where it was started without being activated."""
    own = str(Path(sys.executable).parent) if sys.executable else ""
    folders = path.split(os.pathsep)
    return path if not own or own in folders else os.pathsep.join([own, *folders])
