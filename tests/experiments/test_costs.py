"""Issue 6.10 and 6.9: what runs cost, and conversations for other tools."""

import base64
import io

import pytest
from PIL import Image
from support import drive, make_session

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.experiments.costs import costs, total

SCRIPT = """
script: 1
conversations:
  - when: dear
    turns:
      - say: Dear.
        usage: {input: 100, output: 10, cached: 40, cost: 0.25}
  - when: paint
    turns:
      - say: I paint.
        calls: [{call: paint}, {call: paint, raw: "{broken"}]
      - say: Painted.
  - turns:
      - say: Unpriced.
        usage: {input: 1000, output: 1}
"""


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path, SCRIPT)


def test_the_dearest_first_and_unknown_prices_are_unknown(session):
    for prompt in ("dear one", "dear two", "other"):
        drive(session, prompt)
        drive(session, prompt)
    records = session.index.list()
    spent = session.spending.all(records)
    assert [(c.name, c.runs, c.dollars) for c in costs(spent, "prompt")] == [
        ("dear one", 2, "$0.5000"),
        ("dear two", 2, "$0.5000"),
        ("other", 2, "?"),
    ]
    whole = total(spent)
    assert (whole.usage.input_tokens, whole.usage.cached_tokens, whole.dollars) == (2_400, 160, "$1.0000 + ?")
    (day,) = costs(spent, "day")
    assert (day.name, day.runs) == (records[0].started_at[:10], 6)


def test_replays_cost_nothing(session, tmp_path):
    drive(session, "dear one")
    again = make_session(tmp_path)
    drive(again, "dear one")
    assert total(again.spending.all(again.index.list())).usage.cost_usd == 0.25


def test_another_word_is_refused(session):
    with pytest.raises(UsageProblem, match="not by 'hour'"):
        costs([], "hour")


# ---- conversations


def paint() -> Image.Image:
    """Paint."""
    return Image.new("RGB", (4, 4), "red")


def test_openai_messages_are_what_the_api_takes(session):
    out = io.BytesIO()
    Image.new("RGB", (2, 2), "blue").save(out, "PNG")
    run, _ = drive(session, "paint this", functions=[paint], tools=["paint"], images=[out.getvalue()])
    messages = run.to_openai_messages()
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool", "tool", "user", "assistant"]
    url = messages[1]["content"][1]["image_url"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/png;base64,"))[:4] == b"\x89PNG"
    calls = messages[2]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == ["{}", "{broken"]
    assert [m["tool_call_id"] for m in messages if m["role"] == "tool"] == [call["id"] for call in calls]
    assert [part["type"] for part in messages[5]["content"]] == ["text", "image_url"]
    assert messages[6] == {"role": "assistant", "content": "Painted."}


def test_they_are_valid_for_the_client_library(session):
    from openai.types.chat import ChatCompletionMessageParam
    from pydantic import TypeAdapter

    run, _ = drive(session, "paint this", functions=[paint], tools=["paint"])
    for message in run.to_openai_messages():
        TypeAdapter(ChatCompletionMessageParam).validate_python(message)


def test_loaded_from_disk_they_are_the_same(session, tmp_path):
    run, _ = drive(session, "paint this", functions=[paint], tools=["paint"])
    assert make_session(tmp_path).load(run.id).to_openai_messages() == run.to_openai_messages()
