"""The parameters of a typed function as a closed JSON schema and a strict reader of arguments.

How it works:
- The parameters become the fields of a TypedDict; pydantic makes the schema and the validator from it. What the model left
  out is not in the result, so the function's own default applies.
- Reading is strict ("3" is no integer), with two mercies that models need: 3.0 is taken as 3, and null for an optional
  parameter means that it was left out.
- Anything else is one `tool.invalid_arguments`, one problem a line (argument_errors.py).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import TypedDict

from tt_kernel.domain.canonical import Json, JsonObject
from tt_kernel.domain.errors import ToolError
from tt_kernel.toolkit.argument_errors import explain, place_of
from tt_kernel.toolkit.json_schema import tidy_schema, without_null
from tt_kernel.toolkit.signature import Parameter, Signature

INVALID = "tool.invalid_arguments"


@dataclass(frozen=True)
class Arguments:
    """What the model may send to one tool function.

    Attributes:
        parameters: In the order of the signature; that is the order in the schema (spec liveagent §2.5).
        open: Unknown names are passed on (the function takes `**kwargs`) instead of refused.
    """

    parameters: tuple[Parameter, ...]
    open: bool = False

    @classmethod
    def of(cls, signature: Signature, texts: Mapping[str, str], *, may_be_open: bool = False) -> "Arguments":
        """From a signature and the docstring's texts; a description in an annotation wins over the docstring."""
        parameters = tuple(replace(p, description=texts.get(p.name, "")) for p in signature.parameters)
        return cls(parameters, open=may_be_open and signature.takes_more)

    @cached_property
    def schema(self) -> JsonObject:
        """JSON schema with root type object, closed unless `open`."""
        schema = tidy_schema(self._adapter.json_schema())
        for parameter in self.parameters:
            found = schema["properties"][parameter.name]
            shown = parameter.shown_default
            if shown is not None:
                found.setdefault("default", shown)
            elif parameter.optional and parameter.default is None:
                schema["properties"][parameter.name] = without_null(found)
        return schema

    def read(self, values: JsonObject, tool: str) -> dict[str, Any]:
        """Typed values of what the model sent, by parameter name.

        Args:
            values: The decoded arguments.
            tool: The call name, for the message.

        Raises:
            ToolError: `tool.invalid_arguments` (spec tauritavern §4).
        """
        given = {k: v for k, v in values.items() if v is not None or not self._null_means_omitted(k)}
        try:
            return self._parse(given)
        except ValidationError as error:
            first = error
        try:
            return self._parse(_mended(given, first))
        except ValidationError as error:
            names = [p.name for p in self.parameters]
            raise ToolError(INVALID, explain(tool, names, given, first, error)) from None

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        make: Any = TypedDict  # its functional form with computed fields is beyond type checkers
        shape = make("Arguments", {p.name: _field(p) for p in self.parameters})
        shape.__pydantic_config__ = ConfigDict(extra="allow" if self.open else "forbid", strict=True)
        return TypeAdapter(shape)

    def _parse(self, values: JsonObject) -> dict[str, Any]:
        # JSON mode: there strictness still lets a list be a tuple and a text be an enum, a date or a path.
        parsed: dict[str, Any] = self._adapter.validate_json(json.dumps(values, ensure_ascii=False))
        return parsed

    def _null_means_omitted(self, name: str) -> bool:
        parameter = next((p for p in self.parameters if p.name == name), None)
        return parameter is not None and parameter.optional and (parameter.default is None or not parameter.takes_null)


def _field(parameter: Parameter) -> Any:
    annotation = parameter.annotation
    if parameter.description and not _describes_itself(annotation):
        annotation = Annotated[annotation, Field(description=parameter.description)]
    return NotRequired[annotation] if parameter.optional else annotation


def _describes_itself(annotation: Any) -> bool:
    return any(isinstance(m, FieldInfo) and m.description for m in getattr(annotation, "__metadata__", ()))


def _mended(values: JsonObject, error: ValidationError) -> JsonObject:
    """A copy with the two mercies, at any depth."""
    mended: JsonObject = json.loads(json.dumps(values))
    for problem in error.errors(include_url=False, include_context=False):
        value = problem["input"]
        where = place_of(mended, problem)
        if isinstance(value, float) and value.is_integer() and where:
            _box(mended, where)[where[-1]] = int(value)
        elif value is None and len(where) > 1 and isinstance(where[-1], str):
            _box(mended, where).pop(where[-1], None)
    return mended


def _box(values: Json, where: tuple[Any, ...]) -> Any:
    """The object or list that holds the last step of `where`."""
    for step in where[:-1]:
        values = values[step]
    return values
