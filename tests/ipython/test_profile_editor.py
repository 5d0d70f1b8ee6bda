"""`%agent profile edit` between a real kernel and a front end that speaks as JupyterLab does."""

import json
import subprocess
import sys
import time

import nbformat
import pytest
from live_kernels import kernel

WIDGET = "application/vnd.jupyter.widget-view+json"
KEY = "sk-proj-Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ub3A"
SECONDS = 60


class FrontEnd:
    """What a page with widgets does: it hears comms and answers on them."""

    def __init__(self, running, line):
        self.kernel, self.heard = running, []
        message = running.send(line, interactive=True)
        outputs = running.outputs(message)
        self.heard += [content for _, content in outputs]
        self.displayed = next(content for kind, content in outputs if kind == "display_data")
        self.model = self.displayed["data"][WIDGET]["model_id"]
        self.opened = [content for kind, content in outputs if kind == "comm_open"]

    def tell(self, **content):
        message = self.kernel.client.session.msg(
            "comm_msg", {"comm_id": self.model, "data": {"method": "custom", "content": {"view": "me", **content}}}
        )
        self.kernel.client.shell_channel.send(message)

    def ask(self, answer, **content):
        """Tell something, and wait for a message of the type `answer`."""
        self.tell(**content)
        return self.until(
            lambda kind, found: kind == "comm_msg" and found["data"].get("content", {}).get("type") == answer
        )["data"]["content"]

    def until(self, wanted):
        end = time.monotonic() + SECONDS
        while True:
            message = self.kernel.client.get_iopub_msg(timeout=max(end - time.monotonic(), 0.01))
            kind, content = message["header"]["msg_type"], message["content"]
            self.heard.append(content)
            if wanted(kind, content):
                return content

    def change(self, path, value, number=1):
        return self.ask("state", type="change", path=path.split("."), value=value, number=number)

    def save(self):
        """The output that stands in the cell then."""
        self.tell(type="save")
        return self.until(lambda kind, _: kind == "update_display_data")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("editor")


@pytest.fixture(scope="module")
def running(place):
    connections = place / "config" / "tt_kernel" / "connections"
    connections.mkdir(parents=True)
    lab = {"name": "lab", "provider": "openai", "model": "gpt-lab", "credential": "LAB_MODEL_KEY"}
    lab |= {"baseUrl": "https://models.example.org/v1"}
    (connections / "lab.json").write_text(json.dumps(lab))
    (place / "script.yaml").write_text("script: 1\nturns:\n  - say: Echo.\n")
    env = {
        "JUPYTER_CONFIG_DIR": str(place / "config"),
        "TT_NOTEBOOK": str(place / "nb.ipynb"),
        "TT_MODEL": "scripted:script.yaml",
        "LAB_MODEL_KEY": KEY,
        "OPENAI_API_KEY": KEY[::-1],
    }
    with kernel(place, env=env) as running:
        reply, _ = running.run("%load_ext tt_kernel")
        assert reply["status"] == "ok"
        yield running


@pytest.fixture
def new(running):
    """Makes a profile of a name of its own."""

    def make(name):
        reply, _ = running.run(f"profile = %agent profile new {name} --from assistant")
        assert reply["status"] == "ok", reply
        running.drain()
        return name

    return make


def stored(place, name):
    return json.loads((place / "nb.agent" / "profiles" / f"{name}.json").read_text())


def shown(outputs):
    return [(kind, content) for kind, content in outputs if kind in ("display_data", "execute_result", "stream")]


def test_where_nobody_watches_it_is_a_page(running, new):
    reply, outputs = running.run(f"%agent profile edit {new('quiet')}")
    ((kind, content),) = shown(outputs)
    assert (reply["status"], kind) == ("ok", "display_data")
    assert sorted(content["data"]) == ["text/html", "text/markdown", "text/plain"]
    text = content["data"]["text/plain"]
    assert text.startswith("profile quiet")
    assert "The document is nb.agent/profiles/quiet.json." in text
    assert "%agent profile set quiet FIELD=VALUE" in text
    assert "--- tools.allow\nbuiltin:workspace.list_files\nbuiltin:workspace.search_files\n" in text, (
        "nothing is cut off"
    )
    assert not [kind for kind, _ in outputs if kind.startswith("comm")], "no widget is made"


def test_the_page_takes_the_form_s_place(running, new, place):
    """A saved notebook has what nbval, nbclient and the like get when they execute the cell."""
    front = FrontEnd(running, f"%agent profile edit {new('loud')}")
    page = {mime: text for mime, text in front.displayed["data"].items() if mime != WIDGET}
    form = front.ask("form", type="open")
    assert form["target"] == "nb.agent/profiles/loud.json"
    state = front.change("limits.turns", 12)
    assert state["canSave"]
    assert state["changes"] == [["limits.turns", "", "12"]]
    assert stored(place, "loud")["limits"]["turns"] is None
    update = front.save()
    assert update["transient"] == front.displayed["transient"]
    assert update["transient"]["tt_widget"] == front.model, "for a page that does not know the display"
    assert WIDGET not in update["data"]
    assert stored(place, "loud")["limits"]["turns"] == 12
    running.drain()
    _, outputs = running.run("%agent profile edit loud")
    ((_, headless),) = shown(outputs)
    assert update["data"] == headless["data"]
    assert set(page) == set(headless["data"])


def test_a_profile_that_nobody_touches_leaves_its_page(running, new):
    front = FrontEnd(running, f"%agent profile edit {new('same')}")
    front.ask("form", type="open")
    front.tell(type="close")
    closed = front.until(lambda kind, _: kind == "update_display_data")
    assert closed["data"] == {mime: text for mime, text in front.displayed["data"].items() if mime != WIDGET}


def test_a_notebook_that_was_edited_by_hand_passes_nbval(running, new, place):
    """Strictly: saved with the form closed, and with one still open."""
    front = FrontEnd(running, f"%agent profile edit {new('by-hand')}")
    front.ask("form", type="open")
    front.change("limits.turns", 12)
    closed = front.save()["data"]
    running.drain()
    still_open = FrontEnd(running, "%agent profile edit by-hand").displayed["data"]
    cells = [nbformat.v4.new_code_cell(f"%load_ext tt_kernel\n%agent notebook {place / 'nb.ipynb'}")]
    cells[0].metadata["tags"] = ["nbval-ignore-output"]
    for data in (closed, still_open):
        cells.append(nbformat.v4.new_code_cell("%agent profile edit by-hand", execution_count=1))
        cells[-1].outputs = [nbformat.v4.new_output("display_data", data=data)]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = place / "by-hand.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernelspec}), notebook)
    command = [sys.executable, "-m", "pytest", "--nbval", "-p", "no:cacheprovider", "-W", "default", notebook.name]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_what_is_wrong_is_said_in_the_words_of_set(running, new):
    name = new("wrong")
    reply, _ = running.run(f"%agent profile set {name} limits.turns=0")
    front = FrontEnd(running, f"%agent profile edit {name}")
    front.ask("form", type="open")
    state = front.change("limits.turns", 0)
    (problem,) = state["problems"]
    assert problem["path"] == ["limits", "turns"]
    assert reply["evalue"].endswith(problem["message"])
    assert not state["canSave"]
    failed = front.ask("failed", type="save")
    assert problem["message"] in failed["message"]
    assert front.ask("preview", type="preview")["problem"] == "There is no preview while a field is wrong."


def test_the_preview_is_what_a_run_would_send(running, new):
    name = new("seen")
    front = FrontEnd(running, f"%agent profile edit {name}")
    front.ask("form", type="open")
    front.change("instructions.agentSystemPrompt", "You are brief.")
    front.change("tools.allow", ["builtin:dice.roll"], 2)
    preview = front.ask("preview", type="preview")
    assert [section["title"].split(" (")[0] for section in preview["sections"]] == [
        "system prompt",
        "message 2 user",
        "tool dice_roll",
    ]
    front.save()
    running.drain()
    running.run(f"page = %agent prompt {name}")
    assert running.value("[[s.title, s.body] for s in page.sections]") == [
        [s["title"], s["body"]] for s in preview["sections"]
    ]


def test_two_editors_lose_nothing(running, new, place):
    name = new("shared")
    one = FrontEnd(running, f"%agent profile edit {name}")
    other = FrontEnd(running, f"%agent profile edit {name}")
    one.ask("form", type="open")
    other.ask("form", type="open")
    one.change("limits.turns", 12)
    other.change("sampling.seed", 7)
    one.save()
    conflict = other.ask("conflict", type="save")
    assert "nb.agent/profiles/shared.json was changed meanwhile" in conflict["message"]
    assert conflict["changes"] == [["limits.turns", "", "12"]]
    assert stored(place, name)["sampling"]["seed"] is None
    state = other.ask("state", type="take_both")
    assert state["changes"] == [["sampling.seed", "", "7"]]
    other.save()
    assert (stored(place, name)["limits"]["turns"], stored(place, name)["sampling"]["seed"]) == (12, 7)


def test_no_credential_is_in_what_the_kernel_sends(running, new, place):
    """Neither a key nor where it is: not in the widget's state, not in a message, not in an output."""
    name = new("careful")
    front = FrontEnd(running, f"%agent profile edit {name}")
    form = front.ask("form", type="open")
    assert [(one["name"], one["model"]) for one in form["models"]["connections"]] == [("lab", "gpt-lab")]
    front.change("model.mode", "connectionRef")
    front.change("model.connectionRef", "lab", 2)
    front.ask("preview", type="preview")
    front.save()
    running.drain()
    everything = json.dumps(front.heard)
    assert len(front.opened) == 2, "the widget and its layout"
    assert "gpt-lab" in everything
    for secret in (KEY, KEY[::-1], "LAB_MODEL_KEY", "models.example.org"):
        assert secret not in everything
    state = front.opened[-1]["data"]["state"]
    assert [name for name in state if not name.startswith("_")] == ["layout", "tabbable", "tooltip"], (
        "no state of its own"
    )
    assert stored(place, name)["model"]["connectionRef"] == "lab"


def test_a_key_that_is_typed_is_neither_saved_nor_repeated(running, new, place):
    name = new("typed")
    front = FrontEnd(running, f"%agent profile edit {name}")
    front.ask("form", type="open")
    state = front.change("instructions.agentSystemPrompt", f"Use {KEY}.")
    (problem,) = state["problems"]
    assert problem["path"] == ["instructions", "agentSystemPrompt"]
    assert KEY not in problem["message"]
    assert KEY not in front.ask("failed", type="save")["message"]
    assert KEY not in (place / "nb.agent" / "profiles" / f"{name}.json").read_text()


def test_a_profile_that_is_broken_says_so(running, place):
    (place / "nb.agent" / "profiles" / "broken.json").write_text('{"id": "broken", "displayName": "B", "limit": 1}')
    _, outputs = running.run("%agent profile edit broken", interactive=True)
    text = json.dumps([content["data"]["text/plain"] for _, content in shown(outputs)])
    assert "limit is no field of a profile. Did you mean limits?" in text
    (place / "nb.agent" / "profiles" / "broken.json").unlink()
