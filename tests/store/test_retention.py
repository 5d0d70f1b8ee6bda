"""spec tauritavern §7.8: keep 100 runs, 20 of them in full; a plan first; blocked and failed runs are told."""

import pytest
from pydantic import ValidationError

from tt_kernel.domain.ids import Digest, RunId
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.runs import RunRecord
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.retention import HEAVY, Retention, carry_out, plan_prune


def record(name, **fields):
    return RunRecord(
        id=RunId(name), key=Digest(name), slot=1, profile=Profile(id="p", display_name="P"), model="m:x", prompt="p", mode="auto",
        seed=1, started_at="2026", **({"status": "completed"} | fields),
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    return AgentFolder(tmp_path / "nb.agent")


def make(folder, *records):
    for r in records:
        for name in (*HEAVY, "output"):
            place = folder.run(r.id).root / name
            place.mkdir(parents=True)
            (place / "x").write_text("12345")
        (folder.run(r.id).root / "run.json").write_text("{}")
    return list(records)


def test_the_defaults_are_the_specifications():
    assert (Retention().keep_runs, Retention().keep_full) == (100, 20)


@pytest.mark.parametrize("number", [-1, 10_001])
def test_the_range_is_0_to_10000(number):
    with pytest.raises(ValidationError):
        Retention(keep_runs=number)
    with pytest.raises(ValidationError):
        Retention(keep_full=number)


def test_a_plan_changes_nothing_and_then_does_what_it_says(folder):
    records = make(folder, *(record(f"0000000{n}") for n in range(4)))
    plan = plan_prune(folder, records, Retention(keep_runs=3, keep_full=1))
    assert [(s.run, s.action) for s in plan.steps] == [
        ("00000003", "delete"),
        ("00000001", "slim"),
        ("00000002", "slim"),
    ]
    assert plan.size == 4 * 5 + 2 + 2 * 15
    assert folder.run("00000003").root.exists()
    outcome = carry_out(folder, plan, records)
    assert outcome.done == plan.steps
    assert not folder.run("00000003").root.exists()
    assert sorted(p.name for p in folder.run("00000001").root.iterdir()) == ["output", "run.json"]
    assert (folder.run("00000000").root / "tool-results" / "x").exists()
    assert plan_prune(folder, records[:3], Retention(keep_runs=3, keep_full=1)).steps == ()


def test_running_and_referenced_runs_are_blocked(folder):
    records = make(
        folder,
        record("00000000", continue_from=RunId("00000002")),
        record("00000001", status="running"),
        record("00000002"),
        record("00000003"),
    )
    plan = plan_prune(folder, records, Retention(keep_runs=1, keep_full=1))
    assert [(s.run, s.action) for s in plan.steps] == [("00000003", "delete")]
    assert {b.run: b.reason for b in plan.blocked} == {
        "00000001": "it is still going on",
        "00000002": "run 00000000 goes on from it",
    }


def test_what_is_named_is_neither_deleted_nor_slimmed(folder):
    records = make(folder, *(record(f"0000000{n}") for n in range(3)))
    named = {"00000001": "cell 1 shows it", "00000002": "session talk has it"}
    plan = plan_prune(folder, records, Retention(keep_runs=2, keep_full=0), named)
    assert [(s.run, s.action) for s in plan.steps] == [("00000000", "slim")]
    assert {b.run: b.reason for b in plan.blocked} == named


def test_a_failure_does_not_stop_the_rest(folder):
    records = make(folder, record("00000000"), record("00000001"))
    plan = plan_prune(folder, records, Retention(keep_runs=0, keep_full=0))
    root = folder.run("00000000").root
    for path in sorted(root.rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    root.rmdir()
    root.write_text("a file where the folder was")
    outcome = carry_out(folder, plan, records)
    assert [b.run for b in outcome.failed] == ["00000000"]
    assert [s.run for s in outcome.done] == ["00000001"]
