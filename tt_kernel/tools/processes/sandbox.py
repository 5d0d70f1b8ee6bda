"""The sandbox modes (spec liveagent §8): bubblewrap where it works; elsewhere nothing is run.

- The whole machine read-only; the project and the granted folders that may be written; a temporary folder of its own.
- Credentials, tt_kernel's own documents and Jupyter's connection files are covered: with those a command could use the kernel.
- Sockets of services (`/run`) are covered, processes outside are not seen, nothing outlives the command.
- `sandbox-offline` has no network besides.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from tt_kernel.domain.errors import ToolError

SandboxMode = Literal["off", "sandbox", "sandbox-offline"]

UNAVAILABLE = "process.sandbox_unavailable"
FOLDER_REFUSED = "process.sandbox_folder_refused"

PROBE_SECONDS = 10.0

_CREDENTIALS = (
    ".ssh", ".aws", ".gnupg", ".config/gh", ".config/gcloud", ".azure", ".kube", ".local/share/keyrings",
    ".docker/config.json", ".netrc", ".git-credentials", ".pypirc",
)  # fmt: skip
"""Below the home folder; the first four are the specification's."""

_TEMPORARY = "/tmp"  # noqa: S108  inside the sandbox it is private
_RUN_KEPT = ("/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/current-system")
"""What of `/run` a command needs: name resolution, and the programs of NixOS."""

_BASE = (
    "--die-with-parent", "--unshare-all", "--cap-drop", "ALL",
    "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
    "--tmpfs", _TEMPORARY, "--tmpfs", "/var/tmp", "--tmpfs", "/run",  # noqa: S108
)  # fmt: skip


@dataclass(frozen=True)
class Walls:
    """Folders, as real paths.

    Attributes:
        project: Where commands run; may be written.
        writable: Granted folders that may be written.
        protected: Read-only although inside one of those: the agent folder, which holds the permissions.
        hidden: Covered: nothing of it can be read.
    """

    project: Path
    writable: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()

    @property
    def open(self) -> tuple[Path, ...]:
        return (self.project, *self.writable)

    def check(self, cwd: Path) -> None:
        """Raises ToolError `process.sandbox_folder_refused` when the folders cannot be walled in, or `cwd` is outside."""
        for folder in self.open:
            for secret in self.hidden:
                if folder == secret or folder in secret.parents or secret in folder.parents:
                    name = "The project folder" if folder == self.project else "A granted folder"
                    raise ToolError(
                        FOLDER_REFUSED,
                        f"{name} holds credentials or lies among them ({_short(secret)}), so nothing is run in the sandbox.\n"
                        "The user must move the notebook into a folder of its own.",
                    )
        if not any(cwd == folder or folder in cwd.parents for folder in self.open):
            raise ToolError(
                FOLDER_REFUSED, "In the sandbox, commands run in the project folder or below it.\nLeave cwd out."
            )


class Sandbox:
    """Bubblewrap of this machine. Whether it works is found out once for each mode, by running it.

    Args:
        program: The `bwrap` to use; None: the one on PATH.
    """

    def __init__(self, program: str | None = None) -> None:
        self._given = program
        self._problems: dict[SandboxMode, str | None] = {}

    @cached_property
    def program(self) -> str | None:
        return self._given or shutil.which("bwrap")

    def problem(self, mode: SandboxMode) -> str | None:
        """Why the mode cannot be had here; None when it can. Blocks for some milliseconds when first asked."""
        if mode not in self._problems:
            self._problems[mode] = None if mode == "off" else self._probe(mode)
        return self._problems[mode]

    def require(self, mode: SandboxMode) -> None:
        """Raises ToolError `process.sandbox_unavailable`: nothing is ever run bare instead (spec liveagent §3.5)."""
        problem = self.problem(mode)
        if problem is not None:
            raise ToolError(
                UNAVAILABLE,
                f'The safety mode of this run is "{mode}", and the sandbox does not work here: {problem}\n'
                "The command was not run. Do not repeat this call; the user must install bubblewrap or change the mode.",
            )

    def argv(self, mode: SandboxMode, walls: Walls, cwd: str, command: Sequence[str]) -> list[str]:
        """`command` inside the sandbox; itself in mode `off`."""
        if mode == "off":
            return list(command)
        assert self.program is not None, "require() was asked"
        return [self.program, *_base(mode), *_folders(walls), "--chdir", cwd, "--", *command]

    def _probe(self, mode: SandboxMode) -> str | None:
        if sys.platform != "linux":
            return "it needs bubblewrap, which exists for Linux only."
        if self.program is None:
            return "the program bwrap (package bubblewrap) is not installed."
        try:
            done = subprocess.run(  # noqa: S603
                [self.program, *_base(mode), "--", "true"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bwrap cannot be run ({type(error).__name__})."
        if done.returncode == 0:
            return None
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"bwrap fails with: {said[-1] if said else f'status {done.returncode}'}."


def sandbox_mode(safety: str) -> SandboxMode:
    """The mode that a safety setting asks for. `auto` and `ask` add none (spec liveagent §3.2).

    Raises:
        ToolError: `process.sandbox_unavailable` for a setting that is not known: nothing is run (spec liveagent §3.5).
    """
    if safety in ("auto", "ask"):
        return "off"
    if safety not in get_args(SandboxMode) or safety == "off":
        raise ToolError(UNAVAILABLE, f"The safety mode {safety!r} is not known, so nothing is run.")
    return safety  # type: ignore[return-value]


def sandboxed_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Caches and temporary files go where they can be written; agents of the session outside are not named."""
    kept = {name: value for name, value in environ.items() if name not in ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS")}
    return {**kept, "TMPDIR": _TEMPORARY, "XDG_CACHE_HOME": f"{_TEMPORARY}/cache"}


def hidden_folders(documents: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """What no sandboxed command may read.

    Args:
        documents: The user's tt_kernel documents.
        environ: Where `JUPYTER_RUNTIME_DIR` is read.
    """
    from jupyter_core.paths import jupyter_runtime_dir  # noqa: PLC0415  only runs in a sandbox need it

    home = Path.home()
    runtime = Path(environ.get("JUPYTER_RUNTIME_DIR") or jupyter_runtime_dir())
    places = [*(home / name for name in _CREDENTIALS), documents, runtime]
    return tuple(Path(os.path.realpath(place)) for place in places)


def _base(mode: SandboxMode) -> list[str]:
    kept = [part for path in _RUN_KEPT for part in ("--ro-bind-try", path, path)]
    return [*_BASE, *kept, *([] if mode == "sandbox-offline" else ["--share-net"])]


def _folders(walls: Walls) -> list[str]:
    """Later mounts cover earlier ones: open folders, then what is protected inside them, then what is hidden."""
    options: list[str] = []
    for folder in walls.open:
        options += ["--bind", str(folder), str(folder)]
    for folder in walls.protected:
        options += ["--ro-bind-try", str(folder), str(folder)]
    for place in walls.hidden:
        if place.is_dir():
            options += ["--tmpfs", str(place)]
        elif place.exists():
            options += ["--ro-bind", "/dev/null", str(place)]
    return options


def _short(path: Path) -> str:
    home = Path(os.path.realpath(Path.home()))
    return f"~/{path.relative_to(home)}" if home in path.parents else path.name
