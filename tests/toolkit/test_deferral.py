"""Tools that wait to be found: spec liveagent §11.5."""

from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.messages import AssistantMessage, CallPart, UserMessage
from tt_kernel.domain.specs import Binding, Snapshot, ToolSpec
from tt_kernel.toolkit.deferral import THRESHOLD_TOKENS, Offers, can_wait, deferring, found_tools
from tt_kernel.tools.tool_search import tool_search


def binding(tool, name, description="d", words=0):
    spec = ToolSpec(
        id=ToolId.parse(tool),
        description=description + " word" * words,
        input_schema={"type": "object"},
        group="mcp",
        effect="external",
    )
    return Binding(name=name, spec=spec)


ISSUE = binding("mcp/github:create_issue", "mcp_github_create_issue", "Open an issue")
PULL = binding("mcp/github:merge", "mcp_github_merge", "Merge a pull request that closes an issue")
FILES = binding("mcp/files:find", "mcp_files_find", "Find text")
OWN = binding("extension/notebook:plot", "plot", "Plot an issue")
PACKAGE = binding("extension/geo:locate", "locate", "Locate a place", words=9000)
READ = binding("builtin:Read", "Read", "Read a file")


def snapshot(*bindings):
    return Snapshot(completion="reply", bindings=bindings)


def called(name, **arguments):
    return AssistantMessage(calls=(CallPart(id="c", name=name, arguments=ToolArguments(value=arguments)),))


def test_what_can_wait():
    assert [can_wait(b.spec) for b in (ISSUE, PACKAGE, OWN, READ)] == [True, True, False, False]


def test_few_schemas_are_all_shown():
    whole = snapshot(READ, ISSUE, PULL)
    assert deferring(whole, tool_search.spec) is whole


def test_the_threshold_counts_only_what_can_wait():
    """§11.5: more than 12 000 estimated tokens of MCP schemas."""
    long_own = binding("extension/notebook:long", "long", words=20_000)
    assert not deferring(snapshot(long_own, ISSUE), tool_search.spec).deferred
    assert THRESHOLD_TOKENS == 12_000
    below, above = binding("mcp/a:x", "x", words=9_000), binding("mcp/a:x", "x", words=10_000)
    assert not deferring(snapshot(below), tool_search.spec).deferred
    assert deferring(snapshot(above), tool_search.spec).deferred == ("mcp/a:x",)


def long_set():
    return deferring(
        snapshot(READ, OWN, ISSUE, PULL, FILES, binding("mcp/big:b", "mcp_big_b", words=12_000)), tool_search.spec
    )


def names(offers):
    return [offer.name for offer in offers]


def test_what_waits_is_in_the_snapshot_and_not_shown():
    found = long_set()
    assert [b.name for b in found.shown] == ["Read", "plot", "ToolSearch"]
    assert found.find("mcp_github_merge") is not None
    assert names(Offers(found)([UserMessage(text="x")])) == ["Read", "plot", "ToolSearch"]
    assert "Not shown yet, 4 tools in all: github (2), files (1), big (1)." in found.find("ToolSearch").spec.description
    assert found.digest != snapshot(READ, OWN, ISSUE, PULL, FILES).digest


def test_points():
    """§11.5: name 3, server 2, description 1, added over the terms; terms are parted by white space , ; / |."""
    pool = [FILES, PULL, ISSUE]
    assert found_tools(pool, "issue") == [ISSUE, PULL]  # 3 + 1 against 1
    assert found_tools(pool, "MERGE") == [PULL]
    assert found_tools(pool, "github,text") == [PULL, ISSUE, FILES]  # 5, 5, 1: ties keep their order
    assert found_tools(pool, "open|text;find/issue") == [FILES, ISSUE, PULL]
    assert found_tools(pool, "issue", 1) == [ISSUE]
    assert found_tools(pool, "nothing at_all") == []


def test_a_search_shows_what_it_found_from_the_next_request_on():
    offers = Offers(long_set())
    messages = [UserMessage(text="x")]
    offers(messages)
    messages.append(called("ToolSearch", query="issue"))
    assert names(offers(messages)) == ["Read", "plot", "ToolSearch", "mcp_github_create_issue", "mcp_github_merge"]
    messages.append(called("ToolSearch", query="find", max_results=1.0))
    assert names(offers(messages))[-1] == "mcp_files_find"
    assert len(offers(messages)) == 6


def test_calling_a_hidden_tool_by_name_shows_it():
    offers = Offers(long_set())
    assert names(offers([called("mcp_github_merge")]))[-1] == "mcp_github_merge"
    assert names(offers([called("mcp_github_merge"), called("Read"), called("nonsense")]))[3:] == ["mcp_github_merge"]


def test_a_search_that_is_refused_shows_nothing():
    for arguments in (
        {},
        {"query": 5},
        {"query": "issue", "max_results": 0},
        {"query": "issue", "max_results": 11},
        {"query": "issue", "max_results": True},
        {"query": "issue", "max_results": 1.5},
    ):
        assert len(Offers(long_set())([called("ToolSearch", **arguments)])) == 3


@given(
    st.lists(st.sampled_from(["issue", "find", "big", "merge", ""]), max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_the_offers_follow_from_the_conversation_alone(queries, asked):
    """Asked after each turn or only at the end (a replay, a resumed run): the same."""
    found, messages = long_set(), []
    often = Offers(found)
    for query, ask in zip(queries, asked, strict=False):
        messages.append(called("ToolSearch", query=query))
        if ask:
            often(messages)
    assert often(messages) == Offers(found)(messages)
