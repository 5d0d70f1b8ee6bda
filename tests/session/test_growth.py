"""What a run stores grows with what is new in a turn, not with what was before it (DESIGN §7). Speed is in tests/bench."""

from .support import drive, make_session

TURN = "  - say: Again.\n    call: dice_roll\n    with: {formula: 2d6}\n"


def stored(folder, turns: int) -> int:
    session = make_session(folder, f"script: 1\nturns:\n{TURN * (turns - 1)}  - say: done\n")
    run, _ = drive(session, "go", tools=["dice.roll"])
    assert (run.status, run.view.turns) == ("completed", turns)
    return sum(path.stat().st_size for path in session.folder.root.rglob("*") if path.is_file())


def test_four_times_the_turns_are_four_times_the_bytes(tmp_path):
    short, long = stored(tmp_path / "short", 100), stored(tmp_path / "long", 400)
    assert 3.5 < long / short < 4.1
