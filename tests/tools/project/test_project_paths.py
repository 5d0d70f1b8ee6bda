"""spec liveagent §4: accepted spellings, refused ones, did-you-mean, guidance, sealed places."""

import os
import sys
import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tt_kernel.domain.errors import ToolError
from tt_kernel.store.roots import project_root
from tt_kernel.store.workspace import Root, Workspace
from tt_kernel.tools.project import ProjectDesk
from tt_kernel.tools.project.guidance import candidates, edit_distance
from tt_kernel.tools.project.paths import resolve
from tt_kernel.tools.project.sealed import refuse_sealed

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and such names need POSIX")


def logical(bench, path, intent="read"):
    return resolve(bench.desk, path, intent).logical


# ---- §4.1 spellings


@pytest.mark.parametrize(
    "spelled",
    [
        "src/a.py",
        "./src/a.py",
        "src\\a.py",
        "src//a.py",
        "src/./a.py",
        "workspace:src/a.py",
        "workspace://src/a.py",
        "WORKSPACE:src/a.py",
        '"src/a.py"',
        "{folder}/src/a.py",
        "file://{folder}/src/a.py",
        "file://{folder}/src/%61.py",
    ],
)
def test_accepted_spellings_of_a_file(bench, spelled):
    assert logical(bench, spelled.format(folder=bench.folder)) == "src/a.py"


@pytest.mark.parametrize(
    "spelled", [".", "./", "workspace:", "workspace:.", "{folder}", "{folder}/", "file://{folder}"]
)
def test_accepted_spellings_of_the_project(bench, spelled):
    assert logical(bench, spelled.format(folder=bench.folder)) == "."


def test_home(bench, monkeypatch):
    monkeypatch.setenv("HOME", str(bench.folder))
    monkeypatch.setenv("USERPROFILE", str(bench.folder))
    assert logical(bench, "~/src/a.py") == "src/a.py"
    assert logical(bench, "~") == "."


@posix
def test_an_absolute_path_through_a_link_to_the_project(bench, tmp_path):
    (tmp_path / "link").symlink_to(bench.folder)
    assert logical(bench, f"{bench.folder.resolve()}/x") == "x"
    linked = ProjectDesk(
        workspace=Workspace([project_root(tmp_path / "link")]), save_file=bench.desk.save_file, call_name=str
    )
    assert resolve(linked, f"{bench.folder}/x").logical == "x"
    assert resolve(linked, f"{tmp_path}/link/x").logical == "x"


@pytest.mark.parametrize(
    "spelled",
    [
        "",
        "a\0b",
        "../x",
        "a/../b",
        "a/..",
        "..\\x",
        "\\\\server\\share",
        "//server/share",
        "file://host/x",
        "file:x",
        "a:b",
        "a/b:c",
        "root:x",
    ],
)
async def test_refused_spellings(bench, spelled):
    with pytest.raises(ToolError) as error:
        resolve(bench.desk, spelled)
    assert error.value.code == "project.invalid_path"


def test_a_nul_in_a_file_address_is_refused(bench):
    with pytest.raises(ToolError) as error:
        resolve(bench.desk, f"file://{bench.folder}/a%00b")
    assert error.value.code == "project.invalid_path"


@posix
def test_names_are_nfc_unless_only_the_other_spelling_exists(bench):
    nfc, nfd = unicodedata.normalize("NFC", "é.txt"), unicodedata.normalize("NFD", "é.txt")
    assert logical(bench, nfd) == nfc
    bench.put(nfd, "x")
    assert logical(bench, nfd) == nfd
    bench.put(nfc, "y")
    assert logical(bench, nfd) == nfc


async def test_a_name_that_is_shown_in_quotes_can_be_used_with_them(bench):
    bench.put("a\nb\u202e.txt", "text\n")
    listed = (await bench.ok("List")).content
    assert listed == '[FILE] "a\\nb\\u202e.txt"'
    for spelled in ("a\nb\u202e.txt", '"a\\nb\\u202e.txt"'):
        assert (await bench.ok("Read", path=spelled)).structured["path"] == "a\nb\u202e.txt"


# ---- §4.2 scopes


def granted(bench, make_bench, name, access="read"):
    folder = bench.folder.parent / name
    folder.mkdir(exist_ok=True)
    bench.grants.add(name, folder, access)
    return make_bench(), folder


async def test_additional_folders(bench, make_bench):
    bench, data = granted(bench, make_bench, "data", "write")
    (data / "x.csv").write_text("1\n")
    for spelled in ("root://data/x.csv", f"{data}/x.csv", "ROOT://data/x.csv"):
        assert logical(bench, spelled) == "root://data/x.csv"
    assert logical(bench, "root://data") == "root://data"
    assert "[FILE] root://data/x.csv" in (await bench.ok("List", path="root://data")).content
    assert (await bench.ok("Glob", pattern="*.csv", path="root://data")).content == "root://data/x.csv"
    assert "root://data/x.csv" in (await bench.ok("Grep", pattern="1", path="root://data")).content
    await bench.ok("Write", path="root://data/new.txt", content="n")
    assert (data / "new.txt").read_text() == "n"


async def test_an_unknown_alias_names_the_known_ones(bench, make_bench):
    bench, _ = granted(bench, make_bench, "data")
    message = await bench.error("Read", "project.unknown_root", path="root://date/x")
    assert "root://data" in message
    assert "none" in await make_bench(workspace=Workspace([project_root(bench.folder)])).error(
        "Read", "project.unknown_root", path="root://data/x"
    )


@pytest.mark.parametrize("name", ["workspace", "uploads", "external", "skill"])
async def test_reserved_aliases_are_no_folders(bench, name):
    code = "project.not_found" if name == "workspace" else "project.unknown_root"
    for tool in ("Read", "Image"):
        await bench.error(tool, code, path=f"root://{name}/etc/hostname")


@pytest.mark.parametrize(
    ("tool", "more"), [("Write", {"content": "x"}), ("Edit", {"old_string": "1", "new_string": "2"}), ("Delete", {})]
)
async def test_24_6_writing_on_a_read_grant_is_refused(bench, make_bench, tool, more):
    bench, data = granted(bench, make_bench, "data")
    (data / "x.csv").write_text("1\n")
    message = await bench.error(tool, "project.read_only", path="root://data/x.csv", **more)
    assert "root://data" in message
    assert (data / "x.csv").read_text() == "1\n"


@posix
async def test_24_6_a_folder_that_was_replaced_by_a_link(bench, make_bench, tmp_path):
    bench, data = granted(bench, make_bench, "data", "write")
    (data / "x").write_text("1")
    data.rename(tmp_path / "elsewhere")
    data.symlink_to(tmp_path / "elsewhere")
    for tool, more in (
        ("Read", {}),
        ("Write", {"content": "2"}),
        ("Delete", {}),
        ("List", {}),
        ("Grep", {"pattern": "1"}),
    ):
        await bench.error(tool, "project.root_changed", path="root://data/x", **more)
    assert (tmp_path / "elsewhere/x").read_text() == "1"


@posix
async def test_24_6_a_nested_link_that_leads_out(bench, make_bench, tmp_path):
    bench, data = granted(bench, make_bench, "data", "write")
    (tmp_path / "secret.txt").write_text("s")
    (data / "up").symlink_to(tmp_path)
    for tool, more in (("Read", {}), ("Write", {"content": "2"}), ("Delete", {}), ("Edit", {"old_string": "s"})):
        await bench.error(tool, "project.out_of_bounds", path="root://data/up/secret.txt", **more)
    assert (tmp_path / "secret.txt").read_text() == "s"


def test_the_longest_root_owns_an_absolute_path(bench, tmp_path):
    inner = bench.folder / "skills"
    inner.mkdir()
    skills = Root("skill", inner, prefix="skill://", follow_links=True)
    desk = ProjectDesk(
        workspace=Workspace([project_root(bench.folder), skills]), save_file=bench.desk.save_file, call_name=str
    )
    assert resolve(desk, f"{inner}/a/SKILL.md").logical == "skill://a/SKILL.md"
    for spelled in ("skill:a/SKILL.md", "skill://a/SKILL.md"):
        assert resolve(desk, spelled).logical == "skill://a/SKILL.md"
    with pytest.raises(ToolError) as error:
        resolve(desk, f"{inner}/a/SKILL.md", "write")
    assert error.value.code == "project.read_only"


async def test_no_skills(bench):
    assert "no skills" in await bench.error("Read", "project.unknown_root", path="skill://a/SKILL.md")


@pytest.mark.parametrize("path", ["/etc/passwd", "~root/x", "/"])
async def test_absolute_paths_outside(bench, path):
    for tool, more in (
        ("Read", {}),
        ("Write", {"content": ""}),
        ("Delete", {}),
        ("List", {}),
        ("Grep", {"pattern": "x"}),
    ):
        result = await bench.call(tool, path=path, **more)
        if path.startswith("/"):
            assert result.error_code == "project.out_of_bounds", result
            assert "Folders: . (the project)" in result.content


# ---- §4.3, §4.4 guidance


async def test_did_you_mean(bench):
    for name in ("README.md", "readme_old.md", "src/main.py", "src/maim.py", "src/mainframe.py", "src/other.py"):
        bench.put(name, "x")
    message = await bench.error("Read", "project.not_found", path="readme.md")
    assert "Did you mean: README.md" in message
    message = await bench.error("Read", "project.not_found", path="src/mian.py")
    assert "src/maim.py" in message or "src/main.py" in message
    assert "other" not in message
    assert "src/main.py" in await bench.error("Read", "project.not_found", path="src/main.pyx")


async def test_at_most_five_candidates(bench):
    for number in range(9):
        bench.put(f"report{number}.md", "x")
    message = await bench.error("Read", "project.not_found", path="report.md")
    assert message.count("report") == 6


async def test_without_candidates_a_search_is_proposed(bench):
    assert "Glob, pattern **/nothing.py" in await bench.error("Read", "project.not_found", path="a/b/nothing.py")
    assert "{x}" in await bench.error("Read", "project.not_found", path="{x}")


async def test_advice_names_only_tools_that_are_bound(make_bench):
    alone = make_bench(call_name=lambda tool: None)
    message = await alone.error("Read", "project.not_found", path="nothing")
    assert message == '"nothing" does not exist.'


@given(st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_edit_distance(a, b):
    def slow(x, y):
        if not x or not y:
            return len(x) + len(y)
        return min(slow(x[1:], y) + 1, slow(x, y[1:]) + 1, slow(x[1:], y[1:]) + (x[0] != y[0]))

    assert edit_distance(a, b) == slow(a, b) or (slow(a, b) > 2 and edit_distance(a, b) > 2)


def test_candidates_of_a_root_are_none(bench):
    assert candidates(bench.desk, resolve(bench.desk, ".")) == []


async def test_a_folder_where_a_file_is_needed(bench):
    (bench.folder / "src").mkdir()
    assert "List" in await bench.error("Read", "project.not_a_file", path="src")
    assert "name a file below it" in await bench.error("Write", "project.not_a_file", path="src", content="x")
    assert await bench.error("Edit", "project.not_a_file", path="src", old_string="x")
    assert await bench.error("Write", "project.not_a_file", path=".", content="x")


async def test_a_file_where_a_folder_is_needed(bench):
    bench.put("a", "x")
    assert await bench.error("Write", "project.invalid_path", path="a/b", content="x")
    assert await bench.error("Read", "project.not_found", path="a/b")


# ---- sealed places


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/pre-commit",
        ".git/config",
        ".GIT/config",
        "sub/.git/x",
        "nb.agent/permissions.json",
        "NB.Agent/runs/x/run.json",
        ".git",
    ],
)
async def test_git_and_agent_folders_are_not_changed(bench, path):
    file = bench.put(path, "old")
    await bench.error("Write", "project.protected", path=path, content="new")
    await bench.error("Edit", "project.protected", path=path, old_string="old", new_string="new")
    await bench.error("Delete", "project.protected", path=path)
    assert file.read_text() == "old"
    assert "old" in (await bench.ok("Read", path=path)).content


async def test_an_agent_folder_is_not_deleted_with_what_holds_it(bench):
    bench.put("sub/deep/nb.agent/runs/x", "record")
    message = await bench.error("Delete", "project.protected", path="sub")
    assert "deep/nb.agent" in message
    await bench.error("Delete", "project.protected", path="sub/deep/nb.agent")
    assert bench.get("sub/deep/nb.agent/runs/x") == b"record"


@posix
async def test_a_link_is_no_way_around(bench):
    bench.put("nb.agent/permissions.json", "{}")
    bench.put(".git/config", "x")
    (bench.folder / "a").symlink_to(bench.folder / "nb.agent")
    (bench.folder / "g").symlink_to(bench.folder / ".git/config")
    await bench.error("Write", "project.protected", path="a/permissions.json", content="x")
    await bench.error("Delete", "project.protected", path="a/permissions.json")
    await bench.error("Write", "project.protected", path="g", content="x")
    # The link itself is no record.
    await bench.ok("Delete", path="a")
    assert bench.get("nb.agent/permissions.json") == b"{}"


async def test_the_running_notebook_and_the_users_settings(make_bench):
    bench = make_bench()
    notebook, settings = bench.put("nb.ipynb", "{}"), bench.put("home/conf/roots.json", "{}")
    bench = make_bench(sealed=(notebook, settings.parent))
    message = await bench.error("Write", "project.protected", path="nb.ipynb", content="x")
    assert "next save" in message
    for path in ("home/conf/roots.json", "home/conf/new.json", "home/conf"):
        await bench.error("Delete", "project.protected", path=path)
    await bench.error("Delete", "project.protected", path="home")
    await bench.ok("Write", path="other.ipynb", content="{}")


def test_a_file_called_like_an_agent_folder_is_a_file(bench):
    place = resolve(bench.desk, "config.agent", "write")
    refuse_sealed(bench.desk, place, place, str(bench.folder / "config.agent"))


# ---- no spelling ever leads out


@posix
@given(st.text('ab./\\:~"rot%20wks', max_size=24) | st.text(max_size=24))
@example("..")
@example("a/..//../b")
@example("root://../x")
@example("file:///etc/passwd")
@example("workspace:../x")
@example("%2e%2e/x")
@example("file:///%2e%2e/%2e%2e/etc/passwd")
@example('"../x"')
@example("~/../x")
def test_no_spelling_leads_out(spelled):
    with TemporaryDirectory() as home:
        top = Path(home).resolve()
        (top / "project").mkdir()
        desk = ProjectDesk(workspace=Workspace([project_root(top / "project")]), save_file=str, call_name=str)
        try:
            place = resolve(desk, spelled, "write")
        except ToolError as error:
            assert error.code.startswith("project.")
            return
        real = os.path.realpath(top / "project" / os.path.join(*place.parts, ""))
        assert (real + "/").startswith(f"{top}/project/")
        assert not any(part in ("..", ".", "") or ":" in part for part in place.parts)
