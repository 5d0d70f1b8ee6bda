"""spec tauritavern §5.6, §4."""

import hashlib
import os
import sys

import pytest

WHOLE = 256 * 1024


async def test_header_and_right_aligned_rows(bench):
    text = "".join(f"line {n}\n" for n in range(1, 11))
    bench.put("output/main.md", text)
    result = await bench.ok("read_file", path="output/main.md", start_line=8, line_count=3)
    shown = "line 8\nline 9\nline 10\n"
    sha = hashlib.sha256(text.encode()).hexdigest()
    assert result.content.splitlines() == [
        f"output/main.md lines 8-10 of 10, {len(shown)} chars, 6 words, sha256 {sha}",
        " 8 | line 8",
        " 9 | line 9",
        "10 | line 10",
    ]
    assert result.structured == {
        "path": "output/main.md",
        "sha256": sha,
        "totalLines": 10,
        "totalChars": len(text),
        "startLine": 8,
        "endLine": 10,
        "chars": len(shown),
        "words": 6,
        "fullRead": False,
    }


async def test_whole_read(bench):
    bench.put("output/main.md", "a\nb")
    result = await bench.ok("read_file", path="output/main.md")
    assert result.structured["fullRead"] is True
    assert result.content.endswith("1 | a\n2 | b")
    assert "no line end at the end" in result.content


async def test_an_empty_file_is_read(bench):
    bench.put("output/main.md", "")
    result = await bench.ok("read_file", path="output/main.md", start_line=1)
    assert result.content.startswith("output/main.md lines 0-0 of 0, 0 chars, 0 words, sha256 ")
    assert result.structured["fullRead"] is True


async def test_words_count_cjk_characters_one_by_one(bench):
    bench.put("output/main.md", "hello wide world 日本語 かな 한글 x1\n")
    assert (await bench.ok("read_file", path="output/main.md")).structured["words"] == 3 + 3 + 2 + 2 + 1


@pytest.mark.parametrize(("lines", "full"), [(1200, True), (1201, False)])
async def test_1200_lines_are_shown_whole(bench, lines, full):
    bench.put("output/big.txt", "x\n" * lines)
    result = await bench.ok("read_file", path="output/big.txt")
    assert result.structured["fullRead"] is full
    assert result.structured["endLine"] == 1200
    if not full:
        assert result.structured["nextLine"] == 1201
        assert result.content.endswith("[1 more lines: go on with start_line 1201]")
        rest = await bench.ok("read_file", path="output/big.txt", start_line=1201)
        assert rest.structured["endLine"] == 1201
        assert "go on" not in rest.content


@pytest.mark.parametrize(("size", "full"), [(WHOLE, True), (WHOLE + 1, False)])
async def test_256_kib_are_shown_whole_and_more_is_a_preview_not_an_error(bench, size, full):
    line = "y" * 1023 + "\n"
    bench.put("output/big.txt", (line * 257)[:size])
    result = await bench.ok("read_file", path="output/big.txt")
    assert result.structured["fullRead"] is full
    if not full:
        assert result.structured["chars"] == 78 * 1024, "whole lines, at most 80000 characters"
        assert result.structured["nextLine"] == 79


async def test_the_cap_counts_bytes_not_characters(bench):
    bench.put("output/big.txt", "語" * (WHOLE // 3 + 1))
    assert (await bench.ok("read_file", path="output/big.txt")).structured["fullRead"] is False


async def test_reading_on_from_the_next_line_gives_every_line_once(bench):
    text = "".join(f"{n:06} {'x' * 93}\n" for n in range(5000))
    bench.put("output/big.txt", text)
    rows, start = [], 1
    while start:
        result = await bench.ok("read_file", path="output/big.txt", start_line=start)
        rows += [row.split(" | ", 1)[1] for row in result.content.splitlines()[1:] if " | " in row]
        assert result.structured["chars"] <= 80_000
        start = result.structured.get("nextLine")
    assert "\n".join(rows) + "\n" == text
    assert bench.desk.reads.get("output/big.txt").full_read


async def test_a_line_that_is_too_long_is_continued_by_characters(bench):
    text = "short\n" + "z" * 300_000 + "\nlast\n"
    bench.put("output/big.txt", text)
    first = await bench.ok("read_file", path="output/big.txt")
    assert (first.structured["endLine"], first.structured["nextLine"]) == (1, 2)
    second = await bench.ok("read_file", path="output/big.txt", start_line=2)
    assert second.structured["chars"] == 80_000
    assert second.structured["nextChar"] == 80_006
    assert second.content.endswith("more characters: go on with start_char 80006]")
    next_char = 80_006
    while next_char:
        assert not bench.desk.reads.get("output/big.txt").full_read
        part = await bench.ok("read_file", path="output/big.txt", start_char=next_char)
        next_char = part.structured.get("nextChar")
    assert part.content.endswith("zzz\nlast\n")
    assert bench.desk.reads.get("output/big.txt").full_read


async def test_character_ranges(bench):
    bench.put("output/main.md", "0123456789")
    result = await bench.ok("read_file", path="output/main.md", start_char=2, max_chars=3)
    assert result.content.splitlines()[0].startswith("output/main.md chars 2-5 of 10, 3 chars, 1 words, sha256 ")
    assert result.content.splitlines()[1] == "234"
    assert (result.structured["startChar"], result.structured["endChar"]) == (2, 5)
    assert result.structured["fullRead"] is False
    assert (await bench.ok("read_file", path="output/main.md", max_chars=10)).structured["fullRead"] is True


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"line_count": 1201}, "workspace.read_line_count_too_large"),
        ({"max_chars": 80_001}, "workspace.read_char_count_too_large"),
        ({"start_line": 1, "start_char": 0}, "workspace.mixed_read_range"),
        ({"line_count": 1, "max_chars": 1}, "workspace.mixed_read_range"),
        ({"start_line": 4}, "workspace.invalid_line_range"),
        ({"start_char": 6}, "workspace.invalid_char_range"),
        ({"start_line": 0}, "tool.invalid_arguments"),
        ({"start_line": -1}, "tool.invalid_arguments"),
        ({"start_line": "1"}, "tool.invalid_arguments"),
        ({"line_count": 0}, "tool.invalid_arguments"),
        ({"start_char": -1}, "tool.invalid_arguments"),
        ({"max_chars": 0}, "tool.invalid_arguments"),
        ({"offset": 1}, "tool.invalid_arguments"),
    ],
)
async def test_ranges_that_cannot_be(bench, arguments, code):
    bench.put("output/main.md", "a\nb\nc\n")
    error = await bench.error("read_file", path="output/main.md", **arguments)
    assert error.error_code == code
    assert bench.desk.reads.get("output/main.md") is None


async def test_the_largest_allowed_ranges(bench):
    bench.put("output/main.md", "a\nb\nc\n")
    assert (await bench.ok("read_file", path="output/main.md", line_count=1200)).structured["endLine"] == 3
    assert (await bench.ok("read_file", path="output/main.md", max_chars=80_000)).structured["endChar"] == 6
    assert (await bench.ok("read_file", path="output/main.md", start_line=3)).structured["startLine"] == 3
    assert (await bench.ok("read_file", path="output/main.md", start_line=3.0)).structured["startLine"] == 3


async def test_errors_name_the_way_out(bench):
    bench.put("output/chapter-1.md", "x")
    missing = await bench.error("read_file", path="output/chapter_1.md")
    assert missing.error_code == "workspace.file_not_found"
    assert missing.content.splitlines()[-1] == "Nearest: output/chapter-1.md."
    assert "workspace_list_files" in (await bench.error("read_file", path="scratch/nothing.txt")).content
    folder = await bench.error("read_file", path="output")
    assert folder.error_code == "workspace.path_is_directory"
    assert "workspace_list_files" in folder.content
    assert (await bench.error("read_file", path="persist/x")).error_code == "workspace.path_not_visible"
    assert (
        await bench.error("read_file", path="input/prompt_snapshot.json")
    ).error_code == "workspace.path_not_visible"
    assert (await bench.error("read_file", path="output/chapter-1.md/x")).error_code == "workspace.file_not_found"
    for path in ("", ".", "../x", "C:\\x", "/etc/passwd"):
        assert (await bench.error("read_file", path=path)).error_code == "workspace.invalid_path"
    assert (await bench.error("read_file")).error_code == "tool.invalid_arguments"


async def test_an_advice_needs_the_tool_that_it_names(make_bench):
    bench = make_bench(lambda _tool: None)
    (bench.folder / "output").mkdir()
    assert "workspace_" not in (await bench.error("read_file", path="output/x.md")).content
    assert "workspace_" not in (await bench.error("read_file", path="output")).content


async def test_only_utf_8(bench):
    bench.put("output/latin.txt", b"caf\xe9\n")
    error = await bench.error("read_file", path="output/latin.txt")
    assert error.error_code == "workspace.not_utf8"
    bench.put("output/cut.txt", "é".encode()[:1])
    assert (await bench.error("read_file", path="output/cut.txt")).error_code == "workspace.not_utf8"
    bench.put("output/late.txt", b"a" * 3_000_000 + b"\xff")
    assert (await bench.error("read_file", path="output/late.txt", line_count=1)).error_code == "workspace.not_utf8"


async def test_what_rows_do_not_show_is_in_the_header(bench):
    bench.put("output/w.txt", "\ufeffa\r\nb\r\n")
    result = await bench.ok("read_file", path="output/w.txt")
    assert ", CRLF line ends, starts with a BOM" in result.content.splitlines()[0]
    assert result.content.split("\n")[1:] == ["1 | a", "2 | b"]
    bench.put("output/m.txt", "a\r\nb\n")
    assert "mixed line ends (1 of 2 CRLF)" in (await bench.ok("read_file", path="output/m.txt")).content


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
async def test_pipes_devices_and_links_are_refused_without_hanging(bench):
    (bench.folder / "output").mkdir()
    os.mkfifo(bench.folder / "output/pipe")
    assert (await bench.error("read_file", path="output/pipe")).error_code == "workspace.not_regular_file"
    (bench.folder / "output/zero").symlink_to("/dev/zero")
    assert (await bench.error("read_file", path="output/zero")).error_code == "workspace.invalid_path"
    (bench.folder / "output/passwd").symlink_to("/etc/passwd")
    assert (await bench.error("read_file", path="output/passwd")).error_code == "workspace.invalid_path"


async def test_a_large_file_is_read_in_bounded_memory(bench):
    import tracemalloc

    line = b"0123456789abcdef" * 63 + b"\n"
    with (bench.folder / "big.bin").open("wb") as file:
        for _ in range(40):
            file.write(line * 1024)
    (bench.folder / "output").mkdir()
    (bench.folder / "big.bin").rename(bench.folder / "output/big.txt")
    tracemalloc.start()
    result = await bench.ok("read_file", path="output/big.txt", start_line=40_000, line_count=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.structured["totalLines"] == 40 * 1024
    assert peak < 16 * 1024 * 1024 < os.path.getsize(bench.folder / "output/big.txt")
