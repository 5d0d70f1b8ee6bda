"""spec liveagent §5.10: what was there before a change is kept, and put back; conflicts are found first."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tt_kernel.domain.canonical import digest_bytes
from tt_kernel.domain.ids import CallId
from tt_kernel.store import preimages as module
from tt_kernel.store.preimages import PreImages, read_changes
from tt_kernel.store.rewind import RewindConflict, plan, rewind
from tt_kernel.store.roots import RootGrants, project_root
from tt_kernel.store.workspace import Workspace

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and modes need POSIX")


class Project:
    """A project, and a run that changes it the way the tools do."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "project"
        self.folder.mkdir()
        self.kept = home / "checkpoints"
        self.workspace = Workspace([project_root(self.folder)])
        self.checkpoints = PreImages(lambda: self.kept)
        self.calls = 0

    def put(self, path, content=b"x"):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    def write(self, path, content, workspace=None, root="workspace"):
        workspace = workspace or self.workspace
        place = workspace.at(root, path)
        self.calls += 1
        disk = str(workspace.disk_path(place))
        kept = self.checkpoints.before_writing(place, disk, digest_bytes(content), CallId(str(self.calls)), "Write")
        workspace.write_bytes(place, content)
        return kept

    def delete(self, path):
        place = self.workspace.at("workspace", path)
        self.calls += 1
        kept = self.checkpoints.before_deleting(
            place, self.workspace.entry_path(place), CallId(str(self.calls)), "Delete"
        )
        self.workspace.remove(place)
        return kept

    def tree(self):
        found = {}
        for path in sorted(self.folder.rglob("*")):
            name = str(path.relative_to(self.folder))
            found[name] = (
                ("->", os.readlink(path)) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            )
        return found

    def rewind(self, **options):
        return rewind(self.kept, self.workspace, **options)


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_everything_goes_back(project):
    project.put("edited.txt", b"old")
    project.put("deleted.txt", b"gone")
    project.put("d/e/f.txt", b"deep")
    before = project.tree()
    project.write("edited.txt", b"new")
    project.write("edited.txt", b"newer")
    project.delete("deleted.txt")
    project.write("created/in/folders.txt", b"c")
    project.delete("d")
    done = project.rewind()
    assert project.tree() == before
    assert set(done.restored) == {"edited.txt", "deleted.txt", "created/in/folders.txt", "d"}
    assert done.kept == ()


def test_a_second_rewind_finds_nothing_to_do(project):
    project.put("a", b"1")
    project.put("d/x", b"1")
    project.write("a", b"2")
    project.delete("d")
    project.write("new", b"n")
    before_that = project.rewind()
    tree = project.tree()
    again = project.rewind()
    assert len(before_that.restored) == 3
    assert again.restored == ()
    assert set(again.unchanged) == {"a", "d", "new"}
    assert project.tree() == tree


def test_no_checkpoints_is_nothing_to_do(project):
    assert project.rewind().restored == ()
    assert plan(project.kept, project.workspace) == []


# ---- conflicts


def test_a_file_that_was_changed_since_is_a_conflict_and_nothing_is_touched(project):
    project.put("a", b"1")
    project.put("b", b"1")
    project.write("a", b"2")
    project.write("b", b"2")
    project.put("a", b"mine")
    with pytest.raises(RewindConflict) as error:
        project.rewind()
    assert error.value.code == "rewind.conflict"
    assert "a: it was changed since" in error.value.message
    assert project.tree() == {"a": b"mine", "b": b"2"}


def test_conflicts_can_be_kept_or_overwritten(project):
    project.put("a", b"1")
    project.put("b", b"1")
    project.write("a", b"2")
    project.write("b", b"2")
    project.put("a", b"mine")
    done = project.rewind(on_conflict="keep")
    assert done.kept == (("a", "it was changed since"),)
    assert project.tree() == {"a": b"mine", "b": b"1"}
    done = project.rewind(on_conflict="overwrite")
    assert project.tree() == {"a": b"1", "b": b"1"}
    assert done.restored == ("a",)


def test_a_file_that_is_gone_is_a_conflict(project):
    project.put("a", b"1")
    project.write("a", b"2")
    (project.folder / "a").unlink()
    with pytest.raises(RewindConflict, match="it is gone by now"):
        project.rewind()
    project.rewind(on_conflict="overwrite")
    assert project.tree() == {"a": b"1"}


def test_a_file_that_came_back_in_place_of_a_deleted_one(project):
    project.put("a", b"1")
    project.delete("a")
    project.put("a", b"mine")
    with pytest.raises(RewindConflict):
        project.rewind()
    assert project.rewind(on_conflict="keep").kept
    assert project.tree() == {"a": b"mine"}


def test_who_put_it_back_by_hand_has_no_conflict(project):
    project.put("a", b"1")
    project.write("a", b"2")
    project.put("a", b"1")
    assert project.rewind().unchanged == ("a",)


def test_a_folder_in_place_of_a_deleted_folder(project):
    project.put("d/x", b"1")
    project.delete("d")
    project.put("d/y", b"mine")
    with pytest.raises(RewindConflict, match="d: it was changed since"):
        project.rewind()
    assert project.rewind(on_conflict="overwrite").kept == (("d", "a folder is in its place"),)
    assert project.tree() == {"d": None, "d/y": b"mine"}


def test_a_changed_file_in_a_folder_that_was_deleted_later(project):
    project.put("d/x", b"1")
    project.write("d/x", b"2")
    project.delete("d")
    project.rewind()
    assert project.tree() == {"d": None, "d/x": b"1"}


def test_a_new_file_in_a_new_folder_that_was_deleted_later(project):
    project.write("d/x", b"1")
    project.delete("d")
    project.write("d", b"a file now")
    project.rewind()
    assert project.tree() == {}


def test_folders_that_hold_something_else_by_now_stay(project):
    project.write("d/e/x", b"1")
    project.put("d/mine", b"m")
    project.rewind()
    assert project.tree() == {"d": None, "d/mine": b"m"}


# ---- what is kept, and how


@posix
def test_links_and_modes(project):
    script = project.put("run.sh", b"#!")
    script.chmod(0o750)
    (project.folder / "link").symlink_to("run.sh")
    (project.folder / "dangling").symlink_to("/nowhere/at/all")
    project.put("d/x", b"1")
    (project.folder / "d/l").symlink_to("/etc")
    before = project.tree()
    for path in ("run.sh", "link", "dangling", "d"):
        project.delete(path)
    assert project.tree() == {}
    project.rewind()
    assert project.tree() == before
    assert script.stat().st_mode & 0o777 == 0o750


def test_a_deleted_folder_is_moved_not_copied(project):
    file = project.put("d/x", b"1" * 1000)
    inode = file.stat().st_ino
    assert project.delete("d").moved
    assert (project.kept / "project/folders/1/x").stat().st_ino == inode
    project.rewind()
    assert file.stat().st_ino == inode


def test_a_folder_on_another_file_system_is_copied(project, monkeypatch):
    project.put("d/x", b"1")
    project.put("d/sub/y", b"2")
    before = project.tree()
    real = Path.rename

    def elsewhere(self, target):
        if self.is_dir():
            raise OSError(18, "Invalid cross-device link")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", elsewhere)
    assert project.delete("d").lost is None
    assert project.tree() == {}
    project.rewind()
    assert project.tree() == before


def test_nothing_of_it_is_meant_for_a_repository(project):
    project.put("secret.env", b"TOKEN=1")
    project.write("secret.env", b"")
    assert (project.kept / "project/.gitignore").read_bytes() == b"*\n"
    if os.name == "posix":
        assert (project.kept / "project").stat().st_mode & 0o077 == 0


def test_it_leaves_the_checkpoints_of_the_workspace_alone(project):
    """They lie beside it, and are meant for a repository."""
    (project.kept / "cp_000001").mkdir(parents=True)
    project.put("a", b"1")
    project.write("a", b"2")
    assert {entry.name for entry in project.kept.iterdir()} == {"cp_000001", "project"}


def test_equal_contents_are_kept_once(project):
    for name in "abc":
        project.put(name, b"same")
        project.delete(name)
    assert len(list((project.kept / "project/blobs").iterdir())) == 1
    project.rewind()
    assert set(project.tree()) == {"a", "b", "c"}


def test_it_moves_with_the_runs_folder(project, tmp_path):
    project.put("a", b"1")
    project.write("a", b"2")
    shutil.move(project.kept, tmp_path / "moved")
    project.kept = tmp_path / "moved"
    project.write("a", b"3")
    project.rewind()
    assert project.tree() == {"a": b"1"}


def test_an_index_that_was_cut_off_anywhere_still_opens(project):
    for number in range(3):
        project.put(f"f{number}", b"1")
        project.write(f"f{number}", b"2")
    index = project.kept / "project/index.jsonl"
    data = index.read_bytes()
    lengths = set()
    for cut in range(len(data) + 1):
        index.write_bytes(data[:cut])
        lengths.add(len(read_changes(project.kept)))
    assert lengths == {0, 1, 2, 3}


# ---- limits (32 MiB per file, 512 MiB per run, 10 000 records)


def test_5_10_the_limits():
    assert module.MAX_FILE_BYTES == 32 << 20
    assert module.MAX_TOTAL_BYTES == 512 << 20
    assert module.MAX_RECORDS == 10_000


def test_a_file_over_the_limit_is_told_and_its_rewind_refused(project, monkeypatch):
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 1 << 20)
    project.put("big", b"x" * ((1 << 20) + 1))
    project.put("small", b"1")
    assert project.write("big", b"new").lost == "it is larger than 1 MiB"
    project.write("small", b"2")
    with pytest.raises(RewindConflict, match="big: its former content was not kept: it is larger than 1 MiB"):
        project.rewind()
    done = project.rewind(on_conflict="overwrite")
    assert done.restored == ("small",)
    assert project.tree() == {"big": b"new", "small": b"1"}


def test_the_limit_of_a_run(project, monkeypatch):
    monkeypatch.setattr(module, "MAX_TOTAL_BYTES", 2 << 20)
    for name in "abc":
        project.put(name, name.encode() * (1 << 20))
    assert [project.delete(name).lost for name in "abc"] == [None, None, "2 MiB were kept already"]
    project.put("d/x", b"x")
    assert "2 MiB" in project.delete("d").lost


def test_a_folder_over_the_limit_is_deleted_all_the_same_and_told(project, monkeypatch):
    monkeypatch.setattr(module, "MAX_RECORDS", 5)
    for number in range(7):
        project.put(f"d/{number}")
    kept = project.delete("d")
    assert kept.lost == "it holds more than 5 entries"
    assert not kept.moved
    assert project.tree() == {}
    with pytest.raises(RewindConflict, match="more than 5 entries"):
        project.rewind()


def test_too_many_changes(project, monkeypatch):
    monkeypatch.setattr(module, "MAX_RECORDS", 2)
    for number in range(3):
        kept = project.write(f"f{number}", b"1")
    assert "more than 2 times" in kept.lost
    assert len(read_changes(project.kept)) == 2


def test_a_full_disk_never_blocks_a_change(project, full_disk):
    project.put("a", b"1" * 50_000)
    project.put("d/x", b"1")
    project.checkpoints = PreImages(lambda: full_disk / "checkpoints")
    assert "No space left" in project.write("a", b"2").lost
    assert project.delete("d").lost
    assert project.tree() == {"a": b"2"}


def test_a_change_that_failed_is_taken_back(project):
    project.put("a", b"1")
    place = project.workspace.at("workspace", "a")
    kept = project.checkpoints.before_writing(
        place, str(project.folder / "a"), digest_bytes(b"2"), CallId("1"), "Write"
    )
    kept.withdraw()
    assert read_changes(project.kept) == []
    project.put("d/x", b"1")
    doomed = project.workspace.at("workspace", "d")
    kept = project.checkpoints.before_deleting(doomed, str(project.folder / "d"), CallId("2"), "Delete")
    assert not (project.folder / "d").exists()
    kept.withdraw()
    assert project.tree() == {"a": b"1", "d": None, "d/x": b"1"}


# ---- granted folders


def test_a_folder_that_is_not_granted_any_more(project, tmp_path):
    (tmp_path / "data").mkdir()
    grants = RootGrants(tmp_path / "user", project.folder)
    grants.add("data", tmp_path / "data", "write")
    workspace = Workspace([project_root(project.folder), *grants.roots()])
    project.write("x", b"1", workspace, "data")
    project.write("y", b"1", workspace)
    with pytest.raises(RewindConflict, match="root://data is not granted any more"):
        project.rewind()
    assert project.rewind(on_conflict="keep").restored == ("y",)
    assert rewind(project.kept, workspace).restored == ("root://data/x",)
    assert os.listdir(tmp_path / "data") == []


@posix
def test_a_parent_that_became_a_link_is_not_followed_out(project, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x").write_bytes(b"2")
    project.put("d/x", b"1")
    project.write("d/x", b"2")
    shutil.rmtree(project.folder / "d")
    (project.folder / "d").symlink_to(tmp_path / "outside")
    with pytest.raises(RewindConflict):
        project.rewind()
    assert project.rewind(on_conflict="overwrite").restored == ()
    assert (tmp_path / "outside/x").read_bytes() == b"2"


# ---- whatever a run does


PATHS = st.sampled_from(["a", "d/x", "d/y", "d/e/z", "f/g"])
STEPS = st.lists(
    st.tuples(st.just("write"), PATHS, st.sampled_from([b"1", b"2", b""]))
    | st.tuples(st.just("delete"), PATHS | st.sampled_from(["d", "f", "d/e"]), st.just(b"")),
    max_size=8,
)


@settings(max_examples=150)
@given(st.dictionaries(PATHS, st.sampled_from([b"1", b"old"]), max_size=5), STEPS)
def test_a_rewind_brings_back_what_was_there(tmp_path_factory, files, steps):
    project = Project(tmp_path_factory.mktemp("rewind"))
    for path, content in files.items():
        project.put(path, content)
    before = project.tree()
    for kind, path, content in steps:
        disk = project.folder / path
        if kind == "write" and not disk.is_dir():
            project.write(path, content)
        elif kind == "delete" and disk.exists():
            project.delete(path)
    project.rewind()
    assert project.tree() == before
