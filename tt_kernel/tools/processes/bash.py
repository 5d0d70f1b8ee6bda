"""Bash: spec liveagent §6."""

from typing import Annotated

from pydantic import Field

from tt_kernel.domain.calls import ToolCall
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.tool import Outcome
from tt_kernel.tools.processes.answers import session_outcome
from tt_kernel.tools.processes.desk import ProcessDesk
from tt_kernel.tools.processes.launching import launch
from tt_kernel.tools.processes.limits import BASH_YIELD_MS, BashYieldMs, TimeoutMs
from tt_kernel.tools.processes.process_wait import attend
from tt_kernel.tools.processes.synchronous import run_to_end

Command = Annotated[str, Field(min_length=1)]


@builtin_tool("Bash", group="shell", effect="host")
async def bash(
    desk: ProcessDesk,
    call: ToolCall,
    command: Command,
    cwd: str | None = None,
    timeout_ms: TimeoutMs | None = None,
    yield_time_ms: BashYieldMs = BASH_YIELD_MS,
) -> Outcome:
    """Run a command on the user's machine, in the project folder. A command that takes long goes on as a session.

    The answer comes when the command has ended, after yield_time_ms, or when there is a page of output. While its status is
    running, call ProcessWait with its session_id and the newest cursor; do not start it again and do not sleep. The command
    reads no input. A part of it that runs in the background with & must send stdout and stderr to a file. Change and delete
    files with the file tools where there are some, so that the changes are kept track of.

    Args:
        command: Text for the shell.
        cwd: Folder to run in, relative to the project; the project folder when left out.
        timeout_ms: Stop the command after this time. Without it there is no limit.
        yield_time_ms: How long to wait for the end before answering that it is still running.
    """
    if desk.synchronous:
        return await run_to_end(desk, call, command, cwd, timeout_ms)
    async with desk.table.slots:
        session = await desk.open(call, await launch(desk, command, cwd, timeout_ms))
        await attend(desk, call, session, 0, yield_time_ms / 1000)
    return session_outcome(desk, session, session.page(0), started=True)


@builtin_tool("Bash", group="shell", effect="host", version="synchronous-1")
async def bash_to_end(
    desk: ProcessDesk,
    call: ToolCall,
    command: Command,
    cwd: str | None = None,
    timeout_ms: TimeoutMs | None = None,
) -> Outcome:
    """Run a command on the user's machine, in the project folder, to its end.

    The command reads no input and is stopped at its time limit. A part of it that runs in the background with & must send
    stdout and stderr to a file. Change and delete files with the file tools where there are some, so that the changes are
    kept track of.

    Args:
        command: Text for the shell.
        cwd: Folder to run in, relative to the project; the project folder when left out.
        timeout_ms: Stop the command after this time; there always is a limit.
    """
    return await run_to_end(desk, call, command, cwd, timeout_ms)
