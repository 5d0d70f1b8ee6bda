"""Lorebooks as documents: DESIGN §4, issue 3 item 2; spec tauritavern §16."""

import base64
import json
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.canonical import canonical_json
from tt_kernel.domain.errors import NotFound, StorageFault, UsageProblem
from tt_kernel.domain.worldinfo import LoreBook, LoreEntry, TimedRecord, TimedState
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.lorebooks import from_character_book, read_book
from tt_kernel.store.worldinfo import MAX_RECORDS, LoreShelf, file_name, load_timed, save_timed

from ..fakes.lore import character_book, large_document  # noqa: TID252  tests are no installed package


@pytest.fixture
def folder(tmp_path):
    return AgentFolder(tmp_path / "story.agent")


@pytest.fixture
def shelf(folder, tmp_path):
    return LoreShelf(folder, tmp_path / "user")


def put(folder, name, document):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(document if isinstance(document, str) else json.dumps(document), "utf-8")


def png(*chunks):
    """A picture of one pixel with text chunks (kind, body)."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 6, 0, 0, 0))
    data = chunk(b"IDAT", zlib.compress(b"\0\0\0\0\0"))
    texts = b"".join(chunk(kind, body) for kind, body in chunks)
    return b"\x89PNG\r\n\x1a\n" + head + texts + data + chunk(b"IEND", b"")


def card(book, **data):
    return {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Nyx", "character_book": book, **data}}


# Reading


def test_an_export_with_hundreds_of_entries_and_odd_fields_is_read_and_kept():
    document = large_document(400)
    book = read_book(document, "Vael", "chat", "Vael.json")
    assert len(book.entries) == 400
    assert [e.uid for e in book.entries[:12]] == list(range(12))  # by number, as JavaScript keeps them
    # Every member of the export is there again, with its very value.
    written = book.document()
    assert set(document) <= set(written)
    for key, entry in document["entries"].items():
        for name, value in entry.items():
            assert canonical_json(written["entries"][key][name]) == canonical_json(value)
    assert read_book(written, "Vael", "chat", "x") == book


def test_odd_values_are_understood_or_count_as_the_default():
    entries = {e.uid: e for e in read_book(large_document(10), "Vael", "chat", "x").entries}
    assert entries[0].extra["id_from_another_program"] == "e-0"
    assert (entries[1].order, entries[1].probability, entries[1].extra["order"]) == (75, 100, "75")
    assert (entries[2].delay_until_recursion, entries[2].sticky) == (1, 2)
    assert (entries[3].key, entries[3].lore_role, entries[3].outlet_name) == (("mill 3", "Ферапонт3"), "user", "notes")
    assert (entries[4].selective, entries[4].character_filter.names) == (True, ())
    assert (entries[5].depth, entries[5].groups, entries[5].triggers) == (0, (), ("normal", "continue"))
    assert (entries[6].content, entries[6].comment, entries[6].label) == ("", "12", "12")


def test_labels_and_groups():
    assert LoreEntry(comment=" A ").label == "A"
    assert LoreEntry(key=(" ", " b "), uid=3).label == "b"
    assert LoreEntry(uid=3).label == "3"
    assert LoreEntry().label == ""
    assert LoreEntry(group=" a, b ,,a").groups == ("a", "b")


def test_uids_are_unique_or_missing():
    document = {"entries": {"0": {"uid": 5}, "1": {"uid": 5}, "x": {}, "2": {"uid": True}, "3": {"uid": "2"}}}
    assert [e.uid for e in read_book(document, "w", "chat", "w").entries] == [5, 1, 2, 3, "x"]
    listed = {"entries": [{"uid": 1}, {"uid": 1}, {}]}
    book = read_book(listed, "w", "chat", "w")
    assert [e.uid for e in book.entries] == [1, None, None]
    assert list(book.document()["entries"]) == ["1", "0", "2"]


def test_a_character_cards_book_is_turned_into_sillytaverns_shape():
    book = read_book(character_book(6), "w", "character", "card")
    first, second, third, fourth, *_, last = book.entries
    assert [e.uid for e in book.entries] == [1, 2, 3, 4, 5, 6]
    assert (first.key, first.order, first.constant, first.position, first.selective) == (
        ("lantern 0", "灯"), 50, True, 0, False,
    )  # fmt: skip
    assert (second.keysecondary, second.logic, second.place) == (("oil",), "and_all", "after")
    assert third.exclude_recursion
    assert fourth.disable
    assert (last.place, last.depth, last.lore_role) == ("depth", 2, "assistant")
    assert (first.probability, first.groups, first.group_weight, first.scan_depth) == (40, ("lanterns",), 10, 7)
    assert (first.sticky, first.cooldown, first.delay, first.triggers) == (3, 1, 2, ("normal",))
    assert (first.case_sensitive, first.ignore_budget, first.outlet_name, first.match_scenario) == (
        True,
        True,
        "lamp",
        True,
    )
    assert first.prevent_recursion
    assert first.extra["extensions"]["plugin_x"] == {"kept": True}
    assert first.extra["priority"] == 10


def test_a_card_entry_without_extensions_has_its_own_position_and_number():
    entry = from_character_book({"keys": ["a"], "content": "c", "position": "after_char", "insertion_order": 3}, 7)
    book = read_book({"entries": [entry]}, "w", "chat", "w")
    assert (book.entries[0].uid, book.entries[0].place, book.entries[0].order) == (7, "after", 3)


def test_version_3_entries_may_say_that_their_keys_are_expressions():
    raw = {"keys": ["drag(on|oon)", "/x/g", "a/b"], "secondary_keys": ["y+"], "use_regex": True, "content": ""}
    assert from_character_book(raw, 0)["key"] == ["/drag(on|oon)/i", "/x/g", "/a\\/b/i"]
    assert from_character_book({**raw, "case_sensitive": True}, 0)["keysecondary"] == ["/y+/"]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "no lorebook"),
        ({}, "no `entries`"),
        ({"entries": "x"}, "no `entries`"),
        ({"entries": {"4": 3}}, "entry '4' is 3, not an object"),
        ({"entries": [{}, []]}, "entry number 2 is a list, not an object"),
    ],
)
def test_what_is_no_lorebook_is_told(document, said):
    with pytest.raises(UsageProblem) as caught:
        read_book(document, "w", "chat", "worldinfo/w.json")
    assert caught.value.code == "worldinfo.book_invalid"
    assert said in caught.value.message
    assert "worldinfo/w.json" in caught.value.message


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = sorted(LoreEntry().document())
_CARD_FIELDS = [
    "keys",
    "secondary_keys",
    "insertion_order",
    "enabled",
    "use_regex",
    "extensions",
    "id",
    "name",
    "position",
]


@given(
    st.dictionaries(st.text(max_size=4), st.dictionaries(st.sampled_from(_FIELDS) | st.text(max_size=6), _JSON)),
    st.text(),
)
def test_any_entry_is_read_and_its_members_survive(entries, name):
    book = read_book({"entries": entries, name: 1} if name != "entries" else {"entries": entries}, "w", "chat", "w")
    written = json.loads(json.dumps(book.document()))["entries"]
    for raw in entries.values():
        if "keys" in raw and "key" not in raw:
            continue  # of a character card: it is translated, and the import keeps the original
        assert any(
            all(k in found and canonical_json(found[k]) == canonical_json(v) for k, v in raw.items())
            for found in written.values()
        )


@given(st.lists(st.dictionaries(st.sampled_from(_CARD_FIELDS) | st.sampled_from(_FIELDS), _JSON), max_size=4))
def test_any_card_entry_is_read(entries):
    book = read_book({"entries": entries}, "w", "chat", "w")
    assert len(book.entries) == len(entries)
    json.dumps(book.document())


# The shelf


def test_the_notebooks_book_comes_before_the_users(shelf, folder, tmp_path):
    put(folder.worldinfo, "town", {"entries": {"0": {"comment": "near"}}})
    put(tmp_path / "user" / "worldinfo", "town", {"entries": {"0": {"comment": "far"}}})
    put(tmp_path / "user" / "worldinfo", "sea", {"entries": {}})
    assert shelf.names() == [("sea", "user"), ("town", "notebook")]
    assert shelf.load("town").entries[0].comment == "near"
    assert [(b.name, b.source) for b in shelf.books()] == [("sea", "global"), ("town", "chat")]


def test_books_are_chosen_by_name_or_glob(shelf, folder):
    for name in ("a1", "a2", "b"):
        put(folder.worldinfo, name, {"entries": {}})
    assert [b.name for b in shelf.books(["a*"])] == ["a1", "a2"]
    assert [b.name for b in shelf.books(["b", "zz*"])] == ["b"]
    assert shelf.books([]) == ()
    with pytest.raises(NotFound):
        shelf.books(["a1", "missing"])


def test_a_book_is_read_again_only_after_it_changed(shelf, folder):
    put(folder.worldinfo, "town", {"entries": {"0": {"comment": "one"}}})
    first = shelf.load("town")
    assert shelf.load("town") is first
    put(folder.worldinfo, "town", {"entries": {"0": {"comment": "two!"}}})
    assert shelf.load("town").entries[0].comment == "two!"


def test_a_missing_book_names_the_near_ones(shelf, folder):
    with pytest.raises(NotFound) as caught:
        shelf.load("town")
    assert caught.value.code == "worldinfo.book_not_found"
    assert "story.agent/worldinfo/" in caught.value.message
    put(folder.worldinfo, "town", {"entries": {}})
    with pytest.raises(NotFound, match="town"):
        shelf.load("twon")


def test_a_broken_file_is_named(shelf, folder):
    put(folder.worldinfo, "town", '{"entries": ')
    with pytest.raises(UsageProblem) as caught:
        shelf.load("town")
    assert caught.value.code == "worldinfo.book_invalid"
    assert "town.json" in caught.value.message
    put(folder.worldinfo, "nan", '{"entries": {"0": {"order": NaN}}}')
    with pytest.raises(UsageProblem):
        shelf.load("nan")


def test_a_book_says_whose_lore_it_is(shelf, folder):
    put(folder.worldinfo, "me", {"entries": {}, "extensions": {"tt_kernel": {"source": "persona"}}})
    put(folder.worldinfo, "odd", {"entries": {}, "extensions": {"tt_kernel": {"source": "else"}}})
    assert [b.source for b in shelf.books()] == ["persona", "chat"]


def test_a_book_is_saved_once_unless_it_is_to_be_replaced(shelf):
    path = shelf.save(LoreBook(name="new", entries=(LoreEntry(uid=1, key=("a",)),)))
    assert json.loads(path.read_text("utf-8"))["entries"]["1"]["key"] == ["a"]
    with pytest.raises(UsageProblem) as caught:
        shelf.save(LoreBook(name="new"))
    assert caught.value.code == "worldinfo.book_exists"
    shelf.save(LoreBook(name="new"), replace=True)
    assert shelf.load("new").entries == ()
    with pytest.raises(UsageProblem) as caught:
        shelf.save(LoreBook(name="../new"))
    assert caught.value.code == "worldinfo.name_invalid"


@given(st.text(max_size=200))
def test_every_name_becomes_a_file_name(name):
    clean = file_name(name)
    assert clean
    assert len(clean.encode("utf-8", "surrogatepass")) <= 90
    assert not set('<>:"/\\|?*\0') & set(clean)
    assert clean == clean.strip(" .") or clean.endswith("_")
    assert file_name(clean) == clean
    assert clean.lower() not in ("con", "nul", "com1", ".", "..")


# Import


def test_a_json_export_is_imported_as_it_is(shelf, tmp_path):
    path = tmp_path / "My: Book.json"
    path.write_text("\ufeff" + json.dumps(large_document(30)), "utf-8")
    book = shelf.import_file(path)
    assert book.name == "My_ Book"
    assert shelf.load("My_ Book") == book
    stored = json.loads((shelf._agent_folder.worldinfo / "My_ Book.json").read_text("utf-8"))
    assert stored["extensions"] == large_document(1)["extensions"]
    assert stored["originalData"]["name"] == "Vael"


def test_an_export_that_names_itself_is_called_so(shelf, tmp_path):
    (tmp_path / "x.json").write_text(json.dumps({"name": "Vael 谷", "entries": {}}), "utf-8")
    assert shelf.import_file(tmp_path / "x.json").name == "Vael 谷"
    assert shelf.import_file(tmp_path / "x.json", "other").name == "other"
    with pytest.raises(UsageProblem) as caught:
        shelf.import_file(tmp_path / "x.json")
    assert caught.value.code == "worldinfo.book_exists"


@pytest.mark.parametrize("kind", ["json", "tEXt", "zTXt", "ccv3"])
def test_the_book_of_a_character_card_is_imported(shelf, tmp_path, kind):
    text = json.dumps(card(character_book(5)), ensure_ascii=False).encode()
    coded = base64.b64encode(text)
    path = tmp_path / ("card.json" if kind == "json" else "card.png")
    path.write_bytes(
        {
            "json": text,
            "tEXt": png((b"tEXt", b"chara\0" + coded)),
            "zTXt": png((b"zTXt", b"chara\0\0" + zlib.compress(coded))),
            "ccv3": png((b"tEXt", b"chara\0" + base64.b64encode(b"{}")), (b"tEXt", b"ccv3\0" + coded)),
        }[kind]
    )
    book = shelf.import_file(path)
    assert (book.name, book.source, len(book.entries)) == ("Lanterns of Vael", "character", 5)
    again = shelf.load("Lanterns of Vael")
    assert again.source == "character"
    assert again.entries == book.entries
    assert again.extra["originalData"] == character_book(5)  # whole, odd fields and all
    assert again.extra["extensions"] == {"risu": {"bias": []}, "tt_kernel": {"source": "character", "character": "Nyx"}}


def test_a_card_written_by_the_library_is_read(shelf, tmp_path):
    from tavern_card import parse_card, write_png_card

    (tmp_path / "a.png").write_bytes(write_png_card(parse_card(card({"entries": [{"keys": ["k"], "content": "c"}]}))))
    book = shelf.import_file(tmp_path / "a.png")
    assert (book.name, book.entries[0].key, book.entries[0].content) == ("Nyx", ("k",), "c")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"plain", "neither JSON nor PNG"),
        (b"\xff\xfe\x00", "neither JSON nor PNG"),
        (b'{"entries": {"0": {"order": Infinity}}}', "neither JSON nor PNG"),
        (b"[" * 100_000, "neither JSON nor PNG"),
        (b"[]", "a JSON list"),
        (b"{}", "a JSON object without entries"),
        (b'{"lorebookVersion": 5, "entries": []}', "a NovelAI lorebook"),
        (b'{"kind": "memory", "entries": 3}', "an Agnai memory book"),
        (b'{"type": "risu", "data": []}', "a Risu lorebook"),
        (b'{"spec": "chara_card_v2", "data": {"name": "N"}}', "has no lorebook inside"),
        (b'{"spec": "chara_card_v2", "data": {}}', "missing 'name'"),
        (b'{"spec": "chara_card_v2", "data": {"name": "N", "tags": 3}}', "no character card"),
        (b'{"char_name": 5}', "no character card"),
        (png(), "no chara/ccv3"),
        (png((b"tEXt", b"chara\0%%%")), "no character card"),
        (png((b"zTXt", b"chara\0\0" + zlib.compress(b"0" * 9_000_000))), "bomb"),
        (png()[:20], "no chara/ccv3"),
    ],
)
def test_what_cannot_be_imported_is_told(shelf, tmp_path, content, said):
    path = tmp_path / "thing.json"
    path.write_bytes(content)
    with pytest.raises(UsageProblem) as caught:
        shelf.import_file(path)
    assert caught.value.code == "worldinfo.import_unsupported"
    assert said in caught.value.message
    assert "thing.json" in caught.value.message


def test_a_missing_file_is_a_storage_fault(shelf, tmp_path):
    with pytest.raises(StorageFault, match=r"none\.json"):
        shelf.import_file(tmp_path / "none.json")


@given(st.binary(max_size=60), st.booleans())
def test_any_bytes_are_refused_or_imported(tmp_path_factory, data, as_png):
    folder = tmp_path_factory.mktemp("x")
    (folder / "f").write_bytes(png((b"tEXt", b"chara\0" + data)) if as_png else data)
    with pytest.raises(UsageProblem):
        LoreShelf(AgentFolder(folder / "a.agent"), folder / "user").import_file(folder / "f")


# Timed effects


def record(n):
    return TimedRecord(world="w", uid=n, at=n, anchor="a", fingerprint="f")


def test_the_timed_state_is_a_small_document_beside_the_books(folder):
    assert load_timed(folder) == TimedState()
    state = TimedState(records=(record(1), record(2)))
    save_timed(folder, state)
    path = folder.worldinfo / "state" / "timed.json"
    assert load_timed(folder) == state
    before = path.stat().st_mtime_ns
    save_timed(folder, state)
    assert path.stat().st_mtime_ns == before
    assert LoreShelf(folder, folder.root / "none").names() == []


def test_the_timed_state_keeps_the_newest(folder):
    save_timed(folder, TimedState(records=tuple(record(n) for n in range(MAX_RECORDS + 5))))
    records = load_timed(folder).records
    assert len(records) == MAX_RECORDS
    assert records[-1].at == MAX_RECORDS + 4


def test_a_damaged_timed_state_counts_as_none(folder):
    path = folder.worldinfo / "state" / "timed.json"
    path.parent.mkdir(parents=True)
    for damaged in ("", "{", '{"records": [1]}', "[]"):
        path.write_text(damaged)
        assert load_timed(folder) == TimedState()


def test_nothing_to_remember_makes_no_folder(folder):
    save_timed(folder, TimedState())
    assert not folder.root.exists()
