"""The scripted model: positions, pieces, expectations and faults (DESIGN §9)."""

import asyncio
import time

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.errors import ProviderError
from tt_kernel.domain.messages import AssistantMessage, CallPart, SystemMessage, ToolMessage, UserMessage
from tt_kernel.domain.turns import CallChunk, ModelReply, ReasoningChunk, TextChunk, Usage
from tt_kernel.providers.names import provider_for

from .conftest import collect, request_for

SCRIPT = """
script: 1
chunk: 4
conversations:
  - name: dice
    when: roll
    turns:
      - think: I need it.
        say: Let me roll.
        call: dice_roll
        with: {formula: 2d6}
      - expect: "= 7"
        say: You rolled seven.
      - asked: again
        say: Once more.
  - name: greeting
    when: [hello, good day]
    turns: [Hi!]
"""


@pytest.fixture
def scripted(tmp_path):
    def make(text=SCRIPT):
        (tmp_path / "demo.yaml").write_text(text)
        return provider_for("scripted:demo.yaml", base_dir=tmp_path)

    return make


async def last(provider, *messages, **more) -> ModelReply:
    reply = (await collect(provider.stream(request_for(*messages, **more))))[-1]
    assert isinstance(reply, ModelReply)
    return reply


async def fails(provider, *messages, **more) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await collect(provider.stream(request_for(*messages, **more)))
    return caught.value


ASK = UserMessage(text="Roll two dice.")
CALLED = AssistantMessage(
    text="Let me roll.",
    calls=(CallPart(id="call_1_0", name="dice_roll", arguments=ToolArguments(value={"formula": "2d6"})),),
)
RESULT = ToolMessage(call_id="call_1_0", name="dice_roll", text="Rolled 2d6: 3 + 4 = 7.")
ANSWERED = AssistantMessage(text="You rolled seven.")


async def test_a_turn_is_said_in_pieces(scripted):
    chunks = await collect(scripted().stream(request_for(ASK)))
    assert [c.text for c in chunks if isinstance(c, ReasoningChunk)] == ["I ne", "ed i", "t."]
    assert [c.text for c in chunks if isinstance(c, TextChunk)] == ["Let ", "me r", "oll."]
    assert [c for c in chunks if isinstance(c, CallChunk)] == [
        CallChunk(index=0, name="dice_roll", arguments='{"formula":"2d6"}')
    ]
    assert chunks[-1].message == AssistantMessage(text="Let me roll.", reasoning="I need it.", calls=CALLED.calls)
    assert (chunks[-1].finish_reason, chunks[-1].model) == ("tool_call", "demo.yaml")


async def test_a_reply_asked_for_whole_is_one_piece(scripted):
    chunks = await collect(scripted().stream(request_for(ASK, stream=False)))
    assert [c.text for c in chunks if isinstance(c, TextChunk)] == ["Let me roll."]


async def test_the_turn_follows_from_the_conversation_alone(scripted):
    provider = scripted()
    for _ in range(2):
        assert (await last(provider, SystemMessage(text="s"), ASK, CALLED, RESULT)).message.text == "You rolled seven."
        assert (await last(provider, ASK)).message.text == "Let me roll."
        assert (
            await last(provider, ASK, CALLED, RESULT, ANSWERED, UserMessage(text="again"))
        ).message.text == "Once more."
        assert (await last(provider, UserMessage(text="Good day to you"))).message.text == "Hi!"


async def test_a_growing_list_is_followed(scripted):
    """The runtime passes the same list, longer each turn."""
    provider, messages = scripted(), [ASK]
    request = request_for()
    request = type(request)(
        messages=messages, **{n: getattr(request, n) for n in ("tools", "sampling", "tool_choice", "read_image")}
    )
    assert (await collect(provider.stream(request)))[-1].message.calls
    messages += [CALLED, RESULT]
    assert (await collect(provider.stream(request)))[-1].message.text == "You rolled seven."
    del messages[1:]
    assert (await collect(provider.stream(request)))[-1].message.calls, "a list that got shorter is read again"


async def test_replies_before_the_first_prompt_do_not_count(scripted):
    assert (await last(scripted(), AssistantMessage(text="Welcome."), ASK)).message.text == "Let me roll."


async def test_a_failed_expectation_tells_what_differed(scripted):
    wrong = RESULT.model_copy(update={"text": "Rolled 2d6: 3 + 5 = 8."})
    error = await fails(scripted(), ASK, CALLED, wrong)
    assert (error.code, error.retryable) == ("model.script_expectation", False)
    for piece in ("demo.yaml", "line 12", "'dice'", "the last tool result", "'= 7'", "'Rolled 2d6: 3 + 5 = 8.'"):
        assert piece in error.message
    missing = await fails(scripted(), ASK, CALLED)
    assert "there is none" in missing.message
    other = await fails(scripted(), ASK, CALLED, RESULT, ANSWERED, UserMessage(text="Thanks."))
    assert "the last user message should contain 'again'" in other.message


async def test_a_long_result_is_shown_in_part(scripted):
    error = await fails(scripted(), ASK, CALLED, RESULT.model_copy(update={"text": "x" * 100_000}))
    assert len(error.message) < 500


async def test_the_end_of_a_script_says_so(scripted):
    error = await fails(scripted(), UserMessage(text="hello"), AssistantMessage(text="Hi!"), UserMessage(text="more"))
    assert error.code == "model.script_ended"
    assert "'greeting' has 1 turns; turn 2 was asked for" in error.message


async def test_a_prompt_without_a_conversation_lists_them(scripted):
    error = await fails(scripted(), UserMessage(text="Unknown."))
    assert error.code == "model.script_no_conversation"
    assert "dice (when: roll); greeting (when: hello, good day)" in error.message


async def test_several_calls_and_malformed_arguments(scripted):
    provider = scripted(
        """turns: [{calls: [{call: a, with: {x: 1}}, {call: b, raw: '{"x":'}, {call: c, raw: '"{}"'}, {call: d, raw: '[1]'}]}]"""
    )
    reply = await last(provider, ASK)
    assert [(c.id, c.name) for c in reply.message.calls] == [
        ("call_1_0", "a"),
        ("call_1_1", "b"),
        ("call_1_2", "c"),
        ("call_1_3", "d"),
    ]
    assert [c.arguments for c in reply.message.calls] == [
        ToolArguments(value={"x": 1}),
        ToolArguments(raw='{"x":'),
        ToolArguments(value={}),
        ToolArguments(raw="[1]"),
    ]


@pytest.mark.parametrize(
    ("turn", "code", "retryable"),
    [
        ("{say: a, fail: 400}", "model.invalid_request", False),
        ("{say: a, fail: 401}", "model.authentication", False),
        ("{say: a, fail: 404}", "model.not_found", False),
        ("{say: a, fail: 408}", "model.timeout", True),
        ("{say: a, fail: 429}", "model.rate_limited", True),
        ("{say: a, fail: 500}", "model.upstream_unavailable", True),
        ("{say: a, fail: 529}", "model.upstream_unavailable", True),
        ("{say: a, fail: cut}", "model.upstream_invalid_response", True),
        ("{say: a, fail: tools}", "model.tools_unsupported", False),
        ("{say: a, fail: quota}", "model.quota_exceeded", False),
        ("{refuse: I must not.}", "model.provider_refusal", False),
        ("{call: a, id: ''}", "model.invalid_tool_call", False),
        ("{say: '', finish: length}", "model.output_truncated", False),
        ("{say: a, finish: error}", "model.upstream_invalid_response", True),
    ],
)
async def test_a_fault_has_the_code_a_service_would_have(scripted, turn, code, retryable):
    error = await fails(scripted(f"turns: [{turn}]"), ASK)
    assert (error.code, error.retryable) == (code, retryable)
    assert "scripted:demo.yaml" in error.message


async def test_a_fault_happens_so_often_and_then_the_turn(scripted):
    provider = scripted("turns: [{say: Here., fail: {error: 429, times: 2, retry_after: 1.5, message: slow down}}]")
    for _ in range(2):
        error = await fails(provider, ASK)
        assert error.retry_after == 1.5
        assert "slow down" in error.message
    assert (await last(provider, ASK)).message.text == "Here."
    assert (await last(provider, ASK)).message.text == "Here."


async def test_a_new_provider_counts_anew(scripted):
    text = "turns: [{say: Here., fail: 503}]"
    for _ in range(2):
        await fails(scripted(text), ASK)


async def test_a_fault_can_happen_always(scripted):
    provider = scripted("turns: [{fail: {error: 503, times: always}}]")
    for _ in range(5):
        assert (await fails(provider, ASK)).code == "model.upstream_unavailable"


async def test_a_stream_is_cut_after_some_text(scripted):
    provider = scripted("chunk: 3\nturns: [{say: Hello there., fail: {error: cut, after: 7}}]")
    seen = []
    with pytest.raises(ProviderError):
        async for chunk in provider.stream(request_for(ASK)):
            seen.append(chunk.text)
    assert seen == ["Hel", "lo ", "t"]
    assert (await last(provider, ASK)).message.text == "Hello there."


async def test_a_service_that_hangs_ends_with_the_profiles_time_out(scripted):
    start = time.perf_counter()
    error = await fails(scripted("turns: [{fail: {error: hang, times: always}}]"), ASK, timeout_seconds=0.2)
    assert error.code == "model.timeout"
    assert 0.2 <= time.perf_counter() - start < 15


async def test_a_hanging_turn_can_be_cancelled(scripted):
    task = asyncio.create_task(fails(scripted("turns: [{fail: {error: hang, times: always}}]"), ASK))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_turn_takes_its_time(scripted):
    provider = scripted("chunk: 1\npace: 20\nturns: [{say: abcde, wait: 100}]")
    times = []
    start = time.perf_counter()
    async for _ in provider.stream(request_for(ASK)):
        times.append(time.perf_counter() - start)
    assert times[0] >= 0.12
    assert times[-1] >= 0.2


async def test_an_empty_reply_is_a_reply(scripted):
    """What it means is the runtime's business."""
    reply = await last(scripted('turns: [{say: ""}]'), ASK)
    assert (reply.message, reply.finish_reason) == (AssistantMessage(), "stop")


async def test_a_long_text_is_said_in_linear_time(scripted):
    provider = scripted("chunk: 1000\nturns: [{say: {repeat: 'lorem ', times: 500000}}]")
    start = time.perf_counter()
    reply = await last(provider, ASK)
    assert len(reply.message.text) == 3_000_000
    assert time.perf_counter() - start < 15


async def test_usage_is_what_the_script_says_or_an_estimate(scripted):
    provider = scripted("turns: [{say: a, usage: {input: 10, output: 5, cached: 2, cost: 0.25}}, {say: abcdefgh}]")
    assert (await last(provider, ASK)).usage == Usage(input_tokens=10, output_tokens=5, cached_tokens=2, cost_usd=0.25)
    estimated = (await last(provider, ASK, AssistantMessage(text="a"), UserMessage(text="12345"))).usage
    assert estimated == Usage(input_tokens=2, output_tokens=2)


async def test_a_turn_of_a_long_conversation_costs_what_is_new(scripted):
    """Finding the turn is O(new messages) on the list that only grows."""
    count = 1500
    provider = scripted("turns:\n" + "  - {call: t}\n" * count)
    messages = [ASK]
    base = request_for()
    request = type(base)(
        messages=messages, tools=(), sampling=base.sampling, tool_choice=base.tool_choice, read_image=base.read_image
    )
    spent = []
    for _ in range(count):
        start = time.perf_counter()
        reply = (await collect(provider.stream(request)))[-1]
        spent.append(time.perf_counter() - start)
        messages += [reply.message, ToolMessage(call_id=reply.message.calls[0].id, name="t", text="ok")]
    early, late = sorted(spent[50:250])[100], sorted(spent[-200:])[100]
    assert late < 3 * early + 0.0005


def test_images_are_accepted_unless_the_script_says_no(scripted):
    assert scripted("turns: [a]").accepts_images is True
    assert scripted("images: false\nturns: [a]").accepts_images is False


def test_the_identity_for_a_prompt_is_that_of_its_conversation(scripted):
    whole, dice = scripted().identity, scripted().identity_for("roll")
    changed = scripted(SCRIPT.replace("Hi!", "Hey!"))
    assert changed.identity_for("roll") == dice
    assert changed.identity != whole
