"""How a built-in tool is written: a typed function whose docstring is the model's manual.

    @builtin_tool("dice.roll", group="dice", effect="none", read_only=True)
    async def roll(rng: random.Random, formula: str) -> Outcome:
        '''Roll dice. Args: formula: For example `3d6+4`.'''

The first parameter is what the tool touches; `Declaration.bind` fills it. A parameter annotated `ToolCall` receives the
call. The function returns text or an Outcome and raises ToolError for what the model can mend.
"""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ContractBroken, ToolError
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.specs import Context, Effect, ToolSpec
from tt_kernel.toolkit.docstrings import Docs, parse_docstring
from tt_kernel.toolkit.schema import INVALID, Arguments
from tt_kernel.toolkit.signature import Signature, read_signature
from tt_kernel.toolkit.tool import Outcome, Tool

ToolFunction = Callable[..., "str | Outcome | Awaitable[str | Outcome]"]


@dataclass(frozen=True, eq=False)
class Declaration:
    """A built-in tool that is not yet bound to what it touches. Calling it calls the function.

    Attributes:
        id: `builtin:<native>`.
        function: As written.
    """

    id: ToolId
    function: ToolFunction
    group: str
    effect: Effect
    read_only: bool
    contexts: tuple[Context, ...]
    returns_images: bool
    version: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    @cached_property
    def spec(self) -> ToolSpec:
        """Built at first use, once; the schema is closed and keeps the order of the parameters."""
        description = self._docs.description
        if not description:
            raise ContractBroken(
                "tool.description_missing", f"Built-in tool {self.id!r} needs a docstring for the model."
            )
        return ToolSpec(
            id=self.id,
            description=description,
            input_schema=self.arguments.schema,
            group=self.group,
            effect=self.effect,
            read_only=self.read_only,
            contexts=self.contexts,
            returns_images=self.returns_images,
            version=self.version,
        )

    def bind(self, desk: Any) -> Tool:
        """The tool, touching `desk` (the function's first parameter)."""

        async def call(request: ToolCall) -> ToolResult:
            try:
                values = self.arguments.read(argument_object(request), request.name)
                values.update(dict.fromkeys(self._signature.injected, request))
                args, kwargs = self._signature.arguments(values)
                said = self.function(desk, *args, **kwargs)
                if inspect.isawaitable(said):
                    said = await said
            except ToolError as error:
                return error_result(request, error)
            outcome = said if isinstance(said, Outcome) else Outcome(said)
            return outcome.to_result(request)

        return Tool(self.spec, call, self.check)

    def check(self, call: ToolCall) -> None:
        """Read the arguments without calling. Raises ToolError `tool.invalid_arguments`."""
        self.arguments.read(argument_object(call), call.name)

    @cached_property
    def arguments(self) -> Arguments:
        return Arguments.of(self._signature, self._docs.parameters)

    @cached_property
    def _signature(self) -> Signature:
        return read_signature(self.function, skip=1, injects=lambda _name, annotation: annotation is ToolCall)

    @cached_property
    def _docs(self) -> Docs:
        return parse_docstring(self.function.__doc__)


def builtin_tool(
    native: str,
    *,
    group: str,
    effect: Effect,
    read_only: bool = False,
    contexts: tuple[Context, ...] = ("cell", "session"),
    returns_images: bool = False,
    version: str = "1",
) -> Callable[[ToolFunction], Declaration]:
    """Declare a built-in tool.

    Args:
        native: Name in the id, `workspace.read_file`; the call name has `_` for `.`.
        group: Family that permission rules (`group:<name>`) and icons go by.
        effect: What a call can change (DESIGN §5.1).
        read_only: The call changes nothing, so such calls of one turn may run concurrently.
        contexts: Where it is offered.
        returns_images: Bound only when the model accepts images.
        version: Changed when the same arguments mean something else than in an earlier release.
    """

    def declare(function: ToolFunction) -> Declaration:
        return Declaration(builtin(native), function, group, effect, read_only, contexts, returns_images, version)

    return declare


def argument_object(call: ToolCall) -> JsonObject:
    """The arguments of a call, or ToolError `tool.invalid_arguments` with the start of what was sent (spec tauritavern §3)."""
    if call.arguments.value is None:
        raise ToolError(INVALID, not_an_object(call.name, call.arguments))
    return call.arguments.value


def not_an_object(name: str, arguments: ToolArguments) -> str:
    return f"{name}: the arguments must be one JSON object, got: {arguments.echo}"


def error_result(call: ToolCall, error: ToolError) -> ToolResult:
    """The recoverable result of a ToolError."""
    return ToolResult.error(call, error.code, error.message, **error.structured)
