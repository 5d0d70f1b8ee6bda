"""Runs in their places: the side bar, the record in a run's folder, the mark on stale outputs, Tab in agent cells."""

import json
import re
import shutil
from pathlib import Path

import pytest
from jupyter_page import words, write_notebook
from test_lab import SETUP, is_readable

HERE = Path(__file__).parent
AGENT = "%%agent -m scripted:script.yaml -t masses -t picture -t echo\n"
SET_SOURCE = "([n, text]) => jupyterapp.shell.currentWidget.content.widgets[n].model.sharedModel.setSource(text)"


@pytest.fixture
def folder(server, request):
    folder = server.root / re.sub(r"\W", "_", request.node.name)
    folder.mkdir()
    shutil.copy(HERE / "script.yaml", folder)
    return folder


def test_the_side_bar_replays_compares_and_marks_what_is_stale(page, folder):
    """Runs by state, from here to the cell and its folder; two side by side; what the prompt or profile no longer is."""
    one, two = (
        f"{AGENT}Which of the three penguin species is the heaviest?",
        f"{AGENT}Which of the three kinds of penguins is the heaviest?",
    )
    write_notebook(
        folder / "nb.ipynb",
        SETUP,
        one,
        two,
        f"{AGENT}No such conversation.",
        "%agent profile set assistant description=Changed",
    )
    page.open_lab(f"{folder.name}/nb.ipynb")
    for cell in range(4):
        page.run_cell(cell)
    page.command("tt-kernel:show-runs")
    side = page.page.locator(".tt-runs")
    rows = side.locator(".tt-runs-row")
    page.page.wait_for_function("() => document.querySelectorAll('.tt-runs-row').length === 3")
    page.until(side.locator(".tt-runs-chip").all_inner_texts, ["done 2", "failed 1"])
    side.locator(".tt-runs-chip", has_text="failed").click()
    page.until(rows.count, 1)
    side.locator(".tt-runs-chip", has_text="failed").click()

    rows.nth(0).locator(".tt-runs-replay").click()
    page.run_view(1).locator(".tt-run-badge-replayed").wait_for()
    side.locator(".tt-runs-chip", has_text="replayed 1").wait_for()

    rows.nth(0).locator(".tt-runs-compare").click()
    rows.nth(1).locator(".tt-runs-compare").click()
    page.screenshot("side-bar-comparing")
    side.locator(".tt-runs-go").click()
    page.page.locator(".tt-record .tt-compare-numbers").wait_for()
    assert page.page.locator(".tt-record .tt-compare-gallery img").count() == 0, (
        "the same picture twice is no difference"
    )
    assert page.page.locator(".tt-record ins").count() > 0
    page.screenshot("side-bar-compared")
    page.command("application:close")

    page.page.evaluate(SET_SOURCE, [1, one + " Quickly."])
    page.page.locator(".jp-CodeCell.tt-stale-prompt").wait_for()
    page.run_cell(4)
    page.page.wait_for_function("() => document.querySelectorAll('.jp-CodeCell.tt-stale-profile').length >= 2")
    badges = "n => getComputedStyle(document.querySelectorAll('.jp-CodeCell')[n].querySelector('.tt-run-side'), '::before').content"
    assert page.page.evaluate(badges, 1) == '"prompt and profile changed"'
    assert page.page.evaluate(badges, 2) == '"profile changed"'
    side.locator(".tt-runs-chip", has_text="stale 3").wait_for()
    assert "profile" in rows.nth(1).locator(".tt-runs-stale").get_attribute("title")
    page.screenshot("side-bar-stale")
    page.dark()
    page.screenshot("side-bar-dark")
    assert is_readable(rows.nth(0).locator(".tt-runs-prompt"))
    page.light()
    rows.nth(1).locator(".tt-runs-folder").click()
    page.page.locator(".jp-DirListing-itemText", has_text="events.jsonl").wait_for()

    page.page.evaluate("() => jupyterapp.shell.activateById([...jupyterapp.shell.widgets('main')][0].id)")
    page.command("docmanager:save")
    page.page.goto(f"{page.server.url}/lab/tree/{folder.name}/nb.ipynb?reset")
    page.page.locator(".jp-CodeCell.tt-stale-prompt").wait_for()
    assert page.page.locator(".jp-CodeCell.tt-stale-prompt").count() == 1, (
        "the output itself says what it was made from"
    )


def test_the_record_of_a_run_opens_as_the_run(page, folder):
    write_notebook(folder / "nb.ipynb", SETUP, AGENT + "Show me everything.")
    page.open_lab(f"{folder.name}/nb.ipynb")
    page.run_cell(0)
    page.run_cell(1)
    page.run_view(1).locator(".tt-run-answer mjx-container").wait_for()  # mathematics is set late
    told = [
        page.run_view(1).locator(".tt-card-name").all_inner_texts(),
        words(page.run_view(1).locator(".tt-run-answer").inner_text()),
    ]
    (record,) = (folder / "nb.agent" / "runs").glob("*/run.json")
    path = str(record.relative_to(page.server.root))
    page.page.set_viewport_size({"width": 1200, "height": 1300})
    page.run_view(1).locator(".tt-run-footer a").first.click()
    view = page.page.locator(".tt-record .tt-run[data-status=done]")
    view.wait_for()
    view.locator(".tt-run-answer .tt-run-prose").wait_for()
    page.until(
        lambda: [
            view.locator(".tt-card-name").all_inner_texts(),
            words(view.locator(".tt-run-answer").inner_text()),
        ],
        told,
    )
    view.locator(".tt-thumbnail img").wait_for()
    record_page = page.page.locator(".tt-record-page")
    assert "Show me everything." in record_page.locator(".tt-record-prompt").inner_text()
    assert "input" in record_page.locator(".tt-record-foot").inner_text()
    page.screenshot("record-light")
    page.dark()
    page.screenshot("record-dark")
    page.light()
    record_page.evaluate("node => { node.style.maxWidth = '320px'; }")
    assert record_page.evaluate("node => node.scrollWidth <= node.clientWidth + 1 && node.clientWidth <= 320")
    page.screenshot("record-narrow")

    record_page.locator("button", has_text="JSON").click()
    page.page.locator(".jp-RenderedJSON").wait_for()
    page.command("docmanager:open", path=path)
    record_page.locator("button", has_text="Journal").click()
    page.page.wait_for_function("() => jupyterapp.shell.currentWidget.context?.path.endsWith('events.jsonl')")

    (folder / "run.json").write_text('{"a": 1}')
    page.command("docmanager:open", path=f"{folder.name}/run.json")
    page.page.wait_for_function(
        "path => jupyterapp.shell.currentWidget.context?.path === path && jupyterapp.shell.currentWidget.node.querySelector('.jp-RenderedJSON')",
        arg=f"{folder.name}/run.json",
    )

    evil = json.loads(record.read_text()) | {
        "prompt": '<img src=x onerror="window.hacked=1">',
        "id": "<svg onload=window.hacked=1>",
    }
    other = record.parent.parent / "0bad0bad"
    shutil.copytree(record.parent, other)
    (other / "run.json").write_text(json.dumps(evil | {"mode": "<script>window.hacked=1</script>"}))
    journal = (other / "events.jsonl").read_text()
    (other / "events.jsonl").write_text(
        journal.replace("I look at the folder first.", "<img src=x onerror=window.hacked=1>") + '{"cut of'
    )
    page.command("docmanager:open", path=path.replace(record.parent.name, "0bad0bad"))
    hostile = page.page.locator(".tt-record", has_text="<svg onload=window.hacked=1>")
    hostile.locator(".tt-run[data-status=done]").wait_for()
    assert "<img src=x" in hostile.locator(".tt-run-note").first.inner_text()
    assert hostile.locator("script, img:not([src^='data:image/']), [onload], [onerror]").count() == 0
    assert page.page.evaluate("() => window.hacked") is None


def test_tab_completes_in_agent_cells(page, folder):
    """Profiles, models, tools, runs, options and `@{` names, in the popup of a real page."""
    write_notebook(folder / "nb.ipynb", SETUP + "\npenguin_count = 344", AGENT + "Show me everything.", "")
    page.open_lab(f"{folder.name}/nb.ipynb")
    page.run_cell(0)
    page.run_cell(1)
    (run,) = (path.name for path in (folder / "nb.agent" / "runs").iterdir())
    asked = {
        "%%agent wri": "writer",
        "%%agent --mod": "--model",
        "%%agent -m scripted:scr": "scripted:script.yaml",
        "%%agent -t mass": "masses",
        f"%agent show {run[:4]}": run,
        "%%agent\nThere are @{penguin_c": "penguin_count",
    }
    for text, wanted in asked.items():
        assert wanted in complete(page, 2, text), text


def complete(page, number, text):
    """Type into a cell, press Tab, and read what is offered, or what came of it where there was one choice."""
    page.page.evaluate(SET_SOURCE, [number, ""])
    page.cell(number).locator(".cm-content").click()
    page.page.keyboard.insert_text(text)
    page.page.keyboard.press("Tab")
    popup = page.page.locator(".jp-Completer:not(.lm-mod-hidden) .jp-Completer-match")
    source = f"() => jupyterapp.shell.currentWidget.content.widgets[{number}].model.sharedModel.getSource()"
    changed = f"text => ({source})() !== text || document.querySelector('.jp-Completer:not(.lm-mod-hidden) .jp-Completer-match')"
    page.page.wait_for_function(changed, arg=text)
    found = popup.all_inner_texts() if popup.count() else [page.page.evaluate(source).split("{")[-1].split(" ")[-1]]
    page.page.keyboard.press("Escape")
    return [line.strip() for line in found]
