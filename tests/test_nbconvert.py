"""The example notebooks outside JupyterLab: every export shows what the agent did, and loads nothing (issue 5, item 10)."""

import ast
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FORMATS = [
    "HTMLExporter",
    "MarkdownExporter",
    pytest.param(
        "LatexExporter", marks=pytest.mark.skipif(shutil.which("pandoc") is None, reason="LaTeX needs pandoc")
    ),
    "PythonExporter",
]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.parametrize("exporter", FORMATS)
def test_an_example_is_exported(notebook, exporter):
    import nbconvert
    import nbformat

    document = nbformat.read(notebook, as_version=4)
    body, _ = getattr(nbconvert, exporter)().from_notebook_node(document)
    runs = [
        output for cell in document.cells for output in cell.get("outputs", []) if "text/html" in output.get("data", {})
    ]
    assert runs or exporter == "PythonExporter"
    if exporter == "PythonExporter":
        compile(body, notebook.name, "exec", dont_inherit=True, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        assert "'agent'" in body
    elif exporter == "HTMLExporter":
        assert body.count("<summary") >= sum(output["data"]["text/html"].count("<summary") for output in runs)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_load_nothing(notebook):
    """No script, style sheet, frame or address in what an output shows (notes/field-reports.md C 27 to 31)."""
    import nbformat

    for cell in nbformat.read(notebook, as_version=4).cells:
        for output in cell.get("outputs", []):
            html = output.get("data", {}).get("text/html", "")
            assert not re.search(r"<(script|style|iframe|link|object|embed)\b", html)
            assert not re.search(r"""\b(src|srcset|poster|background)=["'](?!data:image/)""", html)
