"""Parameters of every kind of callable that field report 57 names."""

import functools
import inspect
import random
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import Field

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.toolkit.signature import (
    UNRESOLVED,
    Parameter,
    function_name,
    plain_function,
    read_signature,
)


def names(function, **how):
    return [p.name for p in read_signature(function, **how).parameters]


class Shelf:
    def find(self, title: str, limit: int = 5) -> str:
        return title * limit

    def __call__(self, title: str) -> str:
        return title

    @staticmethod
    def count(title: str) -> int:
        return len(title)

    @classmethod
    def make(cls, title: str) -> "Shelf":
        return cls()


def test_function_method_static_class_callable():
    shelf = Shelf()
    assert names(shelf.find) == ["title", "limit"]
    assert names(shelf) == ["title"]
    assert names(Shelf.count) == ["title"]
    assert names(Shelf.make) == ["title"]
    assert function_name(shelf.find) == "find"
    assert function_name(shelf) == "Shelf"
    assert plain_function(shelf.find) is Shelf.find
    assert plain_function(shelf) is Shelf.__call__


def test_a_partial_hides_what_it_fixes():
    fixed = functools.partial(functools.partial(Shelf().find, limit=3))
    assert names(fixed) == ["title"]
    assert names(functools.partial(Shelf().find, "a")) == ["limit"]
    assert function_name(fixed) == "find"


def test_wrapped_functions_show_the_inner_signature():
    @functools.lru_cache
    def square(x: int) -> int:
        return x * x

    def noisy(inner):
        @functools.wraps(inner)
        def outer(*args, **kwargs):
            return inner(*args, **kwargs)

        return outer

    assert read_signature(noisy(square)).parameters == (Parameter("x", int),)


def test_future_annotations_resolve_where_the_function_was_made():
    source = (
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class Point:\n"
        "    x: int\n"
        "def draw(at: Point, size: int | None = None) -> Missing: ...\n"
    )
    space: dict[str, Any] = {}
    exec(source, space)
    assert space["draw"].__annotations__["at"] == "Point"
    at, size = read_signature(space["draw"]).parameters
    assert at.annotation is space["Point"]
    assert size.annotation == int | None


def test_a_local_type_that_the_function_uses_resolves():
    @dataclass
    class Local:
        x: int

    def draw(at: "Local"):
        return Local(1), at

    assert read_signature(draw).parameters[0].annotation is Local


def test_an_annotation_that_does_not_resolve_says_so():
    def draw(at: "Nowhere"): ...  # noqa: F821

    with pytest.raises(UsageProblem, match="'Nowhere' of parameter 'at'") as caught:
        read_signature(draw)
    assert caught.value.code == UNRESOLVED


def test_injected_positional_and_open():
    def run(a: int, b: int = 2, /, c: int = 3, *more: int, call: random.Random, **rest: int):
        return a, b, c, more, call, rest

    signature = read_signature(run, injects=lambda _name, annotation: annotation is random.Random)
    assert [p.name for p in signature.parameters] == ["a", "b", "c"]
    assert dict(signature.injected) == {"call": random.Random}
    assert signature.takes_more
    rng = random.Random(1)
    args, kwargs = signature.arguments({"a": 1, "c": 9, "call": rng, "extra": 4})
    assert run(*args, **kwargs) == (1, 2, 9, (), rng, {"extra": 4})
    assert signature.arguments({"a": 1, "b": 5})[0] == [1, 5]


def test_skip_leaves_out_what_a_builtin_touches():
    def roll(rng: random.Random, formula: str): ...

    assert names(roll, skip=1) == ["formula"]


def test_lenient_leaves_out_an_optional_parameter_that_no_json_can_fill():
    rng = random.Random()

    def sample(n: int, source: random.Random = rng): ...

    assert names(sample, lenient=True) == ["n"]

    def required(source: random.Random): ...

    with pytest.raises(UsageProblem, match=r"'required' cannot be a tool: parameter 'source' has the type Random"):
        read_signature(required, lenient=True)


def test_what_has_no_signature_says_so():
    with pytest.raises(UsageProblem) as caught:
        read_signature(max)
    assert caught.value.code == "tool.signature_unsupported"
    assert "Wrap it" in caught.value.message


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int, False),
        (int | None, True),
        (Optional[str], True),  # noqa: UP045
        (Any, True),
        (Annotated[int | None, Field(ge=1)], True),
        (Annotated[int, Field(ge=1)] | None, True),
        (Literal["a"], False),
    ],
)
def test_takes_null(annotation, expected):
    assert Parameter("x", annotation).takes_null is expected


def test_shown_default():
    assert Parameter("x", int, optional=True, default=3).shown_default == 3
    assert Parameter("x", Any, optional=True, default=(1, 2)).shown_default == [1, 2]
    assert Parameter("x", Any, optional=True, default=object()).shown_default is None
    assert Parameter("x", float, optional=True, default=float("nan")).shown_default is None
    assert Parameter("x", str, optional=True, default="y" * 300).shown_default is None
    assert Parameter("x", int, default=inspect.Parameter.empty).shown_default is None
