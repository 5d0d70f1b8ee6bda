"""The estimate for budgets (notes/libraries.md §9)."""

from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.toolkit.tokens import estimated_tokens


def test_a_quarter_for_ascii_and_one_for_others():
    assert [estimated_tokens(text) for text in ("", "a", "abcd", "abcde", "日本", "ab日")] == [0, 1, 1, 2, 2, 2]


@given(st.text(), st.text())
def test_more_text_is_never_fewer_tokens(one, other):
    assert 0 <= estimated_tokens(one) <= estimated_tokens(one + other) <= len(one + other)
