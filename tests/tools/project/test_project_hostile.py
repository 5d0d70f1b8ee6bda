"""issue 4, "Done when": a hostile tree is refused or handled with a clear result, and the loop answers within 100 ms meanwhile.

A shared machine may itself be late for once, so what is too slow is tried again: work that holds the loop is late every time.
"""

import asyncio
import os
import socket
import stat
import sys
import zipfile

import pytest

from tt_kernel.tools.project import ripgrep, searching

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="such files need POSIX")

LATE = 0.1
TRIES = 6


@pytest.fixture
def in_time(ticker):
    """Runs a coroutine function with a task beside it that must never be late by more than 100 ms."""

    async def run(work):
        worst = []
        for _ in range(TRIES):
            async with ticker() as late:
                result = await work()
            worst.append(late.worst)
            if late.worst <= LATE:
                return result
        raise AssertionError(f"the loop was held up for {min(worst):.3f} s")

    return run


async def every_tool(bench, path, **contents):
    """Each tool at one path: error codes (None for success)."""
    calls = {
        "Read": {}, "List": {}, "Grep": {"pattern": "x"}, "Glob": {"pattern": "*"}, "Image": {},
        "Write": {"content": "x"}, "Edit": {"old_string": "x", "new_string": "y"},
    }  # fmt: skip
    return {tool: (await bench.call(tool, path=path, **more)).error_code for tool, more in calls.items()}


# ---- things that are no files


async def test_pipes_sockets_and_devices(bench, in_time):
    os.mkfifo(bench.folder / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(bench.folder / "socket"))
    names = ["pipe", "socket"]
    try:
        os.mknod(bench.folder / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        names.append("zero")
    except PermissionError:
        pass  # without the right to make devices, pipes and sockets stand for them
    bench.put("file.txt", "needle\n")
    for name in names:
        codes = await asyncio.wait_for(in_time(lambda name=name: every_tool(bench, name)), 20)
        assert (
            codes["Read"]
            == codes["Write"]
            == codes["Edit"]
            == codes["Grep"]
            == codes["Image"]
            == "project.unsupported_target"
        )
        assert (await bench.ok("List", path=name)).content.startswith(f"[OTHER] {name}")
    # Beside them, everything works.
    assert (await bench.ok("Grep", pattern="needle")).structured["matchCount"] == 1
    assert (await bench.ok("Glob", pattern="**")).structured["paths"] == ["file.txt"]
    for name in names:
        await bench.ok("Delete", path=name)
    listener.close()


async def test_a_link_to_a_device_or_out(bench, in_time):
    (bench.folder / "dev").symlink_to("/dev/zero")
    (bench.folder / "etc").symlink_to("/etc")
    (bench.folder / "loop").symlink_to("loop")
    (bench.folder / "a").symlink_to("b")
    (bench.folder / "b").symlink_to("a")
    (bench.folder / "dangling").symlink_to("nowhere/at/all")
    for path in ("dev", "etc", "etc/passwd", "loop", "a"):
        codes = await in_time(lambda path=path: every_tool(bench, path))
        assert set(codes.values()) <= {"project.out_of_bounds", "project.invalid_path", "project.not_found"}, (
            path,
            codes,
        )
    await bench.error("Read", "project.not_found", path="dangling")
    # Searching the folder goes through none of them.
    assert (await bench.ok("Grep", pattern=".")).structured["matchCount"] == 0


@pytest.mark.parametrize(
    "path",
    [
        "../../etc/passwd",
        "/etc/passwd",
        "a/../../x",
        "..",
        "file:///etc/passwd",
        "~/../../etc/passwd",
        "\\..\\x",
        "workspace:../x",
        "root://../x",
        "x\0y",
        "/proc/self/mem",
        "/dev/zero",
    ],
)
async def test_traversal(bench, path):
    codes = await every_tool(bench, path)
    codes["Delete"] = (await bench.call("Delete", path=path)).error_code
    assert None not in codes.values(), codes
    assert set(codes.values()) <= {
        "project.invalid_path", "project.out_of_bounds", "project.unknown_root", "project.unsupported_target", "project.not_found",
        "image.not_decodable", "project.io",
    }, codes  # fmt: skip
    assert bench.tree() == {}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can limit a process that runs already")
async def test_rules_that_are_a_pipe_or_an_endless_device(bench, in_time, monkeypatch):
    monkeypatch.setattr(ripgrep, "SECONDS", 2)
    monkeypatch.setattr(ripgrep, "MEMORY_BYTES", 400 << 20)
    bench.put("a.txt", "needle\n")
    os.mkfifo(bench.folder / ".gitignore")
    result = await in_time(lambda: bench.call("Glob", pattern="*.txt"))
    assert result.error_code == "project.search_timeout"
    assert "[FILE] a.txt" in (await in_time(lambda: bench.ok("List"))).content
    (bench.folder / ".gitignore").unlink()
    (bench.folder / ".gitignore").symlink_to("/dev/zero")
    result = await in_time(lambda: bench.call("Grep", pattern="needle"))
    assert (
        result.error_code == "project.search_failed" or "Stopped after" in result.content or "a.txt" in result.content
    )
    assert "[FILE] a.txt" in (await in_time(lambda: bench.ok("List"))).content


# ---- names


NAMES = [
    "new\nline.txt", "tab\t.txt", "\u202egnp.exe", "a\u200bb", "-rf", "--help", "$(reboot)", "`x`", "%s%n", "'quote\"", " lead",
    "trail ", "…", "e\u0301", "[x]", "{a,b}", "*", "?", "#x", "!x", "con", "\u2028", "\x1b[31m", "x" * 250,
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
async def test_every_tool_works_with_hostile_names(bench, name):
    await bench.ok("Write", path=name, content="needle\n")
    await bench.ok("Edit", path=name, old_string="needle", new_string="needle 2")
    assert "needle 2" in (await bench.ok("Read", path=name)).content
    assert len((await bench.ok("List")).content.split("\n")) == 1
    assert len((await bench.ok("Glob", pattern="**")).content.split("\n")) == 1
    found = await bench.ok("Grep", pattern="needle")
    assert len(found.content.split("\n")) == 2
    path = found.structured["matches"][0]["path"]
    assert path == (await bench.ok("Glob", pattern="**")).structured["paths"][0]
    for content in (found.content, (await bench.ok("List")).content):
        assert not any(c in content for c in "\u202e\u200b\u2028\x1b\t")
    await bench.ok("Delete", path=path)
    assert os.listdir(bench.folder) == []


async def test_names_that_no_path_can_express(bench):
    bench.put("ok.txt", "needle\n")
    for name in (b"bad\xff.txt", b"a:b.txt", b"back\\slash.txt"):
        (bench.folder / os.fsdecode(name)).write_bytes(b"needle\n")
    result = await bench.ok("List")
    assert result.content == "[FILE] ok.txt\n[3 more with names that no path can express]"
    assert (await bench.ok("Grep", pattern="needle")).structured["matchCount"] == 4
    assert (await bench.ok("Glob", pattern="*.txt")).structured["total"] == 4


# ---- sizes


async def test_a_sparse_file_of_a_gigabyte(bench, in_time):
    file = bench.folder / "sparse.bin"
    with file.open("wb") as out:
        out.truncate(1 << 30)
    bench.put("small.txt", "needle\n")
    codes = await in_time(lambda: every_tool(bench, "sparse.bin"))
    assert codes == {
        "Read": "project.binary_file", "List": None, "Grep": "project.binary_file", "Glob": None, "Image": "project.too_large",
        "Write": "project.binary_file", "Edit": "project.binary_file",
    }  # fmt: skip
    found = await in_time(lambda: bench.ok("Grep", pattern="needle"))
    assert found.structured["matchCount"] == 1
    diff = await in_time(lambda: bench.diff("Delete", path="sparse.bin"))
    assert "no text" in diff
    result = await bench.ok("Delete", path="sparse.bin")
    assert "Not kept for a rewind: it is larger than 32 MiB." in result.content


async def test_a_sparse_file_that_begins_as_text(bench, in_time):
    file = bench.folder / "log.txt"
    with file.open("wb") as out:
        out.write(b"needle\n" * 2000)
        out.truncate(1 << 30)
    found = await in_time(lambda: read_anew(bench, path="log.txt", limit=2))
    assert "     2\tneedle" in found.content
    assert (await in_time(lambda: bench.ok("Grep", pattern="other"))).structured["matchCount"] == 0


async def test_a_text_of_300_megabytes(bench, in_time):
    line = b"0123456789" * 99 + b"012345678\n"
    with (bench.folder / "big.txt").open("wb") as out:
        for _ in range(300):
            out.write(line * 1000)
        out.write(b"needle\n")
    found = await in_time(lambda: read_anew(bench, path="big.txt", start_line=300_001))
    assert "300001\tneedle" in found.content
    done = await in_time(lambda: edited(bench))
    assert done.structured["changed"] is True
    with (bench.folder / "big.txt").open("rb") as file:
        file.seek(-5, os.SEEK_END)
        assert file.read() in (b"pins\n", b"dles\n")


async def read_anew(bench, **arguments):
    bench.desk.seen.forget_windows()
    return await bench.ok("Read", **arguments)


async def edited(bench):
    """There and back, so that it can be tried again."""
    first = await bench.call("Edit", path="big.txt", old_string="\nneedle\n", new_string="\npins\n")
    return (
        first
        if not first.is_error
        else await bench.ok("Edit", path="big.txt", old_string="\npins\n", new_string="\nneedle\n")
    )


@pytest.mark.timeout(300)
async def test_a_hundred_thousand_files(in_memory, in_time):
    bench = in_memory
    for folder in range(100):
        (bench.folder / f"d{folder}").mkdir()
        for number in range(1000):
            os.close(os.open(bench.folder / f"d{folder}/f{number}.py", os.O_CREAT | os.O_WRONLY))
    bench.put(".gitignore", "*.log\n!keep.log\nnode_modules/\n" + "".join(f"/never{i}/*.tmp\n" for i in range(20)))
    bench.put("d50/f500.py", "needle\n")
    listed = await in_time(lambda: bench.ok("List", depth=9, max_results=5000))
    assert listed.structured["total"] == 100_101
    assert listed.structured["hasMore"] is True
    found = await in_time(lambda: bench.ok("Glob", pattern="d*/**/*.py"))
    assert found.structured["total"] == 100_000
    assert found.content.endswith("[99800 more files of 100000: go on with offset=200]")
    found = await in_time(lambda: bench.ok("Grep", pattern="needle"))
    assert [m["path"] for m in found.structured["matches"]] == ["d50/f500.py"]
    found = await in_time(lambda: bench.ok("Grep", pattern="^", output_mode="count"))
    assert found.structured["matchCount"] == 24
    diff = await in_time(lambda: bench.diff("Delete", path="d50"))
    assert "(1000 entries)" in diff
    await in_time(lambda: bench.call("Delete", path="d50"))
    assert not (bench.folder / "d50").exists()


async def test_a_flat_folder_of_many_files(bench, in_time):
    for number in range(20_000):
        os.close(os.open(bench.folder / f"file-{number}.txt", os.O_CREAT | os.O_WRONLY))
    await in_time(lambda: bench.error("Read", "project.not_found", path="file-x.txt"))
    assert (await in_time(lambda: bench.ok("List", max_results=1))).structured["total"] == 20_000


async def test_a_deep_tree(bench, in_time):
    path = bench.folder
    for _ in range(150):
        path = path / ("d" * 10)
        path.mkdir()
    (path / "x.py").write_text("needle\n")
    assert (await in_time(lambda: bench.ok("Glob", pattern="**/x.py"))).structured["total"] == 1
    assert (await in_time(lambda: bench.ok("Grep", pattern="needle"))).structured["matchCount"] == 1
    assert (await in_time(lambda: bench.ok("List", depth=1000))).structured["total"] == 151
    await bench.error("Write", "project.invalid_path", path="/".join(["x" * 200] * 30), content="x")
    await bench.error("Write", "project.invalid_path", path="x" * 300, content="x")


async def test_many_matches_in_enormous_lines(bench, in_time):
    bench.put("a.json", "needle " * 3_000_000)
    bench.put("b.txt", "needle\n" * 500_000)
    found = await in_time(lambda: bench.ok("Grep", pattern="needle"))
    assert len(found.content) < 120_000
    assert "several megabytes" in found.content
    found = await in_time(lambda: bench.ok("Grep", pattern="needle", head_limit=searching.MAX_RESULTS, context=20))
    assert "There are more matches" in found.content


async def test_expressions_made_to_take_for_ever(bench, in_time):
    bench.put("a.txt", "a" * 100_000 + "\n")
    await in_time(lambda: bench.call("Grep", pattern="(a*)*b"))
    await in_time(lambda: bench.call("Grep", pattern="(a|aa)+$b", multiline=True))
    await in_time(lambda: bench.call("Grep", pattern="(((a{100}){100}){100}){100}"))
    bench.put("a" * 200, "x")
    bench.put(".gitignore", "*a" * 60 + "b\n" + "**/*a" * 40 + "b\n")
    await in_time(lambda: bench.ok("Glob", pattern="*a" * 60 + "b"))
    await in_time(lambda: bench.ok("List"))


async def test_a_spreadsheet_that_unpacks_to_gigabytes(bench, in_time):
    head = (
        b'<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    )
    with zipfile.ZipFile(bench.folder / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(
            "[Content_Types].xml", '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
        )
        with packed.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write(head)
            for _ in range(50):
                sheet.write(b"<row><c><v>1</v></c></row>" * 40_000)
    result = await in_time(lambda: bench.call("Read", path="bomb.xlsx"))
    assert result.error_code in (None, "project.preview_failed")


async def test_a_large_notebook(bench, in_time):
    import json

    output = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * 20_000_000}}
    cell = {"cell_type": "code", "metadata": {}, "source": "x", "execution_count": 1, "outputs": [output]}
    bench.put("nb.ipynb", json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [cell] * 2}))
    result = await in_time(lambda: bench.ok("Read", path="nb.ipynb"))
    assert len(result.content) < 1000


# ---- together


async def test_many_calls_at_once(bench, in_time):
    for number in range(50):
        bench.put(f"f{number}.txt", f"needle {number}\n" * 200)

    async def all_at_once():
        calls = [bench.call("Grep", pattern="needle") for _ in range(8)]
        calls += [bench.call("Read", path=f"f{number}.txt") for number in range(30)]
        calls += [bench.call("Glob", pattern="*.txt") for _ in range(8)]
        calls += [bench.call("List") for _ in range(8)]
        return await asyncio.gather(*calls)

    results = await in_time(all_at_once)
    assert not any(result.is_error for result in results)


async def test_cancelling_a_search_ends_its_process(bench):
    import psutil

    with (bench.folder / "big.txt").open("wb") as out:
        for _ in range(200):
            out.write(b"x" * 999_999 + b"\n")
    task = asyncio.create_task(bench.call("Grep", pattern="needle", ignore_case=True))
    for _ in range(200):
        await asyncio.sleep(0.005)
        if [p for p in psutil.Process().children() if p.name() == "rg"]:
            break
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [p for p in psutil.Process().children() if p.name() == "rg" and p.status() != psutil.STATUS_ZOMBIE] == []
