"""Runs as OpenTelemetry spans, seen through the real SDK."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.trace import SpanKind, StatusCode

from tt_kernel.domain.runs import TurnEdit
from tt_kernel.runtime.loop_thread import submit
from tt_kernel.session.spans import CUT_OFF, spans_of
from tt_kernel.store.journal import read_journal

from .support import drive, make_session

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
SCRIPT = f"""
script: 1
conversations:
  - when: broken
    turns:
      - fail: {{error: 500, times: always, message: out of order}}
  - when: roll
    turns:
      - think: A die.
        say: I roll.
        calls: [{{call: dice_roll, with: {{formula: 1d6}}}}, {{call: dice_roll, with: {{formula: nonsense}}}}]
        usage: {{input: 100, output: 10, cached: 40, cost: 0.25}}
      - say: "Rolled, {SECRET}."
        usage: {{input: 200, output: 20, cost: 0.25}}
"""
ROLL = {"tools": ["dice.roll"]}
CONTENT = ("messages", "instructions", "arguments", "result")


@pytest.fixture
def exporter():
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter):
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(exporter))
    yield made
    made.shutdown()


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path, SCRIPT)


@pytest.fixture
def run(session):
    return drive(session, f"please roll {SECRET}", settings={"sampling.temperature": 0.5}, **ROLL)[0]


def spans(exporter):
    """By start, the root first."""
    return sorted(exporter.get_finished_spans(), key=lambda span: (span.parent is not None, span.start_time))


def test_a_run_is_one_tree_of_spans_with_recorded_times(run, exporter, provider):
    assert run.export_spans(provider) == 5
    root, *inside = spans(exporter)
    assert root.name == "invoke_agent Assistant"
    assert sorted(span.name for span in inside) == [
        "chat script.yaml",
        "chat script.yaml",
        "execute_tool dice_roll",
        "execute_tool dice_roll",
    ]
    assert {span.parent.span_id for span in inside} == {root.context.span_id}
    assert {span.context.trace_id for span in inside} == {root.context.trace_id}
    journal = read_journal(run.folder / "events.jsonl")
    assert root.start_time == ns(journal[0].timestamp)
    assert root.end_time == ns(journal[-1].timestamp)
    assert all(root.start_time <= span.start_time <= span.end_time <= root.end_time for span in inside)
    assert {span.kind for span in inside if span.name.startswith("chat")} == {SpanKind.CLIENT}
    assert {span.kind for span in (root, *inside) if not span.name.startswith("chat")} == {SpanKind.INTERNAL}


def ns(timestamp):
    from datetime import datetime

    return round(datetime.fromisoformat(timestamp).timestamp() * 1000) * 1_000_000


def test_the_names_are_those_of_the_conventions(run, exporter, provider):
    run.export_spans(provider, content=True)
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")} | {ERROR_TYPE}
    for span in spans(exporter):
        assert {key for key in span.attributes if not key.startswith("tt_kernel.")} <= known


def test_attributes_of_each_kind(run, exporter, provider):
    run.export_spans(provider)
    root, *inside = spans(exporter)
    assert dict(root.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "scripted",
        "gen_ai.request.model": "script.yaml",
        "gen_ai.agent.id": "assistant",
        "gen_ai.agent.name": "Assistant",
        "gen_ai.usage.input_tokens": 300,
        "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 40,
        "tt_kernel.cost_usd": 0.5,
        "tt_kernel.run.id": run.id,
        "tt_kernel.run.key": root.attributes["tt_kernel.run.key"],
    }
    chat = next(span for span in inside if span.name.startswith("chat"))
    assert chat.attributes["gen_ai.operation.name"] == "chat"
    assert chat.attributes["gen_ai.request.temperature"] == 0.5
    assert chat.attributes["gen_ai.usage.input_tokens"] == 100
    assert chat.attributes["gen_ai.response.finish_reasons"] == ("tool_call",)
    good, bad = sorted(
        (s for s in inside if s.name.startswith("execute")), key=lambda s: s.status.status_code == StatusCode.ERROR
    )
    assert good.attributes["gen_ai.tool.name"] == "dice_roll"
    assert good.attributes["gen_ai.tool.call.id"] == run.tool_calls[0].call.id
    assert good.attributes["gen_ai.tool.type"] == "function"
    assert good.status.status_code == StatusCode.UNSET
    assert bad.attributes[ERROR_TYPE] == run.tool_calls[1].result.error_code
    assert (root.status.status_code, bad.status.status_code) == (StatusCode.UNSET, StatusCode.ERROR)


def test_what_was_said_is_left_out_unless_asked_for(run, exporter, provider, monkeypatch):
    run.export_spans(provider)
    assert [key for span in spans(exporter) for key in span.attributes if key.endswith(CONTENT)] == []
    exporter.clear()
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "span_only")
    run.export_spans(provider)
    root, *inside = spans(exporter)
    chats = [span for span in inside if span.name.startswith("chat")]
    heard = json.loads(chats[1].attributes["gen_ai.input.messages"])
    assert [message["role"] for message in heard] == ["user", "assistant", "tool", "tool"]
    assert [part["type"] for part in heard[1]["parts"]] == ["reasoning", "text", "tool_call", "tool_call"]
    assert json.loads(chats[0].attributes["gen_ai.system_instructions"])[0]["content"]
    assert json.loads(chats[1].attributes["gen_ai.output.messages"])[0]["finish_reason"] == "stop"
    tools = [span.attributes for span in inside if span.name.startswith("execute")]
    assert [json.loads(tool["gen_ai.tool.call.arguments"])["formula"] for tool in tools] == ["1d6", "nonsense"]
    assert all(tool["gen_ai.tool.call.result"] for tool in tools)
    assert "Rolled" in root.attributes["gen_ai.output.messages"]


def test_secrets_are_in_no_span(run, exporter, provider):
    run.export_spans(provider, content=True)
    everything = "\n".join(span.to_json() for span in spans(exporter))
    assert "please roll" in everything
    assert SECRET not in everything


def test_replayed_turns_are_marked_and_count_no_tokens(session, run, exporter, provider):
    stream = session.stream(session.prepare_branch(run.id, TurnEdit(turn=2, message="And?")))

    async def drain():
        async for _ in stream:
            pass

    submit(drain())[0].result()
    stream.run.export_spans(provider)
    root, *inside = spans(exporter)
    chats = [span.attributes for span in inside if span.name.startswith("chat")]
    assert [span.get("tt_kernel.replayed", False) for span in chats] == [True, False]
    assert [span.get("gen_ai.usage.input_tokens") for span in chats] == [None, 200]
    assert root.attributes["gen_ai.usage.input_tokens"] == 200


def test_a_failed_run_says_why(session, exporter, provider):
    run, _ = drive(session, "broken", settings={"run.model_retry.max_retries": 1, "run.model_retry.interval_ms": 1})
    run.export_spans(provider)
    root, chat = spans(exporter)
    assert (run.status, root.status.status_code, chat.status.status_code) == (
        "failed",
        StatusCode.ERROR,
        StatusCode.ERROR,
    )
    assert root.attributes[ERROR_TYPE] == run.problem.code
    assert [event.name for event in chat.events] == ["tt_kernel.attempt_failed"] * 2


def test_a_run_cut_off_anywhere_has_spans(session, run):
    journal = read_journal(run.folder / "events.jsonl")
    record = session.index.load(run.id)
    for end in range(1, len(journal)):
        root = spans_of(record, journal[:end])
        assert root.error == CUT_OFF
        assert all(child.end >= child.start for child in root.children)
    assert spans_of(record, []) is None


# ---- by itself


PROGRAM = """
import sys
from pathlib import Path
{setup}
import tt_kernel
session = tt_kernel.Session(Path("nb.ipynb"))
for _ in range(2):
    run = tt_kernel.run("please roll", model="scripted:script.yaml", tools=["dice.roll"], session=session, mode="{mode}")
print(run.text[:6], {told})
"""
SETUP = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
trace.set_tracer_provider(TracerProvider())
trace.get_tracer_provider().add_span_processor(SimpleSpanProcessor(exporter))
"""
COUNT = "sum(s.name.startswith('invoke_agent') for s in exporter.get_finished_spans())"


def program(folder, setup, told, mode="auto", **env):
    code = PROGRAM.format(setup=textwrap.dedent(setup), told=told, mode=mode)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=os.environ | env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1], done.stderr


def test_live_runs_are_exported_by_themselves_where_the_environment_says_so(session, tmp_path):
    assert program(tmp_path, SETUP, COUNT, TT_OTEL="on")[0] == "2"
    assert program(tmp_path, SETUP, COUNT, mode="replay", TT_OTEL="on")[0] == "0"  # nothing was asked
    assert program(tmp_path, SETUP, COUNT, mode="live")[0] == "0"  # nobody said so


def test_without_the_switch_the_library_is_not_even_imported(session, tmp_path):
    assert program(tmp_path, "", "'opentelemetry' in sys.modules")[0] == "False"


def test_a_missing_library_harms_no_run_and_is_told(session, tmp_path):
    gone = "sys.modules['opentelemetry'] = None"
    told, said = program(tmp_path, gone, "run.status", TT_OTEL="on")
    assert told == "completed"
    assert "not exported: Spans need OpenTelemetry: pip install 'tt_kernel[otel]'" in said
