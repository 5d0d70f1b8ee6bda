"""spec tauritavern §5.8, §5.9, §23 items 6 and 15."""

import asyncio
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tt_kernel.domain.calls import FileChanged
from tt_kernel.domain.profiles import Artifact
from tt_kernel.store.workspace import Root, Workspace
from tt_kernel.tools.workspace import Desk, ReadStates
from tt_kernel.tools.workspace.patching import apply_patch, find_all, replaced
from tt_kernel.tools.workspace.reading import read_file


async def test_a_patch_and_its_result(bench):
    bench.put("output/main.md", "one two three\n")
    old = bench.sha("output/main.md")
    await bench.ok("read_file", path="output/main.md")
    result = await bench.ok("apply_patch", path="output/main.md", old_string="two", new_string="2 and a half")
    assert bench.get("output/main.md") == b"one 2 and a half three\n"
    assert result.content == "Made 1 replacement in output/main.md. It now has 23 chars / 6 words."
    sha = bench.sha("output/main.md")
    assert result.structured == {
        "path": "output/main.md",
        "chars": 23,
        "words": 6,
        "oldSha256": old,
        "sha256": sha,
        "replacements": 1,
    }
    assert result.effects == (FileChanged(path="output/main.md", chars=23, words=6, sha256=sha, patch=True),)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("", "x", "workspace.patch_empty_old_string"),
        ("two", "two", "workspace.patch_no_change"),
        ("four", "x", "workspace.patch_old_string_not_found"),
        ("o", "x", "workspace.patch_old_string_not_unique"),
    ],
)
async def test_what_cannot_be_done(bench, old, new, code):
    bench.put("output/main.md", "one two three\n")
    await bench.ok("read_file", path="output/main.md")
    assert (await bench.error("apply_patch", path="output/main.md", old_string=old, new_string=new)).error_code == code
    assert bench.get("output/main.md") == b"one two three\n"


async def test_empty_and_equal_strings_are_told_before_the_path_is_looked_at(bench):
    for old, code in (("", "workspace.patch_empty_old_string"), ("x", "workspace.patch_no_change")):
        assert (await bench.error("apply_patch", path="output/none", old_string=old, new_string=old)).error_code == code


async def test_patching_needs_a_read(bench):
    bench.put("output/main.md", "one")
    error = await bench.error("apply_patch", path="output/main.md", old_string="one", new_string="two")
    assert error.error_code == "workspace.patch_requires_read"
    assert "workspace_read_file" in error.content


async def test_a_change_from_outside_is_stale(bench):
    """§23 item 15."""
    bench.put("output/main.md", "one")
    await bench.ok("read_file", path="output/main.md")
    bench.put("output/main.md", "one changed by the shell")
    error = await bench.error("apply_patch", path="output/main.md", old_string="one", new_string="two")
    assert error.error_code == "workspace.patch_stale_file"
    assert bench.get("output/main.md") == b"one changed by the shell"


async def test_a_patch_within_what_was_seen_works_after_a_partial_read(bench):
    """§23 item 6."""
    bench.put("output/main.md", "one\ntwo\nthree\nfour\n")
    await bench.ok("read_file", path="output/main.md", start_line=2, line_count=2)
    await bench.ok("apply_patch", path="output/main.md", old_string="two\nthree", new_string="2\n3")
    await bench.ok("apply_patch", path="output/main.md", old_string="3", new_string="three again")
    assert bench.get("output/main.md") == b"one\n2\nthree again\nfour\n"


@pytest.mark.parametrize("old", ["one", "one\ntwo", "four", "nowhere"])
async def test_outside_of_what_was_seen_a_full_read_is_needed(bench, old):
    """§5.8 (b)."""
    bench.put("output/main.md", "one\ntwo\nthree\nfour\n")
    await bench.ok("read_file", path="output/main.md", start_line=2, line_count=2)
    error = await bench.error("apply_patch", path="output/main.md", old_string=old, new_string="x")
    assert error.error_code == "workspace.patch_requires_full_read"


async def test_replace_all_needs_a_full_read(bench):
    """§5.8 (a), §23 item 6."""
    bench.put("output/main.md", "a\na\nb\n")
    await bench.ok("read_file", path="output/main.md", line_count=2)
    arguments = {"path": "output/main.md", "old_string": "a", "new_string": "c", "replace_all": True}
    assert (await bench.error("apply_patch", **arguments)).error_code == "workspace.patch_requires_full_read"
    await bench.ok("read_file", path="output/main.md")
    result = await bench.ok("apply_patch", **arguments)
    assert result.structured["replacements"] == 2
    assert result.content.startswith("Made 2 replacements in output/main.md.")
    assert bench.get("output/main.md") == b"c\nc\nb\n"


async def test_once_a_partial_patch_failed_only_a_full_read_helps(bench):
    """§5.8: the flag stays until a full read."""
    bench.put("output/main.md", "one\ntwo\nthree\n")
    await bench.ok("read_file", path="output/main.md", line_count=1)
    seen = {"path": "output/main.md", "old_string": "one", "new_string": "1"}
    await bench.error("apply_patch", path="output/main.md", old_string="two", new_string="2")
    assert (await bench.error("apply_patch", **seen)).error_code == "workspace.patch_requires_full_read"
    await bench.ok("read_file", path="output/main.md", start_line=2, line_count=1)
    assert (await bench.error("apply_patch", **seen)).error_code == "workspace.patch_requires_full_read"
    await bench.ok("read_file", path="output/main.md")
    await bench.ok("apply_patch", **seen)


async def test_a_failed_patch_after_a_full_read_does_not_restrict(bench):
    bench.put("output/main.md", "one\ntwo\n")
    await bench.ok("read_file", path="output/main.md")
    await bench.error("apply_patch", path="output/main.md", old_string="none", new_string="x")
    await bench.ok("apply_patch", path="output/main.md", old_string="one", new_string="1")


async def test_reading_on_to_the_end_is_a_full_read(bench):
    bench.put("output/main.md", "a\na\nb\n")
    for line in (3, 1, 2):
        await bench.ok("read_file", path="output/main.md", start_line=line, line_count=1)
    await bench.ok("apply_patch", path="output/main.md", old_string="a", new_string="c", replace_all=True)


async def test_not_unique_names_the_lines(bench):
    bench.put("output/main.md", "x\ny\nx\n" + "x\n" * 20)
    await bench.ok("read_file", path="output/main.md")
    error = await bench.error("apply_patch", path="output/main.md", old_string="x", new_string="z")
    assert "occurs 22 times in output/main.md (lines 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...)" in error.content
    assert "replace_all" in error.content


async def test_lf_against_crlf_is_told(bench):
    bench.put("output/main.md", "one\r\ntwo\r\nthree\r\n")
    await bench.ok("read_file", path="output/main.md")
    error = await bench.error("apply_patch", path="output/main.md", old_string="one\ntwo", new_string="x")
    assert error.error_code == "workspace.patch_old_string_not_found"
    assert "CRLF" in error.content
    assert bench.get("output/main.md") == b"one\r\ntwo\r\nthree\r\n"
    result = await bench.ok("apply_patch", path="output/main.md", old_string="one\r\ntwo", new_string="1\r\n2")
    assert "Note" not in result.content
    assert bench.get("output/main.md") == b"1\r\n2\r\nthree\r\n"
    result = await bench.ok("apply_patch", path="output/main.md", old_string="three", new_string="3\n4")
    assert "Note: new_string has LF line ends" in result.content


async def test_crlf_against_lf_is_told(bench):
    bench.put("output/main.md", "one\ntwo\n")
    await bench.ok("read_file", path="output/main.md")
    error = await bench.error("apply_patch", path="output/main.md", old_string="one\r\ntwo", new_string="x")
    assert "The file has LF line ends" in error.content


@pytest.mark.parametrize(
    ("text", "old", "hint"),
    [
        ("def f():\n        return 1\n", "def f():\n    return 1", "lines 1-2 only in white space"),
        ("a\n  b  \nc\n", "    b\nc", "lines 2-3 only in white space"),
        ("alpha\nThe quick brown fox\nomega\n", "The quick brown box", "nearest line is:\n2 | The quick brown fox"),
        ("one\ntwo\n", "1 | one\n2 | two", "has line numbers"),
    ],
)
async def test_what_comes_nearest_is_told(bench, text, old, hint):
    bench.put("output/main.md", text)
    await bench.ok("read_file", path="output/main.md")
    error = await bench.error("apply_patch", path="output/main.md", old_string=old, new_string="x")
    assert hint in error.content


async def test_hints_cost_little_and_stay_small(bench):
    bench.put("output/big.txt", "".join(f"    value_{n} = compute_{n}(alpha, beta)\n" for n in range(20_000)))
    await bench.ok("write_file", path="output/long.txt", content="x" * 2_000_000)
    for start in range(1, 20_000, 1200):
        await bench.ok("read_file", path="output/big.txt", start_line=start)
    for path, old in (
        ("output/big.txt", "value_17777 = compute_17777(alpha, betta)"),
        ("output/long.txt", "y" * 10_000),
    ):
        started = time.perf_counter()
        error = await bench.error("apply_patch", path=path, old_string=old, new_string="x")
        assert time.perf_counter() - started < 10, "60 ms on a quiet machine"
        assert error.error_code == "workspace.patch_old_string_not_found"
        assert len(error.content) < 1000
    error = await bench.error(
        "apply_patch", path="output/big.txt", old_string="value_17777 = compute_17777(alpha, betta)", new_string="x"
    )
    assert "17778 | " in error.content, "the nearest line is found wherever it is"


async def test_where_nothing_can_be_patched(bench):
    arguments = {"old_string": "a", "new_string": "b"}
    bench.put("skills/x/SKILL.md", "a")
    await bench.ok("read_file", path="skills/x/SKILL.md")
    for path, code in {
        "skills/x/SKILL.md": "workspace.path_not_writable",
        "output": "workspace.path_not_writable",
        "output/none.md": "workspace.file_not_found",
        "persist/x": "workspace.path_not_visible",
        "../x": "workspace.invalid_path",
    }.items():
        assert (await bench.error("apply_patch", path=path, **arguments)).error_code == code
    bench.put("output/folder/x", "a")
    assert (
        await bench.error("apply_patch", path="output/folder", **arguments)
    ).error_code == "workspace.path_is_directory"
    assert (await bench.error("apply_patch", path="output/x", old_string="a")).error_code == "tool.invalid_arguments"
    error = await bench.error("apply_patch", path="output/x", replace_all="true", **arguments)
    assert error.error_code == "tool.invalid_arguments"


async def test_a_file_that_became_something_else_than_utf_8_is_left_alone(bench):
    bench.put("output/x.txt", "abc")
    await bench.ok("read_file", path="output/x.txt")
    bench.put("output/x.txt", b"abc\xff")
    error = await bench.error("apply_patch", path="output/x.txt", old_string="abc", new_string="x")
    assert error.error_code == "workspace.not_utf8"
    assert bench.get("output/x.txt") == b"abc\xff"


TEXT = st.text(alphabet=st.sampled_from("ab\n\r\ufeffé語 "), max_size=40)


@given(before=TEXT, old=TEXT.filter(bool), after=TEXT, new=TEXT)
def test_an_exact_hit_changes_nothing_outside_of_the_match(before, old, after, new):
    """BOM, line ends and everything else around the match survive byte for byte."""
    text = before + old + after
    hits = find_all(text, old)
    assume(len(hits) == 1 and old != new)
    at = len(text[: hits[0]].encode())
    with TemporaryDirectory() as folder:
        file = Path(folder) / "x.txt"
        file.write_bytes(text.encode())
        desk = Desk(
            Workspace([Root("output", Path(folder), writable=True)]),
            ReadStates(),
            Artifact(id="m", path="output/x"),
            lambda _t: None,
        )
        asyncio.run(read_file(desk, "output/x.txt"))
        apply_patch(desk, "output/x.txt", old, new)
        data = file.read_bytes()
    assert data[:at] == text.encode()[:at]
    assert data[at : at + len(new.encode())] == new.encode()
    assert data[at + len(new.encode()) :] == text.encode()[at + len(old.encode()) :]


@given(text=st.text("abc", max_size=30), old=st.text("abc", min_size=1, max_size=3), new=st.text("abcX", max_size=4))
def test_one_pass_is_the_same_as_replace(text, old, new):
    hits = find_all(text, old)
    assert len(hits) == text.count(old)
    assert replaced(text, hits, len(old), new) == text.replace(old, new)
