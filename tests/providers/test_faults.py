"""Every way a service can fail, on real sockets: code, retryable flag, one clear message, no secret."""

import asyncio
import json
import socket

import pytest

from tt_kernel.domain.errors import ProviderError
from tt_kernel.domain.messages import UserMessage
from tt_kernel.domain.specs import ToolOffer

from .conftest import KEY, SERVICES, Answer, Call, collect, reply_of, request_for, talk

ASK = UserMessage(text="Roll two dice.")
TOOL = ToolOffer(name="dice_roll", description="Roll dice.", input_schema={"type": "object", "properties": {}})


async def failure(provider, **request) -> ProviderError:
    request.setdefault("tools", ())
    with pytest.raises(ProviderError) as caught:
        await talk(provider, request_for(ASK, **request))
    error = caught.value
    assert error.__cause__ is None
    assert error.__context__ is None, "a foreign traceback could show what a service echoed"
    return error


STATUS = [
    (400, "model.invalid_request", False),
    (401, "model.authentication", False),
    (403, "model.authentication", False),
    (404, "model.not_found", False),
    (408, "model.upstream_unavailable", True),
    (413, "model.invalid_request", False),
    (422, "model.invalid_request", False),
    (429, "model.rate_limited", True),
    (500, "model.upstream_unavailable", True),
    (502, "model.upstream_unavailable", True),
    (503, "model.upstream_unavailable", True),
    (504, "model.upstream_unavailable", True),
    (529, "model.upstream_unavailable", True),
]


@pytest.mark.parametrize(("status", "code", "retryable"), STATUS)
async def test_each_status_has_its_code(connect, service, dialect, streamed, status, code, retryable):
    service.will(Answer(status=status))
    error = await failure(connect(dialect), stream=streamed)
    assert (error.code, error.retryable) == (code, retryable)
    assert SERVICES[dialect][0] in error.message
    assert f"HTTP {status}" in error.message
    assert len(service.heard) == 1, "retries are not the provider's business"
    assert "\n" not in error.message


@pytest.mark.parametrize("dialect", ["chat", "responses", "anthropic"])
async def test_the_wait_that_a_service_asks_for_is_passed_on(connect, service, dialect):
    service.will(Answer(status=429, headers={"retry-after": "7"}))
    error = await failure(connect(dialect))
    assert error.retry_after == 7.0
    assert "wait 7 seconds" in error.message


async def test_no_quota_is_not_retried(connect, service):
    service.will(
        Answer(
            status=429,
            error={
                "error": {
                    "message": "You exceeded your current quota",
                    "type": "insufficient_quota",
                    "code": "insufficient_quota",
                }
            },
        )
    )
    error = await failure(connect("chat"))
    assert (error.code, error.retryable) == ("model.quota_exceeded", False)


async def test_a_conversation_that_is_too_long_has_a_code_of_its_own(connect, service):
    body = {
        "error": {
            "message": "This model's maximum context length is 10 tokens.",
            "type": "invalid_request_error",
            "code": "context_length_exceeded",
        }
    }
    service.will(Answer(status=400, error=body))
    assert (await failure(connect("chat"))).code == "model.context_window_exceeded"


# ---- secrets (field report 73)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
async def test_no_key_is_in_any_message(connect, service, dialect, status):
    masked = f"{KEY[:6]}****{KEY[-4:]}"
    texts = f"Incorrect API key provided: {KEY}, {masked}, sk-proj-abcdef123456, Bearer {KEY}"
    service.will(Answer(status=status, error={"error": {"message": texts, "type": "x", "code": "y"}}))
    error = await failure(connect(dialect))
    for piece in (KEY, "sk-proj", "abcdef123456"):
        assert piece not in f"{error} {error!r} {error.args}"
    if status in {401, 403}:
        assert masked not in str(error), "a masked key still shows its ends"
        assert SERVICES[dialect][1] in error.message


async def test_an_address_with_a_password_is_shown_without(connect, service, monkeypatch):
    provider = connect("chat")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://user:hunter22secret@127.0.0.1:{service.port}/v1?key=abc")
    from tt_kernel.providers.names import credentials, provider_for

    provider = provider_for("openai:m", base_dir=None)
    service.will(Answer(status=500))
    error = await failure(provider)
    assert "hunter22secret" not in f"{error}{provider.identity}"
    assert f"http://127.0.0.1:{service.port}/v1" in error.message
    assert provider.identity["baseUrl"] is None
    assert "hunter22secret" in credentials().values()


# ---- tools (field report 58)

NO_TOOLS = [
    (
        400,
        {
            "error": {
                "message": "registry.ollama.ai/library/gemma:2b does not support tools",
                "type": "api_error",
                "code": None,
            }
        },
    ),
    (404, {"error": {"message": "No endpoints found that support tool use. To learn more ...", "code": 404}}),
    (
        400,
        {"error": {"message": "tools is not supported with this model", "type": "invalid_request_error", "code": None}},
    ),
    (
        400,
        {
            "error": {
                "message": '"auto" tool choice is not supported: enable it',
                "type": "BadRequestError",
                "code": 400,
            }
        },
    ),
    (422, {"detail": "Function calling is not supported by this model."}),
    (501, {"error": "this model doesn't support function calling"}),
]


@pytest.mark.parametrize(("status", "body"), NO_TOOLS)
async def test_a_model_without_tools_gives_a_line_and_a_hint(connect, service, status, body):
    service.will(Answer(status=status, error=body))
    error = await failure(connect("chat"), tools=(TOOL,))
    assert (error.code, error.retryable) == ("model.tools_unsupported", False)
    assert "without tools" in error.message
    assert (await failure(connect("chat"))).code != "model.tools_unsupported", "no tools were offered"


async def test_a_tool_error_that_is_about_something_else_is_not_mistaken(connect, service):
    service.will(
        Answer(
            status=400,
            error={"error": {"message": "Invalid schema for function 'dice_roll'", "type": "x", "code": None}},
        )
    )
    assert (await failure(connect("chat"), tools=(TOOL,))).code == "model.invalid_request"


# ---- silence, cut lines, nonsense


async def test_a_service_that_never_answers_ends_with_a_time_out(connect, service, dialect, streamed):
    """Field report 59: it names the address and the model."""
    service.will(Answer(hang=True))
    error = await failure(connect(dialect), stream=streamed, timeout_seconds=0.3)
    assert (error.code, error.retryable) == ("model.timeout", True)
    assert service.url in error.message
    assert SERVICES[dialect][0] in error.message
    assert "0.3 seconds" in error.message


async def test_a_service_that_only_says_it_is_there_ends_with_a_time_out(connect, service):
    """Keep-alive comments are no news."""
    service.will(Answer(text="Hello", events=2, hang=True))
    assert (await failure(connect("chat"), timeout_seconds=0.5)).code == "model.timeout"


async def test_a_slow_service_is_waited_for_as_long_as_it_talks(connect, service):
    service.will(Answer(text="x" * 40, pieces=40))
    reply = await reply_of(connect("chat"), request_for(ASK, timeout_seconds=5))
    assert len(reply.message.text) == 40


@pytest.mark.parametrize("broken", [True, False], ids=["broken", "quiet"])
@pytest.mark.parametrize("events", [1, 4])
async def test_a_cut_stream_is_no_reply(connect, service, dialect, broken, events):
    """Whether the line breaks or the service just stops: a text that may be half a text is never taken for a whole one."""
    service.will(Answer(text="Hello there, this is long.", pieces=8, events=events, chunked=broken))
    error = await failure(connect(dialect))
    assert (error.code, error.retryable) == ("model.upstream_invalid_response", True)


async def test_a_call_cut_off_with_its_line_is_no_call(connect, service):
    service.will(Answer(calls=(Call("dice_roll", '{"formula": "2d6"}'),), pieces=6, events=4, finish="tool_calls"))
    assert (await failure(connect("chat"), tools=(TOOL,))).code == "model.upstream_invalid_response"


async def test_what_was_streamed_before_the_cut_was_seen(connect, service):
    service.will(Answer(text="Hello there.", pieces=4, events=3))
    seen = []
    provider = connect("chat")
    try:
        with pytest.raises(ProviderError):
            async for chunk in provider.stream(request_for(ASK)):
                seen.append(chunk.text)
    finally:
        await provider.aclose()
    assert "".join(seen) == "Hello "


@pytest.mark.parametrize("body", [b"<html>Gateway</html>", b"", b"{", b"null", b"[]", b'{"x": 1}'])
async def test_a_body_that_makes_no_sense_is_an_invalid_response(connect, service, dialect, body):
    service.will(Answer(body=body))
    error = await failure(connect(dialect), stream=False)
    assert (error.code, error.retryable) == ("model.upstream_invalid_response", True)


async def test_an_error_inside_a_stream_has_the_code_of_its_kind(connect, service):
    event = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    service.will(Answer(body=f"event: error\ndata: {json.dumps(event)}\n\n".encode(), content_type="text/event-stream"))
    error = await failure(connect("anthropic"))
    assert (error.code, error.retryable) == ("model.upstream_unavailable", True)


async def test_nobody_at_the_address(connect, monkeypatch, dialect):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    provider = connect(dialect)
    monkeypatch.setenv(SERVICES[dialect][2], f"http://127.0.0.1:{port}")
    error = await failure(provider)
    assert (error.code, error.retryable) == ("model.upstream_unavailable", True)
    assert f"127.0.0.1:{port}" in error.message


# ---- replies that cannot be used


async def test_a_refusal_is_an_error_that_says_so(connect, service, dialect, streamed):
    service.will(Answer(refusal="I must not.", text="" if dialect != "google" else "I must not.", finish="stop"))
    error = await failure(connect(dialect), stream=streamed)
    assert (error.code, error.retryable) == ("model.provider_refusal", False)
    assert "I must not." in error.message


async def test_a_call_that_was_cut_off_comes_through_as_it_is(connect, service, streamed):
    """Spec liveagent §18: the runtime refuses the call (toolkit/truncation.py), so that the model can make it again."""
    service.will(Answer(calls=(Call("dice_roll", '{"formula": "2'),), finish="length"))
    reply = await reply_of(connect("chat"), request_for(UserMessage(text="x"), tools=(TOOL,), stream=streamed))
    assert reply.finish_reason == "length"
    assert reply.message.calls[0].arguments.raw == '{"formula": "2'


async def test_nothing_said_before_the_limit_is_truncated_output(connect, service, dialect):
    service.will(Answer(finish="length"))
    assert (await failure(connect(dialect))).code == "model.output_truncated"


async def test_text_that_was_cut_off_is_a_reply_that_says_so(connect, service, dialect, streamed):
    service.will(Answer(text="Once upon a", finish="length"))
    reply = await reply_of(connect(dialect), request_for(ASK, stream=streamed))
    assert (reply.finish_reason, reply.message.text) == ("length", "Once upon a")


@pytest.mark.parametrize("identity", [None, ""])
@pytest.mark.parametrize("dialect", ["chat"])
async def test_a_call_without_id_is_invalid(connect, service, dialect, identity, streamed):
    """Spec tauritavern §3: the id is mandatory; absence is model.invalid_tool_call."""
    service.will(Answer(calls=(Call("dice_roll", "{}", identity),), finish="tool_calls"))
    error = await failure(connect(dialect), tools=(TOOL,), stream=streamed)
    assert (error.code, error.retryable) == ("model.invalid_tool_call", False)


async def test_calls_that_share_an_id_are_told_apart(connect, service, streamed):
    service.will(Answer(calls=(Call("dice_roll", "{}", "same"),) * 3, finish="tool_calls"))
    reply = await reply_of(connect("chat"), request_for(ASK, tools=(TOOL,), stream=streamed))
    assert [call.id for call in reply.message.calls] == ["same", "same-2", "same-3"]


@pytest.mark.parametrize("raw", ["[1,2]", "not json", "3"])
async def test_gemini_arguments_that_are_no_object_are_an_invalid_response(connect, service, raw, streamed):
    """notes/libraries.md §4: google-genai's own ValidationError escapes its wrappers."""
    service.will(Answer(calls=(Call("dice_roll", raw),)))
    error = await failure(connect("google"), tools=(TOOL,), stream=streamed)
    assert (error.code, error.retryable) == ("model.upstream_invalid_response", True)


async def test_an_unknown_reasoning_effort_is_refused_before_anything_is_sent(connect, service):
    error = await failure(connect("chat"), reasoning_effort="enormous")
    assert error.code == "model.invalid_request"
    assert "low" in error.message
    assert service.heard == []


async def test_after_a_failure_the_provider_goes_on(connect, service):
    service.will(Answer(status=503), Answer(text="Here."))
    provider = connect("chat")
    try:
        with pytest.raises(ProviderError):
            await collect(provider.stream(request_for(ASK)))
        chunks = await collect(provider.stream(request_for(ASK)))
    finally:
        await provider.aclose()
    assert chunks[-1].message.text == "Here."


async def test_a_consumer_that_stops_reading_leaves_nothing_behind(connect, service):
    service.will(Answer(text="x" * 100, pieces=50))
    provider = connect("chat")
    stream = provider.stream(request_for(ASK))
    await anext(stream)
    await stream.aclose()
    await provider.aclose()
    assert len(asyncio.all_tasks()) == 1
