"""spec tauritavern §7.4: immutable versions, published by success only, conflicts told, deletions honoured."""

import pytest

from tt_kernel.domain.errors import NotFound, StorageFault
from tt_kernel.store.persist import PersistShelf, listing

NOW = "2999-01-01T00:00:00Z"


def work(tmp_path, name, **files):
    folder = tmp_path / name
    for path, text in files.items():
        place = folder / path.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder


def test_a_first_version_and_a_second_from_it(tmp_path):
    shelf = PersistShelf(tmp_path / "persist")
    first = shelf.publish("r1", work(tmp_path, "a", notes="one", sub__deep="x"), None, NOW)
    assert (first.state, first.is_new, first.conflict) == ("r1", True, None)
    copy = tmp_path / "b"
    shelf.project("r1", copy)
    assert listing(copy) == listing(tmp_path / "a")
    (copy / "notes").unlink()
    second = shelf.publish("r2", copy, "r1", NOW)
    assert second.state == "r2"
    assert set(shelf.manifest("r2").files) == {"sub/deep"}, "deletions are honoured"
    assert set(shelf.manifest("r1").files) == {"notes", "sub/deep"}, "versions are immutable"


def test_what_did_not_change_is_no_new_version(tmp_path):
    shelf = PersistShelf(tmp_path / "persist")
    shelf.publish("r1", work(tmp_path, "a", notes="one"), None, NOW)
    copy = tmp_path / "b"
    shelf.project("r1", copy)
    assert shelf.publish("r2", copy, "r1", NOW).state == "r1"
    assert shelf.publish("r3", tmp_path / "nothing", None, NOW).state is None
    assert [p.name for p in (tmp_path / "persist").iterdir()] == ["r1"]


def test_two_runs_from_one_base_are_a_conflict_and_both_are_kept(tmp_path):
    shelf = PersistShelf(tmp_path / "persist")
    assert shelf.publish("r1", work(tmp_path, "a", notes="one"), None, NOW).conflict is None
    late = shelf.publish("r2", work(tmp_path, "b", notes="two"), None, "2000")
    assert (late.state, late.conflict) == ("r2", "r1")
    assert shelf.manifest("r2").files != shelf.manifest("r1").files


def test_a_regenerated_run_is_no_conflict(tmp_path):
    shelf = PersistShelf(tmp_path / "persist")
    shelf.publish("r1", work(tmp_path, "a", notes="one"), None, NOW)
    assert shelf.publish("r1.2", work(tmp_path, "b", notes="two"), None, NOW).conflict is None


def test_the_digest_is_of_the_content(tmp_path):
    shelf = PersistShelf(tmp_path / "persist")
    shelf.publish("r1", work(tmp_path, "a", notes="one"), None, NOW)
    shelf.publish("r2", work(tmp_path, "b", notes="one"), "r1", NOW)
    shelf.publish("r3", work(tmp_path, "c", notes="one"), None, NOW)
    assert shelf.content_digest("r1") == shelf.content_digest("r3")
    assert shelf.content_digest(None) != shelf.content_digest("r1")


def test_an_unknown_or_unfinished_state_is_said_so(tmp_path):
    shelf = PersistShelf(tmp_path / "persist")
    (tmp_path / "persist" / "half").mkdir(parents=True)
    for state in ("none", "half"):
        with pytest.raises(NotFound, match=state):
            shelf.project(state, tmp_path / "x")
    assert shelf.rivals(None, "2000") == set()


def test_a_folder_that_cannot_be_written_publishes_nothing(tmp_path):
    (tmp_path / "persist").write_text("a file is in the way")
    with pytest.raises(StorageFault):
        PersistShelf(tmp_path / "persist").publish("r1", work(tmp_path, "a", notes="one"), None, NOW)
