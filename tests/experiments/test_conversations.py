"""A run's conversation for other tools: OpenAI's chat completions and pydantic-ai's messages."""

import base64
import io
import shutil
import subprocess
import sys

import pytest
from PIL import Image
from support import drive, make_session

SCRIPT = """
script: 1
conversations:
  - when: paint
    turns:
      - think: They want a picture.
        say: I paint.
        calls: [{call: paint}, {call: paint, raw: "{broken"}]
      - say: Painted.
      - say: Nothing more.
"""


def paint() -> Image.Image:
    """Paint."""
    return Image.new("RGB", (4, 4), "red")


def png(color):
    out = io.BytesIO()
    Image.new("RGB", (2, 2), color).save(out, "PNG")
    return out.getvalue()


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path, SCRIPT)


@pytest.fixture
def painted(session):
    return drive(session, "paint this", functions=[paint], tools=["paint"], images=[png("blue")])[0]


@pytest.fixture
def continued(session, painted):
    return drive(session, "and then?", functions=[paint], tools=["paint"], continue_from=painted)[0]


# ---- OpenAI


def test_openai_messages_are_what_the_api_takes(painted):
    messages = painted.to_openai_messages()
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "tool", "tool", "user", "assistant"]
    url = messages[1]["content"][1]["image_url"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/png;base64,"))[:4] == b"\x89PNG"
    calls = messages[2]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == ["{}", "{}"]
    assert [m["tool_call_id"] for m in messages if m["role"] == "tool"] == [call["id"] for call in calls]
    assert messages[4]["content"].startswith("[tool error] ")
    assert "They want a picture" not in str(messages)
    assert [part["type"] for part in messages[5]["content"]] == ["text", "image_url"]
    assert messages[6] == {"role": "assistant", "content": "Painted."}


def test_openai_messages_are_valid_for_the_client_library(continued):
    from openai.types.chat import ChatCompletionMessageParam
    from pydantic import TypeAdapter

    messages = continued.to_openai_messages()
    assert [m["role"] for m in messages][-3:] == ["assistant", "user", "assistant"]
    for message in messages:
        TypeAdapter(ChatCompletionMessageParam).validate_python(message)
        assert message["content"] or message.get("tool_calls"), message


def test_loaded_from_disk_they_are_the_same(painted, tmp_path):
    assert make_session(tmp_path).load(painted.id).to_openai_messages() == painted.to_openai_messages()


# ---- pydantic-ai


def kinds(messages):
    return [[part.part_kind for part in message.parts] for message in messages]


def test_pydantic_ai_messages_hold_the_whole_conversation(continued):
    messages = continued.to_pydantic_ai_messages()
    assert kinds(messages) == [
        ["system-prompt", "user-prompt"],
        ["thinking", "text", "tool-call", "tool-call"],
        ["tool-return", "tool-return"],
        ["text"],
        ["user-prompt"],
        ["text"],
    ]
    prompt, image = messages[0].parts[1].content
    assert (prompt, image.media_type, image.data[:4]) == ("paint this", "image/png", b"\x89PNG")
    thought, said, *calls = messages[1].parts
    assert (thought.content, said.content) == ("They want a picture.", "I paint.")
    assert [call.args for call in calls] == [{}, {}]
    good, bad = messages[2].parts
    assert [good.tool_call_id, bad.tool_call_id] == [call.tool_call_id for call in calls]
    assert (good.outcome, bad.outcome) == ("success", "failed")
    assert good.content[-1].data[:4] == b"\x89PNG"
    assert messages[1].model_name == "script.yaml"


def test_they_go_through_the_libraries_own_json_and_back(continued):
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    messages = continued.to_pydantic_ai_messages()
    written = ModelMessagesTypeAdapter.dump_json(messages)
    assert ModelMessagesTypeAdapter.validate_json(written) == messages


def test_they_are_the_same_each_time(painted, tmp_path):
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    again = make_session(tmp_path).load(painted.id)
    dumped = [ModelMessagesTypeAdapter.dump_json(run.to_pydantic_ai_messages()) for run in (painted, painted, again)]
    assert dumped[0] == dumped[1] == dumped[2]


async def test_an_agent_of_the_library_goes_on_with_them(painted):
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    heard = []

    def answer(messages, _):
        heard.extend(messages)
        return ModelResponse(parts=[TextPart("Gladly.")])

    result = await Agent(FunctionModel(answer)).run("Thank you.", message_history=painted.to_pydantic_ai_messages())
    assert result.output == "Gladly."
    assert kinds(heard)[:4] == kinds(painted.to_pydantic_ai_messages())
    assert heard[-1].parts[-1].content == "Thank you."


async def test_a_service_is_sent_what_it_takes(painted):
    """The library's own translation for a service accepts the messages; nothing is sent anywhere."""
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("gpt-x", provider=OpenAIProvider(base_url="http://127.0.0.1:9", api_key="none"))
    sent = await model._map_messages(painted.to_pydantic_ai_messages(), ModelRequestParameters())
    assert [m["role"] for m in sent][:3] == ["system", "user", "assistant"]
    assert [c["function"]["arguments"] for c in sent[2]["tool_calls"]] == ["{}", "{}"]


def test_an_image_that_is_gone_is_named(painted):
    shutil.rmtree(painted.folder / "tool-results")
    shutil.rmtree(painted.folder.parent.parent / "recordings")
    content = painted.to_pydantic_ai_messages()[2].parts[0].content
    assert content[-1].startswith("[image tool-results/")


def test_without_the_library_the_error_says_how_to_get_it(painted):
    code = (
        "import sys; sys.modules['pydantic_ai'] = None; sys.modules['pydantic_ai.messages'] = None\n"
        "import tt_kernel; from pathlib import Path\n"
        "try: tt_kernel.Session(Path(sys.argv[1])).load(sys.argv[2]).to_pydantic_ai_messages()\n"
        "except tt_kernel.ModelUnavailable as error: print(error)"
    )
    notebook = painted.folder.parents[2] / "nb.ipynb"
    done = subprocess.run([sys.executable, "-c", code, str(notebook), painted.id], capture_output=True, text=True)
    assert done.stdout.strip() == "to_pydantic_ai_messages needs pydantic-ai: pip install 'tt_kernel[pydantic-ai]'", (
        done.stderr
    )
