"""spec tauritavern §7.7, §10.4."""

import json

import pytest

from tt_kernel.domain.errors import NotFound
from tt_kernel.store.layout import RunLayout
from tt_kernel.store.run_checkpoints import CheckpointState, Progress, RunCheckpoints


@pytest.fixture
def layout(tmp_path):
    layout = RunLayout(tmp_path)
    (tmp_path / "output" / "sub").mkdir(parents=True)
    (tmp_path / "output" / "sub" / "a.md").write_text("one")
    return layout


def take(layout, seq=1, reason="commit"):
    return RunCheckpoints(layout).take(
        run="aaaaaaaa",
        terminal_seq=seq,
        reason=reason,
        state=CheckpointState(foreground=True),
        progress=Progress(turn=1, step="tools"),
    )


def test_names_count_from_one_and_files_are_copied(layout):
    assert [take(layout).id, take(layout).id] == ["cp_000001", "cp_000002"]
    assert (layout.checkpoints / "cp_000001" / "files" / "output" / "sub" / "a.md").read_text() == "one"
    assert RunCheckpoints(layout).latest().id == "cp_000002"


def test_restoring_brings_back_and_takes_away(layout):
    take(layout)
    (layout.root / "output" / "sub" / "a.md").write_text("two")
    (layout.root / "output" / "new").write_text("x")
    (layout.root / "plan").mkdir()
    (layout.root / "plan" / "p").write_text("x")
    RunCheckpoints(layout).restore("cp_000001")
    assert [p.name for p in sorted(layout.root.glob("output/**/*")) if p.is_file()] == ["a.md"]
    assert (layout.root / "output" / "sub" / "a.md").read_text() == "one"
    assert not (layout.root / "plan").exists()


def test_an_unfinished_checkpoint_does_not_count(layout):
    take(layout)
    (layout.checkpoints / "cp_000002" / "files").mkdir(parents=True)
    assert RunCheckpoints(layout).ids() == ["cp_000001"]
    assert take(layout).id == "cp_000002"


def test_an_unknown_one_names_those_there_are(layout):
    take(layout)
    with pytest.raises(NotFound, match="cp_000001"):
        RunCheckpoints(layout).restore("cp_000009")


def test_retired_counters_are_ignored_on_read(layout):
    """spec tauritavern §10.4, §23(18)."""
    take(layout)
    path = layout.checkpoints / "cp_000001" / "checkpoint.json"
    document = json.loads(path.read_text())
    document["progress"] |= {"roundCount": 3, "callsPerTool": {"x": 1}}
    document["state"]["callCount"] = 9
    path.write_text(json.dumps(document))
    assert RunCheckpoints(layout).load("cp_000001").progress.turn == 1


def test_a_damaged_one_is_a_mismatch(layout):
    take(layout)
    (layout.checkpoints / "cp_000001" / "checkpoint.json").write_text('{"schemaVersion": 1}')
    with pytest.raises(NotFound) as caught:
        RunCheckpoints(layout).load("cp_000001")
    assert caught.value.code == "agent.checkpoint_mismatch"
