"""The call policy for arguments that arrived in part: spec liveagent §3.4 (1), §18. Half a file must never be written."""

from pydantic_core import from_json

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.ports import Caller
from tt_kernel.toolkit.schema import INVALID


def complete(inner: Caller) -> Caller:
    """Refuse a call whose arguments end in the middle, before anything else looks at it.

    The code is that of all arguments that are no object (`tool.invalid_arguments`, spec tauritavern §3); the words say what
    happened, since a model that reads "no JSON object" would look for a mistake of its own.
    """

    async def call(request: ToolCall) -> ToolResult:
        raw = request.arguments.raw
        if raw is None or not is_cut_off(raw):
            return await inner(request)
        return ToolResult.error(request, INVALID, _message(request, raw), cutOff=True, received=len(raw))

    return call


def is_cut_off(raw: str) -> bool:
    """Whether a text is the beginning of a JSON value, and no more than that. Other broken JSON is the model's own mistake."""
    try:
        from_json(raw)
    except ValueError as error:
        return bool(raw.strip()) and str(error).startswith("EOF while parsing")
    return False


def _message(call: ToolCall, raw: str) -> str:
    return (
        f"{call.name} was not run and nothing was changed: its arguments break off after {len(raw):,} characters, because the "
        f"output limit was reached or the connection failed.\nThey begin with: {call.arguments.echo}\n"
        "Make the call again with whole arguments. If they were long, do it in several smaller calls."
    )
