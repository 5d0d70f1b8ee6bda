"""spec tauritavern §4: words count CJK characters one by one and runs of alphanumerics once."""

import pytest

from tt_kernel.domain.text import count_chars, count_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("one two", 2),
        ("a1-b2", 2),
        ("你好世界", 4),
        ("かな", 2),
        ("한글", 2),
        ("GPT模型 v2", 4),
        ("  ...  ", 0),
        ("naïve café", 2),
    ],
)
def test_words(text, words):
    assert count_words(text) == words


def test_chars_are_scalar_values():
    assert count_chars("a😀é") == 3
