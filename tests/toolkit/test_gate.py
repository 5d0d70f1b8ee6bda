"""tool_request_gate: spec tauritavern §2.5, DESIGN §5.1."""

import pytest

from tt_kernel.domain.errors import ProviderError, ToolError
from tt_kernel.domain.ids import ToolId
from tt_kernel.domain.specs import Binding, Snapshot, ToolChoice, ToolSpec
from tt_kernel.toolkit.gate import Gate


def binding(name):
    spec = ToolSpec(
        id=ToolId.parse(f"builtin:{name}"), description="d", input_schema={"type": "object"}, group="g", effect="none"
    )
    return Binding(name=name, spec=spec)


def gate(*names):
    return Gate(Snapshot(completion="reply", bindings=tuple(map(binding, names))))


AUTO = ToolChoice()


def test_exact_then_unique_case_insensitive():
    both = gate("Read", "read", "Write")
    assert both.admit("read", AUTO).name == "read"
    assert both.admit(" WRITE ", AUTO).name == "Write"
    with pytest.raises(ToolError):
        both.admit("READ", AUTO)


def test_unknown_is_recoverable_and_names_the_nearest():
    with pytest.raises(ToolError) as caught:
        gate("workspace_read_file", "workspace_write_file", "dice_roll").admit("workspace_readfile", AUTO)
    assert caught.value.code == "model.unknown_tool_call"
    assert caught.value.message.startswith(
        "There is no tool 'workspace_readfile'; nothing was done. Did you mean workspace_read_file"
    )
    assert "dice_roll" not in caught.value.message


def test_nothing_near_lists_what_there_is():
    with pytest.raises(ToolError, match="Available tools: dice_roll, plot"):
        gate("dice_roll", "plot").admit("xyzzy", AUTO)
    with pytest.raises(ToolError, match="No tool is available in this run"):
        gate().admit("xyzzy", AUTO)
    with pytest.raises(ToolError, match="and 10 more"):
        gate(*(f"tool{n}" for n in range(50))).admit("", AUTO)


def test_a_prefix_that_models_add_is_seen_through():
    with pytest.raises(ToolError, match="Did you mean plot"):
        gate("dice_roll", "plot").admit("some.very.long.namespace.of.functions.plot", AUTO)


@pytest.mark.parametrize(
    "choice", [ToolChoice(kind="none"), ToolChoice(kind="specific", name="plot")], ids=lambda choice: choice.kind
)
def test_choice_violation_is_the_models_contract(choice):
    with pytest.raises(ProviderError) as caught:
        gate("dice_roll", "plot").admit("dice_roll", choice)
    assert caught.value.code == "model.tool_choice_violation"
    assert not caught.value.retryable


def test_choice_kept():
    assert gate("plot").admit("Plot", ToolChoice(kind="specific", name="plot")).name == "plot"
    assert gate("plot").admit("plot", ToolChoice(kind="required")).name == "plot"
