"""Desks, tables and projects for the process tools."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tt_kernel.tools.processes import Limits, ProcessTable

from .support import Bench


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
async def table() -> AsyncIterator[ProcessTable]:
    async with ProcessTable() as table:
        yield table


@pytest.fixture
def bench(project: Path, table: ProcessTable) -> Bench:
    return Bench(project, table)


@pytest.fixture
async def make_bench(project: Path) -> AsyncIterator[Callable[..., Bench]]:
    """A desk with other facts; `limits` are those of a table of its own."""
    tables = []

    def make(limits: Limits | None = None, **facts) -> Bench:
        tables.append(ProcessTable(limits, facts.pop("sandbox", None)))
        return Bench(facts.pop("project", project), tables[-1], **facts)

    yield make
    for table in tables:
        await table.aclose()
