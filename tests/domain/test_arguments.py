"""spec tauritavern §3: one decoder for every spelling of no arguments, objects and everything else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.arguments import ECHO_CHARS, ToolArguments

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), json_values, max_size=4)


@pytest.mark.parametrize(
    "wire", [None, "", "null", "{}", " ", "\n\t ", {}, '"{}"', '"null"', '""', '" "', '"\\"{}\\""']
)
def test_no_arguments_in_every_spelling(wire):
    assert ToolArguments.decode(wire) == ToolArguments(value={})


def test_a_missing_field_is_no_arguments():
    assert ToolArguments.decode() == ToolArguments(value={})


@given(objects, st.integers(0, 3))
def test_an_object_survives_any_number_of_string_encodings(value, layers):
    wire = value
    for _ in range(layers):
        wire = json.dumps(wire)
    assert ToolArguments.decode(wire).value == value


@pytest.mark.parametrize(
    "wire",
    [
        '{"a":',
        "[1,2]",
        "not json",
        '{"a":1}{"b":2}',
        "3",
        "true",
        "NaN",
        '{"a": NaN}',
        '"text"',
        "Infinity",
        "[" * 100_000,
    ],
)
def test_anything_else_is_kept_verbatim(wire):
    arguments = ToolArguments.decode(wire)
    assert (arguments.value, arguments.raw) == (None, wire)
    assert not arguments.is_valid


@pytest.mark.parametrize("wire", [[1, 2], 3, True, 1.5, ["a"]])
def test_a_value_that_is_no_object_is_kept_as_its_json(wire):
    assert json.loads(ToolArguments.decode(wire).raw) == wire


@given(st.text())
def test_text_is_never_lost(text):
    arguments = ToolArguments.decode(text)
    assert arguments.is_valid or arguments.raw == text


@given(json_values)
def test_exactly_one_of_value_and_raw_and_the_model_sees_an_object(wire):
    arguments = ToolArguments.decode(wire)
    assert (arguments.value is None) != (arguments.raw is None)
    assert isinstance(arguments.for_model, dict)


def test_invalid_arguments_are_replayed_to_the_model_as_an_empty_object():
    assert ToolArguments.decode('{"path": "out').for_model == {}


def test_the_echo_is_the_start_of_the_raw_text():
    raw = "x" * 1000
    assert ToolArguments.decode(raw).echo == "x" * ECHO_CHARS + "..."
    assert ToolArguments.decode("[1]").echo == "[1]"


def test_storage_round_trip_keeps_the_raw_text():
    arguments = ToolArguments.decode('{"a": "\ud800')
    assert ToolArguments.model_validate(arguments.model_dump()) == arguments
