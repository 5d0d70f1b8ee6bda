"""spec tauritavern §5.7, §5.9, §19, §23 item 5."""

import os
import sys

import pytest

from tt_kernel.domain.calls import FileChanged


async def test_a_new_file_is_created_with_its_folders(bench):
    result = await bench.ok("write_file", path="output/a/b/main.md", content="héllo wörld\n")
    assert bench.get("output/a/b/main.md") == "héllo wörld\n".encode()
    assert result.content == "Wrote 12 chars / 2 words to output/a/b/main.md."
    facts = {"path": "output/a/b/main.md", "chars": 12, "words": 2, "sha256": bench.sha("output/a/b/main.md")}
    assert result.structured == {**facts, "mode": "replace"}
    assert result.effects == (FileChanged(**facts, patch=False),)


@pytest.mark.parametrize("content", ["", "no line end", "\r\n\r\n", "\ufeffbom", "a\0b", "  \t", "日本語\u2028"])
async def test_content_is_written_as_is(bench, content):
    await bench.ok("write_file", path="output/x.txt", content=content)
    assert bench.get("output/x.txt") == content.encode()
    await bench.ok("write_file", path="output/x.txt", content=content, mode="append")
    assert bench.get("output/x.txt") == content.encode() * 2


async def test_replacing_needs_a_read(bench):
    """§23 item 5."""
    bench.put("output/main.md", "old")
    error = await bench.error("write_file", path="output/main.md", content="new")
    assert error.error_code == "workspace.write_requires_read"
    assert "workspace_read_file" in error.content
    assert bench.get("output/main.md") == b"old"
    await bench.ok("read_file", path="output/main.md")
    await bench.ok("write_file", path="output/main.md", content="new")
    assert bench.get("output/main.md") == b"new"


async def test_replacing_after_a_change_from_outside_is_stale(bench):
    """§23 item 5: shell commands do not update the read state (§5.9)."""
    bench.put("output/main.md", "old")
    await bench.ok("read_file", path="output/main.md")
    bench.put("output/main.md", "changed by the shell")
    error = await bench.error("write_file", path="output/main.md", content="new")
    assert error.error_code == "workspace.write_stale_file"
    assert bench.get("output/main.md") == b"changed by the shell"
    await bench.ok("read_file", path="output/main.md")
    await bench.ok("write_file", path="output/main.md", content="new")


async def test_a_partial_read_is_sufficient_for_replacing(bench):
    bench.put("output/main.md", "a\nb\nc\n")
    await bench.ok("read_file", path="output/main.md", line_count=1)
    await bench.ok("write_file", path="output/main.md", content="new")


async def test_own_writes_refresh_the_state(bench):
    await bench.ok("write_file", path="output/main.md", content="one")
    await bench.ok("write_file", path="output/main.md", content="two")
    await bench.ok("apply_patch", path="output/main.md", old_string="two", new_string="three")
    await bench.ok("write_file", path="output/main.md", content="four")
    assert bench.get("output/main.md") == b"four"


async def test_a_file_that_vanished_is_created_again(bench):
    await bench.ok("write_file", path="output/main.md", content="one")
    (bench.folder / "output/main.md").unlink()
    await bench.ok("write_file", path="output/main.md", content="two")
    assert bench.get("output/main.md") == b"two"


async def test_append_needs_no_read_and_adds_nothing(bench):
    """§23 item 5; §19: append adds no newline."""
    bench.put("output/log.txt", "one")
    result = await bench.ok("write_file", path="output/log.txt", content="two words", mode="append")
    assert bench.get("output/log.txt") == b"onetwo words"
    assert result.content == "Appended 9 chars / 2 words to output/log.txt. It now has 12 chars / 2 words."
    assert result.structured["chars"] == 12
    assert result.structured["sha256"] == bench.sha("output/log.txt")
    assert result.effects[0].sha256 == bench.sha("output/log.txt")


async def test_append_does_not_unlock_replacing_what_was_not_read(bench):
    """§19."""
    bench.put("output/log.txt", "one")
    await bench.ok("write_file", path="output/log.txt", content="two", mode="append")
    error = await bench.error("write_file", path="output/log.txt", content="x")
    assert error.error_code == "workspace.write_requires_read"


async def test_append_creates_and_then_the_file_is_known(bench):
    await bench.ok("write_file", path="output/log.txt", content="one", mode="append")
    assert bench.desk.reads.get("output/log.txt").full_read
    await bench.ok("write_file", path="output/log.txt", content="new")


async def test_append_keeps_full_knowledge_only_at_the_same_digest(bench):
    """§5.7: fully known afterwards only if it was new or had been fully read at the same sha."""
    bench.put("output/log.txt", "one\ntwo\n")
    await bench.ok("read_file", path="output/log.txt")
    await bench.ok("write_file", path="output/log.txt", content="three", mode="append")
    assert bench.desk.reads.get("output/log.txt").full_read
    bench.put("output/log.txt", "other\n")
    await bench.ok("write_file", path="output/log.txt", content="four", mode="append")
    error = await bench.error("write_file", path="output/log.txt", content="x")
    assert error.error_code == "workspace.write_stale_file"


async def test_append_after_a_partial_read_stays_partial(bench):
    bench.put("output/log.txt", "one\ntwo\n")
    await bench.ok("read_file", path="output/log.txt", line_count=1)
    await bench.ok("write_file", path="output/log.txt", content="three", mode="append")
    state = bench.desk.reads.get("output/log.txt")
    assert not state.full_read
    await bench.ok("apply_patch", path="output/log.txt", old_string="three", new_string="3")
    await bench.ok("apply_patch", path="output/log.txt", old_string="one", new_string="1")
    error = await bench.error("apply_patch", path="output/log.txt", old_string="two", new_string="2")
    assert error.error_code == "workspace.patch_requires_full_read"


@pytest.mark.parametrize("mode", ["", "Replace", "overwrite", "a"])
async def test_unknown_modes(bench, mode):
    error = await bench.error("write_file", path="output/x", content="", mode=mode)
    assert error.error_code == "workspace.write_mode_invalid"


async def test_where_nothing_can_be_written(bench):
    for path in ("tool-results/x", "skills/a/SKILL.md", "output", "output/", "skills"):
        error = await bench.error("write_file", path=path, content="x")
        assert error.error_code == "workspace.path_not_writable", path
    error = await bench.error("write_file", path="skills/x", content="x")
    assert error.content.splitlines()[-1] == "Writable folders: output/, scratch/, plan/."
    assert (await bench.error("write_file", path="persist/x", content="x")).error_code == "workspace.path_not_visible"
    assert (await bench.error("write_file", path="main.md", content="x")).error_code == "workspace.path_not_visible"
    bench.put("output/folder/x", "x")
    assert (
        await bench.error("write_file", path="output/folder", content="x")
    ).error_code == "workspace.path_is_directory"
    error = await bench.error("write_file", path="output/folder/x/y/z", content="x")
    assert error.error_code == "workspace.invalid_path"
    assert bench.get("output/folder/x") == b"x"


@pytest.mark.parametrize("path", ["../x", "output/../../x", "C:\\x", "/tmp/x", "output/a\0b", "", "."])
async def test_bad_paths(bench, path):
    assert (await bench.error("write_file", path=path, content="x")).error_code == "workspace.invalid_path"


async def test_names_that_are_too_long(bench):
    error = await bench.error("write_file", path=f"output/{'n' * 256}", content="x")
    assert error.error_code == "workspace.invalid_path"
    assert len(error.content) < 500
    assert (
        await bench.error("write_file", path="output/" + "d/" * 5000 + "f", content="x")
    ).error_code == "workspace.invalid_path"


@pytest.mark.parametrize("arguments", [{}, {"path": "output/x"}, {"content": "x"}, {"path": "output/x", "content": 1}])
async def test_missing_and_wrong_arguments(bench, arguments):
    assert (await bench.error("write_file", **arguments)).error_code == "tool.invalid_arguments"


@pytest.mark.parametrize("mode", ["replace", "append"])
async def test_a_file_that_is_not_utf_8_is_never_rewritten_lossily(bench, mode):
    bench.put("output/latin.txt", b"caf\xe9")
    error = await bench.error("write_file", path="output/latin.txt", content="x", mode=mode)
    assert error.error_code in ("workspace.not_utf8", "workspace.write_requires_read")
    assert bench.get("output/latin.txt") == b"caf\xe9"


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")
async def test_links_are_not_written_through_and_modes_stay(bench, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "target").write_text("keep")
    (bench.folder / "output").mkdir()
    (bench.folder / "output/file").symlink_to(outside / "target")
    (bench.folder / "output/folder").symlink_to(outside)
    (bench.folder / "output/dangling").symlink_to(outside / "new")
    for path in ("output/file", "output/folder/target", "output/folder/new", "output/dangling"):
        for mode in ("replace", "append"):
            error = await bench.error("write_file", path=path, content="x", mode=mode)
            assert error.error_code == "workspace.invalid_path"
    assert (outside / "target").read_text() == "keep"
    assert os.listdir(outside) == ["target"]
    bench.put("output/run.sh", "a").chmod(0o755)
    await bench.ok("write_file", path="output/run.sh", content="b", mode="append")
    assert (bench.folder / "output/run.sh").stat().st_mode & 0o777 == 0o755


async def test_no_temporary_file_is_left(bench):
    await bench.ok("write_file", path="output/a.txt", content="x")
    await bench.ok("write_file", path="output/a.txt", content="y", mode="append")
    await bench.error("write_file", path="output/a.txt/b", content="y")
    assert os.listdir(bench.folder / "output") == ["a.txt"]
