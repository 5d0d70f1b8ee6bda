"""DESIGN §4: where everything is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tt_kernel.domain.errors import ContractBroken, StorageFault
from tt_kernel.store.layout import AgentFolder, RunLayout, user_folder


@pytest.mark.parametrize(
    ("document", "folder"),
    [
        ("analysis.ipynb", "analysis.agent"),
        ("a.b.ipynb", "a.b.agent"),
        ("script.py", "script.agent"),
        ("Tür 1", "Tür 1.agent"),
    ],
)
def test_the_folder_stands_beside_the_notebook(document: str, folder: str, tmp_path: Path) -> None:
    assert AgentFolder.for_notebook(tmp_path / document).root == tmp_path / folder


def test_every_path_of_the_design_is_inside(tmp_path: Path) -> None:
    folder = AgentFolder(tmp_path)
    paths = {
        folder.runs: "runs",
        folder.recordings: "recordings",
        folder.profiles: "profiles",
        folder.persist: "persist",
        folder.sessions: "sessions",
        folder.cache: ".cache",
        folder.worldinfo: "worldinfo",
        folder.skills: "skills",
        folder.memory: "memory",
        folder.permissions_file: "permissions.json",
        folder.mcp_file: "mcp.json",
        folder.run("3fa92c17.2").root: "runs/3fa92c17.2",
    }
    assert {path.relative_to(tmp_path).as_posix(): name for path, name in paths.items()} == {
        n: n for n in paths.values()
    }


def test_a_run_folder_has_the_parts_of_the_specification(tmp_path: Path) -> None:
    layout = RunLayout(tmp_path)
    parts = [layout.run_json, layout.events, layout.input, layout.tool_args, layout.tool_results, layout.checkpoints]
    assert [p.name for p in parts] == ["run.json", "events.jsonl", "input", "tool-args", "tool-results", "checkpoints"]
    for name in ("output", "scratch", "plan", "summaries", "persist", "tool-results"):
        assert layout.workspace_root(name) == tmp_path / name


@pytest.mark.parametrize("name", ["input", "tool-args", "..", "", "checkpoints"])
def test_what_tools_may_not_see_is_no_workspace_root(name: str, tmp_path: Path) -> None:
    with pytest.raises(ContractBroken):
        RunLayout(tmp_path).workspace_root(name)


def test_git_ignores_derived_data_and_locks_and_nothing_else(tmp_path: Path) -> None:
    folder = AgentFolder.for_notebook(tmp_path / "a.ipynb")
    folder.create()
    kept = ["runs/1/output/.cache/x", "runs/1/output/poetry.lock", "runs/1/run.json", "profiles/a.json", ".gitignore"]
    ignored = [".cache/x/y", "runs/1/.lock", "profiles/.lock"]
    for name in kept + ignored:
        (folder.root / name).parent.mkdir(parents=True, exist_ok=True)
        (folder.root / name).touch()
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    listed = subprocess.run(
        ["git", "-C", str(folder.root), "ls-files", "--others", "--exclude-standard"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert sorted(listed.stdout.split()) == sorted(kept)


def test_gitignore_belongs_to_the_user_once_it_is_written(tmp_path: Path) -> None:
    folder = AgentFolder(tmp_path / "deep" / "a.agent")
    folder.create()
    assert (folder.root / ".gitignore").exists()
    (folder.root / ".gitignore").unlink()
    folder.create()
    assert list(folder.root.iterdir()) == []


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.agent").touch()
    with pytest.raises(StorageFault, match=r"a\.agent"):
        AgentFolder(tmp_path / "a.agent").create()


def test_a_read_only_place_is_named_with_the_reason(read_only_folder: Path) -> None:
    with pytest.raises(StorageFault) as caught:
        AgentFolder(read_only_folder / "a.agent").create()
    assert caught.value.code == "storage.denied"
    assert str(read_only_folder / "a.agent") in caught.value.message
    assert "Make the folder writable" in caught.value.message


def test_the_users_documents_are_below_jupyters_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path))
    assert user_folder() == tmp_path / "tt_kernel"


def test_importing_the_store_loads_no_jupyter_and_no_locks() -> None:
    code = (
        "import sys, tt_kernel.store.runs, tt_kernel.store.results, tt_kernel.store.profiles;"
        "print([m for m in ('jupyter_core', 'filelock', 'IPython', 'asyncio') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        env=os.environ,
    )
    assert run.stdout.strip() == "[]"
