"""A desk over temporary folders with a real child process, called as the runtime calls it: through Declaration.bind."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import Json
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId
from tt_kernel.toolkit.clockwork import Clockwork
from tt_kernel.tools.shell import SHELL_TOOLS, Mount, ShellDesk, ShellWorker
from tt_kernel.tools.shell.job import Ending, Job, Printed

STARTED = datetime(2026, 3, 1, 12, 34, 56, tzinfo=UTC)


class Bench:
    """One run's shell. Each call has the next place in the run, as in a turn with several calls."""

    def __init__(self, folder: Path, worker: ShellWorker, seed: int = 7) -> None:
        self.folder = folder
        self.worker = worker
        self.mounts = [Mount("output", folder / "output", True), Mount("skills", folder / "skills", False)]
        for mount in self.mounts:
            mount.host_path.mkdir(parents=True, exist_ok=True)
        self.desk = ShellDesk(worker, lambda: self.mounts, Clockwork(STARTED, seed))
        self.tool = SHELL_TOOLS[0].bind(self.desk)
        self._index = 0

    def call(self, **arguments: Json) -> ToolCall:
        self._index += 1
        return ToolCall(
            id=CallId(f"call-{self._index}"),
            tool_id=self.tool.spec.id,
            name="workspace_shell",
            arguments=ToolArguments(value=arguments),
            invocation_id=ROOT_INVOCATION,
            turn=1,
            index=self._index - 1,
        )

    async def run(self, command: str, **more: Json) -> ToolResult:
        result = await self.tool.call(self.call(command=command, **more))
        assert str(self.folder) not in result.model_dump_json(), "results show the shell's paths only"
        return result

    async def out(self, command: str, **more: Json) -> str:
        """Standard output of a command that must succeed without a word on standard error."""
        result = await self.run(command, **more)
        first, _, rest = result.content.partition("\n")
        assert (result.is_error, first) == (False, "exit code 0"), result.content
        assert "[stderr]" not in rest, result.content
        return rest

    async def raw(self, command: str, *, timeout: float = 30.0, limit: int = 131072) -> tuple[Ending, Printed]:
        """As the desk asks its worker, with other limits."""
        printed = Printed.nothing()
        job = Job(command, "/", self.mounts, STARTED.timestamp(), 1, timeout, limit)
        return await self.worker.run(job, printed), printed

    def put(self, path: str, content: str | bytes) -> Path:
        where = self.folder / path
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(content.encode() if isinstance(content, str) else content)
        return where


@pytest.fixture
async def worker() -> AsyncIterator[ShellWorker]:
    async with ShellWorker() as worker:
        yield worker


@pytest.fixture
def new_bench() -> type[Bench]:
    """For tests that compare runs."""
    return Bench


@pytest.fixture
async def bench(tmp_path: Path, worker: ShellWorker) -> Bench:
    return Bench(tmp_path, worker)
