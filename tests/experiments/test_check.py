"""Issue 6.2: cells that could not pass nbval, and why."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from support import drive, make_session

from tt_kernel.domain.errors import NotFound
from tt_kernel.domain.views import RUN_MIME
from tt_kernel.experiments.check import check_notebook

SCRIPT = """
script: 1
conversations:
  - when: list
    turns:
      - call: Bash
        with: {command: ls}
      - say: Refused.
  - when: dice
    turns:
      - call: dice_roll
        with: {formula: 2d6}
      - say: Rolled.
  - turns:
      - say: Echo.
"""


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path, SCRIPT)


def findings(session, *cells):
    nbformat.write(new_notebook(cells=list(cells)), session.notebook)
    return [(f.cell, f.kind) for f in check_notebook(session.notebook)]


def agent_cell(session, prompt, source="%%agent\n", **options):
    run, _ = drive(session, prompt, **options)
    data = {RUN_MIME: run.view.model_dump(mode="json"), "text/plain": "agent"}
    return new_code_cell(source + prompt, outputs=[new_output("display_data", data=data)])


def text_cell(text, source="print(1)", **metadata):
    return new_code_cell(source, outputs=[new_output("stream", name="stdout", text=text)], metadata=metadata)


def test_a_clean_notebook_has_no_findings(session):
    assert (
        findings(session, new_code_cell("%load_ext tt_kernel"), agent_cell(session, "hello"), text_cell("42\n")) == []
    )


def test_cells_without_a_run_or_with_live(session):
    live = agent_cell(session, "hello", source="%%agent --live\n")
    assert findings(session, new_code_cell("%%agent\nhello"), new_code_cell("%%agent -q\nhello"), live) == [
        (1, "not run"),
        (3, "live"),
    ]


@pytest.mark.parametrize(
    "text",
    ["<object at 0x7f3a2b1c4d50>", "Wall time: 3 ms", "100%|####| 5/5 [00:01<00:00, 4.9it/s]", "2026-11-30 20:41:48"],
)
def test_volatile_outputs(session, text):
    assert findings(session, text_cell(text)) == [(1, "volatile output")]
    assert findings(session, text_cell(text, source="# NBVAL_IGNORE_OUTPUT\nprint(1)")) == []


def test_a_widget_without_another_picture(session):
    widget = {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}, "text/plain": "Button()"}
    shown = new_code_cell("b", outputs=[new_output("display_data", data=widget)])
    with_html = new_code_cell("b", outputs=[new_output("display_data", data=widget | {"text/html": "<b>x</b>"})])
    assert findings(session, shown, with_html) == [(1, "widget only")]


def test_an_approval_that_nobody_could_give_names_the_rule(session):
    cell = agent_cell(session, "list the files", profile="engineer")
    assert findings(session, cell) == [(1, "approval")]
    (found,) = check_notebook(session.notebook)
    assert "Bash" in found.message


def test_a_run_without_its_recording(session):
    cell = agent_cell(session, "hello")
    for path in session.folder.recordings.glob("*.jsonl"):
        path.unlink()
    assert findings(session, cell) == [(1, "no recording")]


def test_a_tool_that_drifted_when_it_was_replayed(session, tmp_path):
    import json

    drive(session, "dice", tools=["dice.roll"])
    (chain,) = session.folder.recordings.glob("*.jsonl")
    lines = [json.loads(line) for line in chain.read_text().splitlines()]
    for line in lines:
        if line["kind"] == "result":
            line["result"]["content"] = "2d6 = 99"
        if line["kind"] == "reply" and "Rolled." in json.dumps(line):
            line["kind"] = "gone"  # so that the replay goes on live, and has a folder
    chain.write_text("".join(json.dumps(line) + "\n" for line in lines))
    again = make_session(tmp_path)
    cell = agent_cell(again, "dice", tools=["dice.roll"])
    assert (1, "unseeded tool") in findings(again, cell)


def test_a_cell_that_raised(session):
    error = new_output("error", ename="ValueError", evalue="no", traceback=[])
    tagged = new_code_cell("x", outputs=[error], metadata={"tags": ["raises-exception"]})
    assert findings(session, new_code_cell("x", outputs=[error]), tagged) == [(1, "fails")]


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(NotFound, match="Save it first"):
        check_notebook(tmp_path / "none.ipynb")
