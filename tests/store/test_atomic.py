"""DESIGN §4: writes are atomic, documents read well in git, errors name the path and the reason."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.runs import RunProblem
from tt_kernel.store.atomic import append_line, create_bytes, decoded, read_json, write_bytes, write_json

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_documents_have_sorted_keys_two_spaces_and_a_last_newline(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": [1, "ä"], "a": None})
    assert (tmp_path / "a.json").read_bytes() == '{\n  "a": null,\n  "b": [\n    1,\n    "ä"\n  ]\n}\n'.encode()


def test_domain_types_are_written_in_camel_case(tmp_path: Path) -> None:
    write_json(tmp_path / "p.json", RunProblem(code="x", message="y"))
    assert read_json(tmp_path / "p.json") == {"code": "x", "message": "y"}


@given(value=json_values)
def test_what_was_written_is_read(value: object, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "value.json"
    write_json(path, value)
    assert read_json(path) == value


def test_a_lone_surrogate_is_read_back(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"a": "x\ud800"})
    assert read_json(tmp_path / "a.json") == {"a": "x\ud800"}
    data = (tmp_path / "a.json").read_bytes()
    assert decoded(TypeAdapter(dict[str, str]), data) == {"a": "x\ud800"}


def test_a_byte_order_mark_of_an_editor_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(tmp_path / "a.json") == {"a": 1}


@pytest.mark.parametrize("data", [b"", b"{", b"[NaN]", b"\xff\xfe", b"<<<<<<< HEAD\n{}\n", b"[" * 100_000])
def test_what_is_no_json_is_named(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(data)
    with pytest.raises(StorageFault, match=r"a\.json is not valid JSON") as caught:
        read_json(tmp_path / "a.json")
    assert caught.value.code == "storage.not_json"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageFault, match=r"Cannot read .*nothing\.json: No such file") as caught:
        read_json(tmp_path / "nothing.json")
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_missing_folders_are_made_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_bytes(tmp_path / "a" / "b" / "c", b"1")
    write_bytes(tmp_path / "a" / "b" / "c", b"2", durable=True)
    create_bytes(tmp_path / "x" / "y", b"3")
    assert {str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == {
        os.path.join("a", "b", "c"): b"2",
        os.path.join("x", "y"): b"3",
    }


@pytest.mark.skipif(os.name == "nt", reason="access rights of POSIX")
def test_access_rights_of_a_replaced_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    path.chmod(0o640)
    write_bytes(path, b"2")
    assert path.stat().st_mode & 0o777 == 0o640


def test_create_refuses_what_exists(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(StorageFault) as caught:
        create_bytes(tmp_path / "a", b"new")
    assert caught.value.code == "storage.exists"
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_full_disk_leaves_the_old_document_and_no_rubbish(full_disk: Path) -> None:
    ballast = full_disk / "ballast"
    os.truncate(ballast, ballast.stat().st_size - 4096)
    write_bytes(full_disk / "a.json", b"old")
    for write in (write_bytes, create_bytes):
        path = full_disk / ("a.json" if write is write_bytes else "b.json")
        with pytest.raises(StorageFault, match=r"No space left on device\. Free some space") as caught:
            write(path, b"x" * 100_000)
        assert caught.value.code == "storage.full"
        assert str(path) in caught.value.message
    assert (full_disk / "a.json").read_bytes() == b"old"
    assert sorted(p.name for p in full_disk.iterdir()) == ["a.json", "ballast"]


def test_a_read_only_place_is_named(read_only_folder: Path) -> None:
    for write in (write_bytes, create_bytes):
        with pytest.raises(StorageFault) as caught:
            write(read_only_folder / "a", b"")
        assert caught.value.code == "storage.denied"
        assert str(read_only_folder / "a") in caught.value.message


@pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
def test_a_limit_on_the_size_of_files_is_a_fault_too(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys; from pathlib import Path;"
        "from tt_kernel.store.atomic import write_bytes; from tt_kernel.domain.errors import StorageFault;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));\n"
        "try: write_bytes(Path(sys.argv[1]), b'x' * 5000)\n"
        "except StorageFault as fault: print(fault.code, fault.message)"
    )
    path = tmp_path / "a"
    run = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert run.stdout.startswith(f"storage.full Cannot write {path}: File too large.")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_append_line_tells_of_a_full_disk() -> None:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(StorageFault, match="/dev/full: No space left on device"):
            append_line(descriptor, b"line\n", Path("/dev/full"))
    finally:
        os.close(descriptor)


def test_readers_never_see_a_half(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    contents = [json.dumps({"n": n, "pad": "x" * 50_000}).encode() for n in range(2)]
    write_bytes(path, contents[0])
    done = threading.Event()

    def write() -> None:
        for number in range(200):
            write_bytes(path, contents[number % 2])
        done.set()

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    while not done.is_set():
        assert path.read_bytes() in contents
    for writer in writers:
        writer.join()
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_decoded_gives_none_for_what_it_is_not() -> None:
    kind = TypeAdapter(ToolArguments)
    assert decoded(kind, b'{"value": {}}') == ToolArguments(value={})
    for data in (b"", b"{", b'{"unknown": 1}', b"\x00\x00", b"[" * 100_000):
        assert decoded(kind, data) is None
