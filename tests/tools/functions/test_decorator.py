"""`@tool` on everything that can be called: issue 2 item 5, field report 57."""

import asyncio
import functools
import math
import subprocess
import sys

import pytest

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.tools.functions import as_function_tool, tool
from tt_kernel.tools.functions.mark import ToolMark, mark_of


def test_a_plain_function_stays_itself():
    def area(side: int) -> int:
        return side**2

    assert tool(area) is area
    assert area(3) == 9
    assert mark_of(area) == ToolMark()


def test_with_arguments_as_decorator_and_as_call():
    @tool(name="square", description="Its area.", read_only=True, returns_images=True, timeout=5)
    def area(side: int) -> int:
        return side**2

    def other(side: int) -> int:
        return side

    assert area(3) == 9
    assert mark_of(area) == ToolMark("square", "Its area.", True, True, 5)
    assert tool(other, name="x") is other
    assert mark_of(other).name == "x"
    spec = as_function_tool(area).spec
    assert (spec.id, spec.description, spec.read_only, spec.returns_images) == (
        "extension/notebook:square", "Its area.", True, True,
    )  # fmt: skip


def test_async_functions_partials_and_callable_objects_stay_themselves():
    @tool
    async def wait(seconds: float) -> str:
        return f"{seconds}"

    class Shelf:
        def __call__(self, title: str) -> str:
            return title

    part = functools.partial(wait, seconds=0.0)
    shelf = Shelf()
    assert asyncio.run(wait(1.0)) == "1.0"
    assert tool(part) is part
    assert tool(shelf) is shelf
    assert as_function_tool(part).name == "wait"
    assert as_function_tool(shelf).name == "Shelf"


def test_bound_methods_and_c_functions_become_a_partial_of_themselves():
    class Shelf:
        books = 3

        def count(self, extra: int = 0) -> int:
            """Count the books."""
            return self.books + extra

    count = tool(Shelf().count)
    assert count(2) == 5
    described = as_function_tool(count)
    assert (described.name, described.spec.description) == ("count", "Count the books.")
    assert list(described.spec.input_schema["properties"]) == ["extra"]
    root = tool(math.sqrt)
    assert root(9) == 3
    assert as_function_tool(root).name == "sqrt"


def test_marked_methods_keep_the_mark_when_bound():
    class Shelf:
        @tool(timeout=9)
        def count(self, extra: int = 0) -> int:
            return extra

        @tool
        @staticmethod
        def size(of: str) -> int:
            return len(of)

        @tool
        @classmethod
        def name(cls) -> str:
            return cls.__name__

    assert mark_of(Shelf().count).timeout == 9
    assert list(as_function_tool(Shelf().count).spec.input_schema["properties"]) == ["extra"]
    assert mark_of(Shelf.size) == ToolMark()
    assert Shelf.size("abc") == 3
    assert mark_of(Shelf.name) == ToolMark()
    assert Shelf.name() == "Shelf"


def test_the_mark_survives_a_wrapper_around_it():
    @functools.lru_cache
    @tool(name="cached")
    def slow(x: int) -> int:
        return x

    assert mark_of(slow).name == "cached"
    assert as_function_tool(slow).spec.id == "extension/notebook:cached"


@pytest.mark.parametrize("wrong", [3, "name", int, type("A", (), {})])
def test_what_is_no_function(wrong):
    with pytest.raises(UsageProblem) as caught:
        tool(wrong)
    assert caught.value.code == "tool.not_a_function"


@pytest.mark.parametrize("how", [{"name": " "}, {"timeout": 0}, {"timeout": -1}, {"timeout": float("nan")}])
def test_wrong_settings(how):
    with pytest.raises(UsageProblem) as caught:
        tool(**how)
    assert caught.value.code == "extension.tool_definition_invalid"


def test_a_parameter_that_no_model_can_fill_is_found_where_it_is_defined():
    import pandas as pd

    with pytest.raises(UsageProblem, match="parameter 'table' has the type DataFrame, which a model cannot send"):

        @tool
        def summarise(table: pd.DataFrame) -> str:
            return ""


def test_a_type_that_is_defined_further_down_is_awaited():
    space = {"tool": tool}
    exec("@tool\ndef draw(at: 'Point') -> str: return str(at.x)", space)
    with pytest.raises(UsageProblem, match="'Point'"):
        _ = as_function_tool(space["draw"]).spec
    exec("from dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int", space)
    assert as_function_tool(space["draw"]).spec.input_schema["properties"]["at"]["required"] == ["x"]


def test_objects_that_answer_to_any_name_are_no_tools():
    class Yes:
        def __getattr__(self, name):
            return ToolMark()

        def __call__(self): ...

    assert mark_of(Yes()) is None


def test_importing_tool_imports_no_heavy_library():
    code = "import sys; from tt_kernel import tool; sys.exit(any(m in sys.modules for m in ('numpy','pandas','PIL','matplotlib')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
