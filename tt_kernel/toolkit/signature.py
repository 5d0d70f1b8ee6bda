"""The parameters of any callable: function, method, partial, object with `__call__`, made in a cell or by exec."""

import functools
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Union

from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import UsageProblem

MAX_SHOWN_DEFAULT = 200
"""Longest JSON text of a default value that a schema repeats."""

UNRESOLVED = "tool.annotation_unresolved"

_PLAIN = (str, int, float, bool, Any)


@dataclass(frozen=True)
class Parameter:
    """One parameter that the model fills. `default` has a meaning only when `optional`."""

    name: str
    annotation: Any
    optional: bool = False
    default: Any = None
    description: str = ""
    positional: bool = False

    @property
    def takes_null(self) -> bool:
        return _takes_null(self.annotation)

    @property
    def shown_default(self) -> Json:
        """The default as a JSON value for the schema, or None when it is None, long or no JSON."""
        value = self.default.value if isinstance(self.default, Enum) else self.default
        if not self.optional or not isinstance(value, (str, int, float, list, tuple, dict)):
            return None
        try:
            text = json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            return None
        return json.loads(text) if len(text) <= MAX_SHOWN_DEFAULT else None


@dataclass(frozen=True)
class Signature:
    """What to ask of the model (`parameters`), what the caller supplies (`injected`: name -> annotation), and whether the
    function takes `**kwargs` (`takes_more`).
    """

    parameters: tuple[Parameter, ...]
    injected: Mapping[str, Any]
    takes_more: bool = False

    def arguments(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """`values` (typed, injected ones included) as positional and keyword arguments."""
        first = [p for p in self.parameters if p.positional]
        while first and first[-1].name not in values:
            first.pop()
        args = [values.get(p.name, p.default) for p in first]
        done = {p.name for p in first}
        return args, {name: value for name, value in values.items() if name not in done}


def read_signature(
    function: Callable[..., Any],
    *,
    skip: int = 0,
    injects: Callable[[str, Any], bool] = lambda _name, _annotation: False,
    lenient: bool = False,
) -> Signature:
    """Read the parameters of `function`.

    Args:
        function: Any callable with a signature.
        skip: How many leading parameters are not the model's (what a built-in tool touches).
        injects: Tells by name and annotation whether the caller supplies a parameter.
        lenient: Leave out an optional parameter whose type no JSON value can fill, instead of failing later.

    Raises:
        UsageProblem: `tool.signature_unsupported`, or `tool.annotation_unresolved` (it may resolve later), naming the function, the parameter and the way out.
    """
    name = function_name(function)
    bound = _bound_by_partial(function)
    hidden = set(list(_parameters(function, name))[:skip]) | bound
    parameters: list[Parameter] = []
    injected: dict[str, Any] = {}
    takes_more = False
    for found in _parameters(function, name).values():
        if found.kind is found.VAR_KEYWORD:
            takes_more = True
        if found.name in hidden or found.kind in (found.VAR_POSITIONAL, found.VAR_KEYWORD):
            continue
        parameter = _parameter(function, found, name)
        if injects(parameter.name, parameter.annotation):
            injected[parameter.name] = parameter.annotation
        elif not (lenient and _left_out(parameter, name)):
            parameters.append(parameter)
    return Signature(tuple(parameters), injected, takes_more)


def function_name(function: Any) -> str:
    """The name a person would use: of the function inside a partial, of the class of a callable object."""
    function = without_partials(function)
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def without_partials(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def plain_function(function: Any) -> Any:
    """The function that holds code, annotations and globals: inside partials, methods, wrappers and callable objects."""
    function = without_partials(function)
    if not isinstance(function, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)) and not hasattr(
        function, "__wrapped__"
    ):
        function = type(function).__call__
    if isinstance(function, types.MethodType):
        function = function.__func__
    return inspect.unwrap(function)


def _parameters(function: Callable[..., Any], name: str) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except NameError as error:  # Python 3.14 evaluates annotations only now
        what, way_out = f"an annotation cannot be resolved ({error})", "Define the type before the function."
        raise _unsupported(name, what, way_out, UNRESOLVED) from None
    except (ValueError, TypeError) as error:
        what, way_out = f"its parameters cannot be read ({error})", "Wrap it in a function with typed parameters."
        raise _unsupported(name, what, way_out) from None


def _parameter(function: Callable[..., Any], found: inspect.Parameter, name: str) -> Parameter:
    optional = found.default is not found.empty
    return Parameter(
        name=found.name,
        annotation=Any if found.annotation is found.empty else _resolved(function, found, name),
        optional=optional,
        default=found.default if optional else None,
        positional=found.kind is found.POSITIONAL_ONLY,
    )


def _resolved(function: Callable[..., Any], found: inspect.Parameter, name: str) -> Any:
    """The annotation as a type: text (`from __future__ import annotations`) is evaluated where the function was made."""
    plain = plain_function(function)
    holder = types.SimpleNamespace(__annotations__={found.name: found.annotation})
    try:
        hints = typing.get_type_hints(holder, getattr(plain, "__globals__", {}), _closure(plain), include_extras=True)
    except Exception as error:  # noqa: BLE001  an annotation is any expression
        raise _unsupported(
            name,
            f"the annotation {found.annotation!r} of parameter {found.name!r} cannot be resolved ({error})",
            "Define the type before the function, at the top level of the notebook.",
            code=UNRESOLVED,
        ) from None
    return hints[found.name]


def _closure(plain: Any) -> dict[str, Any]:
    """Values of the enclosing function that the function keeps, so that local types resolve."""
    cells = zip(
        getattr(getattr(plain, "__code__", None), "co_freevars", ()),
        getattr(plain, "__closure__", None) or (),
        strict=False,
    )
    values: dict[str, Any] = {}
    for variable, cell in cells:
        try:
            values[variable] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return values


def _left_out(parameter: Parameter, name: str) -> bool:
    if _sendable(parameter.annotation):
        return False
    if parameter.optional:
        return True
    raise _unsupported(
        name,
        f"parameter {parameter.name!r} has the type {_type_name(parameter.annotation)}, which a model cannot send",
        "Use str, int, float, bool, list, dict, Literal, an Enum, a dataclass or a pydantic model, or give it a default value.",
    )


def _sendable(annotation: Any) -> bool:
    if annotation in _PLAIN:
        return True
    try:
        TypeAdapter(annotation).json_schema()
    except (PydanticSchemaGenerationError, PydanticUserError):
        return False
    return True


def _takes_null(annotation: Any) -> bool:
    if annotation in (Any, None, type(None), object):
        return True
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return _takes_null(typing.get_args(annotation)[0])
    return origin in (Union, types.UnionType) and any(_takes_null(branch) for branch in typing.get_args(annotation))


def _bound_by_partial(function: Any) -> set[str]:
    """Keywords that partials have fixed: the user decided them, so the model is not asked."""
    bound: set[str] = set()
    while isinstance(function, functools.partial):
        bound |= set(function.keywords)
        function = function.func
    return bound


def _type_name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _unsupported(name: str, what: str, way_out: str, code: str = "tool.signature_unsupported") -> UsageProblem:
    return UsageProblem(code, f"Function {name!r} cannot be a tool: {what}. {way_out}")
