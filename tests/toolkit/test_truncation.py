"""Arguments that arrived in part: spec liveagent §3.4 (1), §18."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.ids import builtin
from tt_kernel.toolkit.truncation import complete, is_cut_off


def call_with(wire) -> ToolCall:
    return ToolCall(
        id="c", tool_id=builtin("Write"), name="Write", arguments=ToolArguments.decode(wire),
        invocation_id="inv_root", turn=1, index=0,
    )  # fmt: skip


async def passed(request):
    return ToolResult(call_id=request.id, tool_id=request.tool_id, content="executed")


@pytest.mark.parametrize(
    "raw",
    [
        '{"path": "a", "content": "hel',
        '{"path": "a",',
        '{"path"',
        "{",
        '{"a": tru',
        '{"a": [1, 2',
        '{"a": "x\\',
        '{"a": "x\\u00',
        "[1",
    ],
)
async def test_a_broken_off_call_is_refused_and_told_why(raw):
    result = await complete(passed)(call_with(raw))
    assert (result.is_error, result.error_code) == (True, "tool.invalid_arguments")
    assert f"break off after {len(raw)} characters" in result.content
    assert raw in result.content
    assert "Make the call again with whole arguments" in result.content
    assert result.structured["cutOff"] is True


@pytest.mark.parametrize("raw", ["{a: 1", '{"a": }', '{"a" 1', "hello", '{"a": nulx', '{"a": 1} and more'])
async def test_broken_json_that_is_not_cut_off_is_the_business_of_validation(raw):
    assert (await complete(passed)(call_with(raw))).content == "executed"


@pytest.mark.parametrize("wire", [None, "", {}, {"path": "a"}, '{"path": "a"}', "   "])
async def test_whole_arguments_pass(wire):
    assert (await complete(passed)(call_with(wire))).content == "executed"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON), st.data())
def test_every_proper_beginning_of_an_object_is_cut_off_and_the_whole_is_not(value, data):
    text = json.dumps(value)
    at = data.draw(st.integers(1, len(text) - 1))
    assert is_cut_off(text[:at])
    assert not is_cut_off(text)
