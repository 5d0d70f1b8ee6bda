"""spec tauritavern §5.3: reading the active world info; and the added search of what is not active."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, builtin
from tt_kernel.domain.worldinfo import ActivatedEntry, Activation
from tt_kernel.store.lorebooks import read_book
from tt_kernel.tools.worldinfo import WORLDINFO_TOOLS, WorldInfoDesk, worldinfo_tools

from ..fakes.lore import book, entry, large_document  # noqa: TID252  tests are no installed package

NAMES = {
    builtin("worldinfo.read_activated"): "worldinfo_read_activated",
    builtin("worldinfo.search"): "worldinfo_search",
}


def active(content="The old mill.", **more):
    values = {"world": "town", "uid": 3, "display_name": "Mill", "content": content, "position": "before"}
    return ActivatedEntry(**{**values, **more})


def desk(*entries, books=(), bound=NAMES):
    return WorldInfoDesk(Activation(entries=entries), books, bound.get)


async def call(at, native, **arguments):
    tool = next(tool for tool in worldinfo_tools(at) if tool.spec.id == builtin(native))
    request = ToolCall(
        id=CallId("c"), tool_id=tool.spec.id, name=NAMES[tool.spec.id], arguments=ToolArguments(value=arguments),
        invocation_id=ROOT_INVOCATION, turn=1, index=0,
    )  # fmt: skip
    return await tool.call(request)


async def read(at, *entries):
    return await call(at, "worldinfo.read_activated", **({"entries": list(entries)} if entries else {}))


async def search(at, query, **arguments):
    return await call(at, "worldinfo.search", query=query, **arguments)


def test_the_tools_are_read_only_and_not_for_sessions():
    for declaration in WORLDINFO_TOOLS:
        assert declaration.spec.read_only
        assert declaration.spec.effect == "none"
        assert declaration.spec.contexts == ("cell",)


# worldinfo.read_activated: the index


async def test_without_entries_there_is_an_index_without_contents():
    at = desk(active(), active("冬の港", uid="h", display_name='The "Harbour"', position=None, constant=True))
    result = await read(at)
    assert result.content == (
        "World info active in this run: 2 entries. Contents are omitted; give entries with their ref to read them.\n"
        '1. ref worldinfo:town#3, label "Mill", world "town", 13 chars, 3 words, position before\n'
        '2. ref worldinfo:town#h, label "The \\"Harbour\\"", world "town", 3 chars, 3 words, constant'
    )
    assert result.structured["entries"][1] == {
        "ref": "worldinfo:town#h", "world": "town", "uid": "h", "label": 'The "Harbour"', "position": None,
        "constant": True, "chars": 3, "words": 3,
    }  # fmt: skip
    assert result.resource_refs == ("worldinfo:town#3", "worldinfo:town#h")
    assert (await call(at, "worldinfo.read_activated", entries=None)).content == result.content


async def test_an_entry_without_identity_is_named_by_its_number():
    at = desk(active(uid=None), active(world=""), active(), active())
    assert (await read(at)).resource_refs == (
        "worldinfo:activated#0", "worldinfo:activated#1", "worldinfo:town#3", "worldinfo:activated#3",
    )  # fmt: skip
    assert "Read 1 entry" in (await read(at, {"ref": "worldinfo:activated#3"})).content


async def test_nothing_active_is_a_success():
    result = await read(desk())
    assert (result.is_error, result.content) == (False, "No world info is active in this run.")


async def test_without_a_snapshot_there_is_an_error():
    result = await read(WorldInfoDesk(None, (), NAMES.get))
    assert result.error_code == "worldinfo.activation_unavailable"


# worldinfo.read_activated: contents


async def test_contents_are_read_by_ref():
    result = await read(
        desk(active()), {"ref": "worldinfo:town#3"}, {"ref": " worldinfo:town#3 ", "start_char": 4, "max_chars": 3}
    )
    assert result.content == (
        "Read 2 entries of world info (1 active).\n\n"
        'ref worldinfo:town#3, label "Mill", world "town", chars 0-13 of 13, 3 words, position before\nThe old mill.\n\n'
        'ref worldinfo:town#3, label "Mill", world "town", chars 4-7 of 13, 1 words, position before, [truncated]\nold'
    )
    assert result.structured["entries"][1]["endChar"] == 7


@pytest.mark.parametrize("ref", ["worldinfo:town#4", "town#3", "", "worldinfo:activated#0"])
async def test_a_ref_that_is_not_active(ref):
    result = await read(desk(active()), {"ref": ref})
    assert result.error_code == "worldinfo.entry_not_found"
    assert "this tool lists what is active" in result.content
    assert "worldinfo_search finds" in result.content
    assert "worldinfo_search" not in (await read(desk(active(), bound={}), {"ref": ref})).content


async def test_a_whole_entry_has_at_most_8000_characters():
    assert not (await read(desk(active("x" * 8000)), {"ref": "worldinfo:town#3"})).is_error
    result = await read(desk(active("x" * 8001)), {"ref": "worldinfo:town#3"})
    assert result.error_code == "worldinfo.read_too_large"
    result = await read(desk(active("x" * 9000)), {"ref": "worldinfo:town#3", "max_chars": 8001})
    assert result.error_code == "worldinfo.read_too_large"


async def test_a_call_has_at_most_20000_characters():
    entries = [active("x" * 8000, uid=n) for n in range(3)]
    refs = [{"ref": f"worldinfo:town#{n}"} for n in range(3)]
    assert (await read(desk(*entries), *refs)).error_code == "worldinfo.read_too_large"
    refs[2]["max_chars"] = 4000
    assert not (await read(desk(*entries), *refs)).is_error


async def test_a_range_behind_the_end_is_an_error():
    result = await read(desk(active()), {"ref": "worldinfo:town#3", "start_char": 13})
    assert result.error_code == "worldinfo.invalid_entry_range"


@pytest.mark.parametrize(
    "entries",
    [[], [{"ref": "r"}] * 21, [{}], [{"ref": 3}], [{"ref": "r", "max_chars": 0}], [{"ref": "r", "x": 1}], "all"],
)
async def test_wrong_parameters_are_told(entries):
    result = await call(desk(active()), "worldinfo.read_activated", entries=entries)
    assert result.error_code == "tool.invalid_arguments"
    assert "entries" in result.content


# worldinfo.search


LORE = book(
    entry("mill", content="The old mill grinds at night.", comment="Mill"),
    entry("harbour", "quay", content="Ships come at dawn.", comment="Harbour"),
    entry("secret", content="Not for anybody. harbour", disable=True),
    entry("龙", content="一条红色的龙住在山谷里。", comment="龙"),
)


async def test_entries_that_are_not_active_are_searched_by_label_keys_and_content():
    at = desk(active(uid=0), books=[LORE])
    result = await search(at, "quay")
    assert result.content == (
        '1 found for "quay" among 2 entries that are not active.\n\n'
        'score 1.000, label "Harbour", world "town", keys: harbour, quay, 19 chars, 4 words\nShips come at dawn.'
    )
    assert result.structured["hits"] == [
        {"ref": "worldinfo:town#1", "world": "town", "label": "Harbour", "score": 1.0, "snippet": "Ships come at dawn."}
    ]
    assert result.resource_refs == ("worldinfo:town#1",)
    assert (await search(at, "mill night")).structured["hits"] == []  # it is active
    assert (await search(at, "secret")).structured["hits"] == []  # it is disabled
    assert [hit["label"] for hit in (await search(at, "红色的龙")).structured["hits"]] == ["龙"]


async def test_the_search_has_a_limit_and_a_snippet_size():
    lore = read_book(large_document(300), "town", "chat", "x")
    at = desk(books=[lore])
    result = await search(at, "belongs")
    assert len(result.structured["hits"]) == 10
    assert "The best 10 are shown." in result.content
    assert len((await search(at, "belongs", limit=50)).structured["hits"]) == 50
    long = desk(books=[book(entry("k", content="a" * 3000 + " needle " + "b" * 3000))])
    assert len((await search(long, "needle")).structured["hits"][0]["snippet"]) == 200
    assert len((await search(long, "needle", snippet_chars=4000)).structured["hits"][0]["snippet"]) == 4000
    for wrong in ({"limit": 0}, {"limit": 51}, {"snippet_chars": 39}, {"snippet_chars": 4001}):
        assert (await search(at, "x", **wrong)).error_code == "tool.invalid_arguments"
    for query in ("", " ", "?"):
        assert (await search(at, query)).error_code == "tool.invalid_arguments"


async def test_a_search_shows_at_most_20000_characters_of_contents():
    at = desk(books=[book(*(entry("k", content="needle " + "x" * 3990) for _ in range(9)))])
    result = await search(at, "needle", snippet_chars=4000)
    assert len(result.structured["hits"]) == 5
    assert "The best 5 are shown." in result.content


async def test_the_search_works_without_an_activation():
    assert (await search(WorldInfoDesk(None, (LORE,), NAMES.get), "mill")).structured["hits"]
    assert not (await search(WorldInfoDesk(None, (), NAMES.get), "mill")).is_error


async def test_an_active_entry_without_a_uid_is_not_found_again():
    nameless = book().model_copy(update={"entries": (entry("k", comment="X").model_copy(update={"uid": None}),)})
    assert (await search(desk(active(uid=None, display_name="X"), books=[nameless]), "words")).structured["hits"] == []
    assert (await search(desk(books=[nameless]), "words")).structured["hits"][0]["ref"] is None


@given(st.text(max_size=20), st.text(max_size=300), st.integers(40, 400))
async def test_any_search_has_a_result(query, content, size):
    result = await search(desk(books=[book(entry("k", content=content))]), query, snippet_chars=size)
    assert result.error_code in (None, "tool.invalid_arguments")
    if not result.is_error:
        assert all(len(hit["snippet"]) <= size for hit in result.structured["hits"])
