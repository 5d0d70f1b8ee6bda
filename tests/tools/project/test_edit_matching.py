"""spec liveagent §5.5, §24.2: the pass cascade, as a function of texts."""

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from tt_kernel.tools.project.matching import BOM, WHITE_SPACE, applied, dominant, find


def edited(text, old, new, strategy=None):
    """The text with all places replaced."""
    matches = find(text, old, new)
    assert matches is not None
    if strategy:
        assert matches.strategy == strategy
    return applied(text, matches.replacements)


def count(text, old):
    matches = find(text, old, "")
    return (matches.strategy, len(matches.replacements)) if matches else None


# ---- pass 0 and 1


def test_an_empty_old_string_matches_nothing():
    assert find("abc", "", "x") is None


def test_exact_occurrences_do_not_overlap():
    assert count("aaaa", "aa") == ("exact", 2)
    assert edited("aaaa", "aa", "b") == "bb"


def test_24_2_an_exact_hit_beats_two_tolerant_ones():
    text = "  foo\n    foo \n\tfoo\n"
    assert count(text, "    foo ") == ("exact", 1)
    assert edited(text, "    foo ", "    bar ") == "  foo\n    bar \n\tfoo\n"


def test_an_exact_hit_wins_even_when_it_is_ambiguous():
    assert count("x = 1\nx = 1\n  x = 1\n", "x = 1") == ("exact", 3)


# ---- line ends


def test_24_2_an_lf_needle_in_a_crlf_file_stays_crlf():
    text = "a\r\nb\r\nc\r\n"
    assert edited(text, "a\nb\n", "x\ny\nz\n", "line-endings") == "x\r\ny\r\nz\r\nc\r\n"


@pytest.mark.parametrize(("new", "result"), [("\nx", "a\r\nx\r\nc\r\n"), ("x", "ax\r\nc\r\n"), ("", "a\r\nc\r\n")])
def test_24_2_a_needle_that_begins_at_an_lf_leaves_no_stray_cr(new, result):
    assert edited("a\r\nb\r\nc\r\n", "\nb", new) == result


def test_a_needle_of_lf_lines_that_begins_at_an_lf():
    assert edited("a\r\nb\r\nc\r\n", "\nb\nc", "\nx", "line-endings") == "a\r\nx\r\n"


def test_a_crlf_needle_in_an_lf_file():
    assert edited("a\nb\nc\n", "a\r\nb", "x\r\ny", "line-endings") == "x\ny\nc\n"


def test_fragments_of_lines_match_across_line_ends():
    assert edited("one two\r\nthree four\r\n", "two\nthree", "2\n3", "line-endings") == "one 2\r\n3 four\r\n"


def test_22_16_the_exact_pass_puts_in_the_line_ends_of_the_file():
    assert edited("a\r\nb\r\n", "b", "x\ny", "exact") == "a\r\nx\r\ny\r\n"
    assert edited("a\nb\n", "b", "x\r\ny", "exact") == "a\nx\ny\n"
    # A file without line ends has none to follow.
    assert edited("b", "b", "x\r\ny", "exact") == "x\r\ny"


@pytest.mark.parametrize(
    ("crlf", "ends", "is_crlf"), [(0, 0, False), (0, 3, False), (1, 2, True), (2, 3, True), (1, 3, False)]
)
def test_the_dominant_line_end(crlf, ends, is_crlf):
    assert dominant(crlf, ends) == ("\r\n" if is_crlf else "\n")


def test_a_lone_cr_is_no_line_end():
    assert find("a\rb", "a\nb", "x") is None
    assert edited("a\rb\nc\n", "a\rb", "x\rb", "exact") == "x\rb\nc\n"


# ---- BOM


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a", "x"),
        (f"{BOM}a", "x"),
        (f"{BOM}a", f"{BOM}x"),
        (f"{BOM}a\nb", f"{BOM}x\nb"),
        ("a\nb", f"{BOM}x\nb"),
        ("a \nb", "x\nb"),
    ],
)
def test_24_2_the_bom_is_kept(old, new):
    result = edited(f"{BOM}a\r\nb\r\n", old, new)
    assert result == f"{BOM}x\r\nb\r\n"


def test_a_needle_that_is_only_a_bom():
    assert find("a", BOM, "x") is None
    assert edited(f"{BOM}a", BOM, "") == f"{BOM}a"


def test_the_bom_is_no_part_of_the_first_line():
    assert edited(f"{BOM}  a \nb\n", "  a\nb", "x\nb", "trailing-whitespace") == f"{BOM}x\nb\n"


# ---- trailing white space


def test_blanks_at_line_ends_do_not_count():
    text = "def f():   \n    return 1\t\n\nx\n"
    assert edited(text, "def f():\n    return 1", "def g():\n    return 2", "trailing-whitespace") == (
        "def g():\n    return 2\n\nx\n"
    )


def test_the_range_ends_with_the_line_end_when_old_string_does():
    assert edited("a \nb\n", "a\n", "x\n", "trailing-whitespace") == "x\nb\n"
    assert edited("a \nb\n", "a\n", "", "trailing-whitespace") == "b\n"
    assert edited("a \nb \n", "a\nb", "x", "trailing-whitespace") == "x\n"
    assert edited("a \nb ", "a\nb\n", "x\n", "trailing-whitespace") == "x\n"


def test_whole_lines_only():
    assert find("xx a \nb\n", "a\nb", "y") is None


def test_windows_do_not_overlap():
    assert count("a \na \na \n", "a\na") == ("trailing-whitespace", 1)
    assert count("a \na \na \na \n", "a\na") == ("trailing-whitespace", 2)


def test_24_2_ambiguity_in_pass_3():
    assert count("a \nb\na\t\nb\n", "a\nb") == ("trailing-whitespace", 2)


def test_white_space_is_unicodes():
    assert edited("a\u2003\nb\n", "a\nb", "x\nb", "trailing-whitespace") == "x\nb\n"
    assert len(WHITE_SPACE) == 25
    # Python's strip() would take these as well.
    assert find("a\x1c\nb\n", "a\nb", "x") is None


# ---- indentation


def test_24_2_a_uniform_shift_to_the_right():
    text = "class A:\n    def f(self):\n        return 1\n\n    x = 2\n"
    old = "def f(self):\n    return 1\n\nx = 2\n"
    new = "def g(self):\n    if x:\n\n        return 2\n"
    assert (
        edited(text, old, new, "indentation") == "class A:\n    def g(self):\n        if x:\n\n            return 2\n"
    )


def test_24_2_a_uniform_shift_to_the_left():
    text = "def f():\n    return 1\n"
    assert edited(text, "    def f():\n        return 1\n", "    def g():\n        return 2\n", "indentation") == (
        "def g():\n    return 2\n"
    )


def test_a_line_that_cannot_be_shifted_drops_the_place():
    assert find("def f():\n    return 1\n", "    def f():\n        return 1\n", "  def g():\n") is None


def test_24_2_a_mixed_shift_is_refused():
    assert find("    a\n  b\n", "a\nb", "x") is None
    # An aligned line is a shift of nothing, which conflicts with any other.
    assert find("a\n    b\n", "a\nb", "x") is None


def test_24_2_tabs_and_spaces_do_not_match():
    assert find("\tif a:\n\t\tb\n", "    if a:\n        b", "x") is None


def test_tabs_shift_like_spaces():
    assert edited("\tif a:\n\t\tb\n", "if a:\n\tb\n", "if a:\n\tc\n", "indentation") == "\tif a:\n\t\tc\n"


def test_blank_lines_have_no_indentation():
    text = "    a\n  \n    b\n"
    assert edited(text, "a\n\nb\n", "c\n\nd\n", "indentation") == "    c\n\n    d\n"


def test_trailing_blanks_do_not_stop_a_shift():
    assert edited("    a  \n    b\n", "a\nb\n", "c\n", "indentation") == "    c\n"


def test_an_invalid_place_hides_a_valid_one_that_overlaps_it():
    # Windows are taken without overlaps before their shifts are looked at (spec liveagent §5.5).
    assert find("a\n    a\n    a\n", "a\na\n", "b\n") is None
    assert find("x\n    a\n        a\n        a\n", "a\na", "b") is None


def test_indentation_in_a_crlf_file():
    assert edited("  a\r\n  b\r\n", "a\nb", "c\nd", "indentation") == "  c\r\n  d\r\n"


# ---- properties


LINES = st.lists(st.sampled_from(["a", "b", "  a", "    b", "a ", "\ta", "", "a b", "ä", "\u2003a"]), max_size=8)
TEXTS = st.tuples(LINES, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans()).map(
    lambda t: (BOM if t[3] else "") + t[1].join(t[0]) + (t[1] if t[2] else "")
)
NEW = st.text("ab \n", max_size=8) | st.sampled_from(["x\r\ny", f"{BOM}x", "\r\n", "a\n    b\n"])


@st.composite
def edits(draw):
    """A text, and an old_string that is a part of it, perhaps as a model would misremember it."""
    text = draw(TEXTS)
    places = (
        [i for i in range(len(text) + 1) if i == 0 or text[i - 1] == "\n"]
        if draw(st.booleans())
        else range(len(text) + 1)
    )
    start, end = sorted((draw(st.sampled_from(places)), draw(st.sampled_from(places))))
    old = text[start:end]
    ends_within = start > 0 and text[start - 1 : start + 1] == "\r\n"
    match draw(st.sampled_from(["same", "lf", "crlf", "trimmed", "shifted", "dedented"])):
        case "lf":
            old = old.replace("\r\n", "\n")
        case "crlf":
            old = old.replace("\r\n", "\n").replace("\n", "\r\n")
        case "trimmed":
            old = "\n".join(line.rstrip() for line in old.split("\n"))
        case "shifted":
            old = "\n".join("  " + line for line in old.split("\n"))
        case "dedented":
            old = "\n".join(line.removeprefix("  ") for line in old.split("\n"))
    event(f"begins within a line end: {ends_within}")
    return text, old, draw(NEW)


@settings(max_examples=400)
@given(edits())
@example(("a\r\nb", "\n", ""))
@example(("a\r\na\r\na\r\n", "\na\r", ""))
@example((f"{BOM}a", BOM, ""))
@example((f"{BOM}\r\na\r\n", f"{BOM}\r", ""))
def test_what_is_outside_of_the_places_never_changes(case):
    text, old, new = case
    matches = find(text, old, new)
    if matches is None:
        event("no match")
        return
    event(matches.strategy)
    after, at, end = applied(text, matches.replacements), 0, 0
    for one in matches.replacements:
        assert one.start >= end
        kept = text[end : one.start]
        assert after.startswith(kept, at)
        at += len(kept)
        assert after.startswith(one.text, at)
        at += len(one.text)
        end = one.end
    assert after[at:] == text[end:]


@given(st.text("ab\r\n ", max_size=20), st.text("ab\n ", min_size=1, max_size=4), NEW)
def test_an_exact_hit_replaces_exactly_itself(text, old, new):
    """Only the CR of a line end that it begins with goes with it, and only line ends of what is put in are changed."""
    text += old
    matches = find(text, old, new)
    assert matches.strategy == "exact"
    for one in matches.replacements:
        found = text[one.start : one.end]
        assert found in (old, "\r" + old)
        assert (found != old) <= (old[0] == "\n")
        assert one.text.replace("\r\n", "\n") == new.replace("\r\n", "\n")


@settings(max_examples=400)
@given(edits())
@example(("a\r\nb\r\n", "b\r\n", "x\n\n\n\n"))
@example((f"{BOM}a\nb", f"{BOM}a\nb", ""))
def test_line_ends_and_bom_survive_every_edit(case):
    text, old, new = case
    matches = find(text, old, new)
    if matches is None or old.replace("\r\n", "").endswith("\r"):
        return  # half of a line end at its end is left to the one who wrote it
    after = applied(text, matches.replacements)
    assert after.startswith(BOM) >= text.startswith(BOM)
    if "\n" in text and "\n" in after:
        assert dominant(after.count("\r\n"), after.count("\n")) == dominant(text.count("\r\n"), text.count("\n"))
        assert "\r\r\n" not in after


def slow_windows(lines, pattern):
    at, found = 0, []
    while pattern and at + len(pattern) <= len(lines):
        if lines[at : at + len(pattern)] == pattern:
            found.append(at)
            at += len(pattern)
        else:
            at += 1
    return found


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), min_size=1, max_size=4))
def test_the_fast_windows_are_those_of_the_rule(lines, pattern):
    from tt_kernel.tools.project.matching import _windows

    assert list(_windows(lines, pattern)) == slow_windows(lines, pattern)


def test_a_large_file_is_searched_fast():
    import time

    text = "".join(f"    line {i % 977}\n" for i in range(200_000))
    started = time.perf_counter()
    assert find(text, "line 3\nline 4\nline 77\n", "x") is None
    assert time.perf_counter() - started < 15
