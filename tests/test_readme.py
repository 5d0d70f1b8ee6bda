"""What README.md shows is what happens."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
VOLATILE = re.compile(r"\b[0-9a-f]{8}(?:\.\d+)?\b|\b[\d,]+ tokens")
"""Run ids and token counts change with every prompt text; what the run did does not."""


def test_the_run_that_it_shows_is_in_the_notebook() -> None:
    [shown] = re.findall(r"```text\n(agent .*?)```", README, re.DOTALL)
    notebook = json.loads((ROOT / "notebooks" / "01-tools.ipynb").read_text(encoding="utf-8"))
    texts = [
        "".join(output["data"]["text/plain"])
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if "data" in output
    ]
    assert VOLATILE.sub("...", shown).strip() in [VOLATILE.sub("...", text) for text in texts]


def test_the_function_that_it_shows_is_in_the_notebook() -> None:
    [shown] = re.findall(r"(@tt_kernel\.tool\n.*?)```", README, re.DOTALL)
    notebook = json.loads((ROOT / "notebooks" / "01-tools.ipynb").read_text(encoding="utf-8"))
    assert shown.strip() in ["".join(cell["source"]).strip() for cell in notebook["cells"]]


def test_its_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE))
    assert named
    assert named <= targets


def test_its_commands_exist() -> None:
    usage = subprocess.run(
        [sys.executable, "-m", "tt_kernel", "--help"], capture_output=True, text=True, check=True
    ).stdout
    named = set(re.findall(r"^tt ([a-z]+)", README, re.MULTILINE))
    assert named == set(re.findall(r"^ {4}([a-z]+) ", usage, re.MULTILINE))


def test_the_folders_that_it_names_exist() -> None:
    for name in ("tt_kernel/domain/calls.py", "notebooks/00-hello.ipynb", "notebooks/01-tools.ipynb"):
        assert name.removeprefix("tt_kernel/") in README
        assert (ROOT / name).exists()
