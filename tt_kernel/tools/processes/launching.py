"""Before a command starts: is it to be run at all, where, by which shell, and behind which walls."""

import os
from dataclasses import replace
from pathlib import Path

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.layout import user_folder
from tt_kernel.store.workspace import Root, Workspace, shown
from tt_kernel.tools.processes.command_check import check_command
from tt_kernel.tools.processes.desk import ProcessDesk
from tt_kernel.tools.processes.running import Launch, in_thread
from tt_kernel.tools.processes.sandbox import Walls, hidden_folders, sandbox_mode, sandboxed_environment
from tt_kernel.tools.processes.shells import FIRST_PATH, find_shell
from tt_kernel.tools.processes.table import START_FAILED

INVALID_FOLDER = "process.invalid_workdir"
ROOT_REFUSED = "process.workdir_refused"


async def launch(desk: ProcessDesk, command: str, cwd: str | None, timeout_ms: int | None) -> Launch:
    """Check a command and decide how it is started.

    Args:
        desk: The invocation's desk.
        command: Text for the shell.
        cwd: Where it is to run; None: in the project.
        timeout_ms: Hard limit.

    Raises:
        ToolError: A refusal of spec liveagent §6.3 or §8, a folder that is not there, no shell.
    """
    environ = dict(desk.environment())
    shell = find_shell(environ)
    if shell is None:
        raise ToolError(START_FAILED, "No shell was found on this machine, so no command can be run.")
    check_command(command, desk.other("ProcessWait"), posix=shell.family == "posix")
    folder = _folder(desk.roots()[0], cwd)
    if shell.profile == "login":
        environ[FIRST_PATH] = environ.get("PATH", os.defpath)
    bare = Launch(
        argv=tuple(shell.argv(command)),
        folder=str(folder),
        environment=environ,
        command=command,
        cwd=_shown_folder(desk, folder, cwd),
        shell=shell,
        sandbox="off",
        timeout_ms=timeout_ms,
    )
    return await _walled(desk, bare)


async def _walled(desk: ProcessDesk, bare: Launch) -> Launch:
    """The launch inside the sandbox that the safety mode asks for."""
    mode = sandbox_mode(desk.safety())
    if mode == "off":
        return bare
    sandbox = desk.table.sandbox
    await in_thread(lambda: sandbox.problem(mode) is None)  # the first time it runs a process
    sandbox.require(mode)
    walls = _walls(desk)
    walls.check(Path(bare.folder))
    return replace(
        bare,
        argv=tuple(sandbox.argv(mode, walls, bare.folder, bare.argv)),
        environment=sandboxed_environment(bare.environment),
        sandbox=mode,
    )


def _walls(desk: ProcessDesk) -> Walls:
    project, *granted = desk.roots()
    writable = [_real(root) for root in granted if root.writable and _is_active(root)]
    return Walls(
        project=_real(project),
        writable=tuple(writable),
        protected=tuple(Path(os.path.realpath(path)) for path in desk.protected()),
        hidden=hidden_folders(user_folder(), os.environ),
    )


def _folder(project: Root, cwd: str | None) -> Path:
    if not cwd:
        return _existing(_real(project), ".")
    if cwd.startswith("root://"):
        raise ToolError(
            ROOT_REFUSED,
            f"{shown(cwd)} cannot be the folder of a command: commands run in the project.\n"
            "Leave cwd out, or give a folder of the project.",
        )
    if Path(cwd).is_absolute() or cwd.startswith("~"):
        return _existing(Path(os.path.realpath(Path(cwd).expanduser())), cwd)
    workspace = Workspace([replace(project, path=_real(project))])
    return _existing(workspace.disk_path(workspace.at(project.name, cwd.removeprefix("workspace:"))), cwd)


def _shown_folder(desk: ProcessDesk, folder: Path, cwd: str | None) -> str:
    """A folder below a root as the model writes it; another as the model wrote it."""
    path = desk.display().path(folder)
    return shown(path if path != str(folder) or not cwd else cwd)


def _existing(folder: Path, cwd: str) -> Path:
    if folder.is_dir():
        return folder
    problem = "is a file, not a folder" if folder.exists() else "does not exist"
    raise ToolError(INVALID_FOLDER, f"The folder {shown(cwd)} {problem}, so the command was not run.")


def _real(root: Root) -> Path:
    return Path(os.path.realpath(root.folder))


def _is_active(root: Root) -> bool:
    """Whether a granted folder still is the folder that was granted; one that is not gets no rights (spec liveagent §4.5)."""
    real = _real(root)
    return real.is_dir() and (root.pinned is None or root.pinned == real)
