"""Spec tauritavern §2.6(1), §8.2, §8.3: where arguments, results and files of calls are stored."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall, ToolResult
from tt_kernel.domain.errors import StorageFault
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.results import ResultStore
from tt_kernel.store.runs import RunFolder
from tt_kernel.store.secrets import Scrubber

KEY = "3fa92c17" + "0" * 56
SECRET = 'p"ss\\wörd-1234'
Maker = Callable[..., ToolCall]


@pytest.fixture
def folder() -> Iterator[RunFolder]:
    with RunFolder.stage(Scrubber()) as staged:
        yield staged


@pytest.fixture
def results(folder: RunFolder) -> ResultStore:
    return ResultStore(folder, Scrubber({"DB_PASSWORD": SECRET}))


def result_of(call: ToolCall, content: str = "7", **fields: object) -> ToolResult:
    return ToolResult.model_validate({"call_id": call.id, "tool_id": call.tool_id, "content": content} | fields)


def test_arguments_have_the_path_of_the_specification(
    folder: RunFolder, results: ResultStore, make_call: Maker
) -> None:
    digits = hashlib.sha256(b"call_1").hexdigest()[:16]
    path = results.save_arguments(make_call(turn=7), {"b": 1, "a": "ä"})
    assert path == f"tool-args/inv_root/round-007-call_{digits}.json"
    assert (folder.layout.root / path).read_bytes() == '{"a":"ä","b":1}\n'.encode()


@pytest.mark.parametrize(
    ("arguments", "stored"),
    [
        (ToolArguments(value={"a": 1}), {"a": 1}),
        (ToolArguments.decode('{"a": '), '{"a": '),
        (ToolArguments.decode("[1]"), "[1]"),
        ("plain", "plain"),
        ({}, {}),
    ],
)
def test_arguments_are_stored_as_they_are_valid_or_not(
    arguments: object, stored: object, results: ResultStore, make_call: Maker
) -> None:
    assert json.loads(results.read(results.save_arguments(make_call(), arguments))) == stored


def test_a_second_call_of_a_turn_with_the_same_id_is_refused(results: ResultStore, make_call: Maker) -> None:
    results.save_arguments(make_call(turn=1), {})
    results.save_arguments(make_call(turn=2), {})
    with pytest.raises(StorageFault, match=r"round-001-call_[0-9a-f]{16}\.json") as caught:
        results.save_arguments(make_call(turn=1), {})
    assert caught.value.code == "storage.exists"


def test_any_call_id_makes_a_harmless_name(results: ResultStore, make_call: Maker) -> None:
    for call_id in ("../../x", "", "a/b\0", "ü😀\ud800", "x" * 5000):
        path = results.save_arguments(make_call(call_id), {})
        assert path.startswith("tool-args/inv_root/round-001-call_")
        assert len(path) == len("tool-args/inv_root/round-001-call_0123456789abcdef.json")


def test_a_result_is_stored_whole(results: ResultStore, make_call: Maker) -> None:
    call = make_call()
    result = result_of(call, "x" * 100_000, structured={"n": float("nan")}, details=[1], error_code="e", is_error=True)
    path = results.save_result(call, result)
    assert path.startswith("tool-results/inv_root/round-001-call_")
    read = ToolResult.model_validate_json(results.read(path))
    assert read == result.model_copy(update={"structured": {"n": None}})
    assert results.read(path).count(b"\n") == 1


def test_no_secret_reaches_arguments_results_and_text_files(
    folder: RunFolder, results: ResultStore, make_call: Maker
) -> None:
    call = make_call()
    nested = json.dumps({"password": SECRET})
    results.save_arguments(call, {"sql": nested, SECRET: 1})
    results.save_result(call, result_of(call, f"is {SECRET}", structured={"a": [nested]}))
    stored = results.save_file(call, 0, f"log {SECRET}".encode(), "text/plain", "txt")
    for path in folder.layout.root.rglob("*"):
        assert path.is_dir() or "1234" not in path.read_text()
    data = results.read(stored.path)
    assert data == b"log [secret DB_PASSWORD]"
    assert (stored.size, stored.sha256) == (len(data), hashlib.sha256(data).hexdigest())


def test_files_keep_their_bytes(results: ResultStore, make_call: Maker) -> None:
    call, data = make_call(), b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    first = results.save_file(call, 0, data, "image/png", "png", width=3, height=2)
    second = results.save_file(call, 1, b"\xff\xfe", "text/plain", ".txt")
    assert first.path == f"tool-results/inv_root/round-001-call_{hashlib.sha256(b'call_1').hexdigest()[:16]}-0.png"
    assert second.path.endswith("-1.txt")
    assert (results.read(first.path), results.read(second.path)) == (data, b"\xff\xfe")
    assert (first.mime_type, first.size, first.width, first.height) == ("image/png", len(data), 3, 2)
    assert first.sha256 == hashlib.sha256(data).hexdigest()


def test_paths_stay_true_when_the_folder_moves(
    folder: RunFolder, results: ResultStore, make_call: Maker, tmp_path: Path
) -> None:
    before = results.save_arguments(make_call(), {"a": 1})
    folder.materialise(AgentFolder(tmp_path / "nb.agent"), KEY)
    after = results.save_arguments(make_call(turn=2), {"a": 2})
    assert [json.loads(results.read(path))["a"] for path in (before, after)] == [1, 2]
    assert (tmp_path / "nb.agent" / "runs" / "3fa92c17" / before).exists()


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "tool-results/../../x", "", ".", "a\0b", "tool-results/link", "tool-results/out/x"]
)
def test_only_files_of_the_run_are_read(path: str, folder: RunFolder, results: ResultStore, tmp_path: Path) -> None:
    folder.layout.tool_results.mkdir()
    (folder.layout.tool_results / "link").symlink_to("/etc/passwd")
    (tmp_path / "x").write_text("outside")
    (folder.layout.tool_results / "out").symlink_to(tmp_path)
    with pytest.raises(StorageFault) as caught:
        results.read(path)
    assert caught.value.code == "storage.path_denied" or isinstance(caught.value.__cause__, IsADirectoryError)


def test_a_missing_file_is_named(results: ResultStore) -> None:
    with pytest.raises(StorageFault, match=r"Cannot read .*nothing\.png: No such file"):
        results.read("tool-results/nothing.png")


def test_a_full_disk_is_named_and_leaves_no_half(full_disk: Path, make_call: Maker) -> None:
    ballast = full_disk / "ballast"
    os.truncate(ballast, ballast.stat().st_size - 32 * 1024)
    with RunFolder.stage(Scrubber()) as folder:
        folder.materialise(AgentFolder(full_disk / "nb.agent"), KEY)
        results = ResultStore(folder, Scrubber())
        call = make_call()
        with pytest.raises(StorageFault) as caught:
            results.save_result(call, result_of(call, "x" * 100_000))
        assert caught.value.code == "storage.full"
        assert str(folder.layout.tool_results) in caught.value.message
        assert list((folder.layout.tool_results / "inv_root").iterdir()) == []
        results.save_result(call, result_of(call, "small"))


def test_a_file_costs_one_creation_and_no_look_around(
    results: ResultStore, make_call: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    results.save_arguments(make_call("first"), {})
    done: list[str] = []

    def counted(name: str) -> None:
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *args, **kwargs: (done.append(name), real(*args, **kwargs))[1])

    for name in ("open", "mkdir", "stat", "lstat", "scandir", "listdir", "rename", "replace", "fsync", "write"):
        counted(name)
    for number in range(50):
        results.save_arguments(make_call(f"c{number}"), {"a": 1})
    assert done == ["open", "write"] * 50
