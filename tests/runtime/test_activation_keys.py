"""spec tauritavern §16.2: when an entry is meant by a text. Steps 1 to 11 of "per entry", one test each."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.worldinfo import CharacterFilter, WorldInfoSettings
from tt_kernel.runtime.activation import Scene, activate
from tt_kernel.runtime.activation.js_regex import JsRegexes, regex_key
from tt_kernel.runtime.activation.keys import KeyMatcher, Part, Text

from ..fakes.lore import CHANCE, active, book, chat, entry  # noqa: TID252  tests are no installed package


def text_of(text):
    return Text((Part.of([text]),))


def matches(key, text, settings=None, **options):
    matcher = KeyMatcher(settings or WorldInfoSettings(), lambda key: key)
    return matcher.matches(key, text_of(text), entry(key, **options))


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("king", "Long live the King!", True),
        ("king", "It's not to my liking.", False),
        ("king", "king", True),
        ("king", "kings", False),
        ("king", "king_size", False),
        ("dark forest", "In the darkest Dark Forests", True),  # several words: substring
        ("C++", "I like C++.", True),
        ("C++", "C++11", False),
        (".NET", "use .NET now", True),
        # Scripts without spaces: the key is found next to their characters, and they need no boundary themselves.
        ("龙", "我看见一条龙飞过", True),
        ("ドラゴン", "巨大なドラゴンが", True),
        ("Python", "用Python写代码", True),
        ("용", "용이 나타났다", True),
        ("แมว", "ฉันรักแมวมาก", True),
        ("龙", "A龙B", True),
        # Scripts with spaces: letters with accents and Cyrillic letters are letters.
        ("caf", "café", False),
        ("кот", "Вот КОТ.", True),
        ("кот", "который час", False),
        ("naïve", "so naïve", True),
        ("", "anything", False),
        ("   ", "anything", False),
        (" king ", "the king", True),
    ],
)
def test_whole_words_and_case_are_the_defaults(key, text, found):
    assert matches(key, text) is found


@pytest.mark.parametrize(
    ("options", "settings", "found"),
    [
        ({}, {"match_whole_words": False}, True),
        ({"match_whole_words": False}, {}, True),
        ({"match_whole_words": True}, {"match_whole_words": False}, False),
        ({}, {}, False),
    ],
)
def test_an_entry_overrides_the_scan_for_whole_words(options, settings, found):
    assert matches("king", "liking", WorldInfoSettings(**settings), **options) is found


@pytest.mark.parametrize(
    ("options", "settings", "found"),
    [
        ({"case_sensitive": True}, {}, False),
        ({}, {"case_sensitive": True}, False),
        ({"case_sensitive": False}, {"case_sensitive": True}, True),
        ({}, {}, True),
    ],
)
def test_an_entry_overrides_the_scan_for_case(options, settings, found):
    assert matches("Rose", "a rose", WorldInfoSettings(**settings), **options) is found


@pytest.mark.parametrize(
    ("key", "text", "found"),
    [
        ("/drag(on|oon)s?/", "two dragoons", True),
        ("/dragon/", "Dragon", False),
        ("/dragon/i", "Dragon", True),
        ("/a.b$/s", "a\nb", True),
        ("/^b/m", "a\nb", True),
        ("/^\\x01a/", "a", True),
        ("/\\p{Script=Han}{2}/u", "漢字", True),
        ("/кот/i", "КОТ", True),
        ("/\\bкот\\b/", "кот", False),  # JavaScript's \b knows ASCII letters only
        ("/(?<=gold )coin/", "gold coin", True),
        ("/(?<year>\\d{4})-\\k<year>/", "1999-1999", True),
        ("/[^]x/", "\nx", True),
        ("/a\\/b/", "a/b", True),
        ("/a/b/", "a/b", False),  # not escaped, so plain text, and the text is not there
        ("/a/b/", "see /a/b/ there", True),
        ("/[/", "it says /[/ here", True),  # no expression: plain text
        ("/x/q", "value /x/q", True),  # no flag of JavaScript
        ("/\\x01\\S/", "x", True),  # a message begins there
    ],
)
def test_keys_between_slashes_are_javascript_expressions(key, text, found):
    assert matches(key, text, match_whole_words=False) is found


def test_a_message_begins_where_an_expression_can_see_it():
    lore = book(entry("/\\x01You: hello/", comment="greeting"))
    settings = WorldInfoSettings(include_names=True, scan_depth=3)
    assert active(lore, "hello", "well", "so", settings=settings) == ["greeting"]
    assert active(lore, "oh hello", "well", "so", settings=settings) == []


@pytest.mark.parametrize("key", ["/(a+)+$/", "/(a|a)*c/", "/(.*)*\\1z/", "/x*x*x*x*x*x*x*y/"])
def test_an_expression_that_takes_too_long_matches_nothing_and_is_told(key):
    began = time.perf_counter()
    regexes = JsRegexes()
    matcher = KeyMatcher(WorldInfoSettings(), lambda key: key, regexes)
    text = text_of("a" * 60 + "b" + "x" * 3000)
    assert matcher.matches(key, text, entry(key)) is False
    assert matcher.matches(key, text, entry(key)) is False
    assert list(regexes.slow) == [key]
    assert matcher.matches("/b/", text, entry("/b/")) is True  # the engine goes on
    assert time.perf_counter() - began < 10


def test_a_book_full_of_slow_expressions_is_given_up_on():
    regexes = JsRegexes()
    keys = [f"/(a+)+{n}$/" for n in range(40)]
    began = time.perf_counter()
    matcher = KeyMatcher(WorldInfoSettings(), lambda key: key, regexes)
    assert not any(matcher.matches(key, text_of("a" * 60), entry(key)) for key in keys)
    assert len(regexes.slow) <= 10
    assert time.perf_counter() - began < 30


def test_the_result_tells_of_a_slow_key():
    result = activate([book(entry("/(a+)+$/"))], chat("a" * 60 + "b"), WorldInfoSettings(), CHANCE)
    assert result.notes == ("The key /(a+)+$/ was stopped after 0.2 s and matches nothing.",)


@given(st.text(st.characters(), max_size=40), st.text(st.characters(), max_size=80))
def test_any_key_is_tried_on_any_text_without_an_error(key, text):
    assert matches(key, text) in (True, False)


@given(
    st.text(st.sampled_from("ab()[]{}*+?|\\^$./-,:=!<>123uxpP\u20ac\ud800"), max_size=12),
    st.sampled_from(["", "i", "u", "gimsuy", "v"]),
    st.text(st.sampled_from("ab/1\u20ac\0\n"), max_size=12),
)
def test_any_expression_is_tried_without_an_error(source, flags, text):
    assert JsRegexes().test(source, flags, text) in (True, False, None)


def test_what_is_an_expression():
    assert regex_key("/a b/gi") == ("a b", "gi")
    assert regex_key("/a\\/b/") == ("a\\/b", "")
    for plain in ("a", "/a", "a/", "//", "/a/b/", "/a\\\\/b/", "/a/x9"):
        assert regex_key(plain) is None


# The steps in their order


def test_step_1_a_disabled_entry_is_skipped():
    assert active(book(entry("a", disable=True), entry("a", comment="on")), "a") == ["on"]


def test_step_2_triggers_filter_by_generation_type():
    lore = book(entry("a", triggers=("continue", "swipe")))
    assert active(lore, "a") == []
    assert active(lore, "a", scene=Scene(trigger="swipe")) == ["a"]


def test_step_3_the_character_filter_includes_or_excludes_names():
    only = book(entry("a", character_filter=CharacterFilter(names=("Writer",))))
    but = book(entry("a", character_filter=CharacterFilter(names=("Writer",), is_exclude=True)))
    writer, other = Scene(names=("writer", "The Writer")), Scene(names=("engineer",))
    assert [active(only, "a", scene=s) for s in (writer, other)] == [["a"], []]
    assert [active(but, "a", scene=s) for s in (writer, other)] == [[], ["a"]]


def test_step_3_then_by_tags():
    only = book(entry("a", character_filter=CharacterFilter(names=("w",), tags=("elf",))))
    assert active(only, "a", scene=Scene(names=("w",))) == []
    assert active(only, "a", scene=Scene(names=("w",), tags=("Elf", "mage"))) == ["a"]
    assert active(only, "a", scene=Scene(tags=("Elf",))) == []


def test_step_6_decorators_activate_or_bar():
    lore = book(
        entry(content="@@activate\nAlways here.", comment="on"),
        entry("a", content="@@dont_activate\nNever here.", comment="off", constant=True),
        entry("a", content="@@depth 3\nUnknown ones are taken out.", comment="unknown"),
        entry(content="@@fancy\n@@@activate\nFallback.", comment="fallback"),
        entry(content="@@activate\n@@@dont_activate\nStays.", comment="no fallback"),
    )
    found = {e.display_name: e for e in activate([lore], chat("a"), WorldInfoSettings(), CHANCE).entries}
    assert sorted(found) == ["fallback", "no fallback", "on", "unknown"]
    assert found["on"].content == "Always here."
    assert found["unknown"].content == "Unknown ones are taken out."
    assert found["on"].reason == "decorator"


def test_step_7_force_activates_without_keys():
    lore = book(entry("zzz", comment="x"))
    assert active(lore, "a", scene=Scene(forced=frozenset({"worldinfo:town#0"}))) == ["x"]


def test_step_8_constant_entries_need_no_keys():
    assert active(book(entry(constant=True, comment="c")), "") == ["c"]


def test_step_10_any_one_primary_key_and_macros_in_keys():
    lore = book(entry("no", "Writer of {{char}}", comment="m"), entry(comment="keyless"))
    scene = Scene(macros={"char": "Ilse"})
    assert active(lore, "the writer of Ilse", scene=scene) == ["m"]
    assert active(lore, "the writer of Bram", scene=scene) == []


@pytest.mark.parametrize(
    ("logic", "text", "found"),
    [
        (0, "king winter", True),  # AND ANY
        (0, "king", False),
        (1, "king winter snow", False),  # NOT ALL
        (1, "king winter", True),
        (2, "king winter", False),  # NOT ANY
        (2, "king", True),
        (3, "king winter", False),  # AND ALL
        (3, "king winter snow", True),
        (3, "winter snow", False),  # the primary key is needed in any case
        (9, "king snow", True),  # an unknown number counts as AND ANY
    ],
)
def test_step_11_secondary_keys(logic, text, found):
    lore = book(entry("king", keysecondary=("winter", "snow"), selective_logic=logic))
    assert active(lore, text) == (["king"] if found else [])


def test_step_11_secondary_keys_count_only_in_selective_entries():
    lore = book(entry("king", keysecondary=("winter",), selective=False))
    assert active(lore, "king") == ["king"]


# What is scanned


def test_the_default_scan_depth_is_two_messages():
    lore = book(entry("a"))
    assert active(lore, "a", "x", "y") == []
    assert active(lore, "x", "a", "y") == ["a"]


def test_an_entry_has_its_own_scan_depth():
    lore = book(entry("a", comment="deep", scan_depth=9), entry("a", comment="none", scan_depth=0))
    assert active(lore, "a", "x", "y") == ["deep"]


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("match_persona_description", "persona_description"),
        ("match_character_description", "character_description"),
        ("match_character_personality", "character_personality"),
        ("match_character_depth_prompt", "character_note"),
        ("match_scenario", "scenario"),
        ("match_creator_notes", "creator_notes"),
    ],
)
def test_an_entry_may_ask_for_other_texts(flag, text):
    lore = book(entry("a", comment="asks", **{flag: True}), entry("a", comment="does not"))
    assert active(lore, "x", scene=Scene(**{text: "has an a"})) == ["asks"]


def test_injected_prompts_are_scanned_for_all():
    assert active(book(entry("a")), "x", scene=Scene(injected=("an a",))) == ["a"]


def test_names_are_scanned_on_demand():
    lore = book(entry("bot"))
    assert active(lore, "x", "y", "z") == []
    assert active(lore, "x", "y", "z", settings=WorldInfoSettings(include_names=True)) == ["bot"]
