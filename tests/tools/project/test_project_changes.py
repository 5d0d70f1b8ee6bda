"""Write, Edit, Delete: spec liveagent §5.1, §5.4-§5.6, §24.2, §24.3; what a person is shown before; field report 52."""

import asyncio
import os
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tt_kernel.domain.canonical import digest_bytes
from tt_kernel.tools.project import editing, large_files, writing
from tt_kernel.tools.project.large_files import Hit, hits, rewritten
from tt_kernel.tools.project.matching import applied, find

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes need POSIX")


# ---- Write (§5.4)


async def test_creating_a_file_and_its_folders(bench):
    result = await bench.ok("Write", path="a/b/c.txt", content="one\ntwo")
    assert result.content == "Created a/b/c.txt (2 lines, 7 bytes)."
    assert bench.get("a/b/c.txt") == b"one\ntwo"
    facts = result.structured
    assert facts["kind"] == "write"
    assert facts["mode"] == "rewrite"
    assert facts["existedBefore"] is False
    assert facts["bytesWritten"] == 7
    assert facts["totalLines"] == 2
    assert facts["preview"] == "one\ntwo"


async def test_52_the_record_has_the_digests_of_before_and_after(bench):
    bench.put("a.txt", "old\n")
    facts = (await bench.ok("Write", path="a.txt", content="new\n")).structured
    assert facts["beforeSha256"] == digest_bytes(b"old\n")
    assert facts["contentHash"] == digest_bytes(b"new\n")
    assert facts["changed"] is True
    facts = (await bench.ok("Edit", path="a.txt", old_string="new", new_string="newer")).structured
    assert (facts["beforeSha256"], facts["contentHash"]) == (digest_bytes(b"new\n"), digest_bytes(b"newer\n"))


async def test_52_a_change_that_changes_nothing_is_told(bench):
    file = bench.put("a.txt", "same\n")
    before = file.stat()
    result = await bench.ok("Write", path="a.txt", content="same\n")
    assert "was not changed" in result.content
    assert result.structured["changed"] is False
    result = await bench.ok("Edit", path="a.txt", old_string="same", new_string="same")
    assert "was not changed" in result.content
    assert result.structured["changed"] is False
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert not (bench.checkpoints / "project/index.jsonl").exists()


async def test_updating_tells_what_changed_and_that_it_was_read_by_itself(bench):
    bench.put("a.txt", "1\n2\n3\n")
    result = await bench.ok("Write", path="a.txt", content="1\nx\ny\n3\n")
    assert "2 lines added, 1 removed" in result.content
    assert "autoRead=full" in result.content
    # The new version is known, so the next change needs no reading.
    result = await bench.ok("Write", path="a.txt", content="z\n")
    assert "autoRead" not in result.content


async def test_a_legacy_mode_argument_is_refused_by_name(bench):
    # The specification's upstream drops it silently; here nothing is dropped.
    assert "mode" in await bench.error("Write", "tool.invalid_arguments", path="a", content="x", mode="rewrite")


async def test_a_file_that_is_no_text_is_not_replaced_by_one(bench):
    bench.put("a.gbk", "中文".encode("gbk"))
    assert "Delete it first" in await bench.error("Write", "project.not_utf8", path="a.gbk", content="x")
    bench.put("b.bin", b"\0\1")
    await bench.error("Write", "project.binary_file", path="b.bin", content="x")


@posix
async def test_access_rights_stay(bench):
    file = bench.put("run.sh", "#!/bin/sh\n")
    file.chmod(0o751)
    await bench.ok("Write", path="run.sh", content="#!/bin/sh\necho\n")
    await bench.ok("Edit", path="run.sh", old_string="echo", new_string="ls")
    assert file.stat().st_mode & 0o777 == 0o751


@posix
async def test_a_link_inside_is_written_through(bench):
    bench.put("real.txt", "1\n")
    (bench.folder / "link.txt").symlink_to("real.txt")
    await bench.ok("Edit", path="link.txt", old_string="1", new_string="2")
    assert bench.get("real.txt") == b"2\n"
    assert (bench.folder / "link.txt").is_symlink()
    # Both names are one file: what is known of one is known of the other.
    assert "autoRead" not in (await bench.ok("Edit", path="real.txt", old_string="2", new_string="3")).content


async def test_no_half_written_file_is_ever_seen(bench):
    """Readers see the old content or the new one, and nothing else is left behind."""
    contents = {"a" * 100_000, "b" * 100_000}
    file = bench.put("a.txt", "a" * 100_000)
    seen, stop = set(), threading.Event()

    def look():
        while not stop.is_set():
            seen.add(file.read_text())

    reader = threading.Thread(target=look)
    reader.start()
    for content in sorted(contents) * 20:
        await bench.ok("Write", path="a.txt", content=content)
    stop.set()
    reader.join()
    assert seen <= contents
    assert os.listdir(bench.folder) == ["a.txt"]


# ---- stale files (§24.3)


@pytest.mark.parametrize("tool", ["Write", "Edit"])
async def test_24_3_touched_with_the_same_bytes(bench, tool):
    more = {"content": "x"} if tool == "Write" else {"old_string": "one", "new_string": "x"}
    file = bench.put("a.txt", "one\n")
    await bench.ok("Read", path="a.txt")
    os.utime(file, ns=(1, file.stat().st_mtime_ns + 10_000_000))
    message = await bench.error(tool, "project.stale_file", path="a.txt", **more)
    assert "Read it again" in message
    assert bench.get("a.txt") == b"one\n"


@pytest.mark.parametrize("tool", ["Write", "Edit"])
async def test_24_3_changed_within_the_same_tick(bench, tool):
    more = {"content": "x"} if tool == "Write" else {"old_string": "on", "new_string": "x"}
    file = bench.put("a.txt", "one\n")
    await bench.ok("Read", path="a.txt")
    time = file.stat().st_mtime_ns
    bench.put("a.txt", "ons\n")
    os.utime(file, ns=(time, time))
    await bench.error(tool, "project.stale_file", path="a.txt", **more)
    assert bench.get("a.txt") == b"ons\n"


async def test_22_15_reading_any_part_ends_staleness(bench):
    """Upstream loops here: the old full snapshot stays until the whole of a large file is read."""
    bench.put("a.txt", "".join(f"line {i}\n" for i in range(30_000)))
    await bench.ok("Read", path="a.txt")
    bench.put("a.txt", "".join(f"row {i}\n" for i in range(30_000)))
    await bench.error("Edit", "project.stale_file", path="a.txt", old_string="row 7\n", new_string="x\n")
    await bench.ok("Read", path="a.txt", start_line=5, limit=3)
    await bench.ok("Edit", path="a.txt", old_string="row 7\n", new_string="x\n")
    assert bench.get("a.txt").count(b"x\n") == 1


async def test_a_file_that_was_deleted_behind_its_back(bench):
    file = bench.put("a.txt", "one\n")
    await bench.ok("Read", path="a.txt")
    file.unlink()
    await bench.error("Edit", "project.not_found", path="a.txt", old_string="one")
    await bench.ok("Write", path="a.txt", content="new")


async def test_after_delete_nothing_is_known(bench):
    bench.put("a.txt", "one\n")
    await bench.ok("Read", path="a.txt")
    await bench.ok("Delete", path="a.txt")
    bench.put("a.txt", "one\n")
    assert "1\tone" in (await bench.ok("Read", path="a.txt")).content


async def test_a_failed_change_of_an_unread_file_leaves_it_unknown(bench):
    """A later Read is not answered with "unchanged" for text that the model never saw (§5.1)."""
    bench.put("a.txt", "one\n")
    await bench.error("Edit", "project.edit_no_match", path="a.txt", old_string="two")
    assert "1\tone" in (await bench.ok("Read", path="a.txt")).content


async def test_a_change_between_the_check_and_the_write_is_refused(bench, monkeypatch):
    file = bench.put("a.txt", "one\n")
    real = writing.replace_content

    def late(*args):
        file.write_text("theirs\n")
        return real(*args)

    monkeypatch.setattr(writing, "replace_content", late)
    monkeypatch.setattr(editing, "replace_content", late)
    await bench.error("Write", "project.stale_file", path="a.txt", content="mine")
    file.write_text("one\n")
    await bench.error("Edit", "project.stale_file", path="a.txt", old_string="one", new_string="mine")
    assert file.read_text() == "theirs\n"


async def test_a_file_that_appears_meanwhile_is_not_overwritten(bench, monkeypatch):
    real = writing.replace_content

    def late(*args):
        bench.put("a.txt", "theirs")
        return real(*args)

    monkeypatch.setattr(writing, "replace_content", late)
    await bench.error("Write", "project.stale_file", path="a.txt", content="mine")
    assert bench.get("a.txt") == b"theirs"


# ---- Edit (§5.5)


async def test_an_exact_edit(bench):
    bench.put("a.py", "x = 1\ny = 2\n")
    await bench.ok("Read", path="a.py")
    result = await bench.ok("Edit", path="a.py", old_string="y = 2", new_string="y = 3")
    assert result.content == "a.py: replacements=1, replaceAll=false"
    assert bench.get("a.py") == b"x = 1\ny = 3\n"
    assert result.structured["matchStrategy"] == "exact"
    assert result.structured["oldPreview"] == "y = 2"
    assert result.structured["newPreview"] == "y = 3"


async def test_the_strategy_is_told_when_it_is_not_exact(bench):
    bench.put("a.py", b"if x:\r\n    y = 2  \r\n")
    for old, new, strategy in (
        ("if x:\n", "if z:\n", "line-endings"),
        ("if z:\n    y = 2\n", "if z:\n    y = 3 \n", "trailing-whitespace"),
        ("    if z:\n        y = 3\n", "    if z:\n        y = 4\n", "indentation"),
    ):
        result = await bench.ok("Edit", path="a.py", old_string=old, new_string=new)
        assert f"\nmatchStrategy={strategy}: " in result.content
    assert bench.get("a.py") == b"if z:\r\n    y = 4\r\n"


async def test_a_missing_new_string_deletes(bench):
    bench.put("a.txt", "one two\n")
    await bench.ok("Edit", path="a.txt", old_string=" two")
    assert bench.get("a.txt") == b"one\n"


async def test_an_empty_old_string(bench):
    bench.put("a.txt", "one\n")
    await bench.error("Edit", "project.invalid_arguments", path="a.txt", old_string="", new_string="x")


async def test_24_2_ambiguity_is_refused_without_replace_all(bench):
    bench.put("a.txt", "a \nb\na\t\nb\n")
    message = await bench.error("Edit", "project.edit_ambiguous", path="a.txt", old_string="a\nb", new_string="x")
    assert "2 times" in message
    assert "lines 1, 3" in message
    result = await bench.ok("Edit", path="a.txt", old_string="a\nb", new_string="x", replace_all=True)
    assert result.structured["replacements"] == 2
    assert bench.get("a.txt") == b"x\nx\n"


@pytest.mark.parametrize(("replace_all", "expected", "ok"), [(True, 3, True), (True, 2, False), (False, 2, False)])
async def test_24_2_count_mismatch(bench, replace_all, expected, ok):
    bench.put("a.txt", "a a a" if replace_all else "a")
    arguments = {"path": "a.txt", "old_string": "a", "new_string": "b"}
    counted = {"replace_all": replace_all, "expected_replacements": expected}
    if ok:
        assert (await bench.ok("Edit", **arguments, **counted)).structured["replacements"] == 3
    else:
        message = await bench.error("Edit", "project.edit_count_mismatch", **arguments, **counted)
        assert "expected_replacements is 2" in message
        assert b"b" not in bench.get("a.txt")


async def test_ambiguity_is_found_before_a_wrong_count(bench):
    bench.put("a.txt", "a a")
    await bench.error("Edit", "project.edit_ambiguous", path="a.txt", old_string="a", expected_replacements=5)


async def test_24_2_other_encodings_are_refused_and_stay(bench):
    data = "中文\nabc\n".encode("gbk")
    bench.put("a.txt", data)
    message = await bench.error("Edit", "project.not_utf8", path="a.txt", old_string="abc", new_string="x")
    assert "not UTF-8" in message
    assert bench.get("a.txt") == data
    bench.put("b.txt", "abc".encode("utf-16"))
    await bench.error("Edit", "project.binary_file", path="b.txt", old_string="abc", new_string="x")


async def test_what_comes_nearest_is_told(bench):
    bench.put("a.py", "def f():\n    a = 1\n    b = 2\n    return a\n")
    message = await bench.error(
        "Edit", "project.edit_no_match", path="a.py", old_string="def f():\n    a = 1\n    b = 3\n", new_string="x"
    )
    assert "line 3 differs" in message
    assert "b = 2" in message
    assert "b = 3" in message


async def test_line_end_conversion_is_no_edit(bench):
    bench.put("a.txt", b"a\r\nb\r\n")
    result = await bench.ok("Edit", path="a.txt", old_string="\r\n", new_string="\n", replace_all=True)
    assert "keeps the line ends" in result.content
    assert bench.get("a.txt") == b"a\r\nb\r\n"


# ---- large files (§22.15: no dead end)


@pytest.fixture
def small_limit(monkeypatch):
    """Large is what is larger than 64 bytes, and is read by 7 bytes."""
    monkeypatch.setattr(editing, "LARGE_BYTES", 64)
    monkeypatch.setattr(large_files, "CHUNK", 7)


async def test_a_file_beyond_every_cap_can_be_edited(bench):
    """More than 5000 lines, more than 200 KiB, more than is held in memory."""
    line = "x" * 99 + "\n"
    bench.put("big.txt", line * 200_000 + "needle é\n" + line * 10)
    result = await bench.ok("Edit", path="big.txt", old_string="needle é\nx", new_string="found\ny")
    assert result.structured["matchStrategy"] == "exact"
    data = bench.get("big.txt")
    assert len(data) == 200_010 * 100 + len("found\n")
    assert data[200_000 * 100 :].startswith(b"found\nyxxx")
    assert result.structured["contentHash"] == digest_bytes(data)
    assert result.structured["totalLines"] == 200_011
    await bench.ok("Write", path="big.txt", content="small\n")


async def test_large_edits_keep_the_rules(bench, small_limit):
    text = "\ufeff" + "".join(f"line {i}\r\n" for i in range(20))
    bench.put("a.txt", text)
    await bench.ok("Edit", path="a.txt", old_string="\ufeffline 0", new_string="first\nsecond")
    assert bench.get("a.txt").decode().startswith("\ufefffirst\r\nsecond\r\nline 1\r\n")
    await bench.ok("Edit", path="a.txt", old_string="\nline 3", new_string="\nthird")
    assert b"line 2\r\nthird\r\nline 4" in bench.get("a.txt")
    await bench.error("Edit", "project.edit_ambiguous", path="a.txt", old_string="line 1", new_string="x")
    result = await bench.ok("Edit", path="a.txt", old_string="line 1", new_string="x", replace_all=True)
    assert result.structured["replacements"] == 11
    assert "exactly the same" in await bench.error(
        "Edit", "project.edit_no_match", path="a.txt", old_string="line 4\nline 5", new_string="x"
    )
    changes = (bench.checkpoints / "project/index.jsonl").read_text().count('"type":"change"')
    assert changes == 3


async def test_a_large_file_that_changes_while_it_is_copied(bench, small_limit, monkeypatch):
    file = bench.put("a.txt", "x" * 200 + "needle")
    real, reads = large_files.file_chunks, 0

    def chunks(*args):
        nonlocal reads
        reads += 1
        for number, chunk in enumerate(real(*args)):
            if reads == 2 and number == 3:
                with file.open("r+b") as other:
                    other.seek(100)
                    other.write(b"theirs")
            yield chunk

    monkeypatch.setattr(large_files, "file_chunks", chunks)
    monkeypatch.setattr(editing, "file_chunks", chunks)
    await bench.error("Edit", "project.stale_file", path="a.txt", old_string="needle", new_string="y")
    assert b"theirs" in file.read_bytes()
    assert b"needle" in file.read_bytes()
    assert os.listdir(bench.folder) == ["a.txt"]


@settings(max_examples=300)
@given(
    st.text("ab\r\n\u00e9", max_size=40),
    st.text("ab\r\n\u00e9", min_size=1, max_size=4),
    st.text("xy", max_size=3),
    st.integers(1, 9),
)
def test_piece_by_piece_is_the_same_as_at_once(text, old, new, size):
    data, needle, fresh = text.encode(), old.encode(), new.encode()
    chunks = [data[i : i + size] for i in range(0, len(data), size)]
    places = list(hits(chunks, needle))
    matches = find(text, old, new)
    expected = matches.replacements if matches and matches.strategy == "exact" else ()
    assert [Hit(len(text[: one.start].encode()), len(text[: one.end].encode())) for one in expected] == places
    assert b"".join(rewritten(chunks, places, fresh)).decode() == (applied(text, expected) if expected else text)


# ---- Delete (§5.6)


async def test_deleting_a_file(bench):
    bench.put("a.txt", "x")
    result = await bench.ok("Delete", path="a.txt")
    assert result.content == "Deleted a.txt, kind=file."
    assert result.structured["targetKind"] == "file"
    assert bench.tree() == {}
    await bench.error("Delete", "project.not_found", path="a.txt")


@posix
async def test_deleting_a_link_leaves_its_target(bench, tmp_path):
    bench.put("dir/a.txt", "x")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("s")
    (bench.folder / "in").symlink_to("dir")
    (bench.folder / "out").symlink_to(tmp_path / "outside")
    (bench.folder / "dangling").symlink_to("nowhere")
    for name in ("in", "out", "dangling"):
        assert (await bench.ok("Delete", path=name)).structured["targetKind"] == "symlink"
    assert bench.get("dir/a.txt") == b"x"
    assert (tmp_path / "outside/secret").read_text() == "s"


@posix
async def test_deleting_a_folder_with_links_in_it(bench, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("s")
    bench.put("dir/sub/a.txt", "x")
    (bench.folder / "dir/out").symlink_to(tmp_path / "outside")
    result = await bench.ok("Delete", path="dir")
    assert result.structured["targetKind"] == "dir"
    assert result.structured["restorable"] is True
    assert not (bench.folder / "dir").exists()
    assert (tmp_path / "outside/secret").read_text() == "s"


async def test_the_top_cannot_be_deleted(bench):
    for path in (".", str(bench.folder)):
        await bench.error("Delete", "project.unsupported_target", path=path)
    assert bench.folder.is_dir()


@posix
async def test_a_pipe_can_be_deleted(bench):
    os.mkfifo(bench.folder / "pipe")
    assert (await bench.ok("Delete", path="pipe")).structured["targetKind"] == "other"


# ---- cancelling


async def test_a_cancelled_change_is_done_or_not_begun(bench, monkeypatch):
    """The thread is waited for: nothing is written after the call has ended."""
    bench.put("a.txt", "one\n")
    entered, real = threading.Event(), editing.checked_scan

    def slow(desk, target, stop):
        entered.set()
        for _ in range(200):
            stop.check()
            threading.Event().wait(0.01)
        return real(desk, target, stop)

    monkeypatch.setattr(editing, "checked_scan", slow)
    task = asyncio.create_task(bench.call("Edit", path="a.txt", old_string="one", new_string="two"))
    await asyncio.to_thread(entered.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert bench.get("a.txt") == b"one\n"


# ---- approvals: preview(call)


async def test_the_diff_of_an_edit(bench):
    bench.put("src/a.py", "".join(f"{i}\n" for i in range(1, 21)))
    diff = await bench.diff("Edit", path="src/a.py", old_string="10\n", new_string="ten\nand\n")
    assert diff == ("--- src/a.py\n+++ src/a.py\n@@ -7,7 +7,8 @@\n 7\n 8\n 9\n-10\n+ten\n+and\n 11\n 12\n 13")
    assert bench.get("src/a.py").startswith(b"1\n")
    assert bench.desk.seen.version(str(bench.folder / "src/a.py")) is None


async def test_the_diff_of_a_tolerant_edit_is_what_would_be_written(bench):
    bench.put("a.py", b"if x:\r\n    y = 1\r\n")
    diff = await bench.diff("Edit", path="a.py", old_string="y = 1\n", new_string="y = 2\n")
    assert "-    y = 1\n+    y = 2" in diff


async def test_the_diff_of_a_write(bench):
    assert await bench.diff("Write", path="new.txt", content="a\nb") == (
        "--- /dev/null\n+++ new.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file"
    )
    bench.put("old.txt", "a\nb\n")
    assert await bench.diff("Write", path="old.txt", content="a\nc\n") == (
        "--- old.txt\n+++ old.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c"
    )


async def test_the_diff_of_a_deletion(bench):
    bench.put("d/a.txt", "x\n")
    bench.put("d/b.txt", "y\n")
    assert await bench.diff("Delete", path="d/a.txt") == "--- d/a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x"
    diff = await bench.diff("Delete", path="d")
    assert "- d/a.txt\n- d/b.txt" in diff
    assert "A rewind can bring it back." in diff


async def test_a_call_that_will_be_refused(bench):
    bench.put("a.txt", "one\n")
    diff = await bench.diff("Edit", path="a.txt", old_string="two", new_string="x")
    assert diff.startswith("This call will be refused: old_string is not in a.txt")
    assert "refused" in await bench.diff("Edit", path="b.txt", old_string="two", new_string="x")
    assert "refused" in await bench.diff("Write", path="../b.txt", content="x")
    assert await bench.diff("Read", path="a.txt") is None


async def test_diffs_of_large_changes_are_bounded(bench, ticker):
    bench.put("a.txt", "".join(f"old {i * 7919 % 100_003}\n" for i in range(60_000)))
    content = "".join(f"new {i * 104_729 % 100_003}\n" for i in range(60_000))
    async with ticker() as late:
        diff = await bench.diff("Write", path="a.txt", content=content)
    assert len(diff) < 50_000
    assert "60000 lines added, 60000 removed in all" in diff
    assert late.worst < 0.1
