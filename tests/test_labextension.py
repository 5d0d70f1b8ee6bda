"""The JupyterLab extension: its unit tests, its build, and what happens without node (issue 5, item 9)."""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FRONT_END = ROOT / "labextension"

spec = importlib.util.spec_from_file_location("hatch_build", FRONT_END / "hatch_build.py")
hatch_build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hatch_build)


def _obstacle():
    return hatch_build.obstacle() or (
        None if (FRONT_END / "node_modules").is_dir() else "node_modules is missing (make labextension)"
    )


needs_node = pytest.mark.skipif(_obstacle() is not None, reason=f"the front end's tests need node: {_obstacle()}")


@needs_node
@pytest.mark.timeout(300)
def test_vitest():
    done = subprocess.run(["npm", "test", "--silent"], cwd=FRONT_END, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_node
@pytest.mark.timeout(300)
def test_the_build_is_the_same_in_every_folder(tmp_path):
    """Names and bytes, so that a build can be checked against another machine's."""
    assert _built(tmp_path / "a") == _built(tmp_path / "b" / "deeper")


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        ("v18.19.0", False),
        ("v20.18.9", False),
        ("v20.19.0", True),
        ("v21.1.0", False),
        ("v22.12.0", True),
        ("v24.0.1", True),
        ("", False),
    ],
)
def test_which_node_will_do(tmp_path, monkeypatch, version, fits):
    """rspack needs ^20.19 or >= 22.12 (notes/frontend.md §0)."""
    for name in ("node", "npm"):
        tool = tmp_path / name
        tool.write_text(f"#!/bin/sh\necho {version}\n")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TT_SKIP_LABEXTENSION", raising=False)
    assert (hatch_build.obstacle() is None) == fits


def test_without_node_the_build_warns_and_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(hatch_build, "OUT", tmp_path / "labextension")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.warns(UserWarning, match="installed without its JupyterLab extension"):
        hatch_build.build()
    assert list((tmp_path / "labextension").iterdir()) == []


def test_jupyter_finds_the_extension():
    import tt_kernel

    assert tt_kernel._jupyter_labextension_paths() == [{"src": "../labextension/build/lab", "dest": "tt-kernel"}]


def _built(folder):
    """Build a copy of the sources; file names and digests."""
    ignored = shutil.ignore_patterns("node_modules", "build", "test", "__pycache__")
    shutil.copytree(FRONT_END, folder / "labextension", ignore=ignored)
    shutil.copytree(hatch_build.RENDERER, folder / "tt_kernel" / "widgets" / "static")
    # Hard links where they can be made: thirty thousand files.
    shutil.copytree(
        FRONT_END / "node_modules", folder / "labextension" / "node_modules", symlinks=True, copy_function=_link
    )
    command = [sys.executable, str(folder / "labextension" / "hatch_build.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=140, env={**os.environ, "CI": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    out = folder / "labextension" / "build" / "lab"
    files = sorted(path for path in out.rglob("*") if path.is_file())
    assert files
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
