"""spec tauritavern §17.1: the frozen input of a run; DESIGN §7: what of it is in the run key."""

from tt_kernel.domain.chat import FrozenChat
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.worldinfo import CharacterFilter, TimedState, WorldInfoSettings
from tt_kernel.runtime.cells import Answer, Cell, CellOutputs
from tt_kernel.runtime.chat import chat_messages
from tt_kernel.runtime.surroundings import Surroundings, scene_of

from ..fakes.lore import CHANCE, book, entry  # noqa: TID252  tests are no installed package


def frozen(*cells):
    return FrozenChat(messages=chat_messages(cells))


CHAT = frozen(
    Cell("code", "%%agent\nWho keeps the mill?", CellOutputs(answers=(Answer("writer", "Bram, at the quay."),)))
)


def test_the_prompt_and_the_latest_messages_are_scanned():
    around = Surroundings(CHAT, (book(entry("mill"), entry("quay"), entry("now")),))
    found = around.activation("and now?", CHANCE, 17)
    assert [e.display_name for e in found.entries] == ["now", "quay"]  # the first message is out of the depth of 2
    assert found.timestamp_ms == 17
    assert [e.display_name for e in Surroundings(None, around.books).activation("the mill", CHANCE).entries] == ["mill"]


def test_without_books_nothing_is_activated():
    assert Surroundings(CHAT).activation("mill", CHANCE) is None
    assert Surroundings(CHAT).timed_after("mill", None) == TimedState()


def test_timed_effects_go_from_run_to_run():
    books = (book(entry("mill", sticky=9)),)
    first = Surroundings(frozen(Cell("markdown", "# T")), books)
    state = first.timed_after("the mill", first.activation("the mill", CHANCE))
    assert len(state.records) == 1
    above = frozen(
        Cell("markdown", "# T"), Cell("code", "%%agent\nthe mill"), Cell("code", "x = 1"), Cell("code", "y = 2")
    )
    later = Surroundings(above, books, timed=state).activation("something else", CHANCE)
    assert [(e.display_name, e.reason) for e in later.entries] == [("mill", "sticky")]


def test_the_key_holds_what_the_run_can_see():
    books = (book(entry("a")),)
    other_chat = frozen(Cell("code", "other"))
    unseen, other = Surroundings(CHAT), Surroundings(other_chat)
    assert unseen.key("p", reads_chat=False) == other.key("p", reads_chat=False)
    assert unseen.key("p", reads_chat=True) != other.key("p", reads_chat=True)
    whole = Surroundings(CHAT, books)
    others = [
        Surroundings(other_chat, books),
        Surroundings(CHAT, (book(entry("b")),)),
        Surroundings(CHAT, books, WorldInfoSettings(scan_depth=5)),
    ]
    assert all(one.key("p", reads_chat=False) != whole.key("p", reads_chat=False) for one in others)
    assert whole.key("p", reads_chat=True) == whole.key("p", reads_chat=False)


def test_the_key_stays_when_a_run_is_repeated_and_changes_with_an_effect():
    books = (book(entry("mill", sticky=2, cooldown=1)),)
    top, below = frozen(Cell("markdown", "# T")), frozen(Cell("markdown", "# T"), Cell("code", "%%agent\nthe mill"))
    first = Surroundings(top, books)
    state = first.timed_after("the mill", first.activation("the mill", CHANCE))
    again = Surroundings(top, books, timed=state)
    assert again.key("the mill", reads_chat=False) == first.key("the mill", reads_chat=False)
    without, sticky = Surroundings(below, books), Surroundings(below, books, timed=state)
    assert sticky.key("x", reads_chat=False) != without.key("x", reads_chat=False)
    assert sticky.timed_after("x", sticky.activation("x", CHANCE)) == state


def test_the_profile_is_the_character():
    profile = Profile(id="writer", display_name="The Writer", description="Knows every mill.")
    books = (
        book(
            entry("{{char}} and {{user}}", content="{{char}}", comment="macros"),
            entry("x", comment="mine", character_filter=CharacterFilter(names=("Writer",))),
            entry("x", comment="not mine", character_filter=CharacterFilter(names=("writer",), is_exclude=True)),
            entry("mill", comment="asks", match_character_description=True),
        ),
    )
    around = Surroundings(None, books, scene=scene_of(profile, {"User": "Ilse"}))
    found = around.activation("x: The Writer and Ilse", CHANCE)
    assert sorted(e.display_name for e in found.entries) == ["asks", "macros", "mine"]
    assert next(e.content for e in found.entries if e.display_name == "macros") == "The Writer"


def test_a_revision_is_another_trigger():
    around = Surroundings(None, (book(entry("a", triggers=("regenerate",))),))
    assert around.activation("a", CHANCE).entries == ()
    assert len(around.triggered_by("regenerate").activation("a", CHANCE).entries) == 1


def test_a_run_that_is_made_again_has_what_was_active_then():
    first = Surroundings(None, (book(entry("a", sticky=3)),))
    stored = first.activation("a", CHANCE)
    again = Surroundings(None, (book(entry("other")),), stored=stored)
    assert again.activation("anything", CHANCE) == stored
    assert again.timed_after("anything", stored) == TimedState()
