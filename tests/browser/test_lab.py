"""What a person sees and touches in JupyterLab (issue 5, item 10)."""

import json
import re
import shutil
from pathlib import Path

import pytest
from jupyter_page import words, write_notebook

HERE = Path(__file__).parent

SETUP = '''\
%load_ext tt_kernel
import tt_kernel as tt

@tt.tool
def masses() -> list[dict]:
    """Mean body mass by species."""
    return [{"species": "Adelie", "mass": 3700.7}, {"species": "Gentoo", "mass": 5076.0}]

@tt.tool
def picture(title: str):
    """Draw a bar chart."""
    from PIL import Image, ImageDraw
    image = Image.new("RGB", (480, 200), "white")
    pen = ImageDraw.Draw(image)
    for n, (width, colour) in enumerate([(250, "#4c78a8"), (260, "#f58518"), (380, "#54a24b")]):
        pen.rectangle([80, 30 + 50 * n, 80 + width, 65 + 50 * n], fill=colour)
    return image

@tt.tool
def echo(text: str) -> str:
    """Say it again."""
    return text
'''
AGENT = "%%agent -m scripted:script.yaml -t masses -t picture -t echo\n"


@pytest.fixture
def notebook(server, request):
    """A notebook whose cells are the set-up and one prompt; its name."""
    folder = server.root / re.sub(r"\W", "_", request.node.name)
    folder.mkdir()
    shutil.copy(HERE / "script.yaml", folder)

    def make(prompt):
        return str(write_notebook(folder / "nb.ipynb", SETUP, AGENT + prompt).relative_to(server.root))

    return make


def test_a_run_streams_and_ends_as_one_output(page, notebook):
    page.page.set_viewport_size({"width": 1100, "height": 1500})
    page.open_lab(notebook("Show me everything."))
    page.run_cell(0)
    page.start_cell(1)
    view = page.run_view(1)
    view.locator(".tt-call").first.wait_for()
    page.finish_cell(1)
    assert view.count() == 1
    assert words(view.locator(".tt-run-header").inner_text()).startswith("✓ assistant scripted:script.yaml")
    names = view.locator(".tt-card-name").all_inner_texts()
    assert names == [
        "workspace_list_files", "workspace_write_file", "workspace_apply_patch", "workspace_shell", "workspace_shell", "masses",
        "picture", "workspace_read_file",
    ]  # fmt: skip
    prose = view.locator(".tt-run-answer .tt-run-prose")
    prose.locator("table").wait_for()
    assert prose.locator("h2").inner_text() == "The heaviest penguins"
    assert prose.locator("mjx-container, .MathJax").count() == 1
    assert "Raw <b>HTML</b> is text" in prose.inner_text()
    assert view.locator("img").count() == 1, "the picture of the tool, and nothing that the model wrote"
    errors = view.locator(".tt-card-error:visible")
    assert errors.locator("code").all_inner_texts() == ["workspace.shell_exit", "workspace.path_not_visible"]
    assert "exit 1" in errors.first.inner_text()
    page.screenshot("lab-light", page.cell(1))

    for card in (2, 3, 5):
        view.locator("summary").nth(card).click()
    assert view.locator(".tt-diff-added").first.inner_text().strip() == "+They weigh 5.1 kg."
    assert view.locator(".tt-terminal-command").inner_text() == "echo '[3,1,2]' | jq 'sort'"
    assert view.locator(".tt-table tr").count() == 3
    page.screenshot("lab-light-open", page.cell(1))

    view.locator(".tt-thumbnail").click()
    page.page.locator("dialog.tt-zoom[open] img").wait_for()
    page.page.wait_for_function("() => document.querySelector('.tt-zoom img').src.includes('/files/')")
    page.screenshot("lab-zoom")
    page.page.keyboard.press("Escape")
    page.page.locator("dialog.tt-zoom").wait_for(state="detached")

    page.dark()
    page.screenshot("lab-dark-open", page.cell(1))
    assert is_readable(view.locator(".tt-card-name").first)
    page.light()

    view.locator(".tt-run-footer a", has_text="output/report.md").click()
    page.page.wait_for_function("() => jupyterapp.shell.currentWidget.context?.path.endsWith('output/report.md')")


def test_folds_and_keys(page, notebook):
    """Folds stay open during updates; Enter opens a card, and `d d` in one deletes no cell."""
    page.open_lab(notebook("Do it slowly."))
    page.run_cell(0)
    page.start_cell(1)
    view = page.run_view(1)
    view.locator(".tt-call").nth(0).locator("summary").click()
    view.locator(".tt-call").nth(1).wait_for()
    view.locator(".tt-run-answer", has_text="takes its time").wait_for()
    assert view.locator("details[open]").count() == 1
    assert "s" in view.locator(".tt-run-elapsed").inner_text()
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Tab")
    view.locator("summary").nth(1).focus()
    page.page.keyboard.press("Shift+Tab")
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    page.page.wait_for_function("() => document.querySelectorAll('.tt-run details[open]').length === 2")
    page.page.keyboard.press("d")
    page.page.keyboard.press("d")
    assert page.page.locator(".jp-CodeCell").count() == 2
    page.screenshot("lab-running", page.cell(1))
    view.locator(".tt-run-stop").click()
    page.finish_cell(1)
    page.until(view.locator(".tt-run-status").inner_text, "interrupted")
    page.until(view.locator(".tt-run-stop").count, 0)
    assert "AgentInterrupted" in page.cell(1).inner_text()


def test_guidance_reaches_the_agent(page, notebook):
    page.open_lab(notebook("Listen to me."))
    page.run_cell(0)
    page.start_cell(1)
    form = page.run_view(1).locator(".tt-run-guidance")
    form.locator("input").fill("dd Rather in French.")
    form.locator("input").press("Enter")
    form.locator(".tt-run-label", has_text="The agent reads it before its next turn.").wait_for()
    page.screenshot("lab-guidance", page.cell(1))
    page.finish_cell(1)
    assert "Bien sûr." in page.run_view(1).locator(".tt-run-answer").inner_text()
    page.until(form.inner_text, "")
    assert page.page.locator(".jp-CodeCell").count() == 2


def test_a_run_goes_on_while_the_page_is_loaded_again(page, notebook):
    page.open_lab(notebook("Do it without end."))
    page.run_cell(0)
    page.start_cell(1)
    answer = page.run_view(1).locator(".tt-run-answer", has_text="takes its time")
    answer.wait_for()
    page.command("docmanager:save")
    before = len(answer.inner_text())
    page.page.reload()
    page.page.wait_for_selector(".tt-run[data-status=running]")
    page.page.wait_for_function(
        "size => document.querySelector('.tt-run-answer')?.innerText.length > size", arg=before + 200
    )
    page.run_view(1).locator(".tt-run-stop").click()
    page.page.wait_for_selector(".tt-run[data-status=interrupted]")
    assert len(page.run_view(1).locator(".tt-run-answer").inner_text()) > before


def test_nothing_that_models_and_tools_say_is_executed(page, notebook):
    page.open_lab(notebook("attack"))
    page.run_cell(0)
    page.run_cell(1)
    view = page.run_view(1)
    view.locator(".tt-run-prose").last.wait_for()
    view.locator(".tt-run-side button").click()  # open all
    page.page.wait_for_timeout(500)
    assert view.locator("script, iframe, img, details:not(.tt-card)").count() == 0
    assert page.page.evaluate("() => window.hacked") is None
    for link in view.locator(".tt-run-prose a").all():
        assert not (link.get_attribute("href") or "").startswith("javascript:")
    page.screenshot("lab-attack", page.cell(1))


@pytest.mark.parametrize("trusted", [True, False])
def test_a_saved_notebook_opens_without_a_kernel(page, server, trusted):
    example = json.loads((HERE.parent.parent / "notebooks" / "01-tools.ipynb").read_text(encoding="utf-8"))
    outputs = [cell["outputs"] for cell in example["cells"] if "vnd.tt-kernel" in json.dumps(cell.get("outputs"))]
    path = server.root / f"saved-{trusted}.ipynb"
    write_notebook(path, *["%%agent\nx"] * len(outputs), outputs=dict(enumerate(outputs)))
    if trusted:
        import subprocess
        import sys

        subprocess.run([sys.executable, "-m", "jupyter", "trust", str(path)], check=True, env=server.environment)
    page.page.goto(f"{server.url}/lab/tree/{path.name}?reset")
    page.page.wait_for_function(
        f"() => document.querySelectorAll('.tt-run[data-status=done]').length === {len(outputs)}"
    )
    assert page.page.locator(".tt-thumbnail img").count() == 1


def test_a_narrow_window(page, server, notebook):
    page.open_lab(notebook("Show me everything."))
    page.run_cell(0)
    page.run_cell(1)
    page.page.set_viewport_size({"width": 480, "height": 900})
    page.command("application:set-mode", mode="single-document")
    page.command("application:toggle-left-area")
    view = page.run_view(1)
    view.evaluate("node => { node.style.width = '320px'; }")
    view.locator("summary").nth(2).click()
    assert view.evaluate("node => node.scrollWidth <= 321")
    page.screenshot("lab-narrow", view)


def test_300_updates_a_second_leave_the_page_smooth(page, notebook):
    """No frame takes longer than 250 ms while text streams in."""
    page.open_lab(notebook("A flood of words."))
    page.run_cell(0)
    page.page.evaluate("""() => {
      window.gaps = []; let last = performance.now();
      const frame = now => { window.gaps.push(now - last); last = now; window.frames_go && requestAnimationFrame(frame); };
      window.frames_go = true; requestAnimationFrame(frame);
    }""")
    page.run_cell(1)
    gaps = page.page.evaluate("() => { window.frames_go = false; return window.gaps; }")
    assert len(gaps) > 20
    assert max(gaps) < 250, sorted(gaps)[-5:]


def test_agent_cells_and_the_side_bar(page, notebook):
    """Prompts are Markdown; a changed prompt is marked; the list of runs leads to the cells; `--live` leaves no trace in a cell."""
    page.open_lab(notebook("Show me **everything**."))
    page.run_cell(0)
    page.run_cell(1)
    assert (
        page.page.evaluate("() => jupyterapp.shell.currentWidget.content.widgets[1].model.mimeType")
        == "text/x-ipythongfm"
    )
    assert (
        page.page.evaluate("() => jupyterapp.shell.currentWidget.content.widgets[0].model.mimeType") == "text/x-ipython"
    )
    page.command("tt-kernel:show-runs")
    row = page.page.locator(".tt-runs-row", has_text="done · 8 calls")
    row.wait_for()
    assert words(row.inner_text()).startswith("✓ Show me **everything**. done · 8 calls · assistant")
    page.page.evaluate("() => { jupyterapp.shell.currentWidget.content.activeCellIndex = 0; }")
    row.locator(".tt-runs-jump").click()
    page.until(lambda: page.page.evaluate("() => jupyterapp.shell.currentWidget.content.activeCellIndex"), 1)

    source = "() => jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel.getSource()"
    before = page.page.evaluate(source)
    page.cell(1).locator(".jp-InputPrompt").click()
    page.page.keyboard.press("Alt+Shift+R")
    page.finish_cell(1)
    page.run_view(1).locator(".tt-run-badge-replayed").wait_for()
    assert page.page.evaluate(source) == before
    page.page.evaluate(
        "() => jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel.updateSource(0, 0, '\\n')"
    )
    page.page.wait_for_selector(".jp-CodeCell.tt-stale")
    page.page.locator(".tt-runs-stale").wait_for()
    page.screenshot("lab-side-bar")
    page.page.locator(".tt-runs input").fill("no such run")
    page.page.locator(".tt-runs-empty", has_text="No run matches.").wait_for()
    assert_commands_are_reachable(page)


def assert_commands_are_reachable(page):
    """Each is in the palette and in a menu; those of a cell have keys."""
    labels = {
        "Run Agent Cell Live": ("Run", "Alt Shift L"),
        "Replay Agent Cell": ("Run", "Alt Shift R"),
        "Stop Agent Run": ("Run", "Alt Shift S"),
        "Show Agent Runs": ("View", None),
        "Compare Two Agent Runs": ("View", None),
    }
    keys = page.page.evaluate(
        "() => Object.fromEntries(jupyterapp.commands.keyBindings.filter(({command}) => command.startsWith('tt-kernel:'))"
        ".map(({command, keys}) => [jupyterapp.commands.label(command), keys[0]]))"
    )
    assert keys == {label: key for label, (_, key) in labels.items() if key}
    for menu in ("Run", "View"):
        page.page.locator(".lm-MenuBar-itemLabel", has_text=re.compile(f"^{menu}$")).click()
        found = page.page.locator(".lm-Menu-itemLabel").all_inner_texts()
        assert {label for label, (of, _) in labels.items() if of == menu} <= set(found)
        page.page.keyboard.press("Escape")
    page.page.keyboard.press("Control+Shift+C")
    page.page.locator(".lm-CommandPalette-input").fill("agent")
    page.page.locator(".lm-CommandPalette-itemLabel", has_text="Compare Two Agent Runs").wait_for()
    assert set(labels) <= set(page.page.locator(".lm-CommandPalette-itemLabel").all_inner_texts())


def is_readable(locator):
    """Contrast of the text with the page of at least 4.5 : 1."""
    return locator.evaluate("""node => {
      const numbers = text => text.match(/[\\d.]+/g).map(Number);
      const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
      let back = node; while (/rgba\\(.*, 0\\)|transparent/.test(getComputedStyle(back).backgroundColor)) back = back.parentElement;
      const [a, b] = [light(numbers(getComputedStyle(node).color)), light(numbers(getComputedStyle(back).backgroundColor))];
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) > 4.5;
    }""")
