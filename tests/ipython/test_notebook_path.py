"""Which notebook: the order of notes/frontend.md §4."""

import json
import os
import subprocess
import sys
import time
from urllib.request import Request, urlopen

import pytest
from live_kernels import REPOSITORY

from tt_kernel.ipython.notebook_path import NotebookPath


@pytest.fixture
def place(tmp_path, monkeypatch):
    for name in ("TT_NOTEBOOK", "JPY_SESSION_NAME", "PYTEST_CURRENT_TEST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "c", "d"):
        (tmp_path / f"{name}.ipynb").touch()
    return tmp_path


def test_nothing_is_guessed_from_the_files_around(place):
    assert NotebookPath({}).get() is None


def test_a_terminal_of_ipython_is_no_kernel(place):
    """Its application is a sibling of the kernel's, and pretends to be initialised."""
    code = "from IPython.terminal.ipapp import TerminalIPythonApp as A\nA.instance().initialize(['--simple-prompt'])\n"
    code += "from tt_kernel.ipython.notebook_path import NotebookPath\nprint(NotebookPath({}).get())"
    path = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.stdout.splitlines()[-1] == "None", done.stderr


def test_each_source_in_its_order(place, monkeypatch):
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "some/folder/d.ipynb::Cell 0 (setup)")
    assert NotebookPath({}).get() == place / "d.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(place / "c.ipynb"))
    assert NotebookPath({}).get() == place / "c.ipynb"
    namespace = {"__vsc_ipynb_file__": str(place / "b.ipynb")}
    assert NotebookPath(namespace).get() == place / "b.ipynb"
    monkeypatch.setenv("TT_NOTEBOOK", str(place / "a.ipynb"))
    assert NotebookPath(namespace).get() == place / "a.ipynb"
    path = NotebookPath(namespace)
    path.chosen = place / "mine.ipynb"
    assert path.get() == place / "mine.ipynb"


def test_a_pytest_name_that_is_no_notebook_here_is_no_path(place, monkeypatch):
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "tests/test_x.py::test")
    assert NotebookPath({}).get() is None
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "x/elsewhere.ipynb::Cell 1")
    assert NotebookPath({}).get() is None


def test_a_session_name_that_is_no_notebook_is_no_path(place, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "0a1b-console")
    assert NotebookPath({}).get() is None


def test_the_answer_is_kept_until_the_file_is_gone(place, monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", str(place / "a.ipynb"))
    path = NotebookPath({})
    assert path.get() == place / "a.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(place / "b.ipynb"))
    assert path.get() == place / "a.ipynb"
    (place / "a.ipynb").rename(place / "renamed.ipynb")
    assert path.get() == place / "b.ipynb"


ASK = """
import tt_kernel.ipython.notebook_path as p, json
print(json.dumps(str(p.NotebookPath(get_ipython().user_ns).get())))
"""


def test_a_jupyter_server_knows_the_path_also_after_a_rename(place, monkeypatch):
    """The sessions API is right after a rename, JPY_SESSION_NAME is stale. A real server, with a token."""
    from jupyter_client import BlockingKernelClient
    from jupyter_core.paths import jupyter_runtime_dir

    port, token = 18_700 + os.getpid() % 1_000, "secret-token"
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    command = [
        sys.executable,
        "-m",
        "jupyter_server",
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        f"--IdentityProvider.token={token}",
    ]
    server = subprocess.Popen(
        [*command, f"--ServerApp.root_dir={place}", "--ServerApp.port_retries=0"],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def api(method, where, body=None):
        request = Request(
            f"http://127.0.0.1:{port}/api/{where}", method=method, headers={"Authorization": f"token {token}"}
        )
        with urlopen(request, data=json.dumps(body).encode() if body else None, timeout=20) as answer:
            return json.loads(answer.read() or "null")

    try:
        _until(lambda: api("GET", "status"))
        body = {"path": "a.ipynb", "name": "a", "type": "notebook", "kernel": {"name": "python3"}}
        session = api("POST", "sessions", body)
        client = BlockingKernelClient(connection_file=f"{jupyter_runtime_dir()}/kernel-{session['kernel']['id']}.json")
        client.load_connection_file()
        client.start_channels()
        client.wait_for_ready(timeout=60)

        def seen():
            texts = []
            client.execute_interactive(
                ASK, output_hook=lambda m: texts.append(m["content"].get("text", "")), timeout=30
            )
            return json.loads("".join(texts))

        assert seen() == str(place / "a.ipynb")
        api("PATCH", f"sessions/{session['id']}", {"path": "b.ipynb", "name": "b", "type": "notebook"})
        assert seen() == str(place / "b.ipynb")
        client.stop_channels()
    finally:
        server.terminate()
        server.wait(20)


def _until(ask, seconds=40):
    for _ in range(seconds * 5):
        try:
            return ask()
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the server did not start")
