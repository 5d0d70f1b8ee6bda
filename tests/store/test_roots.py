"""spec liveagent §4.5, §24.6: granted folders, pinned and failing closed."""

import os
import sys
from pathlib import Path

import pytest

from tt_kernel.domain.errors import NotFound, StorageFault, ToolError, UsageProblem
from tt_kernel.store.roots import RESERVED, RootGrants, project_root
from tt_kernel.store.workspace import Workspace

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def data(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/x.csv").write_text("1\n")
    return tmp_path / "data"


@pytest.fixture
def grants(tmp_path, project):
    return RootGrants(tmp_path / "user", project)


def files(grants, project, **rights):
    return Workspace([project_root(project), *grants.roots(**rights)])


def test_add_list_remove(grants, data, tmp_path):
    added = grants.add("data", data)
    assert added.access == "read"
    assert added.state == "active"
    assert list(grants.list()) == [added]
    assert (tmp_path / "user/roots.json").read_text().endswith("}\n")
    assert grants.remove("data") == added
    assert list(grants.list()) == []


def test_no_document_is_no_grant(grants, tmp_path):
    assert list(grants.list()) == []
    assert not (tmp_path / "user").exists()


def test_a_grant_counts_for_its_project_only(grants, data, tmp_path):
    grants.add("data", data, "write")
    (tmp_path / "other").mkdir()
    other = RootGrants(tmp_path / "user", tmp_path / "other")
    assert list(other.list()) == []
    other.add("data", data)
    assert [g.access for g in grants.list()] == ["write"]
    other.remove("data")
    assert [g.alias for g in grants.list()] == ["data"]


@pytest.mark.parametrize("alias", [*sorted(RESERVED), "", "Data", "1data", "-x", "a" * 33, "a b", "a/b", "ä"])
def test_alias_rule(grants, data, alias):
    with pytest.raises(UsageProblem) as error:
        grants.add(alias, data)
    assert error.value.code == "root.alias_invalid"
    assert repr(alias) in error.value.message


def test_the_longest_alias(grants, data):
    assert grants.add("a" * 32, data).alias == "a" * 32


def test_only_a_folder_that_exists(grants, data):
    for path in (data / "x.csv", data / "missing"):
        with pytest.raises(UsageProblem) as error:
            grants.add("data", path)
        assert error.value.code == "root.not_a_folder"


def test_one_alias_one_folder(grants, data, tmp_path):
    grants.add("data", data)
    (tmp_path / "more").mkdir()
    with pytest.raises(UsageProblem) as error:
        grants.add("data", tmp_path / "more")
    assert error.value.code == "root.alias_taken"


def test_access_can_be_changed(grants, data):
    grants.add("data", data)
    grants.add("data", data, "write")
    assert [g.access for g in grants.list()] == ["write"]


def test_not_the_project_and_nothing_in_it(grants, project):
    (project / "sub").mkdir()
    for path in (project, project / "sub"):
        with pytest.raises(UsageProblem) as error:
            grants.add("data", path)
        assert error.value.code == "root.overlaps"


def test_a_parent_of_the_project_for_reading_only(grants, tmp_path):
    with pytest.raises(UsageProblem) as error:
        grants.add("up", tmp_path, "write")
    assert error.value.code == "root.overlaps"
    assert grants.add("up", tmp_path).access == "read"
    with pytest.raises(UsageProblem):
        grants.add("up", tmp_path, "write")


def test_grants_do_not_contain_one_another(grants, data):
    (data / "sub").mkdir()
    grants.add("sub", data / "sub")
    with pytest.raises(UsageProblem) as error:
        grants.add("data", data)
    assert "'sub'" in error.value.message
    grants.remove("sub")
    grants.add("data", data)
    with pytest.raises(UsageProblem):
        grants.add("sub", data / "sub")


def test_removing_what_is_not_granted_names_what_is(grants, data):
    grants.add("data", data)
    with pytest.raises(NotFound, match="Granted: data"):
        grants.remove("date")


def test_a_damaged_document_grants_nothing(grants, data, tmp_path):
    grants.add("data", data)
    (tmp_path / "user/roots.json").write_text('{"roots": [{"alias": "x"}]}')
    for use in (grants.list, grants.roots, lambda: grants.add("more", data)):
        with pytest.raises(StorageFault) as error:
            use()
        assert error.value.code == "storage.roots_damaged"
        assert "roots.json" in error.value.message


# ---- fail closed (§24.6)


def test_24_6_a_folder_replaced_by_a_link_is_refused_until_granted_again(grants, project, data, tmp_path):
    grants.add("data", data, "write")
    held = files(grants, project)
    place = held.at("data", "x.csv")
    assert held.read_text(place) == "1\n"
    data.rename(tmp_path / "secret")
    data.symlink_to(tmp_path / "secret")
    for workspace in (held, files(grants, project)):
        for use in (workspace.read_text, lambda p, w=workspace: w.write_text(p, "2"), workspace.kind):
            with pytest.raises(ToolError) as error:
                use(workspace.at("data", "x.csv"))
            assert error.value.code == "workspace.root_moved"
    assert [g.state for g in grants.list()] == ["changed"]
    with pytest.raises(UsageProblem) as problem:
        grants.add("data", data, "write")
    assert problem.value.code == "root.changed"
    grants.remove("data")
    grants.add("data", data, "write")
    assert files(grants, project).read_text(files(grants, project).at("data", "x.csv")) == "1\n"


def test_a_granted_link_whose_target_changes_is_refused(grants, project, data, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(data)
    grants.add("data", link)
    assert files(grants, project).read_text(files(grants, project).at("data", "x.csv")) == "1\n"
    (tmp_path / "other").mkdir()
    (tmp_path / "other/x.csv").write_text("secret")
    link.unlink()
    link.symlink_to(tmp_path / "other")
    with pytest.raises(ToolError) as error:
        files(grants, project).read_text(files(grants, project).at("data", "x.csv"))
    assert error.value.code == "workspace.root_moved"


def test_a_folder_that_is_gone_is_refused_and_not_made_anew(grants, project, data):
    grants.add("data", data, "write")
    (data / "x.csv").unlink()
    data.rmdir()
    assert [g.state for g in grants.list()] == ["missing"]
    workspace = files(grants, project)
    with pytest.raises(ToolError) as error:
        workspace.write_text(workspace.at("data", "new.txt"), "x")
    assert error.value.code == "workspace.root_moved"
    assert not data.exists()


def test_24_6_a_link_inside_that_leads_out_is_refused(grants, project, data, tmp_path):
    (tmp_path / "secret.txt").write_text("s")
    os.symlink(tmp_path, data / "up")
    os.symlink(data / "x.csv", data / "inside")
    grants.add("data", data, "write")
    workspace = files(grants, project)
    assert workspace.read_text(workspace.at("data", "inside")) == "1\n"
    for path in ("up/secret.txt", "up"):
        with pytest.raises(ToolError) as error:
            workspace.read_text(workspace.at("data", path))
        assert error.value.code == "workspace.invalid_path"


def test_rights(grants, project, data, tmp_path):
    (tmp_path / "more").mkdir()
    grants.add("data", data, "write")
    grants.add("more", tmp_path / "more")
    rights = {root.name: root.writable for root in grants.roots()}
    assert rights == {"data": True, "more": False}
    # Sub-agents: always read, even when the parent has write.
    assert {root.writable for root in grants.roots(read_only=True)} == {False}


def test_how_paths_are_shown(grants, project, data):
    grants.add("data", data)
    workspace = files(grants, project)
    assert workspace.at("data", "x.csv").logical == "root://data/x.csv"
    assert workspace.at("data", ".").logical == "root://data"
    assert workspace.at("workspace", "a/b").logical == "a/b"
    assert workspace.at("workspace", ".").logical == "."


def test_the_path_is_kept_absolute(grants, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grant = grants.add("data", Path("data"))
    assert grant.path == str(data)
