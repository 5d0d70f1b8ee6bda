"""spec tauritavern §16.2 "Placement" and §17.3: where active entries stand in the prompt."""

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.ids import CallId
from tt_kernel.domain.messages import AssistantMessage, CallPart, SystemMessage, ToolMessage, UserMessage
from tt_kernel.domain.worldinfo import ActivatedEntry, Activation
from tt_kernel.runtime.activation import place, with_world_info

SYSTEM = SystemMessage(text="You are.")
HISTORY = [UserMessage(text="u1"), AssistantMessage(text="a1"), UserMessage(text="u2"), AssistantMessage(text="a2")]
PROMPT = UserMessage(text="prompt")


def found(content, position, **more):
    return ActivatedEntry(world="w", uid=content, display_name=content, content=content, position=position, **more)


def shown(messages):
    return [f"{m.role}:{m.text}" for m in messages]


def placed(*entries, messages=(SYSTEM, *HISTORY, PROMPT)):
    return shown(with_world_info(messages, Activation(entries=entries)))


def test_before_and_after_surround_the_system_prompt():
    result = placed(found("b1", "before"), found("b2", "before"), found("a1", "after"), found("e", "em_top"))
    assert result[0] == "system:b1\nb2\n\nYou are.\n\na1\n\ne"
    assert len(result) == 6


def test_examples_come_behind_after():
    assert placed(found("bottom", "em_bottom"), found("top", "em_top"))[0] == "system:You are.\n\ntop\n\nbottom"


def test_an_entry_at_a_depth_is_a_message_of_its_role():
    result = placed(
        found("d0", "depth", depth=0),
        found("d1", "depth", depth=1, role="user"),
        found("d2", "depth", depth=2, role="assistant"),
        found("d2s", "depth", depth=2),
        found("d99", "depth", depth=99),
    )
    assert result == [
        "system:You are.", "system:d99", "user:u1", "assistant:a1", "user:u2",
        "system:d2s", "assistant:d2", "assistant:a2", "user:d1", "user:prompt", "system:d0",
    ]  # fmt: skip


def test_entries_of_one_depth_and_role_are_one_message():
    result = placed(
        found("x", "depth", depth=0), found("y", "depth", depth=0), found("z", "depth", depth=0, role="user")
    )
    assert result[-2:] == ["system:x\ny", "user:z"]


def test_the_notes_entries_stand_four_messages_before_the_end():
    result = placed(found("bottom", "an_bottom"), found("top", "an_top"))
    assert result == [
        "system:You are.", "user:u1", "system:top\nbottom", "assistant:a1", "user:u2", "assistant:a2", "user:prompt",
    ]  # fmt: skip
    assert placed(found("n", "an_top"), messages=(SYSTEM, PROMPT)) == ["system:You are.", "system:n", "user:prompt"]


def test_outlets_are_filled_where_the_system_prompt_names_them():
    system = SystemMessage(text="Lore: {{outlet::Lore}} [{{outlet::none}}] {{outlet::lore}}")
    result = placed(
        found("1", "outlet", outlet="Lore"), found("2", "outlet", outlet="Lore"), found("3", "outlet"),
        messages=(system, PROMPT),
    )  # fmt: skip
    assert result == ["system:Lore: 1\n2 [] ", "user:prompt"]


def test_an_outlet_without_an_activation_is_emptied():
    system = SystemMessage(text="A{{outlet::x}}B")
    assert shown(with_world_info([system, PROMPT], None)) == ["system:AB", "user:prompt"]


def test_entries_without_text_or_position_are_not_placed():
    assert placed(found(" \n", "before"), found("x", None)) == shown((SYSTEM, *HISTORY, PROMPT))


def test_a_prompt_without_a_system_message_gets_one_when_needed():
    assert placed(found("b", "before"), messages=(PROMPT,)) == ["system:b", "user:prompt"]
    assert placed(messages=(PROMPT,)) == ["user:prompt"]


def test_calls_and_their_results_are_not_torn_apart():
    call = AssistantMessage(calls=(CallPart(id=CallId("c"), name="t", arguments=ToolArguments(value={})),))
    results = [
        ToolMessage(call_id=CallId("c"), name="t", text="r1"),
        ToolMessage(call_id=CallId("d"), name="t", text="r2"),
    ]
    messages = (SYSTEM, UserMessage(text="u"), call, *results, PROMPT)
    for depth in (2, 3):
        result = with_world_info(messages, Activation(entries=(found("n", "depth", depth=depth),)))
        assert [m.role for m in result] == ["system", "user", "system", "assistant", "tool", "tool", "user"]


def test_the_message_of_an_entry_says_where_it_is_from():
    result = with_world_info([PROMPT], Activation(entries=(found("n", "depth", depth=0, role="user"),)))
    assert [m.source for m in result] == ["prompt", "worldinfo"]


def test_texts_by_place():
    result = place(
        Activation(entries=(found("a", "before"), found("b", "depth", depth=3), found("c", "outlet", outlet="o")))
    )
    assert result.texts["before"] == "a"
    assert result.depths == {(3, "system"): "b"}
    assert result.outlets == {"o": "c"}
