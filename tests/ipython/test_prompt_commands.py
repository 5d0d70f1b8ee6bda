"""`%agent prompt`: what is shown is what a run sends (spec tauritavern §17); `%agent tools` with estimates."""

import io
import json
from contextlib import redirect_stdout

import pytest

from tt_kernel.domain.canonical import canonical_json
from tt_kernel.ipython.prompt_commands import PLACEHOLDER, offer_tokens
from tt_kernel.toolkit.tokens import estimated_tokens

SCRIPT = "script: 1\nimages: {images}\nturns:\n  - say: Echo.\n"


@pytest.fixture
def agent(shell, tmp_path, monkeypatch):
    for images in ("true", "false"):
        (tmp_path / f"{images}.yaml").write_text(SCRIPT.format(images=images))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TT_MODEL", "scripted:true.yaml")
    monkeypatch.setenv("TT_NOTEBOOK", str(tmp_path / "nb.ipynb"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))

    def run(line):
        out = io.StringIO()
        with redirect_stdout(out):
            result = shell.run_cell(f"%agent {line}", store_history=True)
        return result.error_in_exec or result.result, out.getvalue()

    run.folder, run.shell = tmp_path, shell
    return run


@pytest.mark.parametrize("options", ["assistant", "assistant -t dice.roll", "engineer"])
def test_it_is_what_a_run_of_the_same_line_sends(agent, options):
    page, _ = agent(f"prompt {options} -- Say hello.")
    profile, *more = options.split()
    agent(f"-p {profile} {' '.join(more)} Say hello.")
    run = agent.shell.user_ns["_"]
    assert [m.model_dump() for m in page.messages] == [m.model_dump() for m in run.messages[: len(page.messages)]]
    snapshot = json.loads((run.folder / "input" / "snapshot.json").read_text())
    assert [tool.name for tool in page.tools] == [binding["name"] for binding in snapshot["bindings"]]
    assert [tool.input_schema for tool in page.tools] == [b["spec"]["inputSchema"] for b in snapshot["bindings"]]
    assert page.system == run.messages[0].text


def test_every_section_has_its_estimate_and_they_add_up(agent):
    page, out = agent("prompt writer -t dice.roll -- Say hello.")
    counts = {row[0]: int(row[1].replace(",", "")) for row in page.rows}
    assert counts["system prompt"] == estimated_tokens(page.system)
    assert counts["message 2 user"] == estimated_tokens("Say hello.")
    tools = [counts[f"- {tool.name}"] for tool in page.tools]
    assert tools == [offer_tokens(tool) for tool in page.tools]
    assert counts[f"{len(tools)} tools"] == sum(tools)
    assert counts["all"] == page.tokens == counts["system prompt"] + counts["message 2 user"] + sum(tools)
    assert "estimated without the model's tokenizer: a quarter for an ASCII character" in out


def test_an_estimate_is_a_quarter_of_the_characters(agent):
    page, _ = agent("prompt")
    tool = page.tools[0]
    sent = "\n".join([tool.name, tool.description, canonical_json(tool.input_schema)])
    assert offer_tokens(tool) == -(-len(sent) // 4)


def test_everything_is_shown_in_three_forms(agent):
    page, out = agent("prompt writer -- <b>Say</b>")
    for text in (page.text, out):
        assert page.system in text
        assert '"additionalProperties": false' in text
        assert "<b>Say</b>" in text
    assert "&lt;b&gt;Say&lt;/b&gt;" in page._repr_html_()
    assert page._repr_markdown_().count("```text") == len(page.sections)


def test_without_a_text_the_place_of_the_prompt_is_shown(agent):
    page, _ = agent("prompt")
    assert page.messages[-1].text == PLACEHOLDER
    assert ("message 2 user", "0") in page.rows
    assert page.title.startswith("assistant for scripted:true.yaml: ")


def test_settings_and_what_is_missing_are_told(agent):
    agent("profile set assistant sampling.temperature=0.5 tools.allow+=extension/notebook:*")
    path = agent.folder / "nb.agent" / "profiles" / "assistant.json"
    path.write_text(path.read_text().replace("extension/notebook:*", "mcp/gone:x"))
    page, _ = agent("prompt")
    assert [json.loads(section.body) for section in page.sections if section.title == "settings"] == [
        {"temperature": 0.5}
    ]
    assert any(note.startswith("tool.unavailable: 'mcp/gone:x'") for note in page.notes)


def test_a_model_without_eyes_gets_no_tools_that_return_images(agent):
    agent.shell.run_cell(
        "import tt_kernel\n@tt_kernel.tool(returns_images=True)\ndef picture() -> object:\n    'A picture.'\n    return None"
    )
    assert "picture" in [tool.name for tool in agent("prompt")[0].tools]
    page, _ = agent("prompt -m scripted:false.yaml")
    assert "picture" not in [tool.name for tool in page.tools]
    assert any("extension.tool_needs_image_input" in note for note in page.notes)


def test_no_model_is_no_obstacle(agent, monkeypatch):
    monkeypatch.delenv("TT_MODEL")
    page, _ = agent("prompt writer")
    assert page.preview.model is None
    assert "No model is chosen" in page.notes[1]
    agent("profile export writer")
    agent("profile import writer.json --as theirs")
    assert agent("prompt theirs")[0].preview.model is None


def test_nothing_is_run_or_written(agent):
    agent("prompt writer -- Say hello.")
    assert not (agent.folder / "nb.agent").exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("prompt nobody", "There is no profile 'nobody'"),
        ("prompt -t nothing", "No tool is called 'nothing'"),
        ("prompt --nope", "--nope is no option here. Write: %agent prompt [PROFILE]"),
        ("prompt -m", "-m needs a value: -m MODEL"),
        ("prompt -m nothing", "is not of the form provider:model"),
    ],
)
def test_what_makes_no_sense_is_said(agent, line, words):
    error, out = agent(line)
    assert words in str(error)
    assert "Traceback" not in out


def test_tools_are_listed_with_what_they_cost(agent):
    listing, out = agent("tools writer")
    counts = [int(row[2].replace(",", "")) for row in listing.rows]
    assert counts == [offer_tokens(tool) for tool in agent("prompt writer")[0].tools]
    assert f"{sum(counts):,} tokens in every request. Tokens are estimated" in out
    assert listing.columns == ("name", "effect", "tokens", "id", "description")
