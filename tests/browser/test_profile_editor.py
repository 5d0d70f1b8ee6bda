"""`%agent profile edit` in JupyterLab: a profile is opened, mended, equipped, looked at and saved, and an agent runs with it."""

import json
import re
import shutil
from pathlib import Path

import pytest
from jupyter_page import Page, words, write_notebook

KEY = "sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ub3A"
TOOL = '''import tt_kernel

@tt_kernel.tool
def masses(species: str) -> str:
    """Body masses of penguins.

    Args:
        species: Adelie, Chinstrap or Gentoo.
    """
    return "5.1 kg"'''
PROMPT = """You review text.

- Say what is wrong, one thing a line.
- Quote the words.
- Nothing else."""
OF_NOTEBOOK = re.compile(r"'schema'|'filebrowser:open-path' not registered")
"""Errors that Notebook 7 throws with or without this extension."""
SETUP_OF_KEY = f"os.environ['LAB_MODEL_KEY'] = '{KEY}'"


@pytest.fixture
def folder(server, request):
    folder = server.root / request.node.name
    folder.mkdir()
    shutil.copy(Path(__file__).parent / "script.yaml", folder)
    connections = Path(server.environment["JUPYTER_CONFIG_DIR"]) / "tt_kernel" / "connections"
    connections.mkdir(parents=True, exist_ok=True)
    lab = {"name": "lab", "provider": "openai", "model": "gpt-lab", "credential": "LAB_MODEL_KEY"}
    lab |= {"baseUrl": "https://models.example.org/v1", "description": "The laboratory's models."}
    (connections / "lab.json").write_text(json.dumps(lab))
    write_notebook(
        folder / "nb.ipynb",
        "%load_ext tt_kernel",
        f"import os\n{SETUP_OF_KEY}\nos.environ['TT_MODEL'] = 'scripted:script.yaml'\n{TOOL}",
        "%agent profile edit assistant",
        "%%agent assistant -m scripted:script.yaml\nShow me everything.",
    )
    return folder


def start(page, folder):
    """The form, open in the third cell."""
    page.open_lab(f"{folder.name}/nb.ipynb")
    page.command("application:toggle-left-area")
    page.run_cell(0)
    page.run_cell(1)
    page.run_cell(2)
    form = page.cell(2).locator(".tt-edit")
    form.locator(".tt-edit-tab").first.wait_for()
    return form


def tab(form, name):
    form.get_by_role("tab", name=name).click()


def field(form, name):
    return form.locator(f".tt-field[data-name='{name}']")


def set_turns(form, turns):
    tab(form, "Run and limits")
    field(form, "limits.turns").locator("input").fill(str(turns))


def save(form):
    form.get_by_role("button", name="Review changes").click()
    form.get_by_role("button", name="Save").click()


def closed(page):
    page.cell(2).locator(".tt-edit").wait_for(state="detached")


def profile(folder):
    return json.loads((folder / "nb.agent" / "profiles" / "assistant.json").read_text())


def saved_mimes(page, folder):
    page.command("docmanager:save")
    (output,) = json.loads((folder / "nb.ipynb").read_text())["cells"][2]["outputs"]
    return sorted(output["data"])


def test_a_profile_is_edited_and_an_agent_runs_with_it(page, folder):
    frames = []
    page.page.on(
        "websocket",
        lambda socket: [socket.on(way, lambda data: frames.append(data)) for way in ("framereceived", "framesent")],
    )
    form = start(page, folder)
    assert "makes a copy, nb.agent/profiles/assistant.json" in form.locator(".tt-edit-target").inner_text()
    assert form.get_by_role("button", name="Review changes").is_disabled()
    page.screenshot("editor-about", form)

    # A bad value is told at its field, in the words of `%agent profile set`.
    tab(form, "Run and limits")
    turns = field(form, "limits.turns")
    turns.locator("input").fill("0")
    turns.locator(
        ".tt-field-problem", has_text="limits.turns is 0: Input should be greater than or equal to 1."
    ).wait_for()
    assert turns.locator("input").get_attribute("aria-invalid") == "true"
    form.locator(".tt-edit-status", has_text="1 problem to mend").wait_for()
    page.screenshot("editor-problem", form)
    turns.locator("input").fill("12")
    turns.locator(".tt-field-problem:empty").wait_for(state="attached")

    # A tool is found and checked; it is described in other words; a group shows what is not all checked.
    tab(form, "Tools")
    page.screenshot("editor-tools", form)
    form.locator(".tt-tools-search").fill("dice")
    dice = form.locator(".tt-tool[data-tool='builtin:dice.roll']")
    page.until(form.locator(".tt-tool[data-tool='builtin:Bash']").is_visible, False)
    assert words(dice.locator(".tt-badge").inner_text()) == "changes nothing"
    assert dice.locator(".tt-tool-name").inner_text() == "dice_roll"
    dice.locator(".tt-check").check()
    dice.get_by_role("button", name="Describe dice_roll").click()
    dice.get_by_label("What the model reads").fill("Roll fair dice.")
    page.screenshot("editor-describe", form)
    form.locator(".tt-tools-search").fill("")
    own = form.locator(".tt-tool[data-tool='extension/notebook:masses']")
    assert own.locator(".tt-check").is_checked()
    own.locator(".tt-check").uncheck()
    own.locator(".tt-check:not(:checked)").wait_for()

    # A connection is chosen by its name; what a run would send is there to read.
    tab(form, "Model")
    form.locator(".tt-model select").select_option(label="connection lab (openai)")
    form.locator(".tt-model", has_text="Its key stays on this machine").wait_for()
    page.screenshot("editor-model", form)
    form.locator(".tt-model select").select_option("")
    form.locator(".tt-model input").fill("scripted:script.yaml")
    tab(form, "Preview")
    form.locator(".tt-part-title", has_text="tool dice_roll").click()
    form.locator(".tt-preview-text", has_text="Roll fair dice.").wait_for()
    page.screenshot("editor-preview", form)

    # Nothing is written before it was shown.
    assert not (folder / "nb.agent").exists()
    form.get_by_role("button", name="Review changes").click()
    review = form.locator(".tt-edit-review")
    review.locator("dt", has_text="tools.deny").wait_for()
    told = words(review.locator(".tt-changes").inner_text())
    for change in (
        "limits.turns before: (nothing)→ after: 12",
        "+builtin:dice.roll",
        "model.modelId before: (nothing)→ after: scripted:script.yaml",
        "tools.deny before: (nothing)→ after: +extension/notebook:masses",
    ):
        assert change in told
    review.locator("summary").click()
    assert '+    "turns": 12,' in review.locator(".tt-part .tt-diff-block").inner_text()
    page.screenshot("editor-review", form)
    form.get_by_role("button", name="Save").click()
    closed(page)

    saved = profile(folder)
    assert saved["limits"]["turns"] == 12
    assert saved["model"]["modelId"] == "scripted:script.yaml"
    assert saved["tools"]["allow"][-1] == "builtin:dice.roll"
    assert saved["tools"]["deny"] == ["extension/notebook:masses"]
    assert saved["tools"]["toolDescriptions"]["builtin:dice.roll"] == {
        "description": "Roll fair dice.",
        "properties": {},
    }
    assert (folder / "nb.agent" / "profiles" / "assistant.json").read_text().endswith("}\n")

    # The saved notebook has the profile as any front end shows it, and nothing of the form.
    assert saved_mimes(page, folder) == ["text/html", "text/markdown", "text/plain"]
    assert "limits.turns" in page.cell(2).inner_text()
    page.screenshot("editor-saved")

    page.run_cell(3)
    (run,) = (folder / "nb.agent" / "runs").iterdir()
    record = json.loads((run / "run.json").read_text())
    assert record["profile"]["limits"]["turns"] == 12
    (snapshot,) = [path for path in (run / "input").iterdir() if "dice_roll" in path.read_text()][:1]
    assert "Roll fair dice." in snapshot.read_text()
    assert "masses" not in snapshot.read_text()

    received = "".join(frame if isinstance(frame, str) else frame.decode("latin-1") for frame in frames)
    assert "The laboratory's models." in received, "the frames are those of the form"
    assert "models.example.org" not in received
    form_only = received.replace(SETUP_OF_KEY, "").replace(json.dumps(SETUP_OF_KEY)[1:-1], "")
    assert KEY not in form_only
    assert "LAB_MODEL_KEY" not in form_only


def test_a_file_that_changed_meanwhile_is_not_overwritten(page, folder):
    form = start(page, folder)
    set_turns(form, 12)
    form.locator(".tt-edit-said", has_text="1 field changed").wait_for()
    other = folder / "nb.agent" / "profiles" / "assistant.json"
    page.page.evaluate(
        "() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code: "
        "\"get_ipython().run_line_magic('agent', 'profile set assistant sampling.temperature=0.5')\"}).done.then(() => null)"
    )
    assert profile(folder)["limits"]["turns"] is None
    save(form)
    notice = form.locator(".tt-edit-notice")
    notice.get_by_text("was changed meanwhile").wait_for()
    assert "sampling.temperature" in notice.inner_text()
    assert json.loads(other.read_text())["limits"]["turns"] is None, "nothing was written"
    page.screenshot("editor-conflict", form)
    notice.get_by_role("button", name="Take both").click()
    form.get_by_text("Both sides' changes are in the form now.").wait_for()
    form.get_by_role("button", name="Back to the form").click()
    tab(form, "Model")
    assert field(form, "sampling.temperature").locator("input").input_value() == "0.5"
    form.locator(".tt-edit-said", has_text="1 field changed").wait_for()
    save(form)
    closed(page)
    assert profile(folder)["limits"]["turns"] == 12
    assert profile(folder)["sampling"]["temperature"] == 0.5


NAMELESS = """form => [...form.querySelectorAll('input, select, textarea, button')].filter(node =>
  !node.closest('[hidden]') && !(node.labels?.length || node.getAttribute('aria-label') || node.textContent.trim())).map(node => node.outerHTML)"""
TWICE = """form => { const ids = [...form.querySelectorAll('[id]')].map(node => node.id);
  return ids.filter((id, n) => ids.indexOf(id) !== n); }"""
PALE = """form => {
  const canvas = document.createElement('canvas'); canvas.width = canvas.height = 1;
  const pen = canvas.getContext('2d', { willReadFrequently: true });
  const paint = colour => { pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1); return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const light = rgb => rgb.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  return [...form.querySelectorAll('*')].filter(node => node.checkVisibility() && !node.disabled &&
    [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())).flatMap(node => {
      const above = []; for (let at = node; at; at = at.parentElement) above.unshift(getComputedStyle(at).backgroundColor);
      let back = paint('white'); for (const colour of above) back = paint(colour);
      const [a, b] = [light(back), light(paint(getComputedStyle(node).color))];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      return ratio < 4.5 ? [`${ratio.toFixed(1)} ${node.className} ${node.textContent.slice(0, 40)}`] : [];
    });
}"""
LOST = """form => [...form.querySelectorAll('[aria-describedby], [aria-controls], [aria-labelledby]')].flatMap(node =>
  ['aria-describedby', 'aria-controls', 'aria-labelledby'].flatMap(name => (node.getAttribute(name) ?? '').split(' ')))
  .filter(id => id && !document.getElementById(id))"""


def test_screen_readers_are_told_what_each_control_is(page, folder):
    form = start(page, folder)
    tab(form, "Tools")
    form.get_by_role("button", name="Describe workspace_shell").click()
    tab(form, "Permissions")
    field(form, "permissions.rules").get_by_role("button", name="Add").click()
    for name in ("Tools", "Permissions", "Preview"):
        tab(form, name)
        assert form.evaluate(PALE) == [], name
    for wrong in (NAMELESS, TWICE, LOST):
        assert form.evaluate(wrong) == []


def test_by_keyboard_dark_narrow_and_after_a_reload(page, folder):
    form = start(page, folder)
    keyboard = page.page.keyboard
    form.get_by_role("tab", name="About").focus()
    for _ in range(5):
        keyboard.press("ArrowDown")
    assert form.get_by_role("tab", name="Permissions").get_attribute("aria-selected") == "true"
    keyboard.press("Tab")
    assert page.page.evaluate("() => document.activeElement.closest('.tt-field').dataset.name") == "permissions.safety"
    keyboard.press("Tab")
    keyboard.press("Enter")  # Add
    keyboard.type("Bash")
    form.locator(".tt-edit-said", has_text="1 field changed").wait_for()
    page.screenshot("editor-permissions", form)
    assert page.page.evaluate("() => jupyterapp.shell.currentWidget.content.widgets.length") == 4, "no key went to Lab"

    page.command("docmanager:save")
    page.page.reload()
    page.page.wait_for_selector(".tt-edit-tab")
    form = page.cell(2).locator(".tt-edit")
    form.locator(".tt-edit-said", has_text="1 field changed").wait_for()
    tab(form, "Permissions")
    assert field(form, "permissions.rules.tool").locator("input").input_value() == "Bash"

    page.command("apputils:change-theme", theme="JupyterLab Dark")
    page.page.wait_for_selector("body[data-jp-theme-light=false]", state="attached")
    page.page.wait_for_selector("#jupyterlab-splash", state="detached")
    page.screenshot("editor-dark-permissions", form)
    tab(form, "Prompt")
    field(form, "instructions.agentSystemPrompt").locator("textarea").fill(PROMPT)
    page.screenshot("editor-dark-prompt", form)
    tab(form, "Tools")
    page.screenshot("editor-dark-tools", form)
    assert form.evaluate(PALE) == []
    form.get_by_role("button", name="Review changes").click()
    form.locator(".tt-line-added", has_text="You review text.").first.wait_for()
    form.locator(".tt-edit-review summary").click()
    page.screenshot("editor-dark-review", form)
    assert form.evaluate(PALE) == []
    form.get_by_role("button", name="Back to the form").click()
    page.command("apputils:change-theme", theme="JupyterLab Light")
    page.page.wait_for_selector("body[data-jp-theme-light=true]", state="attached")
    page.page.wait_for_selector("#jupyterlab-splash", state="detached")
    form.evaluate("node => { node.style.width = '320px'; }")
    for name in ("About", "Model", "Prompt", "Tools", "Files", "Permissions", "Run and limits", "Preview"):
        tab(form, name)
        assert form.evaluate("node => node.scrollWidth <= 321"), name
        page.screenshot(f"editor-narrow-{name.split()[0].lower()}", form)

    form.get_by_role("button", name="Close").click()
    form.get_by_role("button", name="Keep editing").click()
    form.get_by_role("button", name="Close").click()
    form.get_by_role("button", name="Close without saving").click()
    page.page.wait_for_selector(".tt-edit", state="detached")
    assert not (folder / "nb.agent" / "profiles").exists()
    page.cell(2).get_by_text("profile assistant").first.wait_for()
    assert saved_mimes(page, folder) == ["text/html", "text/markdown", "text/plain"], (
        "also when the page was loaded since"
    )


def test_two_tabs_of_one_kernel_edit_one_draft(page, server, browser, folder):
    form = start(page, folder)
    set_turns(form, 7)
    page.command("docmanager:save")
    other = Page(server, browser)
    other.page.goto(f"{server.url}/lab/workspaces/other/tree/{folder.name}/nb.ipynb?reset")
    second = other.page.locator(".tt-edit")
    second.locator(".tt-edit-tab").first.wait_for()
    tab(second, "Run and limits")
    assert field(second, "limits.turns").locator("input").input_value() == "7"
    field(second, "limits.tokens").locator("input").fill("1000")
    form.locator(".tt-edit-said", has_text="2 fields changed").wait_for()
    assert field(form, "limits.tokens").locator("input").input_value() == "1000"
    save(form)
    closed(page)
    second.wait_for(state="detached")
    other.page.get_by_text("profile assistant").first.wait_for()
    assert profile(folder)["limits"]["tokens"] == 1000
    other.close()


def test_a_kernel_that_is_gone_is_told_and_the_form_stays(page, folder):
    form = start(page, folder)
    set_turns(form, 12)
    form.locator(".tt-edit-said", has_text="1 field changed").wait_for()
    page.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart().then(() => null)")
    set_turns(form, 13)
    form.locator(".tt-edit-said", has_text="Waiting for the kernel").wait_for()
    assert field(form, "limits.turns").locator("input").input_value() == "13"


def test_in_notebook_7(page, folder):
    page.open_notebook7(f"{folder.name}/nb.ipynb")
    page.run_cell(0)
    page.run_cell(1)
    page.run_cell(2)
    form = page.cell(2).locator(".tt-edit")
    set_turns(form, 9)
    form.locator(".tt-edit-said", has_text="1 field changed").wait_for()
    page.screenshot("editor-notebook7", form)
    save(form)
    closed(page)
    assert profile(folder)["limits"]["turns"] == 9
    page.problems[:] = [problem for problem in page.problems if not OF_NOTEBOOK.search(problem)]
