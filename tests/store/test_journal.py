"""Spec tauritavern §10.1: one line an event, append-only; DESIGN §4: a journal that was cut off at any byte opens."""

import json
import os
import threading
import timeit
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.calls import ToolResult
from tt_kernel.domain.errors import ContractBroken, StorageFault
from tt_kernel.domain.events import (
    CallEnded,
    Event,
    LiveText,
    ModelAttemptFailed,
    RunCancelRequested,
    RunCreated,
    RunEnded,
)
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId, builtin
from tt_kernel.store.journal import Journal, iso, now_iso, read_journal
from tt_kernel.store.secrets import Scrubber

NO_SECRETS = Scrubber()
NOW = "2026-11-30T19:03:00.123Z"


def clock() -> str:
    return NOW


def written(path: Path, events: list[Event]) -> bytes:
    with Journal("3fa92c17", path, NO_SECRETS, clock) as journal:
        for event in events:
            journal.append(event)
    return path.read_bytes()


def events_of(path: Path) -> list[Event]:
    return [envelope.event for envelope in read_journal(path)]


def test_an_envelope_has_the_fields_of_the_specification(tmp_path: Path) -> None:
    data = written(tmp_path / "events.jsonl", [RunCancelRequested(), RunEnded(type="run_failed", code="x")])
    first, second = (json.loads(line) for line in data.splitlines())
    assert first == {
        "seq": 1,
        "runId": "3fa92c17",
        "timestamp": NOW,
        "level": "info",
        "event": {"type": "run_cancel_requested"},
    }
    assert (second["seq"], second["level"]) == (2, "error")
    assert data.endswith(b"\n")


def test_what_was_written_is_read(tmp_path: Path, whole_run: list[Event]) -> None:
    written(tmp_path / "events.jsonl", whole_run)
    envelopes = read_journal(tmp_path / "events.jsonl")
    assert [envelope.event for envelope in envelopes] == whole_run
    assert [envelope.seq for envelope in envelopes] == list(range(1, len(whole_run) + 1))


def test_a_line_is_on_disk_when_append_returns(tmp_path: Path, whole_run: list[Event]) -> None:
    path = tmp_path / "events.jsonl"
    with Journal("r", path, NO_SECRETS) as journal:
        for number, event in enumerate(whole_run, start=1):
            envelope = journal.append(event)
            assert read_journal(path)[-1] == envelope
            assert (envelope.seq, journal.last_seq) == (number, number)


def test_a_failed_attempt_is_a_warning(tmp_path: Path) -> None:
    failed = ModelAttemptFailed(invocation_id=ROOT_INVOCATION, turn=1, attempt=1, code="c", message="m")
    written(tmp_path / "e", [failed])
    assert read_journal(tmp_path / "e")[0].level == "warn"


def test_live_projections_are_refused() -> None:
    with pytest.raises(ContractBroken, match="live_text"):
        Journal("r", None, NO_SECRETS).append(LiveText(invocation_id=ROOT_INVOCATION, turn=1, text="x"))


def test_timestamps_are_utc_with_milliseconds() -> None:
    assert len(now_iso()) == len(NOW)
    assert now_iso().endswith("Z")
    assert iso(__import__("datetime").datetime.fromisoformat("2026-11-30T20:03:00.123456+01:00")) == NOW


# ---- cut off, damaged


def test_a_journal_cut_at_any_byte_opens_with_its_whole_lines(tmp_path: Path, whole_run: list[Event]) -> None:
    data = written(tmp_path / "whole", whole_run)
    path = tmp_path / "cut"
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        assert events_of(path) == whole_run[: data[:size].count(b"\n")]


def test_a_journal_cut_at_any_byte_can_be_continued(tmp_path: Path, whole_run: list[Event]) -> None:
    data = written(tmp_path / "whole", whole_run)
    path = tmp_path / "cut"
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        kept = data[:size].count(b"\n")
        with Journal("3fa92c17", path, NO_SECRETS, clock) as journal:
            assert journal.last_seq == kept
            for event in whole_run[kept:]:
                journal.append(event)
        assert path.read_bytes() == data


@given(data=st.data())
def test_damage_anywhere_costs_only_the_lines_it_touches(
    data: st.DataObject, whole_run: list[Event], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    whole = written(folder / "whole", whole_run)
    start = data.draw(st.integers(0, len(whole) - 1))
    rubbish = data.draw(st.binary(min_size=1, max_size=40))
    end = min(len(whole), start + len(rubbish))
    (folder / "damaged").write_bytes(whole[:start] + rubbish + whole[end:])
    before = whole[:start].count(b"\n")
    read = events_of(folder / "damaged")
    assert read[:before] == whole_run[:before]
    last = whole_run[whole[:end].count(b"\n") + 1 :]
    assert read[len(read) - len(last) :] == last


def test_zeros_after_a_power_failure_are_dropped(tmp_path: Path, whole_run: list[Event]) -> None:
    path = tmp_path / "e"
    written(path, whole_run)
    with path.open("ab") as file:
        file.write(b"\0" * 4096)
    assert events_of(path) == whole_run


def test_a_missing_journal_is_an_empty_one_and_an_unreadable_one_is_named(tmp_path: Path) -> None:
    assert read_journal(tmp_path / "nothing") == []
    with pytest.raises(StorageFault, match=str(tmp_path)):
        read_journal(tmp_path)


def test_a_lone_surrogate_survives(tmp_path: Path) -> None:
    event = RunCreated(key="k", model="m", profile_id="p", prompt="x\ud800y 😀")
    written(tmp_path / "e", [event])
    assert events_of(tmp_path / "e") == [event]


# ---- staged


def test_waiting_lines_are_written_under_the_runs_id(tmp_path: Path, whole_run: list[Event]) -> None:
    path = tmp_path / "runs" / "3fa92c17.2" / "events.jsonl"
    with Journal(None, None, NO_SECRETS, clock) as journal:
        for event in whole_run[:3]:
            journal.append(event)
        assert not path.exists()
        journal.attach(path, "3fa92c17.2")
        for event in whole_run[3:]:
            assert journal.append(event).run_id == "3fa92c17.2"
    envelopes = read_journal(path)
    assert [envelope.event for envelope in envelopes] == whole_run
    assert {envelope.run_id for envelope in envelopes} == {"3fa92c17.2"}
    assert [envelope.seq for envelope in envelopes] == list(range(1, len(whole_run) + 1))


def test_a_full_replay_writes_nothing(tmp_path: Path, whole_run: list[Event], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Journal(None, None, NO_SECRETS) as journal:
        for event in whole_run:
            journal.append(event)
    assert list(tmp_path.iterdir()) == []


def test_attach_never_mixes_two_journals(tmp_path: Path, whole_run: list[Event]) -> None:
    data = written(tmp_path / "e", whole_run)
    journal = Journal(None, None, NO_SECRETS)
    journal.append(RunCancelRequested())
    with pytest.raises(StorageFault):
        journal.attach(tmp_path / "e", "r")
    assert (tmp_path / "e").read_bytes() == data
    journal.attach(tmp_path / "f", "r")
    with pytest.raises(ContractBroken, match="attached"):
        journal.attach(tmp_path / "g", "r")
    journal.close()
    assert events_of(tmp_path / "f") == [RunCancelRequested()]


def test_a_closed_journal_takes_no_events(tmp_path: Path) -> None:
    journal = Journal("r", tmp_path / "e", NO_SECRETS)
    journal.close()
    journal.close()
    with pytest.raises(ContractBroken, match="closed"):
        journal.append(RunCancelRequested())


# ---- disks that fail


def test_a_full_disk_is_named_and_costs_one_event(full_disk: Path) -> None:
    ballast = full_disk / "ballast"
    os.truncate(ballast, ballast.stat().st_size - 8192)
    path = full_disk / "events.jsonl"
    small = RunCancelRequested()
    large = RunEnded(type="run_failed", message="x" * 20_000)
    with Journal("r", path, NO_SECRETS) as journal:
        journal.append(small)
        with pytest.raises(StorageFault) as caught:
            journal.append(large)
        assert caught.value.code == "storage.full"
        assert str(path) in caught.value.message
        assert "No space left on device" in caught.value.message
        assert events_of(path) == [small]
        assert path.read_bytes().endswith(b"\n")
        ballast.unlink()
        assert journal.append(large).seq == 2
    assert events_of(path) == [small, large]


def test_waiting_lines_survive_a_full_disk(full_disk: Path, tmp_path: Path) -> None:
    large = RunEnded(type="run_failed", message="x" * 20_000)
    with Journal(None, None, NO_SECRETS) as journal:
        journal.append(large)
        with pytest.raises(StorageFault):
            journal.attach(full_disk / "events.jsonl", "r")
        assert not (full_disk / "events.jsonl").exists()
        journal.attach(tmp_path / "events.jsonl", "r")
    assert events_of(tmp_path / "events.jsonl") == [large]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_device_that_cannot_be_cut_is_named_too() -> None:
    journal = Journal("r", Path("/dev/full"), NO_SECRETS)
    for _ in range(2):
        with pytest.raises(StorageFault, match="Cannot write /dev/full: No space left on device"):
            journal.append(RunCancelRequested())


def test_a_read_only_place_is_named(read_only_folder: Path) -> None:
    with pytest.raises(StorageFault) as caught:
        Journal("r", read_only_folder / "events.jsonl", NO_SECRETS)
    assert caught.value.code == "storage.denied"
    assert str(read_only_folder) in caught.value.message


def test_a_torn_line_that_could_not_be_cut_does_not_take_the_next_one_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "e"
    with Journal("r", path, NO_SECRETS) as journal:
        journal.append(RunCancelRequested())
        real = os.write

        def half(descriptor: int, data: bytes) -> int:
            if real(descriptor, data[: len(data) // 2]):
                raise OSError(28, "No space left on device")
            return 0

        def refuse(descriptor: int, size: int) -> None:
            raise OSError(22, "Invalid argument")

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", half)
            patch.setattr(os, "ftruncate", refuse)
            with pytest.raises(StorageFault):
                journal.append(RunEnded(type="run_failed"))
        journal.append(RunEnded(type="run_completed"))
    assert events_of(path) == [RunCancelRequested(), RunEnded(type="run_completed")]


# ---- secrets


def test_no_secret_reaches_the_journal_and_the_line_still_opens(tmp_path: Path) -> None:
    secret = 'p"ss\\wörd-1234'
    nested = json.dumps({"a": json.dumps({"key": secret})})
    result = ToolResult(
        call_id=CallId("c"),
        tool_id=builtin("dice.roll"),
        content=f"is {secret}",
        structured={secret: [nested, 'x"' + secret]},
    )
    event = CallEnded(type="tool_call_completed", call_id=CallId("c"), tool_id=builtin("dice.roll"), result=result)
    path = tmp_path / "e"
    with Journal("r", path, Scrubber({"DB_PASSWORD": secret, "X_PASSWORD": "tool_call_completed"})) as journal:
        assert journal.append(event).event == event
    text = path.read_text()
    assert "wörd-1234" not in text
    assert "w\\u00f6rd" not in text
    (read,) = events_of(path)
    assert isinstance(read, CallEnded)
    assert read.result.content == "is [secret DB_PASSWORD]"


# ---- many writers, cost


def test_two_threads_write_whole_lines_without_gaps(tmp_path: Path) -> None:
    path = tmp_path / "e"
    with Journal("r", path, NO_SECRETS) as journal:
        threads = [
            threading.Thread(target=lambda: [journal.append(RunCancelRequested()) for _ in range(300)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [envelope.seq for envelope in read_journal(path)] == list(range(1, 1201))


def test_an_event_costs_little_beyond_its_json(tmp_path: Path, whole_run: list[Event]) -> None:
    event = next(event for event in whole_run if isinstance(event, CallEnded))
    scrubber = Scrubber({f"K{n}_API_KEY": f"sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x{n}" for n in range(4)})
    with Journal("3fa92c17", tmp_path / "e", scrubber) as journal:
        envelope = journal.append(event)

        def encode() -> None:
            json.dumps(envelope.model_dump(mode="json"), sort_keys=True, ensure_ascii=False, separators=(",", ":"))

        def best(action: object) -> float:
            return min(timeit.repeat(action, number=200, repeat=15)) / 200  # type: ignore[arg-type]

        assert (
            best(lambda: journal.append(event)) - best(encode) < 40e-6
        )  # the aim is 20 µs; the rest is for a busy machine
