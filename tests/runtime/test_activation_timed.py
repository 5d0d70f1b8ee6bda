"""spec tauritavern §16.2 "timed effects": sticky, cooldown, delay, in the messages of a notebook."""

from tt_kernel.domain.worldinfo import TimedState, WorldInfoSettings
from tt_kernel.runtime.activation import activate, remembered

from ..fakes.lore import CHANCE, book, chat, entry  # noqa: TID252  tests are no installed package


class Notebook:
    """Runs on a chat of growing length, with one memory."""

    def __init__(self, lore):
        self.lore = lore
        self.state = TimedState()

    def run(self, *texts, settings=None):
        messages = chat(*texts)
        result = activate([self.lore], messages, settings or WorldInfoSettings(scan_depth=1), CHANCE, self.state)
        self.state = remembered(self.state, result, [self.lore], messages)
        return [(e.display_name, e.reason) for e in result.entries]


def texts(count, last="x"):
    return (*(f"m{n}" for n in range(count - 1)), last)


def test_sticky_then_cooldown_then_free_again():
    notebook = Notebook(book(entry("a", sticky=3, cooldown=2)))
    base = texts(3, "a")
    assert notebook.run(*base) == [("a", "key")]
    grown = [base + tuple(f"n{n}" for n in range(1, k)) for k in range(2, 9)]
    assert [bool(notebook.run(*g)) for g in grown[:3]] == [True, True, True]  # 3 messages after the activation
    assert notebook.run(*grown[3], settings=WorldInfoSettings(scan_depth=9)) == []  # cooldown, though the key is there
    assert notebook.run(*grown[4], settings=WorldInfoSettings(scan_depth=9)) == []
    assert notebook.run(*grown[5], settings=WorldInfoSettings(scan_depth=9)) == [("a", "key")]


def test_a_trigger_while_sticky_does_not_refresh():
    notebook = Notebook(book(entry("a", sticky=2)))
    assert notebook.run("a") == [("a", "key")]
    assert notebook.run("a", "a again") == [("a", "sticky")]
    assert notebook.run("a", "a again", "x") == [("a", "sticky")]
    assert notebook.run("a", "a again", "x", "y") == []


def test_a_sticky_entry_needs_no_luck():
    lucky = book(entry("a", sticky=5, probability=100))
    notebook = Notebook(lucky)
    notebook.run("a")
    assert notebook.state.records
    unlucky = entry("a", sticky=5, probability=0).model_copy(update={"uid": 0})
    notebook.lore = book(unlucky)
    state = notebook.state.records[0].model_copy(update={"fingerprint": unlucky.fingerprint})
    notebook.state = TimedState(records=(state,))
    assert notebook.run("a", "x") == [("a", "sticky")]


def test_a_sticky_member_wins_its_group():
    notebook = Notebook(
        book(
            entry("a", group="g", sticky=4, comment="sticky"),
            entry("b", group="g", comment="other", group_override=True, order=999),
        )
    )
    notebook.run("a")
    assert notebook.run("a", "b") == [("sticky", "sticky")]


def test_delay_waits_for_messages():
    lore = book(entry("a", delay=3))
    assert Notebook(lore).run("x", "a") == []
    assert Notebook(lore).run("x", "x", "a") == [("a", "key")]


def test_cooldown_alone_bars_the_next_messages():
    notebook = Notebook(book(entry("a", cooldown=1)))
    assert notebook.run("a") == [("a", "key")]
    assert notebook.run("a", "a!") == []
    assert notebook.run("a", "a!", "a?") == [("a", "key")]


def test_running_a_cell_again_gives_the_same():
    notebook = Notebook(book(entry("a", sticky=2, cooldown=3)))
    first = [notebook.run("a"), notebook.run("a", "x"), notebook.run("a", "x", "y"), notebook.run("a", "x", "y", "a!")]
    state = notebook.state
    again = [notebook.run("a"), notebook.run("a", "x"), notebook.run("a", "x", "y"), notebook.run("a", "x", "y", "a!")]
    assert again == first
    assert sorted(map(str, notebook.state.records)) == sorted(map(str, state.records))
    # A single cell in the middle, and then one further down.
    assert notebook.run("a", "x") == first[1]
    assert notebook.run("a", "x", "y", "a!") == first[3]


def test_a_cell_that_no_longer_activates_leaves_nothing():
    notebook = Notebook(book(entry("a", sticky=5)))
    notebook.run("x", "a")
    notebook.run("x", "b")  # the same cell with another prompt
    assert notebook.run("x", "b", "c") == []


def test_cells_inserted_above_move_the_effect():
    notebook = Notebook(book(entry("a", sticky=2)))
    notebook.run("x", "a")
    assert notebook.run("new", "new 2", "x", "a", "y") == [("a", "sticky")]
    assert notebook.run("new", "new 2", "x", "a", "y", "z", "z") == []


def test_an_effect_ends_with_its_prompt_or_an_edit_of_its_entry():
    notebook = Notebook(book(entry("a", sticky=9)))
    notebook.run("x", "a")
    assert notebook.run("x", "gone", "y") == []
    assert notebook.run("x", "a", "y") == [("a", "sticky")]
    notebook.lore = book(entry("a", sticky=9, content="edited"))
    assert notebook.run("x", "a", "y") == []


def test_equal_prompts_are_told_apart_by_their_place():
    notebook = Notebook(book(entry("go", sticky=1)))
    notebook.run("go")
    notebook.run("go", "x", "y", "go")
    assert len(notebook.state.records) == 2
    assert notebook.run("go", "x") == [("go", "sticky")]
    assert notebook.run("go", "x", "y") == []
    assert notebook.run("go", "x", "y", "go", "z") == [("go", "sticky")]


def test_entries_without_effects_are_not_remembered():
    notebook = Notebook(book(entry("a"), entry("a", delay=1)))
    notebook.run("a")
    assert notebook.state == TimedState()
