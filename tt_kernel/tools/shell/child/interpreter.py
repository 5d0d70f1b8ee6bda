"""One bashkit interpreter for one command: its folders, its limits, its clock."""

import contextlib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bashkit import Bash, ExecutionProfile, FileSystem

from tt_kernel.tools.shell.child.call import Call, MountPoint

Command = Callable[[Any, Call], Awaitable[int]]
"""A command written in Python: (bashkit's CommandContext, the call) -> exit code."""

# `time` is a keyword, so its clock can only be stopped by its format.
_STOPPED = "\nreal\t0m0.000s\nuser\t0m0.000s\nsys\t0m0.000s"


_EMPTY = FileSystem()


class Refused(Exception):
    """The command cannot be run as asked. `code` is the tool's error code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Interpreter:
    """A fresh interpreter, with the folders of a layout."""

    bash: Any
    layout: tuple[Any, ...]

    def prepare(self, call: Call, commands: dict[str, Command]) -> None:
        """Make it the interpreter of `call`, with these commands of ours."""
        for name, command in commands.items():
            self.bash.add_command(name, _bound(name, command, call))
        chance = call.random("RANDOM").randrange(1, 32768)
        self.bash.execute_sync(
            f"RANDOM={chance} EPOCHSECONDS={int(call.epoch)} EPOCHREALTIME={call.epoch:.6f} TIMEFORMAT='{_STOPPED}'"
        )

    @classmethod
    def build(cls, call: Call) -> "Interpreter":
        """An interpreter laid out as `call` needs it. Raises Refused naming the folder that is not there."""
        bash = Bash(
            profile=ExecutionProfile.Interactive,
            timeout_seconds=call.timeout,
            cwd=call.workdir,
            env={"HOME": "/"},
        )
        # Only mounted folders outlive the call, so a file written beside them must fail, not get lost.
        bash.mount("/", _EMPTY, read_only=True)
        if all(mount.name != "tmp" for mount in call.mounts):
            bash.mount("/tmp", FileSystem())  # noqa: S108  in the interpreter, gone with it
        for mount in call.mounts:
            _mount(bash, mount)
        if call.workdir != "/":
            _check_workdir(bash, call)
        return cls(bash, call.layout)


def check_mounts(call: Call) -> None:
    """Raise Refused for a folder that is gone since the interpreter was built."""
    for mount in call.mounts:
        if not os.path.isdir(mount.path):  # noqa: PTH112  measured: a tenth of Path's time, on every command
            raise _absent(mount, "there is no such folder")


def verify(interpreter: Interpreter, call: Call) -> None:
    """Look whether every folder is there. A look costs as much as a new interpreter, so the first of a layout is asked."""
    for mount in call.mounts:
        if not interpreter.bash.exists(f"/{mount.name}"):
            raise _absent(mount, "the shell did not take it")


def keep_roots(call: Call) -> None:
    """`rm -rf /output` empties the folder; the root itself stays (spec tauritavern §7.1)."""
    for mount in call.mounts:
        if mount.writable:
            with contextlib.suppress(OSError):  # the next call says what is in its place
                os.makedirs(mount.path, exist_ok=True)  # noqa: PTH103  as above


def _mount(bash: Any, mount: MountPoint) -> None:
    """Not by bashkit's `mounts=`: it skips sensitive folders (/root, /home) with no more than a warning; this refuses aloud."""
    place = f"/{mount.name}"
    try:
        bash.mount(place, FileSystem.real(mount.path, mount.writable), read_only=not mount.writable)
    except (RuntimeError, ValueError, OSError) as error:
        raise _absent(mount, str(error)) from None


def _absent(mount: MountPoint, why: str) -> Refused:
    why = why.replace(mount.path, f"/{mount.name}")
    return Refused("workspace.shell_failed", f"The folder /{mount.name} is not available in the shell: {why}.")


def _check_workdir(bash: Any, call: Call) -> None:
    try:
        found = bash.fs().stat(call.workdir)["file_type"] == "directory"
    except RuntimeError:
        found = False
    if not found:
        names = ", ".join(f"/{mount.name}" for mount in call.mounts)
        raise Refused("workspace.invalid_path", f"workdir {call.workdir} is not a folder. Folders: / /tmp {names}")


def _bound(name: str, command: Command, call: Call) -> Callable[[Any], Awaitable[int]]:
    async def run(context: Any) -> int:
        try:
            return await command(context, call)
        except BrokenPipeError:
            return 141
        except Exception as error:  # noqa: BLE001  a defect of ours must not end the script
            await context.stderr.write(f"{name}: {error}\n".encode("utf-8", "replace"))
            return 1

    return run
