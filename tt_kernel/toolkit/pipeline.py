"""The stack of call policies: each takes a Caller and gives a Caller.

The list is read from the outside in: `stacked(dispatching(tools), [validated(tools), permitted(...), Replayed(...),
approved(...), bounded(...), timed(...)])`.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import ContractBroken, OutcomeUnknown, ToolError
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.ports import Caller
from tt_kernel.domain.specs import ToolSpec
from tt_kernel.toolkit.declare import argument_object, error_result
from tt_kernel.toolkit.permissions import Decision
from tt_kernel.toolkit.tool import Tool

Wrapper = Callable[[Caller], Caller]
SpecOf = Callable[[ToolCall], ToolSpec]
Decide = Callable[[ToolSpec, str, JsonObject], Decision]
"""`PermissionEngine.decide`."""

DENIED = "tool.permission_denied"


def stacked(caller: Caller, wrappers: Sequence[Wrapper]) -> Caller:
    """`caller` inside the wrappers, the first of them outermost."""
    for wrapper in reversed(wrappers):
        caller = wrapper(caller)
    return caller


def dispatching(tools: Iterable[Tool]) -> Caller:
    """The innermost caller: hands a call to the tool with its id.

    Raises:
        ContractBroken: `tool.dispatch_handler_missing` (at the call) when no tool has the id.
    """
    by_id = tools_by_id(tools)

    async def call(request: ToolCall) -> ToolResult:
        return await _tool(by_id, request).call(request)

    return call


def validated(tools: Iterable[Tool]) -> Wrapper:
    """Refuse arguments that are no object or do not fit, before anyone is asked for permission: `tool.invalid_arguments`."""
    by_id = tools_by_id(tools)

    def wrap(inner: Caller) -> Caller:
        async def call(request: ToolCall) -> ToolResult:
            try:
                argument_object(request)
                _tool(by_id, request).check(request)
            except ToolError as error:
                return error_result(request, error)
            return await inner(request)

        return call

    return wrap


def permitted(decide: Decide, spec_of: SpecOf) -> Wrapper:
    """Refuse what the rules deny: `tool.permission_denied`.

    What they ask for is the business of `approved`, also where nobody can answer: that is inside the recordings, so that a
    call which a person once approved replays on a machine without one.
    """

    def wrap(inner: Caller) -> Caller:
        async def call(request: ToolCall) -> ToolResult:
            decision = decide(spec_of(request), request.name, argument_object(request))
            if decision.decision == "deny" and not decision.unattended:
                return denied(request, decision)
            return await inner(request)

        return call

    return wrap


def denied(call: ToolCall, decision: Decision) -> ToolResult:
    return ToolResult.error(call, DENIED, decision.refusal(call.name), rule=decision.rule)


def timed(seconds: float, applies: Callable[[ToolCall], bool], code: str = "tool.timeout") -> Wrapper:
    """Give up a call after `seconds`. Its outcome is then unknown, which ends the run (spec tauritavern §15.2).

    Args:
        seconds: Limit of one call.
        applies: Which calls it is for; tools that have limits of their own are left alone.
        code: Code of the OutcomeUnknown.
    """

    def wrap(inner: Caller) -> Caller:
        async def call(request: ToolCall) -> ToolResult:
            if not applies(request):
                return await inner(request)
            try:
                async with asyncio.timeout(seconds) as scope:
                    return await inner(request)
            except TimeoutError:
                if not scope.expired():
                    raise
                raise timeout_fault(request, seconds, code) from None

        return call

    return wrap


def timeout_fault(call: ToolCall, seconds: float, code: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        code,
        f"{call.name} gave no answer within {seconds:g} s. It may have done its work; look at the actual state before "
        "running it again.",
    )


def tools_by_id(tools: Iterable[Tool]) -> Mapping[ToolId, Tool]:
    return {tool.spec.id: tool for tool in tools}


def _tool(tools: Mapping[ToolId, Tool], call: ToolCall) -> Tool:
    tool = tools.get(call.tool_id)
    if tool is None:
        raise ContractBroken("tool.dispatch_handler_missing", f"No executor is bound for {call.tool_id!r}.")
    return tool
