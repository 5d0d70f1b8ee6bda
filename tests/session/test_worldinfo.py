"""World info through whole runs: spec tauritavern §5.3, §16, §17.1, §17.3; what of it is in the run key: DESIGN §7."""

import json
import shutil

import pytest

from tt_kernel.domain.chat import FrozenChat
from tt_kernel.domain.errors import NotFound, ReplayMiss, StorageFault, UsageProblem
from tt_kernel.runtime.cells import Cell
from tt_kernel.runtime.chat import chat_messages
from tt_kernel.store.layout import user_folder

from ..fakes.lore import book, entry  # noqa: TID252  tests are no installed package
from .support import drive, make_session, replay, snapshot_of

SCRIPT = """
script: 1
turns:
  - call: worldinfo_read_activated
  - calls:
      - {call: worldinfo_read_activated, with: {entries: [{ref: "worldinfo:town#0"}]}}
      - {call: worldinfo_search, with: {query: orchard}}
  - say: Read.
"""
SAY = "script: 1\nturns:\n  - say: Yes."
TOOLS = ("worldinfo.read_activated", "worldinfo.search")
TOWN = book(
    entry("mill", content="The mill is old.", position=0),
    entry("mill", content="Grain is ground at night.", position=4, depth=0, role=1, order=5),
    entry("orchard", content="The orchard has plums."),
)


def lore(session, *books):
    for one in books:
        session.lookout.lore.save(one, replace=True)
    return session


def town(tmp_path, script=SAY):
    return lore(make_session(tmp_path, script), TOWN)


def cells(*sources):
    """The chat above a cell: its own text is the prompt, so it is not a part of it."""
    return lambda: FrozenChat(messages=chat_messages([Cell("code", source) for source in sources]))


def contents(run):
    return [record.result.content for record in run.tool_calls]


# In the prompt (§17.3)


def test_active_entries_stand_in_the_prompt_by_position(tmp_path):
    run, _ = drive(town(tmp_path), "tell me of the mill")
    system, prompt, deep, _ = run.messages
    assert system.text.startswith("The mill is old.\n\n")
    assert prompt.text == "tell me of the mill"
    assert (deep.role, deep.text, deep.source) == ("user", "Grain is ground at night.", "worldinfo")
    assert "plums" not in str(run.messages)


def test_an_entry_of_the_assistant_is_no_reply_of_the_model(tmp_path):
    session = lore(make_session(tmp_path, SAY), book(entry("mill", content="Hm.", position=4, depth=0, role=2)))
    run, _ = drive(session, "the mill")
    assert [(m.role, m.text) for m in run.messages[1:]] == [
        ("user", "the mill"),
        ("assistant", "Hm."),
        ("assistant", "Yes."),
    ]


def test_a_profile_can_keep_world_info_out_of_the_prompt(tmp_path):
    off = {"context.includeActivatedWorldInfo": False}
    run, _ = drive(town(tmp_path), "the mill", settings=off)
    assert len(run.messages) == 3
    assert not (run.folder / "input" / "worldinfo.json").exists()


def test_the_profile_says_how_books_are_scanned(tmp_path):
    session = lore(town(tmp_path), book(entry("mill", content="Other."), name="other"))
    chosen, _ = drive(session, "the mill", settings={"context.worldInfo.books": ["oth*"]})
    assert chosen.messages[0].text.startswith("Other.")
    assert "The mill is old." not in chosen.messages[0].text
    with pytest.raises(NotFound) as caught:
        session.prepare("the mill", settings={"context.worldInfo.books": ["twon"]})
    assert caught.value.code == "worldinfo.book_not_found"
    assert "town" in caught.value.message


def test_a_continued_conversation_gets_the_world_info_of_now(tmp_path):
    session = town(tmp_path, "script: 1\nturns:\n  - say: One.\n  - say: Two.")
    first, _ = drive(session, "the mill")
    assert "Grain is ground at night." in str(first.messages)
    second, _ = drive(session, "the orchard", continue_from=first)
    assert [m.text for m in second.messages[1:]] == ["the mill", "One.", "the orchard", "Two."]
    assert second.messages[0].text.startswith("The orchard has plums.")


def test_secrets_in_a_book_do_not_reach_the_model(tmp_path):
    session = lore(
        make_session(tmp_path, SAY), book(entry("mill", content="ghp_0123456789abcdefghijABCDEFGHIJ012345 opens it"))
    )
    run, _ = drive(session, "the mill")
    assert "ghp_" not in str(run.messages)
    assert "opens it" in run.messages[0].text


# Tools (§5.3)


def test_tools_read_the_frozen_snapshot_and_search_what_is_not_active(tmp_path):
    run, _ = drive(town(tmp_path, SCRIPT), "the mill", tools=TOOLS)
    index, read, found = contents(run)
    assert "2 entries" in index
    assert "worldinfo:town#0" in index
    assert read.endswith("The mill is old.")
    assert "plums" in found
    assert "worldinfo_search: look for background knowledge that is not active." in run.messages[0].text


def test_without_books_there_is_a_code(tmp_path):
    run, _ = drive(make_session(tmp_path, SCRIPT), "the mill", tools=TOOLS)
    assert [r.result.error_code for r in run.tool_calls] == ["worldinfo.activation_unavailable"] * 2 + [None]


def test_the_writer_reads_chat_and_world_info_and_the_assistant_does_not(tmp_path):
    session = make_session(tmp_path)
    names = {profile: {b.name for b in session.tools(profile).bindings} for profile in ("writer", "assistant")}
    assert {"chat_search", "chat_read_messages", "worldinfo_read_activated"} <= names[
        "writer"
    ]  # spec tauritavern §11.2b
    assert not [name for name in names["assistant"] if name.startswith(("chat_", "worldinfo_"))]


# The run key


def test_the_key_holds_books_only_where_there_are_some(tmp_path):
    session = make_session(tmp_path, SAY)
    bare = session.prepare("the mill").key
    assert session.prepare("the mill", settings={"context.worldInfo.scanDepth": 5}).key == bare
    session.lookout.chat = cells("a = 1")
    assert session.prepare("the mill").key == bare  # nothing of the run looks at the chat
    lore(session, TOWN)
    scanned = session.prepare("the mill").key
    session.lookout.chat = cells("a = 2")
    keys = {
        bare,
        scanned,
        session.prepare("the mill").key,
        session.prepare("the mill", settings={"context.worldInfo.scanDepth": 5}).key,
        lore(session, book(entry("mill", content="Edited."))).prepare("the mill").key,
    }
    assert len(keys) == 5
    assert (
        session.prepare("the mill", settings={"context.includeActivatedWorldInfo": False}).request.chat_digest is None
    )


def test_books_of_the_user_do_not_change_the_runs_of_a_notebook_unless_named(tmp_path):
    session = make_session(tmp_path, SAY)
    bare = session.prepare("the mill").key
    place = user_folder() / "worldinfo"
    place.mkdir(parents=True)
    (place / "mine.json").write_text(json.dumps(TOWN.document()), encoding="utf-8")
    try:
        assert session.prepare("the mill").key == bare
        named = session.prepare("the mill", settings={"context.worldInfo.books": ["mine"]})
        assert [e.world for e in named.activation.entries] == ["mine", "mine"]
    finally:
        shutil.rmtree(place)


# Replay


def test_a_run_is_replayed_to_the_byte(tmp_path):
    chancy = book(*(entry("mill", content=f"Chance {n}.", probability=50) for n in range(20)))
    live, _ = drive(lore(make_session(tmp_path, SCRIPT), chancy), "the mill", tools=TOOLS)
    before = snapshot_of(tmp_path)
    again, _ = drive(make_session(tmp_path), "the mill", tools=TOOLS, mode="replay")
    assert (again.replayed, again.id, again.messages, again.view) == (True, live.id, live.messages, live.view)
    assert snapshot_of(tmp_path) == before
    assert 0 < str(live.messages[0]).count("Chance") < 20


def test_each_repeat_rolls_its_own_dice(tmp_path):
    chancy = book(*(entry("mill", content=f"Chance {n}.", probability=50) for n in range(20)))
    session = lore(make_session(tmp_path, SAY), chancy)
    one, _ = drive(session, "the mill", cell="a", execution="1")
    two, _ = drive(session, "the mill", cell="b", execution="2")
    assert one.messages[0] != two.messages[0]


def test_a_run_is_replayed_by_its_id_after_its_book_changed(tmp_path):
    session = town(tmp_path, SCRIPT)
    live, _ = drive(session, "the mill", tools=TOOLS)
    lore(session, book(entry("mill", content="Torn down.")))
    with pytest.raises(ReplayMiss):
        drive(session, "the mill", tools=TOOLS, mode="replay")
    again = replay(make_session(tmp_path), live.id)
    assert (again.replayed, again.id, again.messages) == (True, live.id, live.messages)


def test_the_frozen_input_is_kept_and_books_only_where_they_are_searched(tmp_path):
    session = town(tmp_path, SCRIPT)
    session.lookout.chat = cells("a = 1")
    run, _ = drive(session, "the mill", tools=TOOLS)
    kept = {path.name for path in (run.folder / "input").iterdir()}
    assert {"chat.json", "worldinfo.json", "books.json", "messages.json", "snapshot.json"} == kept
    activation = json.loads((run.folder / "input" / "worldinfo.json").read_text())
    assert activation["timestampMs"] > 0
    assert [e["uid"] for e in activation["entries"]] == [1, 0]
    plain, _ = drive(town(tmp_path / "two"), "the mill")
    assert not (plain.folder / "input" / "books.json").exists()


@pytest.mark.parametrize(
    ("name", "code"),
    [("worldinfo", "agent.invalid_worldinfo_activation_snapshot"), ("chat", "agent.input_history_conflict")],
)
def test_a_damaged_input_stops_what_needs_it(tmp_path, name, code):
    session = town(tmp_path)
    session.lookout.chat = cells("a = 1")
    run, _ = drive(session, "the mill")
    (run.folder / "input" / f"{name}.json").write_text('{"messages": [], "entries": 3}', encoding="utf-8")
    with pytest.raises(StorageFault) as caught:
        session.prepare_replay(run.id)
    assert caught.value.code == code


def test_a_revision_has_the_world_info_of_the_run_it_revises(tmp_path):
    session = town(tmp_path, "script: 1\nturns:\n  - say: One.\n  - call: worldinfo_read_activated\n  - say: Two.")
    first, _ = drive(session, "the mill", tools=TOOLS)
    lore(session, book(entry("mill", content="Torn down.")))
    prepared = session.prepare_fix(first.id, "shorter")
    assert [e.content for e in prepared.activation.entries] == ["Grain is ground at night.", "The mill is old."]


# Timed effects (§16.2)


def test_a_sticky_entry_stays_in_the_next_cell_and_repeating_changes_nothing(tmp_path):
    session = lore(make_session(tmp_path, SAY), book(entry("mill", content="The mill is old.", sticky=5)))
    session.lookout.chat = cells("top")
    drive(session, "the mill")
    timed = session.folder.worldinfo / "state" / "timed.json"
    assert len(json.loads(timed.read_text())["records"]) == 1
    session.lookout.chat = cells("top", "%%agent\nthe mill", "x = 1", "y = 2")
    later, _ = drive(session, "what else?")
    assert later.messages[0].text.startswith("The mill is old.")
    before = timed.read_bytes()
    fresh = make_session(tmp_path)
    fresh.lookout.chat = cells("top")
    again, _ = drive(fresh, "the mill", mode="replay")
    assert again.replayed
    assert timed.read_bytes() == before


def test_a_replay_by_id_leaves_the_timed_effects_alone(tmp_path):
    session = lore(make_session(tmp_path, SAY), book(entry("mill", sticky=5)))
    run, _ = drive(session, "the mill")
    timed = session.folder.worldinfo / "state" / "timed.json"
    timed.unlink()
    replay(session, run.id)
    assert not timed.exists()


def test_a_broken_book_is_named_before_the_run_starts(tmp_path):
    session = town(tmp_path)
    (session.folder.worldinfo / "broken.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageProblem) as caught:
        session.prepare("the mill")
    assert caught.value.code == "worldinfo.book_invalid"
    assert "broken.json" in caught.value.message
