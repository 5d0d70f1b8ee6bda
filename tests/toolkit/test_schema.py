"""Typed function -> closed JSON schema and strict reader: CONTRACT, spec tauritavern §4, liveagent §2.5."""

import contextlib
import enum
import json
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from tt_kernel.domain.errors import ToolError
from tt_kernel.toolkit.argument_errors import MAX_PROBLEMS
from tt_kernel.toolkit.docstrings import parse_docstring
from tt_kernel.toolkit.schema import Arguments
from tt_kernel.toolkit.signature import read_signature


def arguments(function, **how):
    return Arguments.of(read_signature(function), parse_docstring(function.__doc__).parameters, **how)


def problem(function, values):
    with pytest.raises(ToolError) as caught:
        arguments(function).read(values, "the_tool")
    assert caught.value.code == "tool.invalid_arguments"
    return caught.value.message


def read_file(path: str, start_line: Annotated[int, Field(ge=1)] | None = None, whole: bool = False):
    """Read.

    Args:
        path: Where it is.
        start_line: First line.
    """


class Colour(enum.Enum):
    red = "r"
    blue = "b"


@dataclass
class Point:
    x: int
    y: int | None = None
    tags: list[str] = field(default_factory=list)


class Query(BaseModel):
    """What to look for."""

    text: str
    limit: int = 10


@dataclass
class Tree:
    name: str
    children: list["Tree"] = field(default_factory=list)


def test_schema_is_closed_ordered_and_without_null_branches():
    assert arguments(read_file).schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where it is."},
            "start_line": {"type": "integer", "minimum": 1, "description": "First line."},
            "whole": {"type": "boolean", "default": False},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    assert list(arguments(read_file).schema["properties"]) == ["path", "start_line", "whole"]


def test_schema_of_no_parameters():
    def nothing(): ...

    assert arguments(nothing).schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_references_are_written_out_and_nested_objects_closed():
    def draw(
        at: Point, more: list[Point], query: Query, colour: Colour = Colour.red, mode: Literal["a", "b"] = "a"
    ): ...

    schema = arguments(draw).schema
    text = json.dumps(schema)
    assert "$ref" not in text
    assert "$defs" not in text
    assert '"title"' not in text
    assert schema["properties"]["at"]["additionalProperties"] is False
    assert schema["properties"]["at"]["properties"]["y"] == {"type": "integer"}
    assert schema["properties"]["query"]["description"] == "What to look for."
    assert schema["properties"]["colour"] == {"enum": ["r", "b"], "type": "string", "default": "r"}
    assert schema["properties"]["mode"]["enum"] == ["a", "b"]


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]


def test_tagged_unions_have_no_dangling_references():
    def pet(animal: Annotated[Cat | Dog, Field(discriminator="kind")]): ...

    schema = arguments(pet).schema
    assert "$defs" not in json.dumps(schema)
    assert arguments(pet).read({"animal": {"kind": "cat"}}, "pet")["animal"] == Cat(kind="cat")
    jsonschema.validate({"animal": {"kind": "dog"}}, schema)


def test_recursive_types_keep_their_definition():
    def grow(tree: Tree): ...

    schema = arguments(grow).schema
    jsonschema.Draft202012Validator.check_schema(schema)
    good = {"tree": {"name": "a", "children": [{"name": "b", "children": []}]}}
    jsonschema.validate(good, schema)
    assert arguments(grow).read(good, "grow")["tree"] == Tree("a", [Tree("b")])


def test_a_parameter_may_have_any_name():
    def odd(model_config: int, title: str, _x: int = 1, schema: str = "", json: str = ""): ...

    assert list(arguments(odd).schema["properties"]) == ["model_config", "title", "_x", "schema", "json"]
    assert arguments(odd).read({"model_config": 1, "title": "t", "_x": 2}, "odd") == {
        "model_config": 1,
        "title": "t",
        "_x": 2,
    }


def test_a_description_in_the_annotation_wins():
    def f(x: Annotated[int, Field(description="near")]):
        """F.

        Args:
            x: far
        """

    assert arguments(f).schema["properties"]["x"]["description"] == "near"


def test_what_is_left_out_is_not_in_the_result():
    assert arguments(read_file).read({"path": "a"}, "t") == {"path": "a"}


def test_null_for_an_optional_parameter_means_left_out():
    assert arguments(read_file).read({"path": "a", "start_line": None, "whole": None}, "t") == {"path": "a"}


def test_null_stays_where_it_means_something_else_than_the_default():
    def f(limit: int | None = 5, anything: Any = 1): ...

    assert arguments(f).read({"limit": None, "anything": None}, "f") == {"limit": None, "anything": None}


def test_null_for_an_optional_field_of_an_object_means_left_out():
    def f(at: Point): ...

    assert arguments(f).read({"at": {"x": 1, "tags": None}}, "f")["at"] == Point(1)


def test_an_integral_float_is_an_integer_at_any_depth():
    def f(n: int, at: Point, many: list[int], either: int | str = 0, real: float = 0.5): ...

    read = arguments(f).read({"n": 3.0, "at": {"x": 4.0}, "many": [1.0, 2], "either": 5.0, "real": 2}, "f")
    assert read == {"n": 3, "at": Point(4), "many": [1, 2], "either": 5, "real": 2}
    assert type(read["n"]) is int
    assert "must be a valid integer, got 3.5" in problem(f, {"n": 3.5, "at": {"x": 1}, "many": []})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "the_tool: parameter 'path' is missing."),
        ({"path": 3}, "the_tool: parameter 'path' must be a valid string, got 3."),
        ({"path": None}, "the_tool: parameter 'path' must be a valid string, got null."),
        ({"path": True}, "the_tool: parameter 'path' must be a valid string, got true."),
        ({"path": "a", "start_line": "3"}, "the_tool: parameter 'start_line' must be a valid integer, got \"3\"."),
        ({"path": "a", "start_line": True}, "the_tool: parameter 'start_line' must be a valid integer, got true."),
        (
            {"path": "a", "start_line": 0},
            "the_tool: parameter 'start_line' must be greater than or equal to 1, got 0.",
        ),
        (
            {"path": "a", "start_line": -1.0},
            "the_tool: parameter 'start_line' must be greater than or equal to 1, got -1.",
        ),
        (
            {"path": "a", "start_lin": 1},
            "the_tool: there is no parameter 'start_lin'. Did you mean 'start_line'? Parameters: path, start_line, whole.",
        ),
        ({"path": "\ud800"}, "the_tool: the arguments hold a lone surrogate, which is no Unicode text."),
    ],
)
def test_problems_name_tool_parameter_expectation_and_value(values, expected):
    assert problem(read_file, values) == expected


def test_one_problem_a_line():
    message = problem(read_file, {"file_path": "a", "start_line": "x"})
    assert message.splitlines() == [
        "the_tool: parameter 'path' is missing.",
        "the_tool: parameter 'start_line' must be a valid integer, got \"x\".",
        "the_tool: there is no parameter 'file_path'. Did you mean 'path'? Parameters: path, start_line, whole.",
    ]


def test_nested_places_and_unions_are_spelled_for_a_reader():
    def f(many: list[Point], either: int | Point | None = None, colour: Colour = Colour.red): ...

    message = problem(f, {"many": [{"x": "a"}, {"y": 1}, {"x": 1, "zz": 2}], "either": "s", "colour": "green"})
    assert "parameter 'many[0].x' must be a valid integer, got \"a\"." in message
    assert "parameter 'many[1].x' is missing." in message
    assert "there is no parameter 'many[2].zz'." in message
    assert "parameter 'either' must be a valid integer or an object, got \"s\"." in message
    assert "parameter 'colour' must be 'r' or 'b', got \"green\"." in message


def test_long_values_and_many_problems_are_cut():
    def f(many: list[int]): ...

    message = problem(f, {"many": ["x" * 1000] * 50})
    assert len(message.splitlines()) == MAX_PROBLEMS + 1
    assert message.endswith("42 more problems of this kind.")
    assert len(message) < 2000


def test_json_kinds_of_python_types():
    def f(day: date, where: Path, pair: tuple[int, str], names: set[str], table: dict[str, int]): ...

    values = {"day": "2024-02-29", "where": "a/b", "pair": [1, "x"], "names": ["a"], "table": {"k": 1}}
    assert arguments(f).read(values, "f") == {
        "day": date(2024, 2, 29),
        "where": Path("a/b"),
        "pair": (1, "x"),
        "names": {"a"},
        "table": {"k": 1},
    }


def test_open_functions_pass_unknown_names_on():
    def f(x: int, **style: Any): ...

    opened = arguments(f, may_be_open=True)
    assert opened.schema["additionalProperties"] is True
    assert opened.read({"x": 1, "color": "red"}, "f") == {"x": 1, "color": "red"}
    assert arguments(f).schema["additionalProperties"] is False


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "tags", "q"]), inner, max_size=4)
    ),
    max_leaves=8,
)


def shapes(
    n: int,
    at: Point,
    many: list[Point] | None = None,
    either: int | str = 1,
    mode: Literal["a", "b"] = "a",
    word: str | None = None,
): ...


SHAPES = arguments(shapes)
VALIDATOR = jsonschema.Draft202012Validator(SHAPES.schema)


@given(st.dictionaries(st.sampled_from(["n", "at", "many", "either", "mode", "word", "zz"]), JSON, max_size=7))
def test_the_reader_agrees_with_its_schema(values):
    """Whatever the schema allows is read; what is refused is refused with a message and nothing else."""
    try:
        SHAPES.read(values, "t")
        accepted = True
    except ToolError as error:
        accepted = False
        assert error.message.startswith("t: ")
    if VALIDATOR.is_valid(values):
        assert accepted


@given(st.fixed_dictionaries({"n": st.integers(-9, 9), "at": st.fixed_dictionaries({"x": st.integers(-9, 9)})}), JSON)
def test_reading_does_not_change_what_was_sent(values, extra):
    values["either"] = extra
    before = json.dumps(values)
    with contextlib.suppress(ToolError):
        SHAPES.read(values, "t")
    assert json.dumps(values) == before
