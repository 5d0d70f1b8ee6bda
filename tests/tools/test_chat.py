"""spec tauritavern §5.1 and §5.2: searching and reading the chat."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.chat import ChatMessage, FrozenChat
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, builtin
from tt_kernel.toolkit.scoring import Query, fold
from tt_kernel.tools.chat import CHAT_TOOLS, ChatDesk, chat_tools

NAMES = {builtin("chat.search"): "chat_search", builtin("chat.read_messages"): "chat_read_messages"}


def message(index, text, role="user", **more):
    return ChatMessage(index=index, role=role, name=more.pop("name", "code"), text=text, **more)


def desk(*texts, bound=NAMES):
    messages = tuple(m if isinstance(m, ChatMessage) else message(n, m) for n, m in enumerate(texts))
    return ChatDesk(FrozenChat(messages=messages), bound.get)


async def call(at, native, **arguments):
    tool = next(tool for tool in chat_tools(at) if tool.spec.id == builtin(native))
    name = NAMES[tool.spec.id]
    request = ToolCall(
        id=CallId("c"), tool_id=tool.spec.id, name=name, arguments=ToolArguments(value=arguments),
        invocation_id=ROOT_INVOCATION, turn=1, index=0,
    )  # fmt: skip
    return await tool.call(request)


async def search(at, query="dragon", **arguments):
    return await call(at, "chat.search", query=query, **arguments)


async def read(at, *messages):
    return await call(at, "chat.read_messages", messages=list(messages))


def indexes(result):
    return [hit["index"] for hit in result.structured["hits"]]


def test_the_tools_are_read_only_and_not_for_sessions():
    for declaration in CHAT_TOOLS:
        assert declaration.spec.read_only
        assert declaration.spec.effect == "none"
        assert declaration.spec.contexts == ("cell",)
        assert declaration.spec.input_schema["additionalProperties"] is False


# chat.search


async def test_a_hit_is_shown_with_index_role_score_ref_and_snippet():
    at = desk("nothing here", message(1, "The red dragon sleeps.", "assistant"), "a dragon")
    result = await search(at, " red dragon ")
    assert result.content == (
        'hits for "red dragon" in 3 messages. chat_read_messages shows whole messages.\n\n'
        "message 1 assistant score 1.000 ref chat:current#1\nThe red dragon sleeps.\n\n"
        "message 2 user score 0.667 ref chat:current#2\na dragon"
    ).replace("hits", "2 hits", 1)
    assert result.structured == {
        "query": "red dragon",
        "hits": [
            {
                "index": 1, "role": "assistant", "score": 1.0, "snippet": "The red dragon sleeps.",
                "chars": 22, "words": 4, "ref": "chat:current#1",
            },
            {
                "index": 2, "role": "user", "score": 0.667, "snippet": "a dragon",
                "chars": 8, "words": 2, "ref": "chat:current#2",
            },
        ],
    }  # fmt: skip
    assert result.resource_refs == ("chat:current#1", "chat:current#2")


async def test_zero_hits_is_a_success_and_names_no_tool():
    result = await search(desk("a", "b"), "zzz qqq")
    assert not result.is_error
    assert result.content == 'No hits for "zzz qqq" in 2 messages.'
    assert result.structured["hits"] == []


async def test_the_reader_is_named_only_when_it_is_bound():
    assert "chat_read_messages" not in (await search(desk("dragon", bound={}))).content


async def test_equal_scores_put_the_newer_first():
    assert indexes(await search(desk("dragon", "dragon", "x", "dragon"))) == [3, 1, 0]


async def test_limit_is_20_by_default_and_1_to_50():
    at = desk(*["dragon"] * 60)
    assert len(indexes(await search(at))) == 20
    assert len(indexes(await search(at, limit=50))) == 50
    assert indexes(await search(at, limit=1)) == [59]
    for limit in (0, -1, 51, "5"):
        assert (await search(at, limit=limit)).error_code == "tool.invalid_arguments"


async def test_role_filters():
    at = desk(message(0, "dragon"), message(1, "dragon", "assistant"), message(2, "dragon", "system"))
    assert [indexes(await search(at, role=r)) for r in ("user", "assistant", "system", None)] == [
        [0],
        [1],
        [2],
        [2, 1, 0],
    ]
    assert (await search(at, role="tool")).error_code == "tool.invalid_arguments"


async def test_the_range_is_0_based_and_inclusive():
    at = desk(*["dragon"] * 6)
    assert indexes(await search(at, start_message=2, end_message=4)) == [4, 3, 2]
    assert indexes(await search(at, start_message=5)) == [5]
    assert indexes(await search(at, end_message=0)) == [0]
    assert indexes(await search(at, start_message=9)) == []
    assert indexes(await search(at, end_message=99)) == [5, 4, 3, 2, 1, 0]
    assert indexes(await search(at, start_message=3, end_message=3)) == [3]
    for wrong in ({"start_message": 4, "end_message": 3}, {"start_message": -1}, {"end_message": -1}):
        assert (await search(at, **wrong)).error_code == "tool.invalid_arguments"


async def test_scan_limit_keeps_the_most_recent_messages():
    at = desk(*["dragon"] * 6)
    assert indexes(await search(at, scan_limit=2)) == [5, 4]
    assert indexes(await search(at, scan_limit=1, end_message=3)) == [3]
    assert len(indexes(await search(at, scan_limit=100_000))) == 6
    for wrong in (0, 100_001):
        assert (await search(at, scan_limit=wrong)).error_code == "tool.invalid_arguments"


async def test_the_query_is_trimmed_and_not_empty():
    for query in ("", "   ", "?!"):
        assert (await search(desk("x"), query)).error_code == "tool.invalid_arguments"
    assert (await call(desk("x"), "chat.search")).error_code == "tool.invalid_arguments"


async def test_the_snippet_has_200_characters_and_40_before_the_match():
    text = "x" * 500 + " dragon " + "y" * 500
    snippet = (await search(desk(text))).structured["hits"][0]["snippet"]
    assert len(snippet) == 200
    assert snippet.startswith("...")
    assert snippet.endswith("...")
    assert snippet.index("dragon") == 3 + 40


async def test_chinese_japanese_and_korean_text_is_found():
    at = desk("我看见一条红色的龙飞过山谷", "古い図書館の地下に", "겨울의 항구에서", "no")
    assert indexes(await search(at, "红色的龙")) == [0]
    assert indexes(await search(at, "図書館")) == [1]
    assert indexes(await search(at, "항구")) == [2]
    assert indexes(await search(at, "龙")) == [0]
    hit = (await search(at, "红色的龙")).structured["hits"][0]
    assert (hit["chars"], hit["words"]) == (13, 13)


async def test_case_is_ignored_in_every_script():
    assert indexes(await search(desk("ДРАКОН", "DRAGÓN"), "дракон")) == [0]
    assert indexes(await search(desk("ДРАКОН", "DRAGÓN"), "dragón")) == [1]


async def test_2000_cells_are_searched_within_50_ms():
    body = "for row in table:\n    total += row.value  # the 1970 census of 東京, part "
    at = desk(*(f"cell {n}\n{body * (n % 8)}{n}" for n in range(2000)), "the needle is here")
    queries = (
        "needle",
        "census part total value of the needle",
        "東京の needle",
        "calculate_monthly_totals_for",
        "人口調査の結果",
    )
    for query in queries:
        times = []
        for _ in range(6):  # the machine may be busy for a moment
            began = time.perf_counter()
            result = await search(at, query)
            times.append(time.perf_counter() - began)
        assert min(times) < 0.05, query
        assert not result.is_error


async def test_the_score_is_that_of_the_specification():
    texts = ["red dragon", "reddish", "the dragon flew", "nothing", "REDDRAGON"]
    hits = (await search(desk(*texts), "red dragon")).structured["hits"]
    expected = {n: round(Query.of("red dragon").score(fold(text)), 3) for n, text in enumerate(texts)}
    assert {hit["index"]: hit["score"] for hit in hits} == {n: score for n, score in expected.items() if score}


async def test_without_a_chat_there_is_an_error():
    nothing = ChatDesk(None, NAMES.get)
    assert (await search(nothing)).error_code == "chat.not_found"
    assert (await read(nothing, {"index": 0})).error_code == "chat.not_found"


# chat.read_messages


async def test_messages_are_read_with_what_is_known_of_them():
    at = desk("Hello you", message(1, "Fine.", "assistant", name="writer", date="2026-01-02"))
    result = await read(at, {"index": 1}, {"index": 0, "start_char": 6, "max_chars": 2})
    assert result.content == (
        "Read 2 messages (2 total).\n\n"
        "message 1 assistant, writer, chars 0-5 of 5, 1 words, ref chat:current#1:chars=0..5, 2026-01-02\nFine.\n\n"
        "message 0 user, code, chars 6-8 of 9, 1 words, ref chat:current#0:chars=6..8, [truncated]\nyo"
    )
    assert result.structured["messages"][1] == {
        "index": 0, "role": "user", "name": "code", "ref": "chat:current#0:chars=6..8", "date": None,
        "startChar": 6, "endChar": 8, "totalChars": 9, "words": 1, "truncated": True,
    }  # fmt: skip
    assert result.resource_refs == ("chat:current#1:chars=0..5", "chat:current#0:chars=6..8")


async def test_1_to_20_messages_are_read_at_once():
    at = desk(*["x"] * 30)
    assert not (await read(at, *({"index": n} for n in range(20)))).is_error
    for wrong in ([], [{"index": n} for n in range(21)]):
        assert (await call(at, "chat.read_messages", messages=wrong)).error_code == "tool.invalid_arguments"


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"index": -1},
        {"index": "0"},
        {"index": 0, "start_char": -1},
        {"index": 0, "max_chars": 0},
        {"index": 0, "line": 1},
    ],
)
async def test_wrong_parameters_are_told(wrong):
    result = await read(desk("x"), wrong)
    assert result.error_code == "tool.invalid_arguments"
    assert "messages" in result.content


async def test_null_for_an_optional_part_counts_as_left_out():
    assert not (await read(desk("x"), {"index": 0, "start_char": None, "max_chars": None})).is_error
    assert not (await read(desk("x"), {"index": 0.0})).is_error


async def test_a_message_that_is_not_there():
    result = await read(desk("x", "y"), {"index": 2})
    assert result.error_code == "chat.message_not_found"
    assert result.content == "There is no message 2; the chat has messages 0 to 1. Use chat_search to find messages."
    assert "no messages" in (await read(desk(), {"index": 0})).content


async def test_a_whole_message_has_at_most_8000_characters():
    assert not (await read(desk("x" * 8000), {"index": 0})).is_error
    result = await read(desk("x" * 8001), {"index": 0})
    assert result.error_code == "chat.read_too_large"
    assert "start_char and max_chars" in result.content


async def test_a_part_has_at_most_8000_characters():
    at = desk("x" * 9000)
    assert (await read(at, {"index": 0, "max_chars": 8001})).error_code == "chat.read_too_large"
    part = await read(at, {"index": 0, "start_char": 500})
    assert "chars 500-8500 of 9000" in part.content
    assert "[truncated]" in part.content
    assert "[truncated]" not in (await read(at, {"index": 0, "start_char": 1000})).content


async def test_a_call_has_at_most_20000_characters():
    at = desk(*["x" * 8000] * 3)
    assert not (await read(at, {"index": 0}, {"index": 1}, {"index": 2, "max_chars": 4000})).is_error
    result = await read(at, {"index": 0}, {"index": 1}, {"index": 2, "max_chars": 4001})
    assert result.error_code == "chat.read_too_large"


async def test_a_range_behind_the_end_is_an_error():
    result = await read(desk("12345"), {"index": 0, "start_char": 5})
    assert result.error_code == "chat.invalid_message_range"
    assert "5 characters" in result.content
    assert not (await read(desk("12345"), {"index": 0, "start_char": 4, "max_chars": 99})).is_error
    assert not (await read(desk(""), {"index": 0})).is_error


async def test_characters_are_unicode_scalars_not_bytes():
    result = await read(desk("日本語のテキスト😀."), {"index": 0, "start_char": 8, "max_chars": 1})
    assert result.content.endswith("\n😀")


@given(
    st.lists(st.text(max_size=30), max_size=5),
    st.text(max_size=12),
    st.none() | st.integers(-1, 6),
    st.none() | st.integers(-1, 6),
    st.none() | st.integers(-1, 6),
)
async def test_any_search_has_a_result(texts, query, start, end, scan):
    result = await search(desk(*texts), query, start_message=start, end_message=end, scan_limit=scan)
    assert result.error_code in (None, "tool.invalid_arguments")
    if not result.is_error:
        hits = result.structured["hits"]
        assert all(0 < hit["score"] <= 1 and len(hit["snippet"]) <= 200 for hit in hits)
        assert [h["score"] for h in hits] == sorted((h["score"] for h in hits), reverse=True)


@given(st.text(max_size=30), st.none() | st.integers(0, 40), st.none() | st.integers(1, 9000))
async def test_any_part_is_read_or_refused(text, start, count):
    result = await read(desk(text), {"index": 0, "start_char": start, "max_chars": count})
    if result.is_error:
        assert result.error_code in ("chat.invalid_message_range", "chat.read_too_large")
    else:
        first = start or 0
        assert result.content.endswith("\n" + text[first : first + (count or 8000)])
