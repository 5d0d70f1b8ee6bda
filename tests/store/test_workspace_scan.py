"""A part of a text of any size, found in one pass over chunks: the same as slicing the whole text."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.store.workspace import TextScan

TEXT = st.text(alphabet=st.sampled_from("ab\n\r\ufeffé語😀"), max_size=60)


def feed(scan, data, sizes):
    at = 0
    for size in [*sizes, len(data)]:
        scan.feed(data[at : at + size])
        at += size
    scan.close()
    return scan


def lines_of(text):
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


@given(TEXT, st.lists(st.integers(1, 7), max_size=12), st.integers(1, 9), st.integers(1, 9), st.integers(1, 80))
def test_lines(text, sizes, first, count, chars):
    scan = feed(TextScan(first_line=first, lines=count, chars=chars), text.encode(), sizes)
    lines = lines_of(text)
    wanted = "".join(lines[first - 1 : first - 1 + count])
    assert scan.kept == wanted[:chars]
    start = sum(map(len, lines[: first - 1])) if first <= len(lines) else None
    assert scan.start == start
    check_totals(scan, text)


@given(TEXT, st.lists(st.integers(1, 7), max_size=12), st.integers(0, 70), st.integers(1, 80))
def test_characters(text, sizes, first, chars):
    scan = feed(TextScan(first_char=first, chars=chars), text.encode(), sizes)
    assert scan.kept == text[first : first + chars]
    assert scan.start == (first if first < len(text) else None)
    check_totals(scan, text)


def check_totals(scan, text):
    assert scan.sha256 == hashlib.sha256(text.encode()).hexdigest()
    assert scan.size == len(text.encode())
    assert scan.total_chars == len(text)
    assert scan.total_lines == len(lines_of(text))
    assert scan.line_ends == text.count("\n")
    assert scan.crlf == text.count("\r\n")
    assert scan.bom == text.startswith("\ufeff")
    assert scan.ends_open == (bool(text) and not text.endswith("\n"))


@given(st.binary(max_size=40), st.lists(st.integers(1, 5), max_size=8))
def test_bytes_that_are_no_text(data, sizes):
    try:
        data.decode()
    except UnicodeDecodeError:
        with pytest.raises(UnicodeDecodeError):
            feed(TextScan(chars=100), data, sizes)
    else:
        assert feed(TextScan(chars=100), data, sizes).kept == data.decode()
