"""DESIGN §8: the view is bounded, deterministic and cheap, whatever a run did."""

import json

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import StoredFile, ToolCall, ToolResult
from tt_kernel.domain.canonical import canonical_json, encode_json
from tt_kernel.domain.events import (
    CallDrifted,
    CallEnded,
    CallRequested,
    CallStarted,
    CommitCompleted,
    FileWritten,
    LiveText,
    ModelCompleted,
    ModelStopped,
    RunCreated,
    RunEnded,
)
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, builtin
from tt_kernel.domain.messages import AssistantMessage, CallPart
from tt_kernel.domain.turns import ModelReply, Usage
from tt_kernel.domain.views import MAX_VIEW_BYTES, ImageView
from tt_kernel.runtime.projection import MAX_CALLS, RunProjection


def draw(file, folder):
    return ImageView(path=f"{folder}/{file.path}", mime_type=file.mime_type, data="QUJD", data_mime_type=file.mime_type)


def projection():
    drawn = RunProjection("nb.agent/runs/aaaaaaaa", draw)
    drawn.apply(RunCreated(key="k", model="m:x", profile_id="assistant", prompt="p"))
    return drawn


def call(number, arguments=None, raw=None):
    return ToolCall(
        id=CallId(f"c{number}"), tool_id=builtin("t.x"), name="t_x",
        arguments=ToolArguments(value=None if raw is not None else (arguments or {}), raw=raw),
        invocation_id=ROOT_INVOCATION, turn=number, index=0,
    )  # fmt: skip


def executed(drawn, number, content="ok", arguments=None, **result):
    this = call(number, arguments)
    drawn.apply(CallRequested(call=this, group="dice", arguments_ref="a", snapshot="s"))
    drawn.apply(CallStarted(call_id=this.id, tool_id=this.tool_id))
    made = ToolResult(call_id=this.id, tool_id=this.tool_id, content=content, **result)
    drawn.apply(CallEnded(type="tool_call_completed", call_id=this.id, tool_id=this.tool_id, result=made))


def replied(drawn, text="", calls=(), turn=1):
    reply = ModelReply(message=AssistantMessage(text=text, calls=calls), usage=Usage(input_tokens=2, output_tokens=1))
    drawn.apply(ModelCompleted(invocation_id=ROOT_INVOCATION, turn=turn, reply=reply))


def size(view):
    return len(encode_json(canonical_json(view.model_dump(mode="json"))))


def test_a_run_of_two_turns():
    drawn = projection()
    part = CallPart(id=CallId("c1"), name="t_x", arguments=ToolArguments(value={}))
    replied(drawn, "Let me see.", (part,))
    executed(drawn, 1, arguments={"b": 1, "a": "x"})
    replied(drawn, "Done.", turn=2)
    drawn.apply(RunEnded(type="run_completed", text="Done."))
    drawn.finish("aaaaaaaa", "nb.agent/runs/aaaaaaaa")
    view = drawn.view()
    assert (view.id, view.status, view.text, view.turns, view.call_count, view.tokens) == (
        "aaaaaaaa",
        "done",
        "Done.",
        2,
        1,
        6,
    )
    assert [(n.after, n.text) for n in view.notes] == [(0, "Let me see.")]
    assert (view.calls[0].state, view.calls[0].group) == ("done", "dice")
    assert list(view.calls[0].arguments) == ["a", "b"]


def test_arguments_have_the_same_order_whatever_order_the_model_gave_and_long_texts_come_last():
    views = []
    for arguments in ({"content": "x" * 100, "path": "p", "z": 1}, {"z": 1, "path": "p", "content": "x" * 100}):
        drawn = projection()
        executed(drawn, 1, arguments=arguments)
        views.append(list(drawn.view().calls[0].arguments))
    assert views == [["path", "z", "content"]] * 2


def test_streamed_text_is_shown_until_the_reply_is_whole():
    drawn = projection()
    drawn.apply(LiveText(invocation_id=ROOT_INVOCATION, turn=1, text="Hel"))
    drawn.apply(LiveText(invocation_id=ROOT_INVOCATION, turn=1, text="lo"))
    assert drawn.view().text == "Hello"
    replied(drawn, "Hello.")
    assert drawn.view().text == "Hello."


def test_a_stopped_reply_keeps_its_text():
    drawn = projection()
    drawn.apply(LiveText(invocation_id=ROOT_INVOCATION, turn=1, text="Hal"))
    drawn.apply(ModelStopped(invocation_id=ROOT_INVOCATION, turn=1, text="Hal"))
    assert drawn.view().text == "Hal"


def test_a_commit_is_the_answer():
    drawn = projection()
    drawn.apply(
        FileWritten(
            type="workspace_file_written", call_id=CallId("c"), path="output/main.md", chars=1, words=1, sha256="0"
        )
    )
    drawn.apply(CommitCompleted(call_id=CallId("c"), path="output/main.md", number=1, text="# Hi"))
    assert (drawn.view().text, drawn.view().files) == ("# Hi", ("output/main.md",))


def test_an_error_shows_its_code_and_a_drift_goes_to_the_metadata():
    drawn = projection()
    executed(drawn, 1, content="No such file.", is_error=True, error_code="workspace.file_not_found")
    drawn.apply(CallDrifted(call_id=CallId("c1"), tool_id=builtin("t.x"), difference="at line 1"))
    view = drawn.view()
    assert (view.calls[0].state, view.calls[0].error_code, view.calls[0].summary) == (
        "error",
        "workspace.file_not_found",
        "No such file.",
    )
    assert "drift" not in view.model_dump_json()
    assert drawn.meta().drift == ("builtin:t.x at line 1",)


def test_a_long_run_keeps_its_first_and_last_calls():
    drawn = projection()
    for number in range(1, 1001):
        executed(drawn, number)
    view = drawn.view()
    assert (view.call_count, len(view.calls), view.hidden_calls) == (1000, MAX_CALLS, 1000 - MAX_CALLS)
    indexes = [c.index for c in view.calls]
    assert (indexes[0], indexes[-1]) == (1, 1000)
    assert indexes == sorted(indexes)


@pytest.mark.parametrize("content", ["x" * 50_000_000, "\u4f60" * 1_000_000, "\x00\ud800" * 100_000, '"\\' * 500_000])
def test_the_view_stays_within_its_bytes(content):
    drawn = projection()
    for number in range(MAX_CALLS):
        executed(drawn, number, content=content, arguments={f"k{i}" * 50: content[:5000] for i in range(60)})
    replied(drawn, content)
    drawn.apply(RunEnded(type="run_completed", text=content))
    assert size(drawn.view()) <= MAX_VIEW_BYTES


def test_many_images_stay_within_the_bytes():
    drawn = RunProjection(
        "f", lambda file, folder: ImageView(path=file.path, mime_type="image/png", data="A" * 130_000)
    )
    image = StoredFile(path="tool-results/x.png", mime_type="image/png", sha256="0", size=1)
    for number in range(10):
        executed(drawn, number, images=(image,))
    view = drawn.view()
    assert size(view) <= MAX_VIEW_BYTES
    assert all(c.images for c in view.calls)


def test_raw_arguments_are_shown_as_they_came():
    drawn = projection()
    drawn.apply(CallRequested(call=call(1, raw='{"a":'), arguments_ref="a", snapshot="s"))
    assert drawn.view().calls[0].raw_arguments == '{"a":'


def test_folder_and_image_paths_follow_the_id_that_is_known_in_the_end():
    drawn = projection()
    executed(drawn, 1, images=(StoredFile(path="tool-results/x.png", mime_type="image/png", sha256="0", size=1),))
    drawn.finish("bbbbbbbb", "nb.agent/runs/bbbbbbbb")
    assert drawn.view().calls[0].images[0].path == "nb.agent/runs/bbbbbbbb/tool-results/x.png"
    json.dumps(drawn.view().model_dump(mode="json"))
