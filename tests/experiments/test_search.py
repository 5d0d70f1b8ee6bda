"""Issue 6.8: runs by words and facts; the index is rebuilt when deleted or stale."""

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support import drive, make_session

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.experiments.search import find, parse_query
from tt_kernel.experiments.search_index import SearchIndex

SCRIPT = """
script: 1
conversations:
  - when: penguin
    turns:
      - say: Let me look at the Adelie data.
        call: lookup
        with: {key: "körpergewicht"}
      - say: The answer is 3,700 grams.
  - when: broken
    turns:
      - say: x
        fail: {error: 401, times: always}
  - turns:
      - say: Echo of the request.
"""


def lookup(key: str) -> str:
    """Look a key up."""
    return "x" * 5_000 + " needle at the end"


@pytest.fixture
def session(tmp_path):
    return make_session(tmp_path, SCRIPT)


def search(session, *words):
    return find(session.folder, parse_query(words))


@pytest.fixture
def runs(session):
    penguin, _ = drive(session, "How heavy is a penguin?", functions=[lookup], tools=["lookup"])
    echo, _ = drive(session, "Say it again.", profile="writer", settings={"run.completion": "reply"})
    broken, _ = drive(session, "broken please")
    return penguin, echo, broken


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (["heavy"], "prompt"),
        (["Adelie"], "message"),
        (["körpergewicht"], "call"),
        (["needle"], "result"),  # past what the journal keeps of a long result
        (["KORPERGEWICHT"], "call"),
        (["pengu"], "prompt"),
        (["heavy", "penguin"], "prompt"),
        (["is a penguin"], "prompt"),
    ],
)
def test_every_text_is_searched(session, runs, words, where):
    (hit,) = search(session, *words)
    assert (hit.run, hit.where) == (runs[0].id, where)
    assert "[" in hit.snippet


@pytest.mark.parametrize(
    ("word", "which"),
    [
        ("tool:lookup", [0]),
        ("status:failed", [2]),
        ("profile:writer", [1]),
        ("model:script", [0, 1, 2]),
        ("model:gpt", []),
        ("since:2020", [0, 1, 2]),
        ("until:2020-01-01", []),
    ],
)
def test_filters(session, runs, word, which):
    assert {hit.run for hit in search(session, word)} == {runs[n].id for n in which}


def test_words_and_filters_together(session, runs):
    assert [hit.run for hit in search(session, "in:answer", "grams")] == [runs[0].id]
    assert search(session, "grams", "status:failed") == []


@pytest.mark.parametrize("word", ['"', "AND", "NEAR(", "a*b", "'; DROP TABLE runs; --", "col:x", "-x", "(", "^"])
def test_nothing_in_a_word_is_an_operator(session, runs, word):
    search(session, word)
    assert search(session, "heavy")


@pytest.mark.parametrize("word", ["since:yesterday", "in:nowhere"])
def test_what_makes_no_sense_is_said(word):
    with pytest.raises(UsageProblem):
        parse_query([word])


def test_a_new_run_is_found_and_a_deleted_one_is_not(session, runs):
    assert len(search(session, "Echo")) == 1
    again, _ = drive(session, "Something new.")
    assert {hit.run for hit in search(session, "Echo")} == {runs[1].id, again.id}
    import shutil

    shutil.rmtree(again.folder)
    assert [hit.run for hit in search(session, "Echo")] == [runs[1].id]


def test_a_run_that_goes_on_is_read_again(session, runs):
    folder = session.folder.run(runs[1].id)
    record = json.loads(folder.run_json.read_text())
    journal = folder.events.read_bytes()
    lines = journal.splitlines(keepends=True)
    folder.run_json.write_text(json.dumps(record | {"status": "running"}))
    (folder.root / ".lock").unlink(missing_ok=True)
    folder.events.write_bytes(b"".join(lines[:3]))
    os.utime(folder.root)
    assert search(session, "in:message", "Echo") == []
    folder.events.write_bytes(journal)  # the folder's own time stamp stays
    assert [hit.run for hit in search(session, "in:message", "Echo")] == [runs[1].id]


@pytest.mark.parametrize("harm", ["delete", "truncate", "garbage", "version"])
def test_the_index_is_derived(session, runs, harm):
    before = search(session, "penguin")
    path = SearchIndex(session.folder).path
    assert path.parent == session.folder.root / ".cache"
    if harm == "delete":
        path.unlink()
    elif harm == "truncate":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    elif harm == "garbage":
        path.write_bytes(os.urandom(4_096))
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA user_version = 99")
    assert search(session, "penguin") == before


def test_the_newest_fifty_of_many_are_listed(session, runs):
    """How long it takes with 10,000 is measured in tests/bench/bench_search.py."""
    record = json.loads(session.folder.run(runs[1].id).run_json.read_text())
    for n in range(200):
        folder = session.folder.runs / f"{n:08x}"
        folder.mkdir()
        made = record | {"id": folder.name, "prompt": f"Run {n} about alpha, number n{n}.", "text": "The answer."}
        (folder / "run.json").write_text(json.dumps(made))
    for words_asked, count in ((["n111"], 1), (["alpha", "about"], 50), (["status:failed"], 1)):
        assert len(search(session, *words_asked)) == count, words_asked


def test_a_folder_that_cannot_be_written_is_searched_too(session, runs, monkeypatch):
    """The operating system's permissions do not bind root, so it refuses by our hand."""

    def refuse(self, *_, **__):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert [hit.where for hit in search(session, "Adelie")] == ["message"]
    assert not session.folder.cache.exists()
