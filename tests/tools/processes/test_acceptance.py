"""The seed's acceptance scenario: spec liveagent §6.6."""

import subprocess
import sys

TESTS = """
import time
import pytest

@pytest.mark.parametrize("number", range(40))
def test_slow(number):
    time.sleep(0.25)
    assert number >= 0
"""

COMMAND = f"{sys.executable} -m pytest -v -p no:cacheprovider --import-mode=importlib tests"


def git(project, *arguments: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    done = subprocess.run(["git", *identity, *arguments], cwd=project, capture_output=True, text=True, check=True)
    return done.stdout


def repository(project) -> None:
    (project / "tests").mkdir()
    (project / "tests" / "test_slow.py").write_text(TESTS)
    (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (project / ".gitignore").write_text("__pycache__/\n")
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "start")
    (project / "notes.txt").write_text("not yet added\n")


async def test_one_long_command_several_waits_and_the_tree_unchanged(bench) -> None:
    """`git status` recorded; one long test command started exactly once; while it runs only ProcessWait with the newest cursor
    and 60 000 ms; stop at a terminal state; `git status` compared; the facts reported.
    """
    repository(bench.project)
    before = git(bench.project, "status", "--porcelain=v1")
    assert before == "?? notes.txt\n"

    answers = [await bench.bash(COMMAND, yield_time_ms=1000)]
    cards = [answers[0]]
    waits = []
    while answers[-1].structured["status"] == "running":
        newest = answers[-1].structured
        # A shorter yield in the middle of the run, so that there are several waits; the last ones as the scenario says.
        yields = 5_000 if len(waits) < 1 else 60_000
        answers.append(await bench.wait(newest["sessionId"], cursor=newest["cursor"], yield_time_ms=yields))
        waits.append(answers[-1])
    cards += waits

    last = answers[-1]
    assert last.structured["status"] == "completed" and last.structured["exitCode"] == 0
    assert not any(answer.is_error for answer in answers)
    assert len(waits) >= 2
    assert len({answer.structured["sessionId"] for answer in answers}) == 1
    cursors = [answer.structured["cursor"] for answer in answers]
    assert cursors == sorted(cursors) and cursors[0] < cursors[-1]
    assert not any(answer.structured["outputTruncated"] for answer in answers)
    durations = [answer.details["durationMs"] for answer in answers]
    assert durations == sorted(durations) and durations[-1] >= 10_000, "since the start of Bash, never to be added up"

    output = "".join(piece["text"] for answer in answers for piece in answer.structured["output"])
    assert output.count("PASSED") == 40 and "40 passed" in output, "nothing is told twice, nothing is lost"
    assert str(bench.project) not in "".join(answer.content for answer in answers)

    # Separate cards in call order: each call has its own id, arguments and piece of output.
    assert [card.call_id for card in cards] == [f"call-{number}" for number in range(1, len(cards) + 1)]
    assert len(bench.table.sessions) == 1, "one start"
    assert git(bench.project, "status", "--porcelain=v1") == before
