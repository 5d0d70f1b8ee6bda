"""The front end's half of the run view is the kernel's (issue 5, item 8)."""

import re
import tomllib
from importlib import import_module
from pathlib import Path

from tt_kernel.toolkit.declare import Declaration
from tt_kernel.widgets.protocol import SILENT, field_names, typescript

ROOT = Path(__file__).parent.parent
STATIC = ROOT / "tt_kernel" / "widgets" / "static"
RENDERER = (STATIC / "run_view.js").read_text(encoding="utf-8")
FRONT_END = ROOT / "labextension"


def test_protocol_ts_is_what_the_views_say():
    written = (FRONT_END / "src" / "protocol.ts").read_text(encoding="utf-8")
    assert written == typescript(), "run: python -m tt_kernel.widgets.protocol > labextension/src/protocol.ts"


def test_every_field_is_drawn_or_said_to_be_silent():
    names = set(field_names())
    code = "".join(_code(path.read_text(encoding="utf-8")) for path in STATIC.glob("*_view.js"))
    drawn = {name for name in names if re.search(rf"\b{name}\b", code)}
    assert names - drawn <= SILENT, "draw these fields in a renderer of static/, or list them in protocol.SILENT"
    assert names >= SILENT, "these silent fields exist no more"


def test_every_group_of_built_in_tools_has_an_icon():
    icons = set(re.findall(r"^  (\w+): \"M", RENDERER.split("const UI_ICONS")[0], re.MULTILINE))
    assert {"notebook", "mcp", "other"} <= icons
    assert _groups() <= icons
    assert len(_groups()) >= 5


def test_the_renderer_never_makes_markup_of_text():
    for name in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "srcdoc", "new Function"):
        for source in [*STATIC.glob("*.js"), *(FRONT_END / "src").glob("*.ts")]:
            assert name not in source.read_text(encoding="utf-8"), source.name


def test_the_renderer_needs_nothing_else():
    assert not re.search(r"^\s*import\b|\bimport\(", RENDERER, re.MULTILINE)
    for path in STATIC.glob("*_view.js"):
        assert set(re.findall(r'from "([^"]+)"', path.read_text(encoding="utf-8"))) <= {"./run_view.js"}


def test_one_version():
    package = (FRONT_END / "package.json").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f'"version": "{project["version"]}"' in package
    assert f'"license": "{project["license"]}"' in package


def test_the_lock_file_names_no_registry():
    lock = (FRONT_END / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert "://registry" not in lock


def _code(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)


def _groups():
    """The groups of all declared tools, whichever module they are in."""
    groups = set()
    for path in (ROOT / "tt_kernel" / "tools").rglob("*.py"):
        if "@builtin_tool(" in path.read_text(encoding="utf-8"):
            module = import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            groups |= {value.spec.group for value in vars(module).values() if isinstance(value, Declaration)}
    return groups


def test_the_front_end_knows_every_message_of_the_kernel():
    """The table in ipython/comms.py is the protocol; asking.ts is its other side."""
    from tt_kernel.ipython import comms

    to_kernel, to_front_end = comms.__doc__.split("Kernel -> front end")
    asking = (FRONT_END / "src" / "asking.ts").read_text(encoding="utf-8")
    names = re.findall(r"^    ([a-z_]+) +\{", to_kernel, re.MULTILINE) + re.findall(
        r"^    ([a-z_]+) +\{", to_front_end, re.MULTILINE
    )
    assert len(names) >= 10
    assert [name for name in names if f"'{name}'" not in asking] == []
