"""spec tauritavern §5.1: tokens, weights, score, snippet."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.toolkit.scoring import Query, fold


def tokens(text: str) -> list[str]:
    return list(Query.of(text).weights)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a", ["a"]),
        ("AB", ["ab"]),
        ("abc", ["abc", "ab", "bc"]),
        ("abcdefgh", ["abcdefgh", "ab", "bc", "cd", "de", "ef", "fg", "gh"]),
        ("abcdefghi", ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi"]),
        ("aaaa", ["aaaa", "aa"]),
        ("red dragon", ["red", "dragon"]),
        ("Red-dragon's!", ["red", "dragon", "s"]),
        ("snake_case x", ["snake_case", "x"]),
        ("extraordinarily long", ["extraordinarily", "long"]),
        ("日本", ["日本"]),
        ("日本語", ["日本語", "日本", "本語"]),
        ("red 日本語の文章検", ["red", "日本語の文章検"]),
        ("red red", ["red"]),
        ("  ", []),
        ("!?", []),
    ],
)
def test_tokens(query, expected):
    assert tokens(query) == expected


def test_a_long_word_among_others_is_cut_only_when_it_is_not_ascii():
    """From 8 characters on."""
    assert tokens("x 日本語の文章検索") == ["x", "日本", "本語", "語の", "の文", "文章", "章検", "検索"]
    assert tokens("x abcdefgh") == ["x", "abcdefgh"]


def test_bigrams_are_sampled_evenly():
    single = "".join(chr(0x4E00 + n) for n in range(101))
    found = tokens(single)
    assert len(found) == 32
    places = [ord(pair[0]) - 0x4E00 for pair in found]
    assert places == [n * 100 // 32 for n in range(32)]
    assert len(tokens("x " + single)) == 1 + 8


def test_at_most_64_tokens():
    assert len(tokens(" ".join(f"w{n}" for n in range(100)))) == 64


def test_weights_are_lengths_up_to_8():
    assert Query.of("a abcdefgh abcdefghijkl").weights == {"a": 1, "abcdefgh": 8, "abcdefghijkl": 8}


@pytest.mark.parametrize(
    ("query", "text", "score"),
    [
        ("red dragon", "A RED DRAGON", 1.0),
        ("red dragon", "the dragons", 6 / 9),
        ("red dragon", "infrared", 3 / 9),
        ("red dragon", "blue", 0.0),
        ("abc", "xab", 2 / 7),
        ("İstanbul now", "in istanbul, NOW", 1.0),
    ],
)
def test_score_is_matched_weight_by_total_weight(query, text, score):
    assert Query.of(query).score(fold(text)) == pytest.approx(score)


@given(st.text(max_size=50), st.text(max_size=80))
def test_any_query_and_any_text(query, text):
    words = Query.of(query)
    assert len(words.weights) <= 64
    assert all(1 <= weight <= 8 for weight in words.weights.values())
    assert len(fold(text)) == len(text)
    if words:
        assert 0 <= words.score(fold(text)) <= 1
        assert words.score(fold(query)) > 0, "a text contains its own words"
        assert (words.first_match(fold(text)) >= 0) == (words.score(fold(text)) > 0)


def test_snippet_begins_40_characters_before_the_match():
    text = "x" * 300 + "needle" + "y" * 300
    snippet = Query.of("needle zz").snippet(text)
    assert len(snippet) == 200
    assert snippet == "..." + "x" * 40 + "needle" + "y" * (200 - 46 - 6) + "..."


@pytest.mark.parametrize(
    ("before", "after", "head", "tail"), [(0, 300, "needle", "..."), (300, 0, "...", "needle"), (10, 10, "x", "y")]
)
def test_dots_only_where_something_is_cut(before, after, head, tail):
    snippet = Query.of("needle zz").snippet("x" * before + "needle" + "y" * after)
    assert snippet.startswith(head)
    assert snippet.endswith(tail)
    assert len(snippet) <= 200
    assert "needle" in snippet


@given(st.text(max_size=400), st.text(min_size=1, max_size=5), st.integers(60, 250))
def test_a_snippet_is_a_bounded_piece_of_the_text(text, query, limit):
    snippet = Query.of(query).snippet(text, limit)
    assert len(snippet) <= limit
    if len(text) <= limit:
        assert snippet == text
    else:
        assert len(snippet) > limit - 4
        assert snippet.removeprefix("...").removesuffix("...") in text or snippet in text
