"""The rules of the package's shape: layers, charters, sizes, names, imports, and what lies in the repository.

Each number is a budget that somebody chose for readers; a change of a number here is a decision, not a repair.
"""

import ast
import fnmatch
import math
import re
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tt_kernel"
MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted(path.parent for path in PACKAGE.rglob("__init__.py"))

LAYERS = [
    {"__main__"},
    {"cli"},
    {"ipython"},
    {"experiments"},
    {"session"},
    {"runtime", "tools", "providers", "widgets"},
    {"toolkit", "store"},
    {"domain"},
]

TOP_LEVEL = {
    "pyproject.toml", "tt_kernel", "labextension", "notebooks", "tests", "README.md",
    "LICENSE", "CHANGELOG.md", "Makefile", ".ci", ".pre-commit-config.yaml", ".gitignore", ".gitattributes",
}  # fmt: skip

VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}

HEAVY = [
    "openai", "anthropic", "google.genai", "pydantic_ai", "genai_prices", "mcp", "PIL", "pandas", "numpy", "matplotlib",
    "bashkit", "pydantic_monty", "quickjs", "xllamacpp", "anywidget", "ipywidgets", "nbclient", "yaml",
]  # fmt: skip

STARTERS = ["tt_kernel", "tt_kernel.ipython.extension", "tt_kernel.cli", "tt_kernel.providers.names"]
"""What is imported before anybody asked for a model, a tool or a picture."""


# ---- layers


def test_import_contracts_hold(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    from importlinter import cli

    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT))
    status = cli.lint_imports(no_logo=True, no_cache=True)
    assert status == cli.EXIT_STATUS_SUCCESS, capfd.readouterr().out


def test_the_contracts_are_about_the_layers_of_this_test() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(c for c in contracts if c["type"] == "layers")
    assert [set(line.split(" | ")) for line in layers["layers"]] == LAYERS
    assert layers["exhaustive"]


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_imports_are_absolute() -> None:
    nodes = ((path, node) for path in MODULES for node in ast.walk(ast.parse(path.read_text())))
    relative = [f"{path}:{node.lineno}" for path, node in nodes if isinstance(node, ast.ImportFrom) and node.level]
    assert relative == []


def internal_imports(folder: Path) -> set[str]:
    """The layers that the modules of a folder import, their own not counted."""
    names = {
        module.split(".")[1]
        for path in folder.rglob("*.py")
        for module in imported_modules(path)
        if module.startswith("tt_kernel.")
    }
    return names - {folder.relative_to(PACKAGE).parts[0]}


# ---- charters


def charter_of(folder: Path) -> str:
    return ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""


def allowed_by(charter: str) -> set[str]:
    """The layers that a charter's sentence "May import ..." names."""
    match = re.search(r"May import (.*?)\.(?:\s|$)", charter, re.DOTALL)
    assert match, "a charter says 'May import ...'"
    sentence = match.group(1)
    named = set(re.findall(r"`(\w+)`", sentence)) & set().union(*LAYERS)
    if "everything but" in sentence:
        return set().union(*LAYERS) - named
    if "everything below" in sentence:
        lowest = max(index for index, line in enumerate(LAYERS) if line & named)
        named |= set().union(*LAYERS[lowest + 1 :])
    return named


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f.parent == PACKAGE], ids=lambda f: f.name)
def test_every_layer_has_a_charter_and_it_is_true(folder: Path) -> None:
    charter = charter_of(folder)
    first = charter.split(":")[0]
    assert first == first.upper() and first.strip(), "a charter opens with what the folder is, in capitals"
    assert internal_imports(folder) <= allowed_by(charter)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: str(f.relative_to(ROOT)))
def test_every_package_says_what_it_is(folder: Path) -> None:
    assert len(charter_of(folder)) > 30


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f != PACKAGE], ids=lambda f: str(f.relative_to(ROOT)))
def test_files_that_a_charter_tells_to_read_exist(folder: Path) -> None:
    named = re.findall(r"`([\w/]+\.py)`", charter_of(folder))
    assert [name for name in named if not (folder / name).exists()] == []


# ---- sizes


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from the first statement to the last; the docstring, which explains, is free."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not statements:
        return 0
    return (statements[-1].end_lineno or 0) - statements[0].lineno + 1


def functions() -> Iterator[tuple[str, int]]:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", body_lines(node)


def test_modules_stay_small() -> None:
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}
    assert {name: size for name, size in sizes.items() if size > 400} == {}
    assert statistics.median(sizes.values()) <= 120


def test_functions_stay_small() -> None:
    sizes = dict(functions())
    assert {name: size for name, size in sizes.items() if size > 60} == {}
    ranked = sorted(sizes.values())
    assert ranked[math.ceil(0.9 * len(ranked)) - 1] <= 25


def test_functions_stay_simple() -> None:
    """McCabe complexity of at most 8, without exceptions by comment."""
    command = [
        sys.executable, "-m", "ruff", "check", "--isolated", "--ignore-noqa", "--select", "C901",
        "--config", "lint.mccabe.max-complexity=8", "--output-format", "concise", "--no-cache", str(PACKAGE),
    ]  # fmt: skip
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = {path.stem for path in MODULES} | {folder.name for folder in FOLDERS}
    assert names & VAGUE_NAMES == set()


# ---- imports at start-up


@pytest.mark.parametrize("module", STARTERS)
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


# ---- the repository


def ignored_patterns() -> list[str]:
    lines = (ROOT / ".gitignore").read_text().splitlines()
    return [line.strip().rstrip("/") for line in lines if line.strip() and not line.startswith("#")] + [".git"]


def kept_entries(folder: Path) -> list[Path]:
    patterns = ignored_patterns()
    return sorted(e for e in folder.iterdir() if not any(fnmatch.fnmatch(e.name, p) for p in patterns))


def kept_files(folder: Path = ROOT) -> Iterator[Path]:
    for entry in kept_entries(folder):
        if entry.is_dir():
            yield from kept_files(entry)
        else:
            yield entry


def test_gitignore_is_simple_enough_for_this_test() -> None:
    assert [p for p in ignored_patterns() if "/" in p or "!" in p] == []


def test_nothing_else_lies_at_the_top_level() -> None:
    assert {entry.name for entry in kept_entries(ROOT)} - TOP_LEVEL == set()


def test_no_package_registry_is_named() -> None:
    """Packages come from whatever registries the user's own pip, apt and npm are set up for."""
    hosts = [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("deb.debian", "org"),
        ("yarnpkg", "com"),
    ]
    words = re.compile("|".join(re.escape(".".join(host)) for host in hosts).encode())
    assert [str(path.relative_to(ROOT)) for path in kept_files() if words.search(path.read_bytes())] == []


def test_no_path_of_the_workplace_is_named() -> None:
    """A path of the machine where this was written is wrong on every other one."""
    place = re.compile(rb"(?<![\w.])/" + rb"work/(?:main|shared|\.library)\b")
    assert [str(path.relative_to(ROOT)) for path in kept_files() if place.search(path.read_bytes())] == []
