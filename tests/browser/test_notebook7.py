"""The same in Notebook 7: one prebuilt extension serves both."""

import re
import shutil
from pathlib import Path

from jupyter_page import write_notebook

OF_NOTEBOOK = re.compile(r"'schema'|'filebrowser:open-path' not registered")


def test_a_run_is_drawn_and_stopped(page, server):
    folder = server.root / "notebook7"
    folder.mkdir()
    shutil.copy(Path(__file__).parent / "script.yaml", folder)
    cells = [
        f"%%agent -m scripted:script.yaml\n{text}"
        for text in ("Do it without end.", "Weigh the Dodo.", "Please weigh the Dodo.")
    ]
    write_notebook(folder / "nb.ipynb", "%load_ext tt_kernel", *cells)
    page.open_notebook7("notebook7/nb.ipynb")
    page.run_cell(0)
    page.start_cell(1)
    page.page.wait_for_timeout(1500)  # what the page asks the kernel meanwhile makes it say "idle"
    view = page.run_view(1)
    view.locator(".tt-run-answer", has_text="takes its time").wait_for()
    page.screenshot("notebook7-running")
    view.locator(".tt-run-stop").click()
    page.finish_cell(1)
    page.until(view.locator(".tt-run-status").inner_text, "interrupted")

    page.run_cell(2)
    page.run_cell(3)
    page.page.evaluate("() => { jupyterapp.commands.execute('tt-kernel:show-runs'); }")
    rows = page.page.locator(".tt-runs-row")
    page.page.wait_for_function("() => document.querySelectorAll('.tt-runs-row').length === 3")
    rows.nth(1).locator(".tt-runs-compare").click()
    rows.nth(2).locator(".tt-runs-compare").click()
    page.page.locator(".tt-runs-go").click()
    page.page.locator(".tt-record .tt-compare-numbers").wait_for()
    page.screenshot("notebook7-compared")
    # Notebook 7 throws errors of its own, with or without this extension (notes/frontend.md §5).
    page.problems[:] = [problem for problem in page.problems if not OF_NOTEBOOK.search(problem)]
