"""The call policy for arguments that arrived in part: spec liveagent §3.4 (1), §18. Half a file must never be written."""

from pydantic_core import from_json

from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.ports import Caller

CUT_OFF = "tool.arguments_cut_off"


def complete(inner: Caller) -> Caller:
    """Refuse a call whose arguments end in the middle, before anything else looks at it: `tool.arguments_cut_off`."""

    async def call(request: ToolCall) -> ToolResult:
        raw = request.arguments.raw
        if raw is None or not is_cut_off(raw):
            return await inner(request)
        return ToolResult.error(request, CUT_OFF, _message(request.name, raw), received=len(raw))

    return call


def is_cut_off(raw: str) -> bool:
    """Whether a text is the beginning of a JSON value, and no more than that. Other broken JSON is the model's own mistake."""
    try:
        from_json(raw)
    except ValueError as error:
        return bool(raw.strip()) and str(error).startswith("EOF while parsing")
    return False


def _message(name: str, raw: str) -> str:
    return (
        f"{name} was not run: its arguments break off after {len(raw):,} characters, because the output limit was reached or "
        f"the connection failed. Nothing was done.\nThey end with: {raw[-80:]}\n"
        "Make the call again with whole arguments. If they were long, do it in several smaller calls."
    )
