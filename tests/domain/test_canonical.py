"""Documents: the quick encoder spells a value as Python's does."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.canonical import encode_json, indented_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(), max_size=6), inner, max_size=4)
        | st.tuples(inner)
    ),
    max_leaves=12,
)


def plainly(value: object) -> bytes:
    return encode_json(json.dumps(value, sort_keys=True, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


@given(VALUES)
def test_it_is_what_python_says(value):
    assert indented_json(value) == plainly(value)


@pytest.mark.parametrize("value", [1e-7, 1e22, 2**80, "\ud800", {1: "a"}, {"b": (1, [])}, '\x7f\u2028\x00"\\'])
def test_what_others_would_spell_otherwise(value):
    assert indented_json(value) == plainly(value)


@pytest.mark.parametrize("value", [float("nan"), [float("inf")]])
def test_numbers_that_are_none_are_refused(value):
    with pytest.raises(ValueError, match="JSON compliant"):
        indented_json(value)
