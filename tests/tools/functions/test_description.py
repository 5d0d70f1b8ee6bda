"""The description of a notebook function: schema, manual, version."""

import enum
import functools
import textwrap
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from IPython.core.interactiveshell import InteractiveShell
from pydantic import BaseModel, Field

from tt_kernel.tools.functions import ToolContext, as_function_tool, tool


@pytest.fixture
def cells():
    """Run cells as a kernel does: source in linecache, names in a namespace."""
    shell = InteractiveShell()
    shell.history_manager.enabled = False

    def run(*sources):
        for source in sources:
            shell.run_cell(textwrap.dedent(source)).raise_error()
        return shell.user_ns

    yield run
    shell.history_manager.end_session()
    InteractiveShell.clear_instance()


class Mode(enum.Enum):
    fast = "fast"
    slow = "slow"


@dataclass
class Range:
    low: float
    high: float | None = None


class Filter(BaseModel):
    column: str
    values: list[str] = []


def test_all_kinds_of_parameters():
    def plot(
        column: str,
        where: Filter,
        span: Range | None = None,
        mode: Mode = Mode.fast,
        kind: Literal["bar", "line"] = "bar",
        bins: Annotated[int, Field(ge=1, le=100)] = 10,
        names: list[str] | None = None,
        free=None,
    ):
        """Plot a column.

        Args:
            column: As in the header.
        """

    schema = as_function_tool(plot).spec.input_schema
    assert schema["required"] == ["column", "where"]
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert properties["column"] == {"type": "string", "description": "As in the header."}
    assert properties["where"]["properties"]["values"] == {"type": "array", "items": {"type": "string"}, "default": []}
    assert properties["span"]["properties"]["high"] == {"type": "number"}
    assert properties["mode"]["enum"] == ["fast", "slow"]
    assert properties["kind"]["default"] == "bar"
    assert (properties["bins"]["minimum"], properties["bins"]["maximum"]) == (1, 100)
    assert properties["names"] == {"type": "array", "items": {"type": "string"}}
    assert properties["free"] == {}


def test_spec_of_a_function():
    def load(path: str):
        """Load a table."""

    spec = as_function_tool(load).spec
    assert (spec.id, spec.group, spec.effect, spec.contexts) == (
        "extension/notebook:load", "notebook", "external", ("cell", "session"),
    )  # fmt: skip
    assert len(spec.version) == 64


def test_the_context_is_no_parameter_of_the_model():
    def by_name(x: int, ctx): ...

    def by_type(x: int, *, where: ToolContext): ...

    def by_text(x: int, where: "ToolContext"): ...

    def by_choice(x: int, where: ToolContext | None = None): ...

    def of_the_user(x: int, ctx: str): ...

    for function in (by_name, by_type, by_text, by_choice):
        assert list(as_function_tool(function).spec.input_schema["properties"]) == ["x"]
    assert list(as_function_tool(of_the_user).spec.input_schema["properties"]) == ["x", "ctx"]


def test_a_function_without_a_docstring_still_has_a_description():
    """Spec tauritavern §15.1: non-empty."""

    def load(path: str, ctx): ...

    assert as_function_tool(load).spec.description == "The function load(path) of the user's notebook."
    assert as_function_tool(functools.partial(load, path="x")).spec.description == (
        "The function load() of the user's notebook."
    )
    assert as_function_tool(lambda x: x).spec.description.startswith("The function <lambda>(x)")


def test_what_a_partial_fixes_is_not_shown_to_the_model():
    def fetch(table: str, token: str) -> str:
        return table + token

    spec = as_function_tool(functools.partial(fetch, token="hunter2")).spec
    assert "token" not in spec.model_dump_json()
    assert "hunter2" not in spec.model_dump_json()


CELL = """
from __future__ import annotations
from dataclasses import dataclass
from tt_kernel import tool, ToolContext

@dataclass
class Point:
    x: int
    y: int = 0

@tool
def draw(at: Point, size: int | None = None, *, ctx: ToolContext) -> str:
    '''Draw a point.'''
    return f"{at.x} {size}"
"""


def test_a_function_of_a_cell_with_future_annotations(cells):
    spec = as_function_tool(cells(CELL)["draw"]).spec
    assert spec.description == "Draw a point."
    assert spec.input_schema["properties"]["at"]["required"] == ["x"]
    assert spec.input_schema["properties"]["size"] == {"type": "integer"}


def version(function):
    return as_function_tool(function).spec.version


def test_the_version_is_the_source(cells):
    one = "def f(x: int) -> int:\n    return x + 1\n"
    first = version(cells(one)["f"])
    assert version(cells("unrelated = 1\n", one)["f"]) == first
    assert version(cells(one.replace("+ 1", "+ 2"))["f"]) != first
    assert version(cells(one.replace("x: int", "x: int = 3"))["f"]) != first


def test_the_version_of_a_function_made_by_exec_is_its_code():
    def made(source):
        space: dict = {}
        exec(source, space)
        return version(space["f"])

    one = made("def f(x):\n    return x + 1")
    assert made("\n\n\ndef f(x):\n    return x + 1") == one
    assert made("def f(x):\n    return x + 2") != one
    assert made("def f(x):\n    return x - 1") != one
    assert made("def f(x=1):\n    return x + 1") != one
    assert made("def f(x):\n    return (lambda y: y + 1)(x)") != made("def f(x):\n    return (lambda y: y + 2)(x)")


def test_two_lambdas_on_a_line_have_two_versions():
    one, two = (lambda x: x + 1), (lambda x: x + 2)
    assert version(one) != version(two)


def test_what_a_partial_fixes_is_part_of_the_version():
    def f(x: int, n: int):
        return x + n

    assert version(functools.partial(f, n=1)) == version(functools.partial(f, n=1))
    assert version(functools.partial(f, n=1)) != version(functools.partial(f, n=2))
    assert version(functools.partial(f, n=1)) != version(f)


def test_closed_over_values_are_not_part_of_the_version():
    def make(n):
        def f(x: int) -> int:
            return x + n

        return f

    assert version(make(1)) == version(make(2))


def test_methods_and_callable_objects_have_the_version_of_their_code():
    class Shelf:
        def count(self) -> int:
            return 1

        def __call__(self) -> int:
            return 2

    assert version(Shelf().count) == version(Shelf().count)
    assert version(Shelf().count) != version(Shelf())


def test_open_keywords():
    def style(x: int, **more): ...

    assert as_function_tool(style).spec.input_schema["additionalProperties"] is True


def test_decorating_does_not_change_what_the_version_covers():
    @tool
    def f(x: int) -> int:
        return x

    assert version(f) == version(f)
