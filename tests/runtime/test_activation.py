"""spec tauritavern §16.2: the scan as a whole: order, budget, recursion, min activations, groups, probability."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.worldinfo import LoreEntry, WorldInfoSettings
from tt_kernel.runtime.activation import Macros, Scene, activate
from tt_kernel.runtime.activation.snapshot import thaw_activation
from tt_kernel.store.lorebooks import read_book

from ..fakes.lore import CHANCE, active, book, chat, entry, large_document  # noqa: TID252  tests are no installed package

FLAT = WorldInfoSettings(recursive=False)


def seeded(seed):
    return lambda name: random.Random(f"{seed}{name}")


def always(value):
    """A chance that gives one number."""

    class Fixed(random.Random):
        def random(self):
            return value

    return lambda _name: Fixed()


# §16.1: what is captured


def test_an_activated_entry_carries_what_the_snapshot_has():
    lore = book(
        entry("a", content="A.", comment="  Title ", position=4, depth=2, role=1),
        entry("", " b", content="B.", position=7, outlet_name="out "),
        entry("a", content="C.", constant=True, position=12),
        LoreEntry(uid=9, constant=True, content="D."),
    )
    result = activate([lore], chat("a b"), FLAT, CHANCE)
    found = {e.uid: e for e in result.entries}
    assert result.trigger == "normal"
    assert (found[0].world, found[0].display_name, found[0].position, found[0].depth, found[0].role) == (
        ("town", "Title", "depth", 2, "user")
    )
    assert (found[1].display_name, found[1].position, found[1].outlet) == ("b", "outlet", "out")
    assert (found[2].constant, found[2].position) == (True, None)
    assert found[9].display_name == "9"


def test_positions_0_to_7_have_names():
    lore = book(*(entry(constant=True, position=n, order=n) for n in range(8)))
    names = [e.position for e in activate([lore], chat("x"), FLAT, CHANCE).entries]
    assert names == ["before", "after", "an_top", "an_bottom", "depth", "em_top", "em_bottom", "outlet"]


def test_a_damaged_snapshot_is_fatal():
    result = activate([book(entry("a"))], chat("a"), FLAT, CHANCE)
    assert thaw_activation(result.model_dump(mode="json")) == result
    for damaged in ({"entries": [{"world": 3}]}, [], None, {"entries": "x"}):
        with pytest.raises(StorageFault) as caught:
            thaw_activation(damaged)
        assert caught.value.code == "agent.invalid_worldinfo_activation_snapshot"


# Order


def test_entries_are_placed_by_insertion_order_the_higher_the_later():
    lore = book(entry("a", order=5, comment="5"), entry("a", order=1, comment="1"), entry("a", order=9, comment="9"))
    assert active(lore, "a") == ["1", "5", "9"]


@pytest.mark.parametrize(
    ("strategy", "taken"),
    [
        ("character_first", ["chat", "persona", "character"]),
        ("global_first", ["chat", "persona", "global"]),
        ("evenly", ["chat", "persona", "global"]),
    ],
)
def test_the_order_of_sources_decides_who_gets_the_budget(strategy, taken):
    text = "x" * 40  # 11 tokens with its line end
    books = [
        book(entry("a", content=text, comment=source, order=order), name=source, source=source)
        for source, order in (("global", 300), ("character", 200), ("persona", 1), ("chat", 0))
    ]
    limits = WorldInfoSettings(strategy=strategy, context_tokens=1000, budget_percent=3.5, recursive=False)
    assert limits.budget == 35
    assert sorted(active(books, "a", settings=limits)) == sorted(taken)


# Budget


def test_the_budget_is_25_percent_of_the_context_with_an_optional_cap():
    assert WorldInfoSettings(context_tokens=8000).budget == 2000
    assert WorldInfoSettings(context_tokens=8000, budget_cap=500).budget == 500
    assert WorldInfoSettings(context_tokens=8000, budget_cap=5000).budget == 2000
    assert WorldInfoSettings(context_tokens=10, budget_percent=0).budget == 1


def test_the_first_overflow_stops_the_others_but_not_those_that_ignore_the_budget():
    lore = book(
        entry("a", content="x" * 19, comment="fits", order=9),
        entry("a", content="x" * 99, comment="too long", order=8),
        entry("a", content="x", comment="would fit", order=7),
        entry("a", content="x" * 999, comment="exempt", order=6, ignore_budget=True),
    )
    limits = WorldInfoSettings(context_tokens=40)
    result = activate([lore], chat("a"), limits, CHANCE)
    assert [e.display_name for e in result.entries] == ["exempt", "fits"]
    assert result.overflowed


def test_after_an_overflow_nothing_is_scanned_again():
    lore = book(entry("a", content="b " * 8, order=200), entry("a", content="x" * 999), entry("b", content="c"))
    assert active(lore, "a", settings=WorldInfoSettings(context_tokens=60)) == ["a"]


# Recursion


BESSIE = (entry("Bessie", content="Bessie is a cow and a friend of Rufus."), entry("Rufus", content="Rufus: a dog."))


def test_contents_of_active_entries_activate_others():
    assert sorted(active(book(*BESSIE), "I see Bessie")) == ["Bessie", "Rufus"]
    assert active(book(*BESSIE), "I see Bessie", settings=FLAT) == ["Bessie"]


def test_an_entry_may_not_be_activated_or_not_activate_by_recursion():
    first, second = BESSIE
    excluded = second.model_copy(update={"exclude_recursion": True})
    prevents = first.model_copy(update={"prevent_recursion": True})
    assert active(book(first, excluded), "Bessie") == ["Bessie"]
    assert active(book(prevents, second), "Bessie") == ["Bessie"]
    assert sorted(active(book(first, excluded), "Bessie and Rufus")) == ["Bessie", "Rufus"]


@pytest.mark.parametrize(("steps", "found"), [(1, 1), (2, 2), (3, 3), (0, 4)])
def test_recursion_steps_limit_the_sweeps(steps, found):
    lore = book(*(entry(f"k{n}", content=f"then k{n + 1}") for n in range(4)))
    assert len(active(lore, "k0", settings=WorldInfoSettings(max_recursion_steps=steps))) == found


def test_an_entry_delayed_until_recursion_is_not_found_in_the_messages():
    lore = book(entry("a", content="plain"), entry("a", comment="delayed", delay_until_recursion=1))
    assert active(lore, "a", settings=WorldInfoSettings()) == ["delayed", "a"]  # the first entry recursed
    assert active(book(entry("a", delay_until_recursion=1)), "a") == []  # nothing recursed


def test_levels_of_delayed_recursion_are_opened_one_after_the_other():
    lore = book(
        entry("start", content="go"),
        entry(
            "go", comment="level 2", delay_until_recursion=2, content="two", keysecondary=("one",), selective_logic=0
        ),
        entry("go", comment="level 1", delay_until_recursion=1, content="one"),
        entry("one", comment="level 3", delay_until_recursion=3),
    )
    assert sorted(active(lore, "start")) == ["level 1", "level 2", "level 3", "start"]
    without_first = book(*lore.entries[:2], lore.entries[3])
    assert sorted(active(without_first, "start")) == ["start"]


# Min activations


def test_min_activations_look_further_back_until_enough_is_active():
    lore = book(entry("a"), entry("b"), entry("c"))
    texts = ("c", "b", "a", "x", "y", "z")
    assert active(lore, *texts, settings=WorldInfoSettings()) == []
    assert active(lore, *texts, settings=WorldInfoSettings(min_activations=2)) == ["b", "a"]
    assert len(active(lore, *texts, settings=WorldInfoSettings(min_activations=99))) == 3
    assert active(lore, *texts, settings=WorldInfoSettings(min_activations=9, min_activations_depth=4)) == ["a"]


def test_a_wider_scan_does_not_look_at_recursed_text_but_may_cause_recursion():
    lore = book(
        entry("a", content="nothing", exclude_recursion=True),
        entry("old", content="mentions deep"),
        entry("deep", content="end"),
    )
    found = active(lore, "old", "x", "a", settings=WorldInfoSettings(min_activations=3, scan_depth=1))
    assert sorted(found) == ["a", "deep", "old"]


# Inclusion groups


def test_of_a_group_one_entry_stays_by_weighted_chance():
    lore = book(*(entry("a", group="g", comment=str(n), group_weight=w) for n, w in enumerate((10, 0, 90))))
    picks = [active(lore, "a", chance=seeded(n))[0] for n in range(300)]
    assert picks.count("1") == 0
    assert 10 <= picks.count("0") <= 55
    assert len(picks) == 300


def test_priority_wins_over_chance_by_the_highest_order():
    lore = book(
        entry("a", group="g", comment="plain", order=999),
        entry("a", group="g", comment="low", order=1, group_override=True),
        entry("a", group="g", comment="high", order=2, group_override=True),
    )
    assert active(lore, "a") == ["high"]


def test_an_entry_of_several_groups_disables_the_others_of_all():
    lore = book(
        entry("a", group="g, h", comment="both", group_override=True),
        entry("a", group="g", comment="g"),
        entry("a", group="h", comment="h"),
        entry("a", group="other", comment="other"),
    )
    assert active(lore, "a") == ["other", "both"]


def test_a_group_that_has_an_active_entry_takes_no_other():
    lore = book(entry("a", group="g", content="b", comment="first"), entry("b", group="g", comment="second"))
    assert active(lore, "a") == ["first"]


SONGS = (
    entry("song", "sing", "black cat", group="s", comment="cat", match_whole_words=False),
    entry("song", "sing", "ghosts", group="s", comment="ghosts", match_whole_words=False),
)


def test_group_scoring_keeps_those_with_the_most_matching_keys():
    scored = WorldInfoSettings(use_group_scoring=True)
    for seed in range(20):
        assert active(book(*SONGS), "sing a song about ghosts", settings=scored, chance=seeded(seed)) == ["ghosts"]
    both = {active(book(*SONGS), "sing me a song", settings=scored, chance=seeded(n))[0] for n in range(40)}
    assert both == {"cat", "ghosts"}


@pytest.mark.parametrize(
    ("logic", "secondary", "winner"),
    [
        (0, ("x", "y"), "second"),  # AND ANY: a point for each
        (3, ("x", "y"), "second"),  # AND ALL: points when all match
        (1, ("x", "no"), "first"),  # NOT ALL: no points
        (2, ("no",), "first"),  # NOT ANY: no points
    ],
)
def test_secondary_keys_score_by_their_logic(logic, secondary, winner):
    lore = book(
        entry("a", "b", group="g", comment="first", use_group_scoring=True),
        entry("a", group="g", comment="second", use_group_scoring=True, keysecondary=secondary, selective_logic=logic),
    )
    assert active(lore, "a b x y") == [winner]


# Probability


def test_probability_is_rolled_with_the_runs_seed():
    lore = book(*(entry("a", comment=str(n), probability=50) for n in range(200)))
    first = active(lore, "a")
    assert active(lore, "a") == first
    assert 60 < len(first) < 140
    assert active(lore, "a", chance=lambda name: random.Random(name)) != first


@pytest.mark.parametrize(("probability", "used", "found"), [(0, True, False), (100, True, True), (0, False, True)])
def test_probability_0_never_and_100_always(probability, used, found):
    lore = book(entry("a", probability=probability, use_probability=used))
    for value in (0.0, 0.5, 0.999999):
        assert bool(active(lore, "a", chance=always(value))) is found


def test_an_entry_that_failed_its_roll_is_not_tried_again():
    rolls = []

    class Counting(random.Random):
        def random(self):
            rolls.append(1)
            return 0.99

    lore = book(entry("a", content="b"), entry("a", probability=50), entry("b", content="c"), entry("c"))
    active(lore, "a", chance=lambda _name: Counting())
    assert len(rolls) == 1


def test_a_change_of_one_entry_leaves_the_luck_of_the_others():
    entries = [entry("a", comment=str(n), probability=50) for n in range(40)]
    before = set(active(book(*entries), "a"))
    entries[0] = entries[0].model_copy(update={"content": "other", "probability": 1})
    after = set(active(book(*entries), "a"))
    assert before - {"0"} == after - {"0"}


# Macros


def test_macros_in_contents_are_replaced():
    lore = book(entry("a", content="{{char}} of {{user}}, {{ Char }}{{// secret}} {{unknown}} {{newline}}{{noop}}"))
    scene = Scene(macros={"char": "Ilse", "user": "Bram"})
    content = activate([lore], chat("a"), FLAT, CHANCE, scene=scene).entries[0].content
    assert content == "Ilse of Bram, Ilse {{unknown}} \n"


def test_chance_in_contents_comes_from_the_run():
    lore = book(
        entry("a", content="{{random::red, blue::green}} {{pick:x,y}} {{roll:2d6}} {{roll:x}} {{random:{{user}}}}")
    )
    scene = Scene(macros={"user": "U"})
    first = activate([lore], chat("a"), FLAT, CHANCE, scene=scene).entries[0].content
    assert activate([lore], chat("a"), FLAT, CHANCE, scene=scene).entries[0].content == first
    colour, letter, rolled, rest = first.rsplit(" ", 3)[0].rsplit(" ", 2)[0], *first.rsplit(" ", 4)[1:3], first[-12:]
    assert colour in ("red, blue", "green")
    assert letter in ("x", "y")
    assert 2 <= int(rolled) <= 12
    assert rest.endswith("{{roll:x}} U")


@given(st.text(st.sampled_from("{}:,/ rndomuseroll1d6|\n"), max_size=60))
def test_any_text_goes_through_macros(text):
    assert isinstance(Macros({"user": "{{user}}"}, CHANCE).replace(text), str)


# Size and shape


def test_a_book_with_hundreds_of_entries_is_scanned_fast():
    lore = read_book(large_document(800), "town", "chat", "town.json")
    long = "The mill 3 and the harbour 10, gate-7 " + "of Ilse16 in the winter " * 200
    messages = chat(*["filler " * 300] * 50, long)
    times = []
    for _ in range(3):  # the machine may be busy for a moment
        began = time.perf_counter()
        result = activate([lore], messages, WorldInfoSettings(), CHANCE)
        times.append(time.perf_counter() - began)
    assert min(times) < 2
    assert {0, 3, 7, 97} <= {e.uid for e in result.entries}
    assert 10 not in {e.uid for e in result.entries}  # its secondary keys say NOT ANY


def _entries():
    words = st.sampled_from(["a", "b", "ab", "龙", "/a|b/i", "", "x y"])
    return st.builds(
        LoreEntry,
        uid=st.none() | st.integers(0, 5),
        key=st.lists(words, max_size=2).map(tuple),
        keysecondary=st.lists(words, max_size=2).map(tuple),
        content=st.text(st.sampled_from("ab 龙{}@\n"), max_size=12),
        constant=st.booleans(),
        selective_logic=st.integers(-1, 4),
        order=st.integers(-5, 5),
        position=st.integers(-1, 9),
        probability=st.sampled_from([0, 50, 100]),
        group=st.sampled_from(["", "g", "g,h"]),
        group_override=st.booleans(),
        use_group_scoring=st.sampled_from([None, True, False]),
        delay_until_recursion=st.integers(0, 3),
        exclude_recursion=st.booleans(),
        prevent_recursion=st.booleans(),
        ignore_budget=st.booleans(),
        scan_depth=st.none() | st.integers(0, 3),
        sticky=st.integers(0, 2),
        delay=st.integers(0, 2),
    )


@given(
    st.lists(_entries(), max_size=8),
    st.lists(st.text(st.sampled_from("ab 龙xy"), max_size=8), min_size=1, max_size=4),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(1, 60),
)
def test_every_scan_ends_gives_the_same_again_and_keeps_its_rules(entries, texts, least, steps, tokens):
    lore = [book(*entries[:4], name="one"), book(*entries[4:], name="two", source="global")]
    limits = WorldInfoSettings(min_activations=least, max_recursion_steps=steps, context_tokens=tokens * 4)
    result = activate(lore, chat(*texts), limits, CHANCE)
    assert activate(lore, chat(*texts), limits, CHANCE) == result
    assert len(set(result.refs)) == len(result.refs) == len(result.entries)
    groups = [e for e in result.entries if e.reason == "key"]
    assert all(not found.content.startswith("@@dont_activate") for found in groups)
    assert thaw_activation(result.model_dump(mode="json")) == result
