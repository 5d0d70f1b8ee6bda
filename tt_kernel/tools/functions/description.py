"""A notebook function as a tool description."""

import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.toolkit.docstrings import Docs, parse_docstring
from tt_kernel.toolkit.schema import Arguments
from tt_kernel.toolkit.signature import Signature, function_name, plain_function, read_signature, without_partials
from tt_kernel.tools.functions.context import ToolContext
from tt_kernel.tools.functions.digest import source_digest
from tt_kernel.tools.functions.mark import ToolMark, mark_of

PROVIDER = "extension/notebook"
CONTEXT_NAME = "ctx"


@dataclass(frozen=True, eq=False)
class FunctionTool:
    """One callable with its mark; everything else follows from them, once, when it is asked for."""

    function: Callable[..., Any]
    mark: ToolMark

    @property
    def name(self) -> str:
        """Native name: `extension/notebook:<name>`."""
        return self.mark.name or function_name(self.function)

    @cached_property
    def spec(self) -> ToolSpec:
        """Raises UsageProblem when a parameter cannot be filled by a model."""
        return ToolSpec(
            id=ToolId.parse(f"{PROVIDER}:{self.name}"),
            description=self.mark.description or self._docs.description or self._makeshift(),
            input_schema=self.arguments.schema,
            group="notebook",
            effect="external",
            read_only=self.mark.read_only,
            returns_images=self.mark.returns_images,
            version=source_digest(self.function),
        )

    @cached_property
    def arguments(self) -> Arguments:
        return Arguments.of(self.signature, self._docs.parameters, may_be_open=True)

    @cached_property
    def signature(self) -> Signature:
        return read_signature(self.function, injects=_is_context, lenient=True)

    @cached_property
    def is_async(self) -> bool:
        """Calling it gives a coroutine: partials, methods and callable objects included."""
        return inspect.iscoroutinefunction(self.function) or inspect.iscoroutinefunction(plain_function(self.function))

    @cached_property
    def _docs(self) -> Docs:
        text = plain_function(self.function).__doc__
        core = without_partials(self.function)
        if not text and not inspect.isroutine(core) and not hasattr(core, "__wrapped__"):
            text = type(core).__doc__  # of a callable object
        return parse_docstring(text)

    def _makeshift(self) -> str:
        names = ", ".join(parameter.name for parameter in self.signature.parameters)
        return f"The function {self.name}({names}) of the user's notebook."


def as_function_tool(function: object) -> FunctionTool:
    """The description of a callable, marked or not.

    Raises:
        UsageProblem: It is not a function.
    """
    if not callable(function) or isinstance(function, type):
        raise UsageProblem("tool.not_a_function", f"A tool must be a function, not {function!r}.")
    return FunctionTool(function, mark_of(function) or ToolMark())


def _is_context(name: str, annotation: Any) -> bool:
    wanted = annotation is ToolContext or ToolContext in typing.get_args(annotation)
    return wanted or (name == CONTEXT_NAME and annotation is Any)
