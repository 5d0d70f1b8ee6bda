"""A person decides while the cell runs (issue 5, items 3 and 10)."""

import json
import shutil
from pathlib import Path

import pytest
from jupyter_page import Page, write_notebook

from tt_kernel.domain.views import RUN_MIME


@pytest.fixture
def folder(server, request):
    folder = server.root / request.node.name
    folder.mkdir()
    shutil.copy(Path(__file__).parent / "script.yaml", folder)
    write_notebook(
        folder / "nb.ipynb", "%load_ext tt_kernel", "%%agent engineer -m scripted:script.yaml\nAsk for permission."
    )
    write_notebook(
        folder / "ask.ipynb", "%load_ext tt_kernel", "%%agent engineer -m scripted:script.yaml\nAsk a question."
    )
    return folder


def test_calls_are_approved_edited_and_denied_by_click(page, folder):
    page.open_lab(f"{folder.name}/nb.ipynb")
    page.run_cell(0)
    page.start_cell(1)
    ask = page.run_view(1).locator(".tt-ask")

    ask.locator(".tt-ask-name", has_text="Write").wait_for()
    assert "The agent was here." in ask.locator(".tt-ask-call").inner_text()
    assert not (folder / "notes.txt").exists(), "nothing happens before the answer"
    page.page.keyboard.press("Enter")
    assert ask.locator(".tt-ask-name", has_text="Write").is_visible(), "Enter approves nothing by accident"
    page.screenshot("lab-approval", page.cell(1))
    ask.locator(".tt-ask-approve").click()

    ask.locator(".tt-terminal-command", has_text="one.txt").wait_for()
    assert (folder / "notes.txt").read_text() == "The agent was here.\n"
    page.screenshot("lab-approval-shell", page.cell(1))
    ask.locator("button", has_text="Edit arguments").click()
    ask.locator(".tt-ask-edit").fill(json.dumps({"command": "echo changed > one.txt"}))
    ask.locator(".tt-ask-approve").click()

    ask.locator(".tt-terminal-command", has_text="two.txt").wait_for()
    assert (folder / "one.txt").read_text().strip() == "changed"
    ask.locator(".tt-run-guide").fill("two is too many")
    ask.locator(".tt-ask-deny").click()

    ask.locator(".tt-terminal-command", has_text="three.txt").wait_for()
    assert not (folder / "two.txt").exists()
    ask.locator(".tt-ask-always").click()
    page.finish_cell(1)
    assert (folder / "three.txt").read_text().strip() == "three"
    view = page.run_view(1)
    page.until(view.locator(".tt-run-ask").inner_text, "")
    assert "two is too many" in view.inner_text()

    page.command("docmanager:save")
    outputs = json.loads((folder / "nb.ipynb").read_text())["cells"][1]["outputs"]
    assert [RUN_MIME in output["data"] for output in outputs] == [True], "the saved file holds the run and nothing else"


def test_a_question_in_two_tabs_is_answered_once(page, server, browser, folder):
    page.open_lab(f"{folder.name}/ask.ipynb")
    page.run_cell(0)
    page.start_cell(1)
    page.page.locator(".tt-ask[data-kind=question_asked]").wait_for()
    page.command("docmanager:save")
    other = Page(server, browser)
    other.page.goto(f"{server.url}/lab/workspaces/other/tree/{folder.name}/ask.ipynb?reset")
    other.page.locator(".tt-ask[data-kind=question_asked]").wait_for()
    page.screenshot("lab-question", page.cell(1))
    other.page.locator(".tt-ask input[type=radio]").nth(1).check()
    other.page.locator(".tt-ask-approve").click()
    page.finish_cell(1)
    page.page.locator(".tt-ask").wait_for(state="detached")
    other.page.locator(".tt-ask").wait_for(state="detached")
    page.run_view(1).locator("summary").first.click()
    assert "Red" in page.run_view(1).inner_text()
    other.close()


def test_an_agent_sees_cells_that_are_not_saved(page, folder):
    """Issue 3, item 1: the front end's cells come before those of the file, and the source is recorded."""
    write_notebook(
        folder / "above.ipynb",
        "%load_ext tt_kernel",
        "# a place for words",
        "%%agent -m scripted:script.yaml -t chat.search\nFind what stands above.",
    )
    page.open_lab(f"{folder.name}/above.ipynb")
    page.run_cell(0)
    page.page.wait_for_timeout(1000)
    page.page.evaluate(
        "jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel.setSource('# the zebra is not saved')"
    )
    page.run_cell(2)
    (run,) = (folder / "above.agent" / "runs").iterdir()
    (result,) = (run / "tool-results").rglob("*.json")
    assert "zebra is not saved" in result.read_text()
    assert "zebra" not in (folder / "above.ipynb").read_text()
    assert any('"frontend"' in path.read_text() for path in (run / "input").iterdir()), "the source is recorded"
