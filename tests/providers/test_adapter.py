"""The adapter against services that speak each wire format, streamed and plain (issue 2, item 6)."""

import asyncio
import json

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.messages import AssistantMessage, CallPart, SystemMessage, ToolMessage, UserMessage
from tt_kernel.domain.specs import ToolChoice, ToolOffer
from tt_kernel.domain.turns import CallChunk, ModelReply, ReasoningChunk, TextChunk

from .conftest import Answer, Call, collect, reply_of, request_for, talk, until

SCHEMA = {
    "type": "object",
    "properties": {"formula": {"type": "string", "description": "NdS", "title": "Formula"}},
    "required": ["formula"],
    "$defs": {"Unused": {"type": "integer", "default": 3}},
}
DICE = ToolOffer(name="dice_roll", description="Roll dice.", input_schema=SCHEMA)
OTHER = ToolOffer(name="other", description="Something else.", input_schema={"type": "object", "properties": {}})
ASK = UserMessage(text="Roll two dice.")


async def test_a_reply_arrives_whole_and_in_pieces(connect, service, dialect, streamed):
    service.will(Answer(text="Hello there, world.", pieces=3))
    (chunks,) = await talk(connect(dialect), request_for(ASK, stream=streamed))
    *pieces, reply = chunks
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextChunk)) == "Hello there, world."
    assert len(pieces) == (3 if streamed else 1)
    assert reply.message == AssistantMessage(text="Hello there, world.", native=reply.message.native)
    assert reply.finish_reason == "stop"
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (11, 7, 4)


async def test_streamed_and_plain_replies_are_equal(connect, service, dialect):
    """Field report 51: both paths store equal records."""
    service.will(
        Answer(
            reasoning="I think.",
            signature="c2ln",
            text="So.",
            calls=(Call("dice_roll", '{"formula": "2d6"}'),),
            finish="tool_calls",
        )
    )
    provider = connect(dialect)
    streamed, plain = await talk(
        provider, request_for(ASK, tools=(DICE,)), request_for(ASK, tools=(DICE,), stream=False)
    )
    ours = [
        reply.model_copy(update={"message": _without_made_up_ids(reply.message)}) for reply in (streamed[-1], plain[-1])
    ]
    assert ours[0] == ours[1]
    assert ours[0].message.reasoning == "I think."


def _without_made_up_ids(message: AssistantMessage) -> AssistantMessage:
    """Gemini gives no ids: the library makes new ones each time."""
    calls = tuple(
        call.model_copy(update={"id": "x"}) if call.id.startswith("pyd_ai_") else call for call in message.calls
    )
    native = json.loads(json.dumps(message.native))
    for part in (native or {}).get("response", {}).get("parts", []):
        if str(part.get("tool_call_id", "")).startswith("pyd_ai_"):
            part["tool_call_id"] = "x"
    return message.model_copy(update={"calls": calls, "native": native})


async def test_a_call_arrives_with_its_arguments(connect, service, dialect, streamed):
    service.will(
        Answer(
            text="Rolling.",
            calls=(Call("dice_roll", '{"formula": "2d6"}'), Call("other", "{}", "call_2")),
            finish="tool_calls",
        )
    )
    (chunks,) = await talk(connect(dialect), request_for(ASK, tools=(DICE, OTHER), stream=streamed))
    reply = chunks[-1]
    assert [(call.name, call.arguments.value) for call in reply.message.calls] == [
        ("dice_roll", {"formula": "2d6"}),
        ("other", {}),
    ]
    if dialect != "google":
        assert [call.id for call in reply.message.calls] == ["call_1", "call_2"]
    shown = [chunk for chunk in chunks if isinstance(chunk, CallChunk) and chunk.index == 0]
    assert shown[0].name == "dice_roll"
    assert json.loads("".join(chunk.arguments for chunk in shown)) == {"formula": "2d6"}
    assert reply.finish_reason == "tool_call"


MALFORMED = [
    '{"a":',
    "[1,2]",
    "",
    "null",
    '"str"',
    '{"a":1}{"b":2}',
    '{"a":1,"a":2}',
    "not json",
    '{"a": NaN}',
    "1e999",
    '  {"a": 1}  ',
    '"{\\"a\\": 1}"',
    "true",
]


@pytest.mark.parametrize("raw", MALFORMED)
@pytest.mark.parametrize("dialect", ["chat", "responses", "anthropic"])
async def test_malformed_arguments_arrive_as_they_were(connect, service, dialect, raw, streamed):
    """Spec tauritavern §3; notes/libraries.md §4: the raw string reaches ToolArguments.decode on every wire that has one."""
    service.will(Answer(calls=(Call("dice_roll", raw),), finish="tool_calls", pieces=3))
    if dialect == "anthropic" and not streamed:
        streamed = True  # on the plain wire the arguments are a JSON value, not text
    reply = await reply_of(connect(dialect), request_for(ASK, tools=(DICE,), stream=streamed))
    assert reply.message.calls[0].arguments == ToolArguments.decode(raw)


@pytest.mark.parametrize("raw", MALFORMED)
async def test_malformed_arguments_go_back_as_an_empty_object(connect, service, dialect, raw):
    """Spec tauritavern §3: replay to the model is always an object; invalid -> {}."""
    arguments = ToolArguments.decode(raw)
    said = AssistantMessage(calls=(CallPart(id="call_1", name="dice_roll", arguments=arguments),))
    answered = ToolMessage(call_id="call_1", name="dice_roll", text="No.", is_error=True)
    service.will(Answer(text="Sorry."))
    await talk(connect(dialect), request_for(ASK, said, answered, tools=(DICE,)))
    assert _sent_arguments(dialect, service.heard[0].body) == arguments.for_model


def _sent_arguments(dialect, body):
    if dialect == "chat":
        return json.loads(body["messages"][1]["tool_calls"][0]["function"]["arguments"])
    if dialect == "responses":
        return json.loads(next(item for item in body["input"] if item.get("type") == "function_call")["arguments"])
    if dialect == "anthropic":
        return body["messages"][1]["content"][0]["input"]
    return body["contents"][1]["parts"][0]["functionCall"]["args"]


async def test_tool_schemas_are_sent_verbatim(connect, service, dialect):
    """Not closed, not stripped, key order kept. Gemini knows a subset only and gets that (spec tauritavern §17.6)."""
    service.will(Answer(text="ok"))
    await talk(connect(dialect), request_for(ASK, tools=(DICE,)))
    body = service.heard[0].body
    if dialect == "google":
        sent = body["tools"][0]["functionDeclarations"][0]
        assert sent["name"] == "dice_roll"
        assert "formula" in json.dumps(sent)
        return
    tool = body["tools"][0]
    schema = {
        "chat": lambda: tool["function"]["parameters"],
        "responses": lambda: tool["parameters"],
        "anthropic": lambda: tool["input_schema"],
    }[dialect]()
    assert json.dumps(schema) == json.dumps(SCHEMA)
    assert "strict" not in tool or tool["strict"] is False


async def test_a_conversation_is_sent_in_order(connect, service, dialect):
    said = AssistantMessage(
        text="Two calls.",
        calls=(
            CallPart(id="call_1", name="dice_roll", arguments=ToolArguments(value={"formula": "2d6"})),
            CallPart(id="call_2", name="other", arguments=ToolArguments(value={})),
        ),
    )
    results = (
        ToolMessage(call_id="call_1", name="dice_roll", text="Rolled 7."),
        ToolMessage(call_id="call_2", name="other", text="Failed.", is_error=True),
    )
    more = UserMessage(text="And now?", source="guidance")
    service.will(Answer(text="ok"))
    await talk(
        connect(dialect), request_for(SystemMessage(text="Be brief."), ASK, said, *results, more, tools=(DICE, OTHER))
    )
    assert _conversation(dialect, service.heard[0].body) == CONVERSATIONS[dialect]


CONVERSATIONS = {
    "chat": [
        ("system", "Be brief."),
        ("user", "Roll two dice."),
        ("assistant", "Two calls.", ["call_1", "call_2"]),
        ("tool", "call_1", "Rolled 7."),
        ("tool", "call_2", "[tool error] Failed."),
        ("user", "And now?"),
    ],
    "responses": [
        ("system", "Be brief."),
        ("user", "Roll two dice."),
        ("assistant", "Two calls."),
        ("call", "call_1"),
        ("call", "call_2"),
        ("result", "call_1", "Rolled 7."),
        ("result", "call_2", "[tool error] Failed."),
        ("user", "And now?"),
    ],
    "anthropic": [
        ("system", "Be brief."),
        ("user", [("text", "Roll two dice.")]),
        ("assistant", [("text", "Two calls."), ("tool_use", "call_1"), ("tool_use", "call_2")]),
        ("user", [("tool_result", "call_1", False), ("tool_result", "call_2", True), ("text", "And now?")]),
    ],
    "google": [
        ("system", "Be brief."),
        ("user", ["Roll two dice."]),
        ("model", ["Two calls.", "dice_roll", "other"]),
        ("user", [{"return_value": "Rolled 7."}, {"error": "Failed."}]),
        ("user", ["And now?"]),
    ],
}


def _conversation(dialect, body):
    return {"chat": _chat, "responses": _responses, "anthropic": _anthropic, "google": _google}[dialect](body)


def _chat(body):
    out = []
    for m in body["messages"]:
        if m["role"] == "tool":
            out.append(("tool", m["tool_call_id"], m["content"]))
        elif "tool_calls" in m:
            out.append((m["role"], m["content"], [call["id"] for call in m["tool_calls"]]))
        else:
            out.append((m["role"], m["content"]))
    return out


def _responses(body):
    out = []
    for item in body["input"]:
        kind = item.get("type", "message")
        if kind == "function_call":
            out.append(("call", item["call_id"]))
        elif kind == "function_call_output":
            out.append(("result", item["call_id"], item["output"]))
        else:
            content = item["content"]
            out.append((item["role"], content if isinstance(content, str) else content[0]["text"]))
    return out


def _anthropic(body):
    system = body["system"] if isinstance(body["system"], str) else body["system"][0]["text"]
    out = [("system", system)]
    for m in body["messages"]:
        content = m["content"] if isinstance(m["content"], list) else [{"type": "text", "text": m["content"]}]
        seen = []
        for block in content:
            if block["type"] == "tool_result":
                seen.append(("tool_result", block["tool_use_id"], block["is_error"]))
            else:
                seen.append((block["type"], block.get("text") or block.get("id")))
        out.append((m["role"], seen))
    return out


def _google(body):
    out = [("system", body["systemInstruction"]["parts"][0]["text"])]
    for m in body["contents"]:
        seen = []
        for part in m["parts"]:
            if "text" in part:
                seen.append(part["text"])
            elif "functionCall" in part:
                seen.append(part["functionCall"]["name"])
            else:
                seen.append(part["functionResponse"]["response"])
        out.append((m["role"], seen))
    return out


@pytest.mark.parametrize("dialect", ["responses", "anthropic", "google"])
async def test_reasoning_goes_back_unchanged(connect, service, dialect, streamed):
    """Spec tauritavern §17.6: signatures and ids are carried opaquely, also through JSON, and are not lost between turns."""
    service.will(
        Answer(
            reasoning="Secretly.",
            signature="c2lnbmF0dXJl",
            text="So.",
            calls=(Call("dice_roll", '{"formula":"2d6"}'),),
            finish="tool_calls",
        ),
        Answer(text="Done."),
    )
    provider = connect(dialect)
    try:
        first = (await collect(provider.stream(request_for(ASK, tools=(DICE,), stream=streamed))))[-1]
        kept = AssistantMessage.model_validate_json(first.message.model_dump_json())
        result = ToolMessage(call_id=kept.calls[0].id, name="dice_roll", text="7")
        await collect(provider.stream(request_for(ASK, kept, result, tools=(DICE,), stream=streamed)))
    finally:
        await provider.aclose()
    assert kept == first.message
    assert "c2lnbmF0dXJl" in json.dumps(service.heard[1].body)
    if dialect != "google":
        assert "Secretly." in json.dumps(service.heard[1].body)
    if dialect == "responses":
        assert "rs_1" in json.dumps(service.heard[1].body)


async def test_reasoning_of_compatible_services_goes_back_in_its_field(connect, service, streamed):
    service.will(
        Answer(reasoning="Hmm.", text="So.", calls=(Call("dice_roll"),), finish="tool_calls"), Answer(text="Done.")
    )
    provider = connect("chat")
    try:
        chunks = await collect(provider.stream(request_for(ASK, tools=(DICE,), stream=streamed)))
        assert "".join(c.text for c in chunks if isinstance(c, ReasoningChunk)) == "Hmm."
        result = ToolMessage(call_id="call_1", name="dice_roll", text="7")
        await collect(provider.stream(request_for(ASK, chunks[-1].message, result, tools=(DICE,))))
    finally:
        await provider.aclose()
    assert service.heard[1].body["messages"][1]["reasoning_content"] == "Hmm."


async def test_another_service_gets_no_foreign_reasoning(connect, service):
    service.will(Answer(reasoning="Secret.", signature="c2ln", text="So.", finish="stop"))
    reply = await reply_of(connect("anthropic"), request_for(ASK))
    service.will(Answer(text="ok"))
    await talk(connect("chat"), request_for(ASK, reply.message, UserMessage(text="More.")))
    assert [m.get("content") for m in service.heard[1].body["messages"]] == ["Roll two dice.", "So.", "More."]


async def test_an_edited_reply_is_sent_as_edited(connect, service):
    service.will(Answer(reasoning="Secret.", signature="c2ln", text="So.", finish="stop"))
    provider = connect("anthropic")
    first, second = None, None
    try:
        first = (await collect(provider.stream(request_for(ASK))))[-1]
        edited = first.message.model_copy(update={"text": "Otherwise."})
        second = await collect(provider.stream(request_for(ASK, edited, UserMessage(text="More."))))
    finally:
        await provider.aclose()
    assert second
    assert service.heard[1].body["messages"][1]["content"] == [{"type": "text", "text": "Otherwise."}]


SETTINGS = {
    "chat": {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "max_completion_tokens": 50,
        "stop": ["END"],
        "parallel_tool_calls": False,
        "top_k": 3,
    },
    "responses": {"temperature": None, "max_output_tokens": 50, "parallel_tool_calls": False, "top_k": 3},
    "anthropic": {"temperature": 0.5, "max_tokens": 50, "stop_sequences": ["END"], "top_k": 3},
    "google": {"temperature": 0.5, "topP": 0.9, "seed": 7, "maxOutputTokens": 50, "stopSequences": ["END"]},
}


async def test_settings_reach_the_wire(connect, service, dialect):
    service.will(Answer(text="ok"))
    sampling = {
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "max_tokens": 50,
        "stop": ("END",),
        "parallel_tool_calls": False,
        "extra": {"top_k": 3},
    }
    if dialect == "google":
        del sampling["extra"]
    if dialect == "responses":
        del sampling["stop"], sampling["temperature"], sampling["top_p"]
    if dialect == "anthropic":
        del sampling["top_p"]
    await talk(connect(dialect), request_for(ASK, tools=(DICE,), **sampling))
    body = service.heard[0].body
    sent = body["generationConfig"] if dialect == "google" else body
    assert {name: sent.get(name) for name in SETTINGS[dialect]} == SETTINGS[dialect]


@pytest.mark.parametrize(
    ("dialect", "field", "value"), [("responses", "stop", ("END",)), ("google", "extra", {"a": 1})]
)
async def test_a_setting_that_would_be_ignored_is_an_error(connect, service, dialect, field, value):
    from tt_kernel.domain.errors import ProviderError

    service.will(Answer(text="ok"))
    with pytest.raises(ProviderError, match=f"sampling.{field}") as caught:
        await talk(connect(dialect), request_for(ASK, **{field: value}))
    assert caught.value.code == "model.invalid_request"
    assert service.heard == []


async def test_reasoning_effort_reaches_the_wire(connect, service):
    service.will(Answer(text="ok"))
    await talk(connect("chat"), request_for(ASK, reasoning_effort="low"))
    assert service.heard[0].body["reasoning_effort"] == "low"
    await talk(connect("responses"), request_for(ASK, reasoning_effort="high"))
    assert service.heard[1].body["reasoning"]["effort"] == "high"


CHOICES = {
    "chat": ("none", "required", {"type": "function", "function": {"name": "dice_roll"}}),
    "responses": ("none", "required", {"type": "function", "name": "dice_roll"}),
    "anthropic": ({"type": "none"}, {"type": "any"}, {"type": "tool", "name": "dice_roll"}),
}


@pytest.mark.parametrize("dialect", list(CHOICES))
async def test_tool_choice_reaches_the_wire(connect, service, dialect):
    service.will(Answer(text="ok"))
    model = {"responses": "openai-responses:gpt-4o-fake"}.get(dialect)
    kinds = [ToolChoice(kind="none"), ToolChoice(kind="required"), ToolChoice(kind="specific", name="dice_roll")]
    await talk(connect(dialect, model), *(request_for(ASK, tools=(DICE, OTHER), choice=kind) for kind in kinds))
    assert tuple(heard.body["tool_choice"] for heard in service.heard) == CHOICES[dialect]


async def test_cost_is_known_for_known_prices_only(connect, service):
    service.will(Answer(text="ok", usage=(1_000_000, 0, 0)))
    known = await reply_of(connect("google", "google:gemini-2.5-flash"), request_for(ASK, stream=False))
    assert known.usage.cost_usd == pytest.approx(0.3)
    unknown = await reply_of(connect("chat"), request_for(ASK))
    assert unknown.usage.cost_usd is None
    assert unknown.usage.input_tokens == 1_000_000


async def test_a_whole_reply_keeps_the_paragraphs_of_its_parts(connect, service, streamed):
    """Text after something else is a paragraph of its own, in the chunks as in the reply."""
    whole = {
        "id": "m1", "type": "message", "role": "assistant", "model": "claude-fake", "stop_reason": "tool_use", "stop_sequence": None,
        "content": [{"type": "text", "text": "Before."}, {"type": "tool_use", "id": "a", "name": "other", "input": {}}, {"type": "text", "text": "After."}],
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    events = [("message_start", {"message": {**whole, "content": []}})]
    for index, block in enumerate(whole["content"]):
        events.append(
            (
                "content_block_start",
                {"index": index, "content_block": {**block, **({"text": ""} if "text" in block else {})}},
            )
        )
        if "text" in block:
            events.append(
                ("content_block_delta", {"index": index, "delta": {"type": "text_delta", "text": block["text"]}})
            )
        events.append(("content_block_stop", {"index": index}))
    events += [
        ("message_delta", {"delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 1}}),
        ("message_stop", {}),
    ]
    stream = "".join(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n" for kind, data in events)
    if streamed:
        service.will(Answer(body=stream.encode(), content_type="text/event-stream"))
    else:
        service.will(Answer(body=json.dumps(whole).encode()))
    provider = connect("anthropic")
    # pydantic_ai streams Anthropic requests internally, so the plain body is served to both.
    (chunks,) = await talk(provider, request_for(ASK, tools=(OTHER,), stream=streamed))
    assert chunks[-1].message.text == "Before.\n\nAfter."
    assert "".join(c.text for c in chunks if isinstance(c, TextChunk)) == "Before.\n\nAfter."
    assert chunks[-1].message.native is not None


async def test_a_plain_reply_needs_no_native_copy(connect, service):
    """Native metadata is stored only where our fields cannot rebuild the reply."""
    service.will(Answer(text="So.", calls=(Call("other"),), finish="tool_calls"))
    assert (await reply_of(connect("chat"), request_for(ASK, tools=(OTHER,)))).message.native is None


async def test_a_turn_translates_only_new_messages(connect, service, monkeypatch):
    """A turn costs O(new messages): an old message is translated once."""
    from tt_kernel.providers import translate

    seen = []
    real = translate._translated
    monkeypatch.setattr(translate, "_translated", lambda message, *rest: seen.append(message) or real(message, *rest))
    service.will(Answer(text="ok"))
    conversation = [ASK]
    provider = connect("chat")
    requests = []
    for turn in range(4):
        requests.append(request_for(*conversation))
        conversation += [AssistantMessage(text=f"reply {turn}"), UserMessage(text=f"more {turn}")]
    await talk(provider, *requests)
    assert len(seen) == 7
    assert len({id(message) for message in seen}) == 7


async def test_a_cancelled_request_closes_its_stream(connect, service):
    service.will(Answer(text="x" * 100, pieces=50, events=10, hang=True))
    provider = connect("chat")
    got = []

    async def read():
        async for chunk in provider.stream(request_for(ASK)):
            got.append(chunk)

    task = asyncio.create_task(read())
    await until(lambda: len(got) >= 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    # The fake goes on writing until its peer is gone: it notices, so the connection was closed.
    await until(lambda: service.open_streams == 1)
    service.will(Answer(text="Still alive."))
    (chunks,) = await talk(provider, request_for(ASK))
    assert chunks[-1].message.text == "Still alive."


async def test_one_client_serves_all_requests(connect, service):
    service.will(Answer(text="ok"))
    provider = connect("chat")
    await collect(provider.stream(request_for(ASK)))
    client = provider._connection.model.client._client
    await collect(provider.stream(request_for(ASK)))
    assert provider._connection.model.client._client is client
    await provider.aclose()
    assert client.is_closed
    await provider.aclose()
    (chunks,) = await talk(provider, request_for(ASK))
    assert isinstance(chunks[-1], ModelReply)


async def test_two_requests_at_once_share_a_provider(connect, service):
    service.will(Answer(text="one"), Answer(text="two"))
    provider = connect("chat")
    try:
        replies = await asyncio.gather(*(collect(provider.stream(request_for(ASK))) for _ in range(2)))
    finally:
        await provider.aclose()
    assert sorted(chunks[-1].message.text for chunks in replies) == ["one", "two"]


def test_a_provider_is_made_without_importing_a_library(repository):
    import subprocess
    import sys

    code = (
        "import sys, pathlib, os; os.environ['OPENAI_API_KEY']='x'*20\n"
        "from tt_kernel.providers.names import provider_for\n"
        "p = provider_for('openai:gpt-5', base_dir=pathlib.Path('.')); p.identity; p.accepts_images\n"
        "print([m for m in ('pydantic_ai', 'openai', 'httpx', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=repository, check=True)
    assert done.stdout.strip() == "[]"
