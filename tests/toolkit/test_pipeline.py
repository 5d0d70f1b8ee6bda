"""The stack of call policies: order, validation, permission, time."""

import asyncio

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.errors import ContractBroken, OutcomeUnknown
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.profiles import Permissions
from tt_kernel.toolkit.declare import builtin_tool
from tt_kernel.toolkit.permissions import PermissionEngine
from tt_kernel.toolkit.pipeline import dispatching, permitted, stacked, timed, validated


@builtin_tool("note", group="test", effect="host")
async def note(desk: list, text: str, wait: float = 0) -> str:
    """Note a text."""
    await asyncio.sleep(wait)
    desk.append(text)
    return f"noted {text}"


def request(arguments, tool_id="builtin:note"):
    return ToolCall(
        id="c1", tool_id=ToolId.parse(tool_id), name="note", arguments=ToolArguments.decode(arguments),
        invocation_id="inv_root", turn=1, index=0,
    )  # fmt: skip


def spec_of(_call):
    return note.spec


def tagged(tag, seen):
    def wrap(inner):
        async def call(request):
            seen.append(f"{tag} in")
            result = await inner(request)
            seen.append(f"{tag} out")
            return result

        return call

    return wrap


async def test_the_first_wrapper_is_the_outermost():
    seen: list = []
    caller = stacked(dispatching([note.bind([])]), [tagged("a", seen), tagged("b", seen)])
    await caller(request({"text": "x"}))
    assert seen == ["a in", "b in", "b out", "a out"]


async def test_dispatch_by_id():
    desk: list = []
    caller = dispatching([note.bind(desk)])
    assert (await caller(request({"text": "x"}))).content == "noted x"
    assert desk == ["x"]
    with pytest.raises(ContractBroken) as caught:
        await caller(request({}, "builtin:other"))
    assert caught.value.code == "tool.dispatch_handler_missing"


@pytest.mark.parametrize("arguments", ['{"text": ', [1], 5, {"text": 5}, {}, {"text": "x", "other": 1}])
async def test_validated_refuses_before_anyone_is_asked(arguments):
    seen: list = []
    desk: list = []
    tools = [note.bind(desk)]
    caller = stacked(dispatching(tools), [validated(tools), tagged("permission", seen)])
    result = await caller(request(arguments))
    assert result.error_code == "tool.invalid_arguments"
    assert result.content.startswith("note: ")
    assert (seen, desk) == ([], [])


async def test_permitted_refuses_what_is_denied_and_passes_the_rest():
    desk: list = []
    deny = PermissionEngine(
        [Permissions(rules=[{"tool": "note", "decision": "deny", "arguments": {"text": "x*"}}])], True
    )
    caller = stacked(dispatching([note.bind(desk)]), [permitted(deny.decide, spec_of)])
    refused = await caller(request({"text": "xy"}))
    assert (refused.is_error, refused.error_code) == (True, "tool.permission_denied")
    assert refused.structured["rule"] == "note text=x* = deny"
    assert (await caller(request({"text": "ok"}))).content == "noted ok"
    assert desk == ["ok"]


async def test_permitted_leaves_the_unattended_question_to_what_is_inside_the_recordings():
    """A call that a person once approved replays where nobody can answer."""
    headless = PermissionEngine([], interactive=False)

    async def recorded(call):
        return ToolResult(call_id=call.id, tool_id=call.tool_id, content="from the record")

    caller = stacked(recorded, [permitted(headless.decide, spec_of)])
    assert (await caller(request({"text": "x"}))).content == "from the record"


async def test_timed_gives_up_with_an_unknown_outcome():
    desk: list = []
    caller = stacked(dispatching([note.bind(desk)]), [timed(0.05, lambda _: True, "extension.tool_timeout")])
    with pytest.raises(
        OutcomeUnknown, match=r"note gave no answer within 0\.05 s\. It may have done its work"
    ) as caught:
        await caller(request({"text": "x", "wait": 5}))
    assert caught.value.code == "extension.tool_timeout"
    assert desk == []


async def test_timed_leaves_other_calls_and_other_timeouts_alone():
    async def impatient(_call):
        raise TimeoutError("of its own")

    free = stacked(dispatching([note.bind([])]), [timed(0.01, lambda _: False)])
    assert (await free(request({"text": "x", "wait": 0.05}))).content == "noted x"
    with pytest.raises(TimeoutError, match="of its own"):
        await stacked(impatient, [timed(5, lambda _: True)])(request({}))
