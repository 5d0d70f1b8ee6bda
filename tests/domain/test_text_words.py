"""spec tauritavern §4: the fast way for ASCII counts the same words."""

from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.text import _WORD, count_words


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii(text):
    assert count_words(text) == sum(1 for _ in _WORD.finditer(text))


@given(st.text(st.characters(max_codepoint=127)))
def test_an_ideograph_is_one_word_more(text):
    assert count_words(text + " 語") == count_words(text) + 1
