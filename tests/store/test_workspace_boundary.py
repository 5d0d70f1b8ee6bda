"""spec tauritavern §7.2, DESIGN §5.3: no logical path ever resolves outside of its root, links included."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.workspace import Root, Workspace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "root/sub/file").write_text("inside")
    (tmp_path / "root-twin").mkdir()
    (tmp_path / "root-twin/file").write_text("outside")
    (tmp_path / "secret").write_text("outside")
    return tmp_path


def workspace(tree, **more):
    return Workspace([Root("w", tree / "root", writable=True, **more)])


def refused(files, path):
    with pytest.raises(ToolError) as error:
        files.read_bytes(files.place(path))
    assert error.value.code == "workspace.invalid_path"
    return error.value.message


LINKS = {
    "absolute": "{tree}/secret",
    "relative": "../secret",
    "folder": "{tree}",
    "twin": "{tree}/root-twin",
    "self": "self",
    "device": "/dev/null",
    "top": "/",
}


@pytest.mark.parametrize("follow", [False, True])
@pytest.mark.parametrize("name", LINKS)
def test_links_that_leave_the_root(tree, name, follow):
    """§23 item 19."""
    (tree / "root" / name).symlink_to(LINKS[name].format(tree=tree))
    files = workspace(tree, follow_links=follow)
    for path in (f"w/{name}", f"w/{name}/file", f"w/{name}/root/sub/file"):
        with pytest.raises(ToolError) as error:
            files.read_bytes(files.place(path))
        assert error.value.code == "workspace.invalid_path", path
        with pytest.raises(ToolError):
            files.write_bytes(files.place(path), b"x")
    assert (tree / "secret").read_text() == "outside"
    assert (tree / "root-twin/file").read_text() == "outside"


def test_links_inside_of_the_root_are_followed_only_where_that_is_allowed(tree):
    (tree / "root/link").symlink_to("sub")
    (tree / "root/sub/back").symlink_to("../link/file")
    strict, lenient = workspace(tree), workspace(tree, follow_links=True)
    for path in ("w/link/file", "w/sub/back"):
        assert "symbolic link" in refused(strict, path)
        assert lenient.read_text(lenient.place(path)) == "inside"
    lenient.write_bytes(lenient.place("w/link/new"), b"x")
    assert (tree / "root/sub/new").read_bytes() == b"x"
    lenient.write_bytes(lenient.place("w/sub/back"), b"y")
    assert (tree / "root/sub/file").read_bytes() == b"y"
    assert (tree / "root/sub/back").is_symlink(), "the link stays, its target is written"


def test_a_dangling_link_creates_nothing_outside(tree):
    (tree / "root/new").symlink_to(tree / "created")
    for follow in (False, True):
        files = workspace(tree, follow_links=follow)
        with pytest.raises(ToolError):
            files.write_bytes(files.place("w/new"), b"x")
    assert not (tree / "created").exists()


def test_the_root_may_lie_below_a_link_but_be_none(tree):
    (tree / "alias").symlink_to(tree)
    files = Workspace([Root("w", tree / "alias/root")])
    assert files.read_text(files.place("w/sub/file")) == "inside"
    files = Workspace([Root("w", tree / "alias")])
    refused(files, "w/secret")


def test_a_pinned_root_that_moved_is_refused(tree):
    """DESIGN §5.3: granted directories fail closed when the canonical path moved."""
    granted = Root("data", tree / "root", follow_links=True, pinned=Path(os.path.realpath(tree / "root")))
    files = Workspace([granted])
    assert files.read_text(files.place("data/sub/file")) == "inside"
    (tree / "root").rename(tree / "elsewhere")
    (tree / "root").symlink_to(tree / "root-twin")
    with pytest.raises(ToolError) as error:
        files.read_text(files.place("data/file"))
    assert error.value.code == "workspace.root_moved"


def test_messages_do_not_tell_where_things_are(tree):
    (tree / "root/link").symlink_to(tree / "secret")
    (tree / "root/latin").write_bytes(b"\xff")
    files = workspace(tree)
    for path in ("w/link", "w/none", "w/sub", "w/sub/file/x", "w/latin", "w/" + "n" * 300, "x/y"):
        with pytest.raises(ToolError) as error:
            files.read_text(files.place(path))
        assert str(tree) not in error.value.message


NAMES = st.sampled_from(["a", "b", "c", "sub"])
TARGETS = st.sampled_from(
    [
        "a",
        "b",
        "c",
        "sub",
        ".",
        "..",
        "../..",
        "../outside",
        "sub/a",
        "../root/b",
        "{tree}",
        "{tree}/outside",
        "{tree}/root/c",
        "/",
    ]
)
PATHS = st.lists(
    st.sampled_from(["a", "b", "c", "sub", "file", ".", "..", "outside", "root", "\\", "C:"]), min_size=1, max_size=6
)


@settings(max_examples=150)
@example(links=[("sub/", "sub", "sub/a")], paths=[["sub", "sub"]], follow=True)
@given(
    links=st.lists(st.tuples(st.sampled_from(["", "sub/"]), NAMES, TARGETS), max_size=6),
    paths=st.lists(PATHS, min_size=1, max_size=6),
    follow=st.booleans(),
)
def test_no_path_resolves_outside_of_its_root(links, paths, follow):
    with TemporaryDirectory() as folder:
        tree = Path(os.path.realpath(folder))
        (tree / "root/sub").mkdir(parents=True)
        (tree / "outside").mkdir()
        for place in ("root/file", "root/sub/file", "outside/file"):
            (tree / place).write_text(place.partition("/")[0])
        for where, name, target in links:
            link = tree / "root" / where / name
            if not os.path.lexists(link):
                link.symlink_to(target.format(tree=tree))
        files = workspace(tree, follow_links=follow)
        for parts in paths:
            _check(files, tree, "w/" + "/".join(parts))
        assert (tree / "outside/file").read_text() == "outside"
        assert os.listdir(tree / "outside") == ["file"]
        assert sorted(os.listdir(tree)) == ["outside", "root"]


def _check(files, tree, path):
    try:
        place = files.place(path)
        real = files.disk_path(place)
    except ToolError:
        return
    assert real == tree / "root" or tree / "root" in real.parents
    assert Path(os.path.realpath(real)) == real, "nothing on the way is a link any more"
    for action in (
        lambda: files.read_text(place),
        lambda: files.write_bytes(place, b"root"),
        lambda: list(files.walk(place, 8)),
    ):
        try:
            found = action()
        except ToolError:
            continue
        assert found != "outside"


def test_a_walk_ends_in_a_tree_of_loops(tree):
    (tree / "root/sub/loop").symlink_to("..")
    (tree / "root/sub/far").symlink_to(tree)
    entries = list(workspace(tree, follow_links=True).walk(workspace(tree).place("w"), 8))
    assert sorted(("/".join(e.parts), e.kind) for e in entries) == [
        ("sub", "directory"),
        ("sub/far", "link"),
        ("sub/file", "file"),
        ("sub/loop", "link"),
    ]
