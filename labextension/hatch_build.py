"""Builds the JupyterLab extension when tt_kernel is packaged or installed; run by hatch-jupyter-builder, and by `make labextension`.

A machine without a fitting node gets tt_kernel without its extension, and a line that says so: magics and the html form of
the outputs need none.
"""

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE / "build" / "lab"
RENDERER = HERE.parent / "tt_kernel" / "widgets" / "static"
SOURCES = ("src", "style", "schema", "package.json", "package-lock.json", "tsconfig.json", "rspack.config.js")


def build(target_name: str = "", version: str = "", **_: object) -> None:
    """Bring labextension/build/lab up to date; does nothing when it is (also in a wheel made from an sdist)."""
    del target_name, version
    if is_fresh():
        return
    reason = obstacle()
    if reason:
        warnings.warn(f"{reason}: tt_kernel is installed without its JupyterLab extension", stacklevel=1)
        # What a wheel is told to carry must exist; JupyterLab ignores a folder without package.json.
        OUT.mkdir(parents=True, exist_ok=True)
        return
    npm = shutil.which("npm") or "npm"
    lock = HERE / "package-lock.json"
    installed = HERE / "node_modules" / ".package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < lock.stat().st_mtime:
        subprocess.run([npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HERE, check=True)
        installed.touch()
    subprocess.run([npm, "run", "--silent", "build"], cwd=HERE, check=True, stdout=subprocess.DEVNULL)


def is_fresh() -> bool:
    built = OUT / "package.json"
    return built.exists() and built.stat().st_mtime >= max(path.stat().st_mtime for path in _sources())


def obstacle() -> str | None:
    """Why the extension cannot be built here; None: it can."""
    if os.environ.get("TT_SKIP_LABEXTENSION"):
        return "TT_SKIP_LABEXTENSION is set"
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return "node and npm were not found"
    text = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    numbers = [int(part) for part in text.lstrip("v").split(".")[:2] if part.isdigit()]
    if len(numbers) < 2 or not (numbers >= [22, 12] or [20, 19] <= numbers < [21, 0]):
        return f"node {text or 'of unknown version'} is too old (20.19 or 22.12 and newer will do)"
    return None


def _sources() -> Iterator[Path]:
    for path in [*(HERE / name for name in SOURCES), RENDERER]:
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from (file for file in path.rglob("*") if file.is_file())


if __name__ == "__main__":
    if "--check" in sys.argv:
        print(obstacle() or "")
    else:
        build()
