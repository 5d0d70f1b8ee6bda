"""Images in prompts and tool results, and the text that stands for one where a model cannot see (spec tauritavern §8.3)."""

import base64
import hashlib
import json

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.messages import AssistantMessage, CallPart, ToolMessage, UserMessage

from .conftest import Answer, png, request_for, talk

DATA = png()
IMAGE = StoredFile(
    path="tool-results/inv_root/plot.png",
    mime_type="image/png",
    sha256=hashlib.sha256(DATA).hexdigest(),
    size=len(DATA),
)
ENCODED = base64.b64encode(DATA).decode()


def reading(file: StoredFile) -> bytes:
    assert file == IMAGE
    return DATA


def with_result(text="A plot.", **more):
    said = AssistantMessage(calls=(CallPart(id="call_1", name="plot", arguments=ToolArguments(value={})),))
    return (
        UserMessage(text="Plot it."),
        said,
        ToolMessage(call_id="call_1", name="plot", text=text, images=(IMAGE,), **more),
    )


async def test_an_image_of_the_prompt_is_sent(connect, service, dialect):
    service.will(Answer(text="Red."))
    await talk(connect(dialect), request_for(UserMessage(text="What colour?", images=(IMAGE,)), read_image=reading))
    sent = json.dumps(service.heard[0].body)
    assert ENCODED in sent
    assert sent.index("What colour?") < sent.index(ENCODED)


async def test_an_image_of_a_result_is_sent_with_it(connect, service, dialect):
    service.will(Answer(text="Red."))
    await talk(connect(dialect), request_for(*with_result(), UserMessage(text="And?"), read_image=reading))
    sent = json.dumps(service.heard[0].body)
    assert ENCODED in sent
    assert sent.index("A plot.") < sent.index(ENCODED) < sent.index("And?")


async def test_where_a_result_is_text_only_its_images_follow_all_results(connect, service):
    said = AssistantMessage(
        calls=tuple(CallPart(id=i, name="plot", arguments=ToolArguments(value={})) for i in ("call_1", "call_2"))
    )
    results = [
        ToolMessage(call_id=i, name="plot", text='Said "so".\nTwice.', images=(IMAGE,)) for i in ("call_1", "call_2")
    ]
    service.will(Answer(text="ok"))
    await talk(
        connect("chat"),
        request_for(UserMessage(text="Plot."), said, *results, UserMessage(text="And?"), read_image=reading),
    )
    sent = service.heard[0].body["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "tool", "user", "user", "user"]
    assert sent[2]["content"] == 'Said "so".\nTwice.\n[The images of this result are in the next user message.]'
    assert sent[4]["content"][0]["text"] == "Images of the result of plot (call_1):"
    assert sent[4]["content"][1]["image_url"]["url"] == f"data:image/png;base64,{ENCODED}"
    assert sent[6]["content"] == "And?"


async def test_a_failed_result_with_an_image_is_both(connect, service):
    service.will(Answer(text="ok"))
    await talk(connect("anthropic"), request_for(*with_result("It broke.", is_error=True), read_image=reading))
    (block,) = service.heard[0].body["messages"][2]["content"]
    assert block["is_error"] is True
    assert [part["type"] for part in block["content"]] == ["text", "image"]


@pytest.mark.parametrize("model", ["openai:gpt-3.5-turbo", "openai:my-llama"])
async def test_a_model_that_cannot_see_gets_an_explanation_there(connect, service, model):
    service.will(Answer(text="ok"))
    provider = connect("chat", model)
    assert not provider.accepts_images
    prompt = UserMessage(text="Look.", images=(IMAGE,))
    await talk(provider, request_for(prompt, *with_result()[1:]))  # read_image would fail the test
    sent = service.heard[0].body["messages"]
    note = f"[Image tool-results/inv_root/plot.png is not shown: model {model} does not accept images.]"
    assert sent[0]["content"] == [{"type": "text", "text": "Look."}, {"type": "text", "text": note}]
    assert sent[2]["content"] == f"A plot.\n{note}"


async def test_an_image_is_read_once(connect, service):
    reads = []
    service.will(Answer(text="ok"))
    conversation = with_result()
    provider = connect("anthropic")
    requests = [request_for(*conversation, read_image=lambda file: reads.append(file) or DATA) for _ in range(3)]
    await talk(provider, *requests)
    assert len(reads) == 1
