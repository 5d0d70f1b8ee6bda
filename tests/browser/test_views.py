"""Two runs side by side, and the table of a sweep, in JupyterLab."""

import json
import re
import shutil
from pathlib import Path

import pytest
from jupyter_page import words, write_notebook
from test_lab import SETUP

from tt_kernel.domain.views import DIFF_MIME, SWEEP_MIME

HERE = Path(__file__).parent
OPTIONS = "-m scripted:script.yaml -t masses -t picture -t echo"
PICTURE = SETUP.replace("(380,", "(len(title) * 20,")  # another title, another picture


@pytest.fixture
def folder(server, request):
    folder = server.root / re.sub(r"\W", "_", request.node.name)
    folder.mkdir()
    shutil.copy(HERE / "script.yaml", folder)
    return folder


def test_two_runs_side_by_side(page, folder):
    write_notebook(
        folder / "nb.ipynb",
        PICTURE,
        f"%%agent {OPTIONS} -o one\nWhich of the three penguin species is the heaviest? Write a report.",
        f"%%agent {OPTIONS} -o two\nWhich of the three kinds of penguins is the heaviest? Write a report, and a note.",
        "one.diff(two)",
        "%agent diff one one",
    )
    page.page.set_viewport_size({"width": 1200, "height": 1500})
    page.open_lab(f"{folder.name}/nb.ipynb")
    for cell in range(5):
        page.run_cell(cell)
    view = page.cell(3).locator(".tt-compare")
    view.locator(".tt-compare-numbers").wait_for()
    states = view.locator(".tt-compare-call").evaluate_all("nodes => nodes.map(node => node.dataset.state)")
    assert states == ["same", "same", "removed", "changed", "changed", "added"]
    assert view.locator("del").all_inner_texts()[:2] == ["penguin", "species"]
    assert (
        words(view.locator(".tt-run-facts").first.inner_text())
        == "prompt differs 4 calls differ 2 files differ answer differs"
    )
    page.until(view.locator(".tt-compare-gallery img").count, 2)  # the pictures that differ, side by side
    assert view.locator(".tt-diff-added", has_text="Adelie and Chinstrap").is_visible(), "small file diffs are open"
    page.cell(3).scroll_into_view_if_needed()
    page.screenshot("compare-light", page.cell(3))
    view.locator(".tt-compare-pair summary").nth(2).click()
    view.locator(".tt-compare-pair summary").nth(3).click()
    page.until(view.locator(".tt-terminal-command").inner_text, "cat missing.csv")
    assert "Mean body mass by species" in view.locator(".tt-compare-pair .tt-diff-added").first.inner_text()
    view.locator("button", has_text="Only differences").click()
    assert view.locator(".tt-compare-call:visible").count() == 4
    page.dark()
    page.screenshot("compare-dark-open", page.cell(3))
    page.light()
    same = page.cell(4).locator(".tt-compare")
    assert "The runs are the same" in same.inner_text()
    page.screenshot("compare-same", page.cell(4))
    assert fits(view, 320)
    page.screenshot("compare-narrow", view)

    page.command("docmanager:save")
    outputs = json.loads((folder / "nb.ipynb").read_text())["cells"][3]["outputs"]
    assert [set(output["data"]) for output in outputs] == [{DIFF_MIME, "text/html", "text/markdown", "text/plain"}]
    view.locator(".tt-compare-side a").first.click()
    page.page.wait_for_function("() => jupyterapp.shell.currentWidget.context?.path.endsWith('run.json')")


def test_the_table_of_a_sweep(page, folder):
    vary = "--vary bird=Gentoo,Adelie,Dodo --vary sampling.temperature=0,1 --repeat 2"
    write_notebook(
        folder / "nb.ipynb",
        PICTURE,
        f'%%agent {OPTIONS} {vary} --check "\' g\' in text" --check "len(text)" -o sweep\nPlease weigh the @{{bird}}.',
    )
    page.page.set_viewport_size({"width": 1200, "height": 1100})
    page.open_lab(f"{folder.name}/nb.ipynb")
    page.run_cell(0)
    page.run_cell(1)
    view = page.cell(1).locator(".tt-sweep")
    birds = view.locator(".tt-sweep-point > td:nth-child(2)")
    page.until(birds.all_inner_texts, ["Gentoo", "Gentoo", "Adelie", "Adelie", "Dodo", "Dodo"])
    assert words(view.locator(".tt-run-facts").inner_text()) == "6 points 12 runs 12 completed"
    page.until(view.locator(".tt-sweep-images img").count, 8)  # thumbnails of the runs that drew something
    page.screenshot("sweep-light", page.cell(1))
    view.locator(".tt-sweep-sort", has_text="len(text)").click()
    page.until(birds.first.inner_text, "Adelie")  # the largest first
    view.locator(".tt-sweep-sort", has_text="len(text)").click()
    page.until(birds.first.inner_text, "Gentoo")
    assert view.locator("th[aria-sort=ascending]").inner_text().startswith("len(text)")
    view.locator(".tt-sweep-point").first.click()
    view.locator(".tt-sweep-point").nth(3).locator(".tt-sweep-toggle").press("Enter")
    assert view.locator(".tt-sweep-run:visible").count() == 4
    page.screenshot("sweep-light-open", page.cell(1))
    page.dark()
    page.screenshot("sweep-dark-open", page.cell(1))
    page.light()
    assert fits(view, 320), "the table scrolls, not the page"
    page.screenshot("sweep-narrow", view)
    page.command("docmanager:save")
    (output,) = json.loads((folder / "nb.ipynb").read_text())["cells"][1]["outputs"]
    assert set(output["data"]) == {SWEEP_MIME, "text/html", "text/markdown", "text/plain"}
    view.locator(".tt-sweep-run a").first.click()
    page.page.wait_for_function("() => jupyterapp.shell.currentWidget.context?.path.endsWith('run.json')")


def test_nothing_in_a_comparison_or_a_sweep_is_executed(page, folder):
    write_notebook(
        folder / "nb.ipynb",
        SETUP,
        f"%%agent {OPTIONS} -o one\nsay markup",
        f"%%agent {OPTIONS} -o two\n<img src=x onerror=window.hacked=1> three kinds of penguins",
        "one.diff(two)",
        f'%%agent {OPTIONS} --vary "word=markup,<img src=x onerror=window.hacked=1>" --check "\'<script>\' in text"\nsay @{{word}}',
    )
    page.open_lab(f"{folder.name}/nb.ipynb")
    for cell in range(5):
        page.run_cell(cell)
    page.cell(4).locator(".tt-sweep-toggle").first.click()
    page.page.evaluate("() => document.querySelectorAll('.tt-compare details').forEach(node => { node.open = true; })")
    page.page.wait_for_timeout(500)
    assert page.page.evaluate("() => window.hacked") is None
    assert (
        page.page.locator(".tt-run")
        .locator("script, iframe, img:not([src^='data:image/']), [onload], [onerror]")
        .count()
        == 0
    )
    page.screenshot("views-attack", page.cell(4))


def fits(view, width):
    """Make it narrow; whether nothing in it is wider."""
    view.evaluate("(node, width) => { node.style.maxWidth = `${width}px`; }", width)
    return view.evaluate("node => node.scrollWidth <= node.clientWidth + 1 && node.clientWidth") <= width
