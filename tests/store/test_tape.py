"""DESIGN §7: recordings as a hash chain; the n-th identical request has the n-th recording."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import StoredFile, ToolCall, ToolResult
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, builtin
from tt_kernel.domain.messages import AssistantMessage, CallPart, SystemMessage, ToolMessage, UserMessage
from tt_kernel.domain.ports import ApprovalAnswer
from tt_kernel.domain.specs import ToolChoice, ToolOffer
from tt_kernel.domain.turns import ModelReply, Sampling
from tt_kernel.store.recordings import RecordedRun, Recordings
from tt_kernel.store.tape import Asked, Tape

AUTO = ToolChoice()
START = [SystemMessage(text="be brief"), UserMessage(text="hello")]


def asked(**changes):
    parts = {
        "model": "m:x",
        "identity": None,
        "sampling": Sampling(),
        "tools": (ToolOffer(name="t", description="d", input_schema={}),),
    }
    return Asked(**(parts | changes))


def reply(text="hi", calls=()):
    return ModelReply(message=AssistantMessage(text=text, calls=calls))


def call(index=0, value=None, call_id="c1"):
    return ToolCall(
        id=CallId(call_id), tool_id=builtin("t.x"), name="t_x", arguments=ToolArguments(value=value or {}),
        invocation_id=ROOT_INVOCATION, turn=1, index=index,
    )  # fmt: skip


def result(of, content="ok"):
    return ToolResult(call_id=of.id, tool_id=of.tool_id, content=content)


def run(name="aaaaaaaa", slot=1):
    return RecordedRun(name, "key", slot, "2026-01-01T00:00:00Z", 7)


def record(folder, replies, *, name="aaaaaaaa", slot=1, start=START, **changes):
    tape = Tape(Recordings(folder), asked(**changes), slot=slot)
    messages = list(start)
    for answer in replies:
        tape.ask(messages, AUTO)
        tape.go_live(run(name, slot))
        tape.record_reply(answer)
        messages.append(answer.message)
        messages.append(UserMessage(text="go on"))
    return messages


def replayed(folder, count, *, slot=1, start=START, **changes):
    tape = Tape(Recordings(folder), asked(**changes), slot=slot)
    messages, answers = list(start), []
    for _ in range(count):
        found = tape.ask(messages, AUTO)
        if found is None:
            return answers
        tape.take(found)
        answers.append(found.reply.message.text)
        messages += [found.reply.message, UserMessage(text="go on")]
    return answers


def test_what_was_recorded_is_replayed_turn_by_turn(tmp_path):
    record(tmp_path, [reply("one"), reply("two"), reply("three")])
    assert replayed(tmp_path, 4) == ["one", "two", "three"]


def test_nothing_is_written_before_something_is_live(tmp_path):
    record(tmp_path, [reply("one")])
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    tape = Tape(Recordings(tmp_path), asked(), slot=1)
    tape.take(tape.ask(START, AUTO))
    tape.record_result(call(), "1", result(call()))
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "m:y"},
        {"identity": {"script": "2"}},
        {"sampling": Sampling(temperature=0.1)},
        {"sampling": Sampling(max_tokens=5)},
        {"tools": ()},
        {"tools": (ToolOffer(name="t", description="other", input_schema={}),)},
        {"tools": (ToolOffer(name="t", description="d", input_schema={"type": "object"}),)},
        {"start": [SystemMessage(text="be long"), UserMessage(text="hello")]},
        {"start": [SystemMessage(text="be brief"), UserMessage(text="hello ")]},
        {"start": [*START, UserMessage(text="more")]},
    ],
)
def test_every_part_of_a_request_is_in_its_digest(tmp_path, changes):
    record(tmp_path, [reply("one")])
    assert replayed(tmp_path, 1, **changes) == []


def test_image_bytes_are_in_the_digest_and_paths_are_not(tmp_path):
    def picture(path, sha):
        file = StoredFile(path=path, mime_type="image/png", sha256=sha, size=1)
        return [START[0], UserMessage(text="look", images=(file,))]

    record(tmp_path, [reply("one")], start=picture("a.png", "0" * 64))
    assert replayed(tmp_path, 1, start=picture("b.png", "0" * 64)) == ["one"]
    assert replayed(tmp_path, 1, start=picture("a.png", "1" * 64)) == []


def test_call_ids_and_native_metadata_are_in_no_digest(tmp_path):
    def turn(call_id, native):
        part = CallPart(id=CallId(call_id), name="t", arguments=ToolArguments(value={"b": 1, "a": 2}))
        return [
            *START, AssistantMessage(calls=(part,), native=native), ToolMessage(call_id=part.id, name="t", text="r"),
        ]  # fmt: skip

    record(tmp_path, [reply("one")], start=turn("call_1", {"id": "resp_1"}))
    assert replayed(tmp_path, 1, start=turn("toolu_9", None)) == ["one"]


def test_dictionary_order_does_not_matter(tmp_path):
    first = ToolOffer(name="t", description="d", input_schema={"a": 1, "b": 2})
    second = ToolOffer(name="t", description="d", input_schema={"b": 2, "a": 1})
    record(tmp_path, [reply("one")], tools=(first,))
    assert replayed(tmp_path, 1, tools=(second,)) == ["one"]


def test_repeats_have_their_own_recordings_and_the_first_slot_may_borrow(tmp_path):
    record(tmp_path, [reply("second")], name="aaaaaaaa.2", slot=2)
    assert replayed(tmp_path, 1, slot=1) == ["second"]
    record(tmp_path, [reply("first")], slot=1)
    assert replayed(tmp_path, 1, slot=1) == ["first"]
    assert replayed(tmp_path, 1, slot=2) == ["second"]
    assert replayed(tmp_path, 1, slot=3) == []


def test_recording_live_again_replaces_what_is_replayed(tmp_path):
    record(tmp_path, [reply("old"), reply("old two")])
    record(tmp_path, [reply("new")], name="aaaaaaaa.2")
    assert replayed(tmp_path, 3) == ["new"]


def test_a_result_is_found_by_tool_version_and_arguments(tmp_path):
    tape = Tape(Recordings(tmp_path), asked(), slot=1)
    tape.ask(START, AUTO)
    tape.go_live(run())
    tape.record_reply(reply())
    tape.record_result(call(0, {"a": 1}), "v1", result(call(), "kept"))
    again = Tape(Recordings(tmp_path), asked(), slot=1)
    again.take(again.ask(START, AUTO))
    assert again.find_result(call(0, {"a": 1}, "other-id"), "v1").content == "kept"
    assert again.find_result(call(0, {"a": 1}, "other-id"), "v1").call_id == "other-id"
    assert again.find_result(call(0, {"a": 1}), "v2") is None
    assert again.find_result(call(0, {"a": 2}), "v1") is None
    assert again.find_result(call(1, {"a": 1}), "v1") is None


def test_a_live_turn_finds_no_old_results(tmp_path):
    tape = Tape(Recordings(tmp_path), asked(), slot=1)
    tape.ask(START, AUTO)
    tape.go_live(run())
    tape.record_reply(reply())
    tape.record_result(call(), "1", result(call()))
    live = Tape(Recordings(tmp_path), asked(), slot=1)
    live.ask(START, AUTO)
    live.go_live(run("aaaaaaaa.2"))
    live.record_reply(reply())
    assert live.find_result(call(), "1") is None


def test_going_live_in_the_middle_keeps_the_prefix_with_its_results(tmp_path):
    tape = Tape(Recordings(tmp_path), asked(), slot=1)
    tape.ask(START, AUTO)
    tape.go_live(run())
    tape.record_reply(reply("one"))
    tape.record_result(call(0), "1", result(call(0), "first"))
    # The run was cut off before its second call; another one goes on from there.
    second = Tape(Recordings(tmp_path), asked(), slot=1)
    second.take(second.ask(START, AUTO))
    assert second.find_result(call(0), "1").content == "first"
    assert second.find_result(call(1), "1") is None
    second.go_live(run("aaaaaaaa.2"))
    second.record_result(call(1), "1", result(call(1), "second"))
    third = Tape(Recordings(tmp_path), asked(), slot=1)
    third.take(third.ask(START, AUTO))
    assert third.source == "aaaaaaaa.2"
    assert [third.find_result(call(i), "1").content for i in (0, 1)] == ["first", "second"]


def test_decisions_are_recorded(tmp_path):
    tape = Tape(Recordings(tmp_path), asked(), slot=1)
    tape.ask(START, AUTO)
    tape.go_live(run())
    tape.record_reply(reply())
    tape.record_decision(call(), ApprovalAnswer(decision="deny", reason="no"))
    again = Tape(Recordings(tmp_path), asked(), slot=1)
    again.take(again.ask(START, AUTO))
    assert again.find_decision(call()).reason == "no"
    assert again.find_decision(call(value={"x": 1})) is None


def test_the_start_time_and_seed_of_the_recorded_run_are_known(tmp_path):
    record(tmp_path, [reply("one")])
    tape = Tape(Recordings(tmp_path), asked(), slot=1)
    recorded = tape.recorded_run(tape.ask(START, AUTO))
    assert (recorded.started_at, recorded.seed) == ("2026-01-01T00:00:00Z", 7)


def test_recording_off_writes_nothing(tmp_path):
    tape = Tape(Recordings(tmp_path / "r"), asked(), slot=1, recording=False)
    tape.ask(START, AUTO)
    tape.go_live(run())
    tape.record_reply(reply())
    assert not (tmp_path / "r").exists()


def test_another_process_is_seen(tmp_path):
    mine = Recordings(tmp_path)
    assert Tape(mine, asked(), slot=1).ask(START, AUTO) is None
    record(tmp_path, [reply("theirs")])
    assert Tape(mine, asked(), slot=1).ask(START, AUTO).reply.message.text == "theirs"


@settings(max_examples=60)
@given(st.data())
def test_a_file_cut_anywhere_opens_and_goes_on(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("cut")
    record(folder, [reply("one"), reply("two")])
    (file,) = folder.glob("*.jsonl")
    whole = file.read_bytes()
    file.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    assert replayed(folder, 2) in ([], ["one"], ["one", "two"])
    record(folder, [reply("one"), reply("two")])
    assert replayed(folder, 2) == ["one", "two"]


def test_a_turn_stores_only_what_is_new(tmp_path):
    sizes = []
    for turns in (100, 200):
        folder = tmp_path / str(turns)
        record(folder, [reply(f"answer {n:04d}") for n in range(turns)])
        sizes.append(sum(p.stat().st_size for p in folder.glob("*.jsonl")))
    assert sizes[1] < 2.1 * sizes[0]


def test_lone_surrogates_survive(tmp_path):
    record(tmp_path, [reply("bad \ud800 text")])
    assert replayed(tmp_path, 1) == ["bad \ud800 text"]


def test_lines_are_json_with_sorted_keys(tmp_path):
    record(tmp_path, [reply("one")])
    (file,) = tmp_path.glob("*.jsonl")
    for line in file.read_text().splitlines():
        assert json.dumps(json.loads(line), sort_keys=True, separators=(",", ":"), ensure_ascii=False) == line


def test_a_list_that_does_not_go_on_continues_the_chain_as_a_whole(tmp_path):
    """A compacted conversation (spec liveagent §19) follows from what was asked before it, with all of its messages."""
    recordings = Recordings(tmp_path)
    asked = Asked("m", None, Sampling(), ())
    long = [UserMessage(text=text) for text in "abc"]
    compacted = [UserMessage(text="a"), UserMessage(text="summary")]
    digests = []
    for middle in (long, [*long[:2], UserMessage(text="C")]):
        tape = Tape(recordings, asked, slot=1)
        walked = []
        for messages in (middle, [UserMessage(text="summarise")], compacted, [*compacted, UserMessage(text="d")]):
            tape.ask(messages, ToolChoice())
            walked.append(tape.request)
        assert len(set(walked)) == 4
        digests.append(walked)
    assert not set(digests[0]) & set(digests[1]), "what went before decides too"


def test_a_list_of_the_same_length_with_another_message_is_another_request(tmp_path):
    tape = Tape(Recordings(tmp_path), Asked("m", None, Sampling(), ()), slot=1)
    tape.ask([UserMessage(text="a"), UserMessage(text="long"), UserMessage(text="b")], ToolChoice())
    first = tape.request
    tape.ask([UserMessage(text="a"), UserMessage(text="short"), UserMessage(text="b")], ToolChoice())
    assert tape.request != first
    lines = tape.position.line
    assert len(lines["messages"]) == 3
    assert lines["parent"] == first
