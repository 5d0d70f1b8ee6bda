"""What of a conversation may go, and when: spec liveagent §19."""

import json

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.events import HistoryCompacted
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId
from tt_kernel.domain.messages import AssistantMessage, CallPart, SystemMessage, ToolMessage, UserMessage
from tt_kernel.domain.profiles import ContextPolicy, Limits, ModelRetry
from tt_kernel.domain.sessions import estimated_tokens
from tt_kernel.domain.turns import Sampling
from tt_kernel.providers.scripted import ScriptedProvider
from tt_kernel.runtime.compactor import COOLDOWN_TURNS, Compactor
from tt_kernel.runtime.conversation import Conversation
from tt_kernel.runtime.history import (
    MIN_GROUPS,
    PRESSURE,
    PROTECTED_GROUPS,
    PROTECTED_TOKENS,
    PRUNE_TOKENS,
    CompactionRule,
    Cut,
    cut_of,
    groups_of,
    opening_length,
    prunable,
    pruned,
    replaced,
    replies_in,
)
from tt_kernel.runtime.limits import Meter
from tt_kernel.runtime.summary_form import REQUIRED, SECTIONS, missing_in, normal_form, repair_of

IMAGE = StoredFile(path="tool-results/a.png", mime_type="image/png", sha256="0" * 64, size=1)
OPENING = [SystemMessage(text="Be useful."), UserMessage(text="Do it.")]


def group(number: int, tokens: int = 10, calls: int = 1):
    parts = tuple(
        CallPart(id=CallId(f"c{number}_{n}"), name="read", arguments=ToolArguments.decode({})) for n in range(calls)
    )
    return [
        AssistantMessage(text=f"reply {number}", calls=parts),
        *(ToolMessage(call_id=part.id, name="read", text="x" * 4 * tokens, images=(IMAGE,)) for part in parts),
    ]


def talk(*groups):
    return [*OPENING, *(message for one in groups for message in one)]


def test_the_numbers_of_the_specification():
    assert MIN_GROUPS == 3
    assert PRUNE_TOKENS == 20_000
    assert PROTECTED_TOKENS == (40_000, 20_000, 10_000)
    assert PROTECTED_GROUPS == (2, 2, 1)
    assert PRESSURE == 0.9
    assert set(SECTIONS) == {
        "task", "constraints", "state", "artifacts", "decisions", "dead_ends", "knowledge", "open_loops", "next_steps",
        "breadcrumbs",
    }  # fmt: skip
    assert set(REQUIRED) == {"task", "state", "next_steps", "artifacts"}


def test_off_by_default():
    assert ContextPolicy().compact_above_tokens is None


# ---- groups


def test_a_result_is_never_parted_from_its_call():
    messages = talk(group(1, calls=3), group(2), [UserMessage(text="guide"), *group(3)])
    assert opening_length(messages) == 2
    assert groups_of(messages, 2) == [2, 6, 8]


def test_a_cut_keeps_the_opening_and_the_newest_groups():
    messages = talk(*(group(n) for n in range(6)))
    assert cut_of(messages, 2, 2, 0) == Cut(2, 10)
    assert messages[10] == group(4)[0]


@pytest.mark.parametrize(("level", "kept"), [(0, 4), (1, 2), (2, 1)])
def test_under_pressure_fewer_groups_stay(level, kept):
    messages = talk(*(group(n) for n in range(8)))
    assert cut_of(messages, 2, 4, level) == Cut(2, len(messages) - 2 * kept)


def test_too_few_groups_are_left_alone():
    assert cut_of(talk(group(1), group(2)), 2, 1, 0) is None
    assert cut_of(talk(group(1), group(2), group(3)), 2, 1, 0) == Cut(2, 6)
    assert cut_of(talk(*(group(n) for n in range(4))), 2, 4, 0) is None


def test_images_leave_with_their_messages_and_system_messages_stay():
    messages = talk(group(1), [SystemMessage(text="lore"), *group(2)], group(3))
    after = replaced(messages, 2, 5, "short", 2)
    assert [message.role for message in after] == ["system", "user", "system", "user", "assistant", "tool"]
    assert after[3] == UserMessage(text="short", source="compaction", replies=2)
    assert sum(len(m.images) for m in after if m.role == "tool") == 1
    assert replies_in(after) == replies_in(messages) == 3


# ---- pruning


def test_old_results_are_pruned_when_20000_tokens_come_free():
    messages = talk(*(group(n, 10_000) for n in range(8)))
    old = prunable(messages, 2, 0)
    # The newest 40 000 tokens are four results (a little less, for the replies between them).
    assert old == (3, 5, 7, 9, 11)[: len(old)]
    assert len(old) >= 4
    after = pruned(messages, old)
    assert len(after) == len(messages)
    assert (
        after[3].text
        == "[This result of 40000 characters was removed to save space. Call the tool again if you need it.]"
    )
    assert after[3].images == ()
    assert after[-1] == messages[-1]
    assert prunable(after, 2, 0) == ()


def test_less_than_20000_tokens_are_not_worth_it():
    assert prunable(talk(*(group(n, 10_000) for n in range(5))), 2, 0) == ()


@pytest.mark.parametrize(("level", "protected"), [(0, 40_000), (1, 20_000), (2, 10_000)])
def test_higher_levels_protect_less(level, protected):
    messages = talk(*(group(n, 1_000) for n in range(80)))
    old = prunable(messages, 2, level)
    kept = estimated_tokens([m for i, m in enumerate(messages) if m.role == "tool" and i not in old])
    assert protected - 1_500 <= kept <= protected + 1_500


def test_the_newest_two_groups_are_protected_whatever_their_size():
    messages = talk(*(group(n, 50_000) for n in range(4)))
    assert prunable(messages, 2, 0) == (3, 5)
    assert prunable(messages, 2, 2) == (3, 5, 7)


# ---- pressure


def test_the_ladder_goes_from_0_to_2_and_down():
    rule = CompactionRule(1_000, 4, 2)
    assert [rule.level_after(level, 901) for level in (0, 1, 2)] == [1, 2, 2]
    assert rule.level_after(2, 900) == 0


def test_below_the_threshold_nothing_is_due():
    messages = talk(*(group(n, 100) for n in range(6)))
    tokens = estimated_tokens(messages)
    assert CompactionRule(tokens, 1, 2).due(messages, 0) is None
    assert CompactionRule(tokens - 1, 1, 2).due(messages, 0) is not None


def test_pruning_that_is_enough_needs_no_summary():
    messages = talk(*(group(n, 10_000) for n in range(10)))
    step = CompactionRule(60_000, 1, 2).due(messages, 0)
    assert step is not None
    assert step.pruned
    assert step.cut is None
    harder = CompactionRule(30_000, 1, 2).due(messages, 0)
    assert harder is not None
    assert harder.pruned
    assert harder.cut is not None


# ---- the form of a summary

WHOLE = "<task>t</task>\n<state>s</state> chatter <artifacts>a</artifacts><next_steps>n</next_steps>"


@pytest.mark.parametrize("section", REQUIRED)
def test_the_required_sections(section):
    assert missing_in(WHOLE) == []
    without = WHOLE.replace(f"<{section}>", "<x>")
    assert missing_in(without) == [section]
    assert f"no {section}" in repair_of(without)


def test_an_empty_section_is_missing():
    assert missing_in(WHOLE.replace(">s<", ">  <")) == ["state"]


def test_text_outside_of_the_sections_is_dropped():
    assert "chatter" not in normal_form(WHOLE)
    assert normal_form(normal_form(WHOLE)) == normal_form(WHOLE)


# ---- the compactor, with a model


class Model(ScriptedProvider):
    """A script whose turns are a summary and its repair; keeps what it was asked."""

    def __init__(self, folder, *texts):
        path = folder / "summaries.yaml"
        path.write_text(json.dumps({"script": 1, "turns": [{"say": text} for text in texts]}), encoding="utf-8")
        super().__init__("scripted:summaries.yaml", path)
        self.asked = []

    async def stream(self, request):
        self.asked.append(request)
        async for chunk in super().stream(request):
            yield chunk


class Run:
    def __init__(self, folder, messages, *texts, threshold=100, keep=1):
        self.conversation, self.meter, self.model = Conversation(messages), Meter(Limits()), Model(folder, *texts)
        self.failures, self.forgotten = [], []
        self.compactor = Compactor(
            rule=CompactionRule(threshold, keep, 2),
            provider=self.model,
            sampling=Sampling(),
            retry=ModelRetry(max_retries=0),
            invocation_id=ROOT_INVOCATION,
            write=lambda event: event,
            keep_failure=lambda: self.failures.append(1),
            forget=lambda: self.forgotten.append(1),
        )

    async def step(self) -> list[HistoryCompacted]:
        made = []
        async for event in self.compactor.run(self.conversation, self.meter):
            self.conversation.apply(event)
            made.append(event)
        self.meter.number += 1
        return made


async def test_the_summary_is_told_with_the_last_request(tmp_path):
    asked = UserMessage(text="And now the other one.")
    run = Run(tmp_path, talk(group(1, 100), [asked, *group(2, 100)], group(3, 100), group(4, 10)), WHOLE)
    (made,) = await run.step()
    told = run.conversation.messages[2]
    assert told.text == made.text
    assert "<last_request>\nAnd now the other one.\n</last_request>" in told.text
    assert "<conversation_summary>" in told.text
    assert run.forgotten, "what was shown may be shown again"
    request = run.model.asked[0]
    assert request.tools == ()
    assert request.tool_choice.kind == "none"
    assert not request.stream


async def test_the_last_request_survives_a_second_summary(tmp_path):
    asked = UserMessage(text="And now\nthe other one.")
    run = Run(tmp_path, talk(group(1, 100), [asked, *group(2, 100)], group(3, 100)), WHOLE)
    await run.step()
    for number in range(4, 4 + COOLDOWN_TURNS):
        run.conversation.messages += group(number, 100)
        assert await run.step() == []
    run.conversation.messages += group(9, 100)
    (made,) = await run.step()
    assert made.replies == 3 + COOLDOWN_TURNS
    assert "<last_request>\nAnd now\nthe other one.\n</last_request>" in made.text
    assert made.text.count("<last_request>") == 1


async def test_after_a_compaction_there_is_a_pause(tmp_path):
    run = Run(tmp_path, talk(*(group(n, 100) for n in range(4))), WHOLE)
    assert [event.method for event in await run.step()] == ["summary"]
    for number in range(COOLDOWN_TURNS):
        run.conversation.messages += group(number, 200)
        assert await run.step() == []
    assert [event.method for event in await run.step()] == ["summary"]


async def test_a_summary_that_leaves_too_much_raises_the_level(tmp_path):
    run = Run(tmp_path, talk(*(group(n, 100) for n in range(8))), WHOLE, keep=4)
    (made,) = await run.step()
    assert made.tokens_after > 0.9 * 100
    assert run.compactor.level == 1


async def test_an_invalid_summary_is_repaired_once_then_given_up(tmp_path):
    run = Run(tmp_path, talk(*(group(n, 100) for n in range(4))), "no", "still no", "unused")
    before = list(run.conversation.messages)
    (made,) = await run.step()
    assert made.method == "failed"
    assert run.conversation.messages == before
    assert len(run.model.asked) == 2
    assert [m.role for m in run.model.asked[1].messages] == ["system", "user", "assistant", "user"]
    assert run.failures == [], "the replies themselves are recorded"


async def test_pruning_comes_first_and_is_kept_when_the_summary_fails(tmp_path):
    messages = talk(*(group(n, 10_000) for n in range(10)))
    run = Run(tmp_path, messages, "no", "no", threshold=30_000)
    made = await run.step()
    assert [event.method for event in made] == ["pruned", "failed"]
    assert estimated_tokens(run.conversation.messages) == made[0].tokens_after < made[0].tokens_before
