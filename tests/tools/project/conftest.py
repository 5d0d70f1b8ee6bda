"""A project beside a notebook, and its tools called as the runtime calls them: through Declaration.bind."""

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import StoredFile, ToolCall, ToolResult
from tt_kernel.domain.canonical import Json, digest_bytes
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, builtin
from tt_kernel.store.preimages import PreImages
from tt_kernel.store.roots import RootGrants, project_root
from tt_kernel.store.workspace import Workspace
from tt_kernel.tools.project import ProjectDesk, preview, project_tools


class Bench:
    """One invocation at its desk."""

    def __init__(self, home: Path, **fields: object) -> None:
        self.folder = home / "project"
        self.folder.mkdir(exist_ok=True)
        self.checkpoints = home / "checkpoints"
        self.grants = RootGrants(home / "user", self.folder)
        self.kept: dict[str, bytes] = {}
        self.workspace = Workspace([project_root(self.folder), *self.grants.roots()])
        defaults: dict[str, object] = {
            "workspace": self.workspace,
            "save_file": self._save,
            "call_name": lambda tool: tool.native,
            "checkpoints": PreImages(lambda: self.checkpoints),
        }
        self.desk = ProjectDesk(**(defaults | fields))  # type: ignore[arg-type]
        self._tools = {str(tool.spec.id): tool for tool in project_tools(self.desk)}
        self._calls = 0

    def _save(self, call, index, data, mime_type, suffix, *, width=None, height=None) -> StoredFile:
        path = f"tool-results/{call.id}-{index}.{suffix}"
        self.kept[path] = data
        return StoredFile(
            path=path, mime_type=mime_type, sha256=digest_bytes(data), size=len(data), width=width, height=height
        )

    def request(self, name: str, arguments: dict[str, Json]) -> ToolCall:
        self._calls += 1
        return ToolCall(
            id=CallId(f"call-{self._calls}"),
            tool_id=builtin(name),
            name=name,
            arguments=ToolArguments(value=arguments),
            invocation_id=ROOT_INVOCATION,
            turn=1,
            index=0,
        )

    async def call(self, name: str, **arguments: Json) -> ToolResult:
        request = self.request(name, arguments)
        result = await self._tools[f"builtin:{name}"].call(request)
        assert str(self.folder) not in result.model_dump_json(), "results show logical paths only"
        return result

    async def ok(self, name: str, **arguments: Json) -> ToolResult:
        result = await self.call(name, **arguments)
        assert not result.is_error, result.content
        return result

    async def error(self, name: str, code: str, **arguments: Json) -> str:
        result = await self.call(name, **arguments)
        assert result.is_error, result.content
        assert result.error_code == code, result
        assert result.structured["error"] == {"code": code, "message": result.content}
        return result.content

    async def diff(self, name: str, **arguments: Json) -> str | None:
        return await preview(self.desk, self.request(name, arguments))

    def put(self, path: str, content: str | bytes) -> Path:
        """Change a file behind the invocation's back, as a person does."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file

    def get(self, path: str) -> bytes:
        return (self.folder / path).read_bytes()

    def tree(self) -> dict[str, bytes]:
        return {
            str(file.relative_to(self.folder)): file.read_bytes()
            for file in sorted(self.folder.rglob("*"))
            if file.is_file()
        }


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def make_bench(tmp_path: Path) -> Callable[..., Bench]:
    """A desk with other fields, over the same project."""
    return lambda **fields: Bench(tmp_path, **fields)


@pytest.fixture
def in_memory(tmp_path: Path) -> Iterator[Bench]:
    """A desk over a project in memory where that is possible: making 100,000 files on a busy disk takes minutes."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as home:
        yield Bench(Path(home).resolve())


class Ticker:
    """How late a task on the same loop ever was, in seconds."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._tick())
        await asyncio.sleep(0.05)
        self.worst = 0.0
        return self

    async def _tick(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0.01)
            self.worst = max(self.worst, time.perf_counter() - before - 0.01)

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.sleep(0.02)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@pytest.fixture
def ticker() -> type[Ticker]:
    return Ticker
