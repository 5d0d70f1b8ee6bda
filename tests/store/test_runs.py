"""DESIGN §4 and §7: a run folder has one writer, an id has one folder, and a full replay has none."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.errors import ContractBroken, NotFound, StorageFault
from tt_kernel.domain.events import Event
from tt_kernel.domain.runs import RunRecord
from tt_kernel.store import interruptions
from tt_kernel.store.journal import Journal, read_journal
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.locks import is_written
from tt_kernel.store.runs import RunFolder, RunIndex
from tt_kernel.store.secrets import Scrubber

ROOT = Path(__file__).parents[2]
KEY = "3fa92c17" + "0" * 56
NO_SECRETS = Scrubber()
Maker = Callable[..., RunRecord]


@pytest.fixture
def agent_folder(tmp_path: Path) -> AgentFolder:
    return AgentFolder(tmp_path / "nb.agent")


@pytest.fixture
def staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, so that a test can see what is left in it."""
    folder = tmp_path / "staging"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def finished(agent_folder: AgentFolder, record: RunRecord, events: list[Event]) -> str:
    with RunFolder.stage(NO_SECRETS) as folder, Journal(None, None, NO_SECRETS) as journal:
        folder.save(record.model_copy(update={"status": "running"}))
        run_id = folder.materialise(agent_folder, record.key)
        journal.attach(folder.layout.events, run_id)
        for event in events:
            journal.append(event)
        folder.save(record)
    return run_id


def files_of(folder: Path) -> dict[str, str]:
    return {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*") if p.is_file()}


# ---- writing


def test_a_run_that_is_only_replayed_leaves_nothing(
    agent_folder: AgentFolder, staging: Path, make_record: Maker
) -> None:
    with RunFolder.stage(NO_SECRETS) as folder:
        folder.save(make_record())
        assert list(staging.iterdir()) == []
        folder.layout.root.joinpath("a").write_text("x")
        assert len(list(staging.iterdir())) == 1
        folder.discard()
        assert list(staging.iterdir()) == []
    assert not agent_folder.root.exists()


def test_an_abandoned_staging_folder_is_deleted_with_its_owner(staging: Path) -> None:
    folder = RunFolder.stage(NO_SECRETS)
    assert folder.layout.root.is_dir()
    del folder
    assert list(staging.iterdir()) == []


def test_staged_files_and_the_record_become_the_runs_folder(
    agent_folder: AgentFolder, staging: Path, make_record: Maker
) -> None:
    with RunFolder.stage(NO_SECRETS) as folder:
        before = folder.layout
        for name in ("tool-args/inv_root/a.json", "output/deep/b.md", "input/messages.json"):
            (before.root / name).parent.mkdir(parents=True, exist_ok=True)
            (before.root / name).write_text(name)
        folder.save(make_record())
        assert folder.run_id is None
        assert folder.materialise(agent_folder, KEY) == "3fa92c17"
        assert folder.run_id == "3fa92c17"
        layout = folder.layout
        assert layout.root == agent_folder.runs / "3fa92c17"
        assert list(staging.iterdir()) == []
        assert is_written(layout.root)
    files = files_of(layout.root)
    assert sorted(files) == ["input/messages.json", "output/deep/b.md", "run.json", "tool-args/inv_root/a.json"]
    assert files["output/deep/b.md"] == "output/deep/b.md"
    assert (agent_folder.root / ".gitignore").exists()


def test_what_a_run_begins_with_waits_for_its_folder(
    agent_folder: AgentFolder, staging: Path, make_record: Maker
) -> None:
    asked = []

    def files() -> dict[str, bytes]:
        asked.append(1)
        return {"input/messages.json": b"[]\n", "input/images/a.png": b"png"}

    with RunFolder.stage(NO_SECRETS) as replayed:
        replayed.begins_with(files)
        assert (replayed.is_made, asked, list(staging.iterdir())) == (False, [], [])
    with RunFolder.stage(NO_SECRETS) as asked_for:
        asked_for.begins_with(files)
        assert sorted(files_of(asked_for.layout.root)) == ["input/images/a.png", "input/messages.json"]
    with RunFolder.stage(NO_SECRETS) as live:
        live.begins_with(files)
        live.save(make_record())
        live.materialise(agent_folder, KEY)
        assert sorted(files_of(live.layout.root)) == ["input/images/a.png", "input/messages.json", "run.json"]
    assert list(staging.iterdir()) == []
    assert len(asked) == 2


def test_a_folder_that_cannot_be_filled_is_given_back(
    agent_folder: AgentFolder, make_record: Maker, full_disk: Path
) -> None:
    ballast = full_disk / "ballast"
    os.truncate(ballast, ballast.stat().st_size - 20 * 1024)
    with RunFolder.stage(NO_SECRETS) as folder:
        folder.begins_with(lambda: {"input/a": b"small", "input/b": b"x" * 50_000})
        folder.save(make_record())
        with pytest.raises(StorageFault) as caught:
            folder.materialise(AgentFolder(full_disk / "nb.agent"), KEY)
        assert caught.value.code == "storage.full"
        assert not (full_disk / "nb.agent" / "runs" / "3fa92c17").exists()
        assert folder.materialise(agent_folder, KEY) == "3fa92c17"
        assert (folder.layout.input / "b").stat().st_size == 50_000


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="needs a second file system")
def test_files_move_over_a_border_of_file_systems(
    agent_folder: AgentFolder, make_record: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        assert os.stat(other).st_dev != os.stat(agent_folder.root.parent).st_dev
        monkeypatch.setattr(tempfile, "tempdir", other)
        with RunFolder.stage(NO_SECRETS) as folder:
            (folder.layout.root / "output" / "deep").mkdir(parents=True)
            (folder.layout.root / "output" / "deep" / "a.md").write_text("a")
            (folder.layout.root / "b").write_text("b")
            folder.save(make_record())
            folder.materialise(agent_folder, KEY)
            assert os.listdir(other) == []
            files = files_of(folder.layout.root)
    assert (files["output/deep/a.md"], files["b"]) == ("a", "b")


def test_ids_are_the_first_digits_of_the_key_and_a_number(agent_folder: AgentFolder, make_record: Maker) -> None:
    ids = []
    for _ in range(3):
        with RunFolder.stage(NO_SECRETS) as folder:
            folder.save(make_record())
            ids.append(folder.materialise(agent_folder, KEY))
    assert ids == ["3fa92c17", "3fa92c17.2", "3fa92c17.3"]
    assert [record.id for record in RunIndex(agent_folder).list()] == ids[::-1]


def test_a_key_that_is_no_digest_is_a_bug(agent_folder: AgentFolder) -> None:
    with pytest.raises(ContractBroken, match=r"\.\./\.\./x"):
        RunFolder.stage(NO_SECRETS).materialise(agent_folder, "../../x")


def test_a_run_has_one_place(agent_folder: AgentFolder) -> None:
    with RunFolder.stage(NO_SECRETS) as folder:
        folder.materialise(agent_folder, KEY)
        with pytest.raises(ContractBroken, match="3fa92c17 has its folder"):
            folder.materialise(agent_folder, KEY)


def test_a_saved_record_is_read_back(agent_folder: AgentFolder, make_record: Maker, whole_run: list[Event]) -> None:
    record = make_record(status="completed", text="Seven.", prompt="a 😀 \ud800", slot=4)
    finished(agent_folder, record, whole_run)
    finished(agent_folder, record, whole_run)
    assert RunIndex(agent_folder).load("3fa92c17.2") == record.model_copy(update={"id": "3fa92c17.2"})
    text = (agent_folder.run("3fa92c17").run_json).read_text()
    assert text.startswith('{\n  "attachments": [],')
    assert text.endswith("}\n")
    assert not is_written(agent_folder.run("3fa92c17").root)


def test_no_secret_reaches_the_record(agent_folder: AgentFolder, make_record: Maker) -> None:
    with RunFolder.stage(Scrubber({"MY_TOKEN": 'hunter2"hunter2', "X_PASSWORD": "completed"})) as folder:
        folder.save(make_record(prompt='say hunter2"hunter2'))
        folder.materialise(agent_folder, KEY)
        folder.save(make_record(prompt='say hunter2"hunter2', status="completed"))
    assert "hunter2" not in agent_folder.run("3fa92c17").run_json.read_text()
    record = RunIndex(agent_folder).load("3fa92c17")
    assert (record.prompt, record.status) == ("say [secret MY_TOKEN]", "completed")


def test_a_failed_move_leaves_a_staged_run_and_no_folder(
    agent_folder: AgentFolder, make_record: Maker, full_disk: Path, staging: Path
) -> None:
    ballast = full_disk / "ballast"
    os.truncate(ballast, ballast.stat().st_size - 20 * 1024)
    with RunFolder.stage(NO_SECRETS) as folder:
        (folder.layout.root / "a-small").write_text("small")
        (folder.layout.root / "b-large").mkdir()
        (folder.layout.root / "b-large" / "x").write_bytes(b"x" * 50_000)
        folder.save(make_record())
        with pytest.raises(StorageFault) as caught:
            folder.materialise(AgentFolder(full_disk / "nb.agent"), KEY)
        assert caught.value.code == "storage.full"
        assert str(full_disk / "nb.agent" / "runs" / "3fa92c17") in caught.value.message
        assert list((full_disk / "nb.agent" / "runs").iterdir()) == []
        assert folder.run_id is None
        assert folder.materialise(agent_folder, KEY) == "3fa92c17"
    assert (agent_folder.run("3fa92c17").root / "b-large" / "x").stat().st_size == 50_000
    assert (agent_folder.run("3fa92c17").root / "a-small").read_text() == "small"
    assert list(staging.iterdir()) == []


def test_a_read_only_place_is_named(read_only_folder: Path, make_record: Maker) -> None:
    with RunFolder.stage(NO_SECRETS) as folder:
        folder.save(make_record())
        with pytest.raises(StorageFault) as caught:
            folder.materialise(AgentFolder(read_only_folder / "nb.agent"), KEY)
    assert caught.value.code == "storage.denied"
    assert str(read_only_folder) in caught.value.message


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_does_not_delete_what_its_parent_stages() -> None:
    code = (
        "import os, sys; from tt_kernel.store.runs import RunFolder\n"
        "folder = RunFolder.stage(); root = folder.layout.root\n"
        "if os.fork() == 0: sys.exit()\n"
        "os.wait(); print(root.is_dir()); folder.discard(); print(root.is_dir())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.split() == ["True", "False"]


def test_processes_that_race_for_one_id_all_get_their_own(tmp_path: Path) -> None:
    root = tmp_path / "nb.agent"
    names, count = ["a", "b", "c", "d"], 10
    script = Path(__file__).with_name("racing_runs.py")
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(root), name, str(count)], stdout=subprocess.PIPE, text=True, env=env
        )
        for name in names
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    (tmp_path / "go").touch()
    index = RunIndex(AgentFolder(root))
    while any(process.poll() is None for process in processes):
        assert {record.status for record in index.list()} <= {"running", "completed", "interrupted"}
    ids = [process.communicate()[0].split() for process in processes]
    total = len(names) * count
    everybody = [run_id for own in ids for run_id in own]
    assert len(everybody) == total
    assert set(everybody) == {"3fa92c17", *(f"3fa92c17.{number}" for number in range(2, total + 1))}
    for name, own in zip(names, ids, strict=True):
        for number, run_id in enumerate(own):
            layout = AgentFolder(root).run(run_id)
            record = index.load(run_id)
            assert (record.id, record.model, record.prompt, record.status) == (run_id, name, str(number), "completed")
            assert (layout.root / "output" / "whose").read_text() == f"{name} {number}"
            assert [(e.seq, e.run_id) for e in read_journal(layout.events)] == [(1, run_id), (2, run_id)]


# ---- reading


def test_no_folder_is_no_runs(agent_folder: AgentFolder) -> None:
    assert RunIndex(agent_folder).list() == []
    with pytest.raises(NotFound, match=r"There is no run '3fa9': nb\.agent has no runs yet\.") as caught:
        RunIndex(agent_folder).find("3fa9")
    assert caught.value.code == "run.not_found"


def test_runs_are_listed_newest_first(agent_folder: AgentFolder, make_record: Maker) -> None:
    for number, minute in enumerate([5, 9, 1]):
        key = f"0000000{number}" + "0" * 56
        finished(agent_folder, make_record(key, status="completed", started_at=f"2026-11-30T19:0{minute}:00.000Z"), [])
    assert [record.id for record in RunIndex(agent_folder).list()] == ["00000001", "00000000", "00000002"]


def test_other_things_in_the_folder_are_no_runs(agent_folder: AgentFolder, make_record: Maker) -> None:
    finished(agent_folder, make_record(status="completed"), [])
    for name in (".ipynb_checkpoints", "notes", "3fa92c17.old", "3FA92C17"):
        (agent_folder.runs / name).mkdir()
    (agent_folder.runs / "3fa92c18").touch()
    assert [record.id for record in RunIndex(agent_folder).list()] == ["3fa92c17"]


def test_a_run_is_found_by_a_unique_beginning(agent_folder: AgentFolder, make_record: Maker) -> None:
    index = RunIndex(agent_folder)
    for key in ("3fa92c17", "3fa92c17", "3fb00000"):
        finished(agent_folder, make_record(key + "0" * 56, status="completed"), [])
    assert index.find("3fb").id == "3fb00000"
    assert index.find("3fa92c17").id == "3fa92c17"
    assert index.find("3fa92c17.2").id == "3fa92c17.2"
    with pytest.raises(NotFound, match=r"'3f': 3fa92c17, 3fa92c17\.2, 3fb00000\. Write the whole id") as caught:
        index.find("3f")
    assert caught.value.code == "run.ambiguous"


@pytest.mark.parametrize("wanted", ["3fa92c71", "", "zzz", "../3fa92c17", "3fa92c17/", "3fa92c17\n", "."])
def test_an_unknown_run_names_the_nearest(wanted: str, agent_folder: AgentFolder, make_record: Maker) -> None:
    finished(agent_folder, make_record(status="completed"), [])
    for look in (RunIndex(agent_folder).find, RunIndex(agent_folder).load):
        with pytest.raises(NotFound, match=re.escape(f"There is no run {wanted!r}. Nearest: 3fa92c17.")):
            look(wanted)


def test_a_run_that_begins_while_it_is_looked_at_is_not_damaged(
    agent_folder: AgentFolder, make_record: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look for its record and the look for its writer, it takes the lock and writes the record."""
    writer = RunFolder.stage(NO_SECRETS)
    writer.save(make_record(status="running"))
    layout = agent_folder.run("3fa92c17")
    layout.root.mkdir(parents=True)  # claimed

    def begins(path: Path) -> bool:
        if not layout.run_json.exists():
            layout.root.rmdir()
            writer.materialise(agent_folder, KEY)
            return False
        return is_written(path)

    monkeypatch.setattr(interruptions, "is_written", begins)
    assert RunIndex(agent_folder).load("3fa92c17").status == "running"
    writer.release()
    assert RunIndex(agent_folder).load("3fa92c17").status == "interrupted"


# ---- damaged


GOOD = "00000001" + "0" * 56


def check_others(agent_folder: AgentFolder) -> RunRecord:
    """The record of the damaged run; the good one beside it is listed as ever."""
    records = {record.id: record for record in RunIndex(agent_folder).list()}
    assert set(records) == {"3fa92c17", "00000001"}
    assert records["00000001"].status == "completed"
    return records["3fa92c17"]


@pytest.fixture
def two_runs(agent_folder: AgentFolder, make_record: Maker, whole_run: list[Event]) -> AgentFolder:
    finished(agent_folder, make_record(status="completed", text="Seven.\n"), whole_run)
    finished(agent_folder, make_record(GOOD, status="completed"), whole_run)
    return agent_folder


def test_a_record_cut_at_any_byte_is_rebuilt_from_the_journal(two_runs: AgentFolder) -> None:
    path = two_runs.run("3fa92c17").run_json
    whole = path.read_bytes()
    for size in range(len(whole) - 2):
        path.write_bytes(whole[:size])
        record = check_others(two_runs)
        assert record.problem is not None
        assert record.problem.code == "storage.record_damaged"
        assert (record.status, record.text, record.prompt) == ("completed", "Seven.\n", "What is it?")
        assert (record.model, record.profile.id, record.key) == ("scripted:x", "assistant", KEY)
        assert (record.turns, record.tool_calls, record.usage.input_tokens) == (1, 1, 10)


@given(rubbish=st.binary(max_size=60))
def test_rubbish_for_a_record_hides_nothing(
    rubbish: bytes, tmp_path_factory: pytest.TempPathFactory, make_record: Maker, whole_run: list[Event]
) -> None:
    agent_folder = AgentFolder(tmp_path_factory.mktemp("rubbish") / "nb.agent")
    finished(agent_folder, make_record(status="completed"), whole_run)
    finished(agent_folder, make_record(GOOD, status="completed"), whole_run)
    agent_folder.run("3fa92c17").run_json.write_bytes(rubbish)
    assert check_others(agent_folder).prompt == "What is it?"


def test_conflict_marks_of_git_hide_nothing(two_runs: AgentFolder) -> None:
    path = two_runs.run("3fa92c17").run_json
    path.write_text("<<<<<<< HEAD\n" + path.read_text() + "=======\n{}\n>>>>>>> other\n")
    assert check_others(two_runs).status == "completed"


def test_a_run_without_record_and_journal_says_so(two_runs: AgentFolder) -> None:
    layout = two_runs.run("3fa92c17")
    layout.run_json.write_text("{")
    layout.events.unlink()
    record = check_others(two_runs)
    assert record.status == "failed"
    assert record.problem is not None
    assert record.problem.code == "storage.record_damaged"
    assert "There is no journal either" in record.problem.message


def test_a_journal_that_cannot_be_read_hides_nothing(two_runs: AgentFolder) -> None:
    layout = two_runs.run("3fa92c17")
    layout.run_json.unlink()
    layout.events.unlink()
    layout.events.mkdir()
    assert check_others(two_runs).status == "interrupted"


def test_a_record_of_a_later_version_is_rebuilt(two_runs: AgentFolder) -> None:
    path = two_runs.run("3fa92c17").run_json
    path.write_text(path.read_text().replace('"schemaVersion": 1', '"schemaVersion": 2'))
    assert check_others(two_runs).problem is not None
