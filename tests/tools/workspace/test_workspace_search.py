"""spec tauritavern §5.5 (and the scoring of §5.1, which has tests of its own)."""

import json
import random
import re
import sys
import time

import pytest

from tt_kernel.toolkit.scoring import Query, fold
from tt_kernel.tools.workspace.line_search import Search


async def test_content_and_structured(bench):
    bench.put("output/main.md", "zero\none\nthe red dragon sleeps\nthree\nfour\nfive\n")
    bench.put("scratch/notes.md", "nothing of that kind\n")
    result = await bench.ok("search_files", query="red dragon", context_lines=1)
    assert result.content.splitlines() == [
        '1 hit for "red dragon" in 1 file.',
        "workspace_read_file shows more of a file.",
        "",
        "output/main.md score 1.000 ref workspace:output/main.md#L2-L4",
        "2 | one",
        "3 | the red dragon sleeps",
        "4 | three",
    ]
    assert result.structured == {
        "query": "red dragon",
        "hits": [
            {
                "path": "output/main.md",
                "score": 1.0,
                "startLine": 2,
                "endLine": 4,
                "ref": "workspace:output/main.md#L2-L4",
            }
        ],
        "truncated": False,
    }
    assert result.resource_refs == ("workspace:output/main.md#L2-L4",)


async def test_no_hit_is_a_success(bench):
    bench.put("output/main.md", "abc\n")
    result = await bench.ok("search_files", query="zz yy")
    assert result.content == 'No hits for "zz yy".'
    assert result.structured["hits"] == []


async def test_order_is_score_then_path_then_line(bench):
    bench.put("output/b.md", "red dragon\n\n\n\n\n\n\nred only\n\n\n\n\n\nred only\n")
    bench.put("output/a.md", "red only\n")
    bench.put("output/c.md", "red dragon\n")
    hits = (await bench.ok("search_files", query="red dragon")).structured["hits"]
    assert [(h["path"], h["startLine"], h["score"]) for h in hits] == [
        ("output/b.md", 1, 1.0),
        ("output/c.md", 1, 1.0),
        ("output/a.md", 1, 0.333),
        ("output/b.md", 6, 0.333),
        ("output/b.md", 12, 0.333),
    ]


async def test_overlapping_snippets_are_merged(bench):
    bench.put("output/a.md", "".join(f"{'needle' if n in (5, 8, 20) else 'hay'} {n}\n" for n in range(1, 31)))
    hits = (await bench.ok("search_files", query="needle xx")).structured["hits"]
    assert [(h["startLine"], h["endLine"]) for h in hits] == [(3, 10), (18, 22)]
    hits = (await bench.ok("search_files", query="needle xx", context_lines=0)).structured["hits"]
    assert [(h["startLine"], h["endLine"]) for h in hits] == [(5, 5), (8, 8), (20, 20)]


async def test_context_is_2_by_default_and_stops_at_the_ends(bench):
    bench.put("output/a.md", "needle\nb\nc\nd\n")
    bench.put("output/b.md", "a\nb\nc\nneedle")
    hits = (await bench.ok("search_files", query="needle xx")).structured["hits"]
    assert [(h["startLine"], h["endLine"]) for h in hits] == [(1, 3), (2, 4)]
    rows = (await bench.ok("search_files", query="needle xx", context_lines=5)).content
    assert "5 | " not in rows, "a line end at the end of a file does not begin a line"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"limit": 0}, "workspace.search_limit_invalid"),
        ({"limit": -3}, "workspace.search_limit_invalid"),
        ({"limit": 51}, "workspace.search_limit_too_large"),
        ({"context_lines": 6}, "workspace.search_context_too_large"),
        ({"context_lines": -1}, "tool.invalid_arguments"),
        ({"limit": "20"}, "tool.invalid_arguments"),
        ({"path": "output/none"}, "workspace.path_not_found"),
        ({"path": "persist"}, "workspace.path_not_visible"),
        ({"path": "../x"}, "workspace.invalid_path"),
        ({"query": "  ?! "}, "tool.invalid_arguments"),
        ({"query": ""}, "tool.invalid_arguments"),
        ({"query": None}, "tool.invalid_arguments"),
        ({"pattern": "x"}, "tool.invalid_arguments"),
    ],
)
async def test_what_cannot_be_asked(bench, arguments, code):
    assert (await bench.error("search_files", **{"query": "x", **arguments})).error_code == code


async def test_limit_is_20_by_default_and_50_at_most(bench):
    for number in range(60):
        bench.put(f"output/{number:02}.md", "needle\n")
    result = await bench.ok("search_files", query="needle xx")
    assert len(result.structured["hits"]) == 20
    assert result.structured["truncated"] is True
    assert result.content.splitlines()[-1].startswith("[There are more hits")
    assert len((await bench.ok("search_files", query="needle xx", limit=50)).structured["hits"]) == 50
    exact = await bench.ok("search_files", query="needle xx", path="output/00.md", limit=1)
    assert exact.structured["truncated"] is False


async def test_the_query_is_words_not_a_pattern(bench):
    bench.put("output/a.md", "call(foo.bar)\nfooXbar\n")
    hits = (await bench.ok("search_files", query="foo.bar*", context_lines=0)).structured["hits"]
    assert [h["score"] for h in hits] == [1.0, 1.0], "two words, found as parts of words"


async def test_scope(bench):
    for path in ("output/a.md", "output/sub/a.md", "scratch/a.md", "tool-results/a.md", "persist/a.md"):
        bench.put(path, "needle\n")

    async def paths(**arguments):
        hits = (await bench.ok("search_files", query="needle xx", **arguments)).structured["hits"]
        return [hit["path"] for hit in hits]

    assert await paths() == ["output/a.md", "output/sub/a.md", "scratch/a.md"]
    assert await paths(path="tool-results") == ["tool-results/a.md"]
    assert await paths(path="output") == ["output/a.md", "output/sub/a.md"]
    assert await paths(path="output/sub/") == ["output/sub/a.md"]
    assert await paths(path="./output/a.md") == ["output/a.md"]
    assert await paths(path="plan") == []


async def test_depth_8_and_1000_files(bench):
    bench.put("output/1/2/3/4/5/6/7/deep.md", "needle\n")
    bench.put("output/1/2/3/4/5/6/7/8/deeper.md", "needle\n")
    hits = (await bench.ok("search_files", query="needle xx")).structured["hits"]
    assert [hit["path"] for hit in hits] == ["output/1/2/3/4/5/6/7/deep.md"]
    for number in range(1001):
        bench.put(f"scratch/{number:04}.txt", "needle\n" if number in (999, 1000) else "hay\n")
    result = await bench.ok("search_files", query="needle xx", path="scratch")
    assert [hit["path"] for hit in result.structured["hits"]] == ["scratch/0999.txt"]
    assert "[Only the first 1000 of 1001 files were searched" in result.content


async def test_what_is_no_text_is_counted(bench):
    bench.put("output/a.md", "needle\n")
    bench.put("output/b.bin", b"needle \xff\n")
    result = await bench.ok("search_files", query="needle xx")
    assert [hit["path"] for hit in result.structured["hits"]] == ["output/a.md"]
    assert result.content.splitlines()[-1] == "[Not searched: 1 file (links, not UTF-8 text, or too large)]"


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
async def test_links_are_not_searched(bench, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "x.md").write_text("needle\n")
    (bench.folder / "output").mkdir()
    (bench.folder / "output/link.md").symlink_to(outside / "x.md")
    (bench.folder / "output/folder").symlink_to(outside)
    result = await bench.ok("search_files", query="needle xx")
    assert result.structured["hits"] == []
    assert (await bench.error("search_files", query="x", path="output/link.md")).error_code == "workspace.invalid_path"


async def test_long_lines_are_cut_around_the_match(bench):
    bench.put("output/a.json", "x" * 100_000 + " needle " + "y" * 100_000 + "\n")
    result = await bench.ok("search_files", query="needle zz")
    row = result.content.splitlines()[-1]
    assert "needle" in row
    assert len(row) <= 400 + len("1 | ")
    assert row.startswith("1 | ...")


async def test_crlf_and_hostile_names(bench):
    bench.put("output/a.md", "one\r\nneedle\r\n")
    bench.put("output/two\nlines.md", "needle\n")
    result = await bench.ok("search_files", query="needle zz")
    assert "\r" not in result.content
    heads = [line for line in result.content.splitlines() if " score " in line]
    assert len(heads) == 2
    assert json.loads(re.match(r'".*?"', heads[1])[0]) == "output/two\nlines.md"


@pytest.mark.parametrize("query", ["wordy", "the quick", "extraordinarily", "x"])
@pytest.mark.parametrize("keep", [1, 7, 1000])
def test_dropping_early_finds_the_same_lines_as_scoring_every_line(query, keep):
    rng = random.Random(query)
    letters = "aabcdeehiklnorrtuwxyz    \n"
    texts = {f"f{n:02}": "".join(rng.choice(letters) for _ in range(rng.randrange(400))) for n in range(40)}
    words = Query.of(query)
    search = Search(words, keep=keep, context=0)
    for path, text in texts.items():
        search.look_into(path, text)
    everything = sorted(
        (-words.score(line), path, number)
        for path, text in texts.items()
        for number, line in enumerate(fold(text).split("\n"), 1)
        if words.score(line)
    )
    assert [(-h.score, h.path, h.line) for h in search.best()] == everything[:keep]
    assert search.dropped is (len(everything) > keep)
    for hit in search.best():
        assert hit.window == (texts[hit.path].split("\n")[hit.line - 1],)


async def test_2000_files_in_time(bench):
    rng = random.Random(1)
    words = ["".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(3, 9))) for _ in range(2000)]
    for number in range(2000):
        text = "\n".join(" ".join(rng.choices(words, k=9)) for _ in range(30))
        bench.put(f"{'output' if number % 2 else 'scratch'}/{number % 20}/{number}.txt", text)
    started = time.perf_counter()
    for path in ("output", "scratch"):
        assert (await bench.ok("search_files", query="dragon", path=path)).structured["hits"]
    assert time.perf_counter() - started < 10, "80 ms on a quiet machine"
