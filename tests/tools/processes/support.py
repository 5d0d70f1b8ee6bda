"""A desk over a temporary project, and its tools called as the runtime calls them: through Declaration.bind."""

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path

import psutil

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import Json
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, builtin
from tt_kernel.store.workspace import Root
from tt_kernel.toolkit.clockwork import Clockwork
from tt_kernel.tools.processes import ProcessDesk, ProcessTable, keeps_output, process_tools

STARTED = datetime(2026, 1, 1, tzinfo=UTC)


class Bench:
    """One invocation at its desk. `turn` counts by itself."""

    def __init__(self, project: Path, table: ProcessTable, **facts) -> None:
        self.project = project
        self.table = table
        roots = [Root("workspace", project, writable=True, life="project", prefix="", follow_links=True)]
        facts.setdefault("roots", lambda: roots)
        self.desk = ProcessDesk(table=table, clock=Clockwork(STARTED, facts.pop("seed", 7)), **facts)
        self._tools = {tool.spec.id: tool for tool in process_tools(self.desk)}
        self.turn = 0

    def request(self, name: str, **arguments: Json) -> ToolCall:
        self.turn += 1
        return ToolCall(
            id=CallId(f"call-{self.turn}"),
            tool_id=builtin(name),
            name=name,
            arguments=ToolArguments(value=arguments),
            invocation_id=ROOT_INVOCATION,
            turn=self.turn,
            index=0,
        )

    async def send(self, request: ToolCall) -> ToolResult:
        return await keeps_output(self.desk)(self._tools[request.tool_id].call)(request)

    async def call(self, name: str, **arguments: Json) -> ToolResult:
        return await self.send(self.request(name, **arguments))

    async def bash(self, command: str, **arguments: Json) -> ToolResult:
        return await self.call("Bash", command=command, **arguments)

    async def wait(self, session: str, **arguments: Json) -> ToolResult:
        return await self.call("ProcessWait", session_id=session, **arguments)

    async def stop(self, session: str, **arguments: Json) -> ToolResult:
        return await self.call("ProcessStop", session_id=session, **arguments)

    async def error(self, code: str, name: str, **arguments: Json) -> str:
        """Call, expect the error, give its text."""
        result = await self.call(name, **arguments)
        assert result.is_error and result.error_code == code, result
        return result.content

    async def live_text(self, request: ToolCall, wanted: str, seconds: float = 10.0) -> str:
        """What a display sees of a call that is being executed, once it holds `wanted`."""
        text = ""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            live = self.desk.live(request.id)
            text = live.text if live else ""
            if wanted in text:
                return text
            await asyncio.sleep(0.02)
        raise AssertionError(f"{wanted!r} was not seen in {text!r}")


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def gone(pid: int, seconds: float = 8.0) -> bool:
    """Whether a process ends within the time."""
    end = time.monotonic() + seconds
    while alive(pid):
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.02)
    return True


async def pids_in(file: Path, count: int, seconds: float = 10.0) -> list[int]:
    """The process ids that commands have written into a file, once there are so many."""
    end = time.monotonic() + seconds
    while True:
        found = [int(line) for line in file.read_text().split()] if file.exists() else []
        if len(found) >= count:
            return found
        assert time.monotonic() < end, f"{len(found)} of {count} processes have told their id"
        await asyncio.sleep(0.02)
