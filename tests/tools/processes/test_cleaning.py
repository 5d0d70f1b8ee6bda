"""From bytes to text: UTF-8 with replacement, no terminal escapes, however reads cut them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.tools.processes.cleaning import OutputFilter, as_text


def cleaned(*pieces: bytes) -> bytes:
    cleaner = OutputFilter()
    return b"".join([cleaner.feed(piece) for piece in pieces] + [cleaner.flush()])


ESCAPES = {
    "colour": b"\x1b[1;31m",
    "24-bit colour": b"\x1b[38;2;10;20;30m",
    "cursor": b"\x1b[2K",
    "private mode": b"\x1b[?25l",
    "title": b"\x1b]0;a title\x07",
    "link": b"\x1b]8;;http://example.invalid/\x1b\\",
    "device control": b"\x1bPq#0;2\x1b\\",
    "character set": b"\x1b(B",
    "one letter": b"\x1bM",
    "keypad": b"\x1b=",
}


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES)
def test_escapes_are_taken_out_wherever_they_are_cut(escape: bytes) -> None:
    whole = b"before" + escape + b"after"
    for cut in range(len(whole) + 1):
        assert cleaned(whole[:cut], whole[cut:]) == b"beforeafter"
    assert cleaned(*[bytes([byte]) for byte in whole]) == b"beforeafter"


def test_what_only_looks_like_an_escape_is_let_through() -> None:
    endless = b"\x1b]" + b"x" * 5000
    assert cleaned(endless, b"more") == endless + b"more"


def test_line_ends_become_newlines() -> None:
    assert cleaned(b"one\r", b"\ntwo\r\n") == b"one\ntwo\n"
    assert cleaned(b"a\rb") == b"a\rb", "a carriage return alone stays"


def test_half_a_character_waits_for_the_other_half() -> None:
    cleaner = OutputFilter()
    snowman = "\N{SNOWMAN}".encode()
    assert cleaner.feed(b"a" + snowman[:1]) == b"a"
    assert cleaner.feed(snowman[1:2]) == b""
    assert cleaner.feed(snowman[2:] + b"b") == snowman + b"b"
    assert cleaner.flush() == b""


def test_broken_bytes_are_replaced() -> None:
    assert as_text(cleaned(b"ok \xff\xfe \xe2\x98")) == "ok \ufffd\ufffd \ufffd"


def test_of_a_progress_bar_the_last_state_is_shown() -> None:
    assert as_text(b" 10%\r 50%\r100%\ndone\n") == "100%\ndone\n"
    assert as_text(b" 10%\r 50%\r") == " 50%"


def test_control_characters_do_not_reach_the_model() -> None:
    assert as_text(b"a\x00b\x08c\td\n") == "a\ufffdb\ufffdc\td\n"


def test_a_line_of_a_mebibyte_is_quick() -> None:
    began = time.perf_counter()
    text = as_text(cleaned(b"x" * 2**20 + b"\r" + b"y" * 2**20))
    assert text == "y" * 2**20
    assert time.perf_counter() - began < 10


alphabet = st.sampled_from(
    [
        b"a",
        b"\n",
        b"\r",
        b"\x1b",
        b"[",
        b"]",
        b"\\",
        b"\x07",
        b"3",
        b"m",
        b"(",
        b"\xe2",
        b"\x98",
        b"\x83",
        b"\xff",
        b" ",
    ]
)


@given(st.lists(alphabet, max_size=30), st.data())
def test_cutting_never_changes_the_result(parts, data) -> None:
    whole = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=5)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert cleaned(*pieces) == cleaned(whole)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=50), st.data())
def test_text_passes_unchanged(text, data) -> None:
    whole = text.encode()
    cut = data.draw(st.integers(0, len(whole)))
    assert as_text(cleaned(whole[:cut], whole[cut:])) == text
