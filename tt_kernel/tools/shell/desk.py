"""`workspace.shell`: the tool, what it touches, and what the model reads (spec tauritavern §6)."""

from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import Field

from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.errors import ToolError
from tt_kernel.toolkit.clockwork import Clockwork
from tt_kernel.toolkit.declare import Declaration, builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.shell.answer import answer, cancelled
from tt_kernel.tools.shell.job import Job, Mount, Printed
from tt_kernel.tools.shell.worker import ShellWorker

MAX_COMMAND = 128 * 1024
"""Bytes of a command in UTF-8 (spec tauritavern §6)."""


class ShellDesk:
    """What the shell tool touches.

    Args:
        worker: The child's keeper; several desks may share one.
        mounts: The folders that a command sees, asked for at each call (a run's folder moves when it is kept).
        clock: The run's clock and chance.
    """

    def __init__(self, worker: ShellWorker, mounts: Callable[[], Sequence[Mount]], clock: Clockwork) -> None:
        self._worker = worker
        self._mounts = mounts
        self._clock = clock
        self._printed = Printed.nothing()

    @property
    def partial(self) -> str:
        """What the model would read of the last command if it were cancelled now: the notice and the output so far.

        For the runtime, which stores it as the content of `workspace.shell_cancelled` after it cancelled a call.
        """
        return cancelled(self._printed)

    async def run(self, command: str, workdir: str, call: ToolCall) -> Outcome:
        """Run a command. Raises ToolError where it cannot be run as asked."""
        # Chance goes by the call's place in the run, so that a replay that skips a call draws the same for the next.
        chance = self._clock.random(f"shell:{call.invocation_id}:{call.turn}:{call.index}")
        job = Job(
            command=command,
            workdir=workdir,
            mounts=tuple(self._mounts()),
            epoch=self._clock.started_at.timestamp(),
            seed=chance.getrandbits(64),
        )
        printed = self._printed = Printed.nothing()
        ending = await self._worker.run(job, printed)
        return answer(ending, printed)


@builtin_tool("workspace.shell", group="shell", effect="workspace")
async def shell(
    desk: ShellDesk, call: ToolCall, command: str, workdir: Annotated[str, Field(min_length=1)] = "/"
) -> Outcome:
    """Run a Bash script over the workspace's files.

    It is a virtual Bash: no programs of the computer, no network, no packages to install. It has the usual text tools (cat,
    ls, find, grep, rg, sed, awk, sort, diff, tar, ...), jq, Python and JavaScript:
    - `python` runs a subset of Python: `python FILE`, `-c CODE`, `-`. No third-party modules, no generators, no inheritance.
    - `js` (also `node`) runs ES modules: `js FILE`, `-e CODE`, `-p EXPRESSION`, `-`. Files through
      `import { workspace } from '@tauritavern/runtime'` (readText, writeText, exists, listFiles). No timers, no Node built-ins.
    - Start scripts by name of the language (`python x.py`), not by their `#!` line.
    Each call starts anew: variables, functions and the current folder do not carry over, files do. Only the workspace's folders
    are kept; /tmp lasts for one call. The clock of a run stands still. At most 30 seconds and 128 KiB of output each on stdout and
    stderr; write longer output to a file. Files changed before a failure stay changed.

    Args:
        command: The script, at most 128 KiB.
        workdir: Folder to start in, absolute. Default `/`.
    """
    try:
        size = len(command.encode("utf-8"))
    except UnicodeEncodeError:
        raise ToolError("tool.invalid_arguments", f"{call.name}: command is not valid Unicode text.") from None
    if size > MAX_COMMAND:
        raise ToolError(
            "tool.invalid_arguments",
            f"{call.name}: command has {size} bytes, at most {MAX_COMMAND} are allowed. Put data into a file first.",
        )
    return await desk.run(command, folder(workdir, call.name), call)


def folder(workdir: str, name: str) -> str:
    """`workdir` as an absolute path of the shell; relative to `/`. Raises ToolError `workspace.invalid_path`."""
    parts = [part for part in workdir.replace("\\", "/").split("/") if part not in ("", ".")]
    if ".." in parts or any(not part.isprintable() for part in parts):
        raise ToolError("workspace.invalid_path", f"{name}: workdir {workdir!r} is not a path of the workspace.")
    return "/" + "/".join(parts)


SHELL_TOOLS: tuple[Declaration, ...] = (shell,)
