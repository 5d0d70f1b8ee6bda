"""What a guarded process may not do, and its children: real processes, each guarded once and for all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROLOGUE = """
import json, os, socket, subprocess, sys, tempfile, threading
from pathlib import Path
from tt_kernel.experiments.guard import start_guard

def tried(what):
    try:
        what()
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return "done"

def child(code, *options, **more):
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, **more)
    return (done.stderr.strip().splitlines() or [done.stdout.strip()])[-1]

def listening():
    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=server.accept, daemon=True).start()
    return server.getsockname()[1]

said = {}
"""
EPILOGUE = "\nprint(json.dumps(said))"


@pytest.fixture
def guarded(tmp_path):
    """Runs code in a process whose temporary folder is its own; gives what it said."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / "outside").mkdir()

    def run(code, **environment):
        temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(tmp_path / "temporary"))
        done = subprocess.run(
            [sys.executable, "-c", PROLOGUE + code + EPILOGUE],
            cwd=tmp_path / "outside",
            env=os.environ | temporary | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    yield run
    assert list((tmp_path / "outside").iterdir()) == []
    assert list((tmp_path / "temporary").glob("tt-guard-*")) == []


def test_files_are_written_in_the_temporary_folder_only(guarded):
    said = guarded(
        """
import shutil
start_guard()
there = Path(tempfile.mkdtemp())
said["open"] = tried(lambda: open("x", "w"))
said["mkdir"] = tried(lambda: os.mkdir("x"))
said["chmod"] = tried(lambda: os.chmod(".", 0o777))
said["link"] = tried(lambda: os.symlink(there, "x"))
said["rename"] = tried(lambda: os.rename(there, "x"))
said["read"] = tried(lambda: open(sys.executable, "rb").close())
(there / "a" / "b").mkdir(parents=True)
(there / "a" / "b" / "c").write_text("x")
said["delete a tree"] = tried(lambda: shutil.rmtree(there))
said["it is gone"] = tried(lambda: os.stat(there))
"""
    )
    assert {name for name, what in said.items() if what.startswith("Refused: ")} == {
        "open",
        "mkdir",
        "chmod",
        "link",
        "rename",
    }
    assert (said["read"], said["delete a tree"]) == ("done", "done")
    assert said["it is gone"].startswith("FileNotFoundError")


def test_only_servers_of_this_process_and_its_children_are_talked_to(guarded):
    """Another server of this machine may be a model: replaying asks none."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        said = guarded(
            f"""
serving = "import socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); s.accept()"
start_guard()
own = listening()
said["own"] = tried(lambda: socket.create_connection(("127.0.0.1", own)).close())
process = subprocess.Popen([sys.executable, "-c", serving], stdout=subprocess.PIPE, text=True)
port = int(process.stdout.readline())
said["child's"] = tried(lambda: socket.create_connection(("localhost", port)).close())
process.wait()
said["another's"] = tried(lambda: socket.create_connection(("127.0.0.1", {server.getsockname()[1]})).close())
said["elsewhere"] = tried(lambda: socket.create_connection(("192.0.2.1", 80), timeout=1).close())
"""
        )
    assert (said["own"], said["child's"]) == ("done", "done")
    assert "which is no server of this process refused" in said["another's"]
    assert "refused" in said["elsewhere"]


def test_children_are_guarded_too_and_the_limit_is_known(guarded, tmp_path):
    said = guarded(
        """
start_guard()
said["write"] = child("open('x', 'w')")
said["connect"] = child("import socket; socket.socket().connect(('192.0.2.1', 80))")
said["grandchild"] = child("import subprocess, sys; subprocess.run([sys.executable, '-c', 'open(\\"x\\", \\"w\\")'])")
said["temporary"] = child("import tempfile; open(tempfile.mkdtemp() + '/x', 'w'); print('done')")
said["isolated"] = child("import os, sys; print(any('tt-guard-' in place for place in sys.path))", "-I")
"""
    )
    assert "Refused: Replay only: write to" in said["write"]
    assert "192.0.2.1" in said["connect"]
    assert "refused" in said["connect"]
    assert "Refused: Replay only: write to" in said["grandchild"]
    assert said["temporary"] == "done"
    assert said["isolated"] == "False"  # documented: a child without the environment is not guarded


def test_the_sitecustomize_of_others_still_runs(guarded, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "sitecustomize.py").write_text("import builtins\nbuiltins.other = 'it ran'\n")
    path = os.pathsep.join([str(tmp_path / "other"), os.environ["PYTHONPATH"]])
    said = guarded('start_guard()\nsaid["other"] = child("print(other)")', PYTHONPATH=path)
    assert said["other"] == "it ran"


def test_the_guard_needs_nothing_but_the_standard_library():
    """It is copied into children of any Python."""
    import ast

    import tt_kernel.experiments.guard as module

    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    names = {node.module.partition(".")[0] for node in tree.body if isinstance(node, ast.ImportFrom) and node.module}
    names |= {
        alias.name.partition(".")[0] for node in tree.body if isinstance(node, ast.Import) for alias in node.names
    }
    assert names <= set(sys.stdlib_module_names)
