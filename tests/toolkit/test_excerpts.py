"""spec tauritavern §5.2, §5.3: 8000 characters of one text, 20000 of all; ranges by characters."""

import pytest

from tt_kernel.domain.errors import ToolError
from tt_kernel.toolkit.excerpts import Codes, check_total, excerpt

CODES = Codes("x.range", "x.large")


def part(text, start=None, count=None):
    return excerpt(text, start, count, "the text", CODES)


@pytest.mark.parametrize(
    ("start", "count", "text", "cut"),
    [
        (None, None, "0123456789", False),
        (3, None, "3456789", False),
        (None, 4, "0123", True),
        (3, 4, "3456", True),
        (9, 8000, "9", False),
        (0, 10, "0123456789", False),
    ],
)
def test_parts(start, count, text, cut):
    found = part("0123456789", start, count)
    assert (found.text, found.is_cut) == (text, cut)
    assert found.span == f"chars {start or 0}-{(start or 0) + len(text)} of 10"


@pytest.mark.parametrize(
    ("text", "start", "count", "code"),
    [
        ("x" * 8001, None, None, "x.large"),
        ("x", 0, 8001, "x.large"),
        ("x", 1, None, "x.range"),
        ("", 1, 1, "x.range"),
    ],
)
def test_what_is_refused(text, start, count, code):
    with pytest.raises(ToolError) as caught:
        part(text, start, count)
    assert caught.value.code == code
    assert "the text" in caught.value.message


def test_an_empty_text_is_read():
    assert part("").text == part("", 0, 5).text == ""


def test_the_total():
    parts = [part("x" * 8000), part("x" * 8000), part("x" * 4000)]
    check_total(parts, CODES)
    with pytest.raises(ToolError) as caught:
        check_total([*parts, part("x")], CODES)
    assert caught.value.code == "x.large"
