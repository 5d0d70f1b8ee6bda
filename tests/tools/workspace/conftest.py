"""A desk over a temporary run folder, and its tools called as the runtime calls them: through Declaration.bind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import Json, digest_bytes
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, ToolId, builtin
from tt_kernel.domain.profiles import Artifact
from tt_kernel.store.workspace import Root, Workspace
from tt_kernel.tools.workspace import Desk, ReadStates, workspace_tools

RIGHTS = {"output": True, "scratch": True, "plan": True, "tool-results": False, "skills": False}


class Bench:
    """One invocation at its desk."""

    def __init__(self, folder: Path, bound: Callable[[ToolId], str | None]) -> None:
        self.folder = folder
        roots = [Root(name, folder / name, readable=True, writable=w) for name, w in RIGHTS.items()]
        roots.append(Root("persist", folder / "persist", readable=False, writable=True))
        self.desk = Desk(Workspace(roots), ReadStates(), Artifact(id="main", path="output/main.md"), bound)
        self._tools = {tool.spec.id: tool for tool in workspace_tools(self.desk)}
        self._calls = 0

    async def call(self, name: str, **arguments: Json) -> ToolResult:
        return await self.send(name, ToolArguments(value=arguments))

    async def send(self, name: str, arguments: ToolArguments) -> ToolResult:
        self._calls += 1
        tool = self._tools[builtin(f"workspace.{name}")]
        call = ToolCall(
            id=CallId(f"call-{self._calls}"),
            tool_id=tool.spec.id,
            name=f"workspace_{name}",
            arguments=arguments,
            invocation_id=ROOT_INVOCATION,
            turn=1,
            index=0,
        )
        return await tool.call(call)

    async def error(self, name: str, **arguments: Json) -> ToolResult:
        result = await self.call(name, **arguments)
        assert result.is_error, result
        assert result.structured["error"] == {"code": result.error_code, "message": result.content}
        assert str(self.folder) not in result.model_dump_json(), "results show logical paths only"
        return result

    async def ok(self, name: str, **arguments: Json) -> ToolResult:
        result = await self.call(name, **arguments)
        assert not result.is_error, result.content
        assert str(self.folder) not in result.model_dump_json(), "results show logical paths only"
        return result

    def put(self, path: str, content: str | bytes) -> Path:
        """Change a file behind the invocation's back, as the shell does."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def get(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()

    def sha(self, path: str) -> str:
        return digest_bytes(self.get(path))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, lambda tool: tool.native.replace(".", "_"))


@pytest.fixture
def make_bench(tmp_path: Path) -> Callable[[Callable[[ToolId], str | None]], Bench]:
    """A desk whose invocation has other tools."""
    return lambda bound: Bench(tmp_path, bound)
