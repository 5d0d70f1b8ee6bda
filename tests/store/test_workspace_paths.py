"""spec tauritavern §7.2: what a logical path may be. §23 item 19."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import Place, Root, Workspace, shown, split_path


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("output/main.md", ("output", "main.md")),
        ("./output/./main.md", ("output", "main.md")),
        ("output//main.md/", ("output", "main.md")),
        ("output\\sub\\main.md", ("output", "sub", "main.md")),
        (".\\output", ("output",)),
        ("", ()),
        (".", ()),
        ("./", ()),
        ("output/...", ("output", "...")),
        ("output/..x", ("output", "..x")),
        ("output/ä b.md", ("output", "ä b.md")),
        ("~/x", ("~", "x")),
    ],
)
def test_what_is_allowed(text, parts):
    assert split_path(text) == parts


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("..", "'..' segment"),
        ("../x", "'..' segment"),
        ("output/../x", "'..' segment"),
        ("output\\..\\x", "'..' segment"),
        ("output/..", "'..' segment"),
        ("/etc/passwd", "absolute"),
        ("\\\\server\\share", "absolute"),
        ("//server/share", "absolute"),
        ("C:\\x", "drive letter"),
        ("c:x", "drive letter"),
        ("Z:", "drive letter"),
        ("output/a\0b", "NUL"),
        ("output/\ud800", "lone surrogate"),
    ],
)
def test_what_is_refused(text, problem):
    with pytest.raises(ToolError) as error:
        split_path(text)
    assert error.value.code == "workspace.invalid_path"
    assert problem in error.value.message
    error.value.message.encode()


@pytest.mark.parametrize(
    "name", ["con", "NUL.txt", "aux .md", "COM1", "lpt¹.x", "a:b", "a?", "a*b", "end.", "end ", 'q"', "a|b", "a\nb"]
)
def test_names_that_mean_something_else_on_windows(name):
    with pytest.raises(ToolError):
        split_path(f"output/{name}", windows=True)
    assert split_path(f"output/{name}", windows=False) == ("output", name)


@pytest.mark.parametrize("name", ["console", "null", "com", "com10", "a.b", ".hidden", "a b"])
def test_ordinary_names_on_windows(name):
    assert split_path(f"output/{name}", windows=True) == ("output", name)


@given(st.text(alphabet=st.sampled_from("ab./\\: ~\0\u202e\ncC"), max_size=16))
@example("a/b/../../..")
def test_segments_are_plain_names(text):
    try:
        parts = split_path(text)
    except ToolError as error:
        assert error.code == "workspace.invalid_path"
        return
    assert not any("/" in part or "\\" in part or "\0" in part or part in ("", ".", "..") for part in parts)
    assert split_path("/".join(parts)) == parts, "stable"


@given(st.text())
def test_a_shown_path_is_one_line_and_can_be_read_back(text):
    line = shown(text)
    assert len(line.splitlines()) <= 1
    assert not any(c in line for c in "\u202e\u2066\u200f\x1b\0")
    assert (json.loads(line) if line.startswith('"') else line) == text


@pytest.mark.parametrize("path", ["output/main.md", "output/日本語 é.md", "output/it's (1).md", "output/a b"])
def test_ordinary_paths_are_shown_as_they_are(path):
    assert shown(path) == path


def test_errors_are_bounded():
    with pytest.raises(ToolError) as error:
        split_path("../" + "x" * 100_000)
    assert len(error.value.message) < 500


def test_places_and_rights(tmp_path):
    """§7.1: rights; the root folder itself cannot be written."""
    hidden = Root("persist", tmp_path / "p", readable=False, writable=True)
    workspace = Workspace([Root("output", tmp_path / "o", writable=True), Root("skills", tmp_path / "s"), hidden])
    assert workspace.place("output").logical == "output"
    assert workspace.place("./output/a//b").logical == "output/a/b"
    assert [root.name for root in workspace.visible] == ["output", "skills"]
    for path, code in {
        "persist/x": "workspace.path_not_visible",
        "Output/x": "workspace.path_not_visible",
        "input/x": "workspace.path_not_visible",
        "": "workspace.invalid_path",
        "skills/x": "workspace.path_not_writable",
        "output": "workspace.path_not_writable",
    }.items():
        with pytest.raises(ToolError) as error:
            workspace.writable_place(path)
        assert error.value.code == code, path


def test_a_root_may_be_shown_under_another_prefix(tmp_path):
    """DESIGN §5.3: the same layer serves paths relative to the project and `root://<alias>/`."""
    workspace = Workspace([Root("project", tmp_path, prefix=""), Root("data", tmp_path, prefix="root://data/")])
    assert workspace.at("project", "src/x.py").logical == "src/x.py"
    assert workspace.at("project", ".").logical == "."
    assert workspace.at("data", "x.csv").logical == "root://data/x.csv"
    with pytest.raises(ToolError):
        workspace.at("project", "../x")


def test_a_root_is_asked_where_it_is_every_time(tmp_path):
    """A run's folder moves while it runs."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "two/x").write_text("moved")
    where = [tmp_path / "one"]
    workspace = Workspace([Root("output", lambda: where[0])])
    place = workspace.place("output/x")
    assert workspace.kind(place) is None
    where[0] = tmp_path / "two"
    assert workspace.read_text(place) == "moved"
    assert Place(workspace.roots[0]).logical == "output"
