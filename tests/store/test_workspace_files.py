"""spec tauritavern §7.2: atomic guarded writes; DESIGN §5.3: files of any size, UTF-8 only, nothing rewritten lossily."""

import errno
import os
import socket
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.canonical import digest_bytes
from tt_kernel.domain.errors import StorageFault, ToolError
from tt_kernel.store.atomic import TEMPORARY_PREFIX
from tt_kernel.store.workspace import UNCHECKED, FileLocks, GuardFailed, MustMatch, MustNotExist, Root, Workspace
from tt_kernel.store.workspace.boundary import os_problem


@pytest.fixture
def files(tmp_path):
    return Workspace([Root("w", tmp_path / "w", writable=True)])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "w").mkdir()
    return tmp_path / "w"


def test_unchecked(files, folder):
    place = files.place("w/a/b.bin")
    assert files.write_bytes(place, b"\0\xff", UNCHECKED) == digest_bytes(b"\0\xff")
    assert files.write_bytes(place, b"") == digest_bytes(b"")
    assert (folder / "a/b.bin").read_bytes() == b""


def test_must_not_exist(files, folder):
    place = files.place("w/x")
    files.write_bytes(place, b"one", MustNotExist())
    with pytest.raises(GuardFailed):
        files.write_bytes(place, b"two", MustNotExist())
    assert (folder / "x").read_bytes() == b"one"
    assert os.listdir(folder) == ["x"]
    assert (folder / "x").stat().st_nlink == 1


def test_must_match(files, folder):
    place = files.place("w/x")
    with pytest.raises(GuardFailed, match="no longer exists"):
        files.write_bytes(place, b"two", MustMatch(digest_bytes(b"one")))
    (folder / "x").write_bytes(b"one")
    files.write_bytes(place, b"two", MustMatch(digest_bytes(b"one")))
    with pytest.raises(GuardFailed, match="has changed"):
        files.write_bytes(place, b"three", MustMatch(digest_bytes(b"one")))
    assert (folder / "x").read_bytes() == b"two"
    assert os.listdir(folder) == ["x"]


def test_a_file_that_appears_during_an_exclusive_write_is_not_overwritten(files, folder, monkeypatch):
    """The check and the move are one step: the last moment counts."""
    write = os.write

    def meanwhile(descriptor, data):
        (folder / "x").write_text("theirs")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", meanwhile)
    with pytest.raises(GuardFailed):
        files.write_bytes(files.place("w/x"), b"ours", MustNotExist())
    assert (folder / "x").read_bytes() == b"theirs"
    assert os.listdir(folder) == ["x"]


def test_writers_of_one_file_do_not_lose_updates(tmp_path, folder):
    """Per-file lock and MustMatch: of two writers that know the same content, one is told."""
    locks = FileLocks()
    (folder / "n").write_bytes(b"0")
    failures = []

    def count():
        files = Workspace([Root("w", tmp_path / "w", writable=True)], locks)
        place = files.place("w/n")
        done = 0
        while done < 50:
            before = files.read_bytes(place)
            try:
                files.write_bytes(place, str(int(before) + 1).encode(), MustMatch(digest_bytes(before)))
                done += 1
            except GuardFailed:
                failures.append(1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (folder / "n").read_bytes() == b"200"
    assert os.listdir(folder) == ["n"]


def test_readers_see_the_old_or_the_new_file_never_half_of_one(files, folder):
    sizes = (3_000_000, 1)
    place = files.place("w/x")
    files.write_bytes(place, b"a" * sizes[0])
    stop = threading.Event()
    seen = set()

    def read():
        while not stop.is_set():
            seen.add(len(files.read_bytes(place)))

    thread = threading.Thread(target=read)
    thread.start()
    for turn in range(30):
        files.write_bytes(place, b"a" * sizes[turn % 2])
    stop.set()
    thread.join()
    assert seen <= set(sizes)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux")
def test_a_full_disk_is_a_fault_that_names_the_file_and_leaves_the_old_content(files, folder, monkeypatch):
    (folder / "x").write_bytes(b"old")
    write = os.write
    with open("/dev/full", "wb") as full:
        monkeypatch.setattr(os, "write", lambda _descriptor, data: write(full.fileno(), data))
        with pytest.raises(StorageFault) as error:
            files.write_bytes(files.place("w/x"), b"new")
    assert "w/x" in error.value.message
    assert str(folder) not in error.value.message
    assert "No space left" in error.value.message
    assert (folder / "x").read_bytes() == b"old"
    assert os.listdir(folder) == ["x"]


@pytest.mark.parametrize(
    ("number", "kind", "code"),
    [
        (errno.ENOSPC, StorageFault, "storage.full"),
        (errno.EIO, StorageFault, "storage.fault"),
        (errno.EMFILE, StorageFault, "storage.fault"),
        (errno.EACCES, ToolError, "workspace.permission_denied"),
        (errno.EPERM, ToolError, "workspace.permission_denied"),
        (errno.EROFS, ToolError, "workspace.permission_denied"),
        (errno.ENOENT, ToolError, "workspace.file_not_found"),
        (errno.ENOTDIR, ToolError, "workspace.file_not_found"),
        (errno.EISDIR, ToolError, "workspace.path_is_directory"),
        (errno.ENAMETOOLONG, ToolError, "workspace.invalid_path"),
        (errno.ELOOP, ToolError, "workspace.invalid_path"),
    ],
)
def test_what_the_operating_system_says_is_sorted(files, number, kind, code):
    """§4: what the model can fix is a tool result; a storage fault ends the run."""
    problem = os_problem(OSError(number, os.strerror(number), "/secret/path"), files.place("w/x"))
    assert type(problem) is kind
    assert problem.code == code
    assert "/secret" not in problem.message


def test_text_is_utf_8_or_refused(files, folder):
    place = files.place("w/x")
    (folder / "x").write_bytes(b"\xff\xfea\0")
    with pytest.raises(ToolError) as error:
        files.read_text(place)
    assert error.value.code == "workspace.not_utf8"
    with pytest.raises(ToolError) as error:
        files.write_text(files.place("w/y"), "a\ud800")
    assert error.value.code == "workspace.not_utf8"
    assert not (folder / "y").exists()


@given(st.text())
def test_text_survives_as_it_is(tmp_path_factory, text):
    files = Workspace([Root("w", tmp_path_factory.getbasetemp() / "roundtrip", writable=True)])
    place = files.place("w/x")
    files.write_text(place, text)
    assert files.read_text(place) == text
    assert files.read_bytes(place) == text.encode()


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 5_000_000])
def test_every_size_is_read_whole(files, folder, size):
    data = os.urandom(size)
    (folder / "x").write_bytes(data)
    chunks = list(files.chunks(files.place("w/x")))
    assert b"".join(chunks) == data
    assert all(0 < len(chunk) <= 1 << 20 for chunk in chunks)


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
def test_pipes_sockets_and_folders_are_no_files(files, folder):
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(folder)  # socket paths are short
        server.bind("socket")
        os.chdir(here)
        for name, code in {
            "pipe": "workspace.not_regular_file",
            "socket": "workspace.not_regular_file",
            "folder": "workspace.path_is_directory",
        }.items():
            place = files.place(f"w/{name}")
            for action in (
                lambda place=place: files.read_bytes(place),
                lambda place=place: files.write_bytes(place, b"x"),
            ):
                with pytest.raises(ToolError) as error:
                    action()
                assert error.value.code == code
        assert files.kind(files.place("w/pipe")) == "other"
        kinds = {entry.parts[-1]: entry.kind for entry in files.walk(files.place("w"), 1)}
        assert kinds == {"pipe": "other", "socket": "other", "folder": "directory"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything")
def test_files_that_may_not_be_opened(files, folder):
    (folder / "x").write_bytes(b"x")
    (folder / "x").chmod(0)
    with pytest.raises(ToolError) as error:
        files.read_bytes(files.place("w/x"))
    assert error.value.code == "workspace.permission_denied"


def test_files_being_written_are_not_listed(files, folder):
    (folder / f"{TEMPORARY_PREFIX}0123456789ab").write_bytes(b"half")
    (folder / f"{TEMPORARY_PREFIX}notes").write_bytes(b"mine")
    (folder / "x").write_bytes(b"x")
    assert sorted(entry.parts for entry in files.walk(files.place("w"), 1)) == [(f"{TEMPORARY_PREFIX}notes",), ("x",)]


def test_the_names_of_unfinished_writes_are_the_ones_that_listings_leave_out(files, folder, monkeypatch):
    seen = []
    write = os.write

    def look(descriptor, data):
        seen.append((os.listdir(folder), list(files.walk(files.place("w"), 1))))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", look)
    for guard in (MustNotExist(), UNCHECKED):
        files.write_bytes(files.place(f"w/{type(guard).__name__}"), b"x", guard)
    assert all(names for names, _ in seen)
    assert [len(entries) for _, entries in seen] == [0, 1]


def test_depth(files, folder):
    (folder / "a/b/c").mkdir(parents=True)
    assert [len(list(files.walk(files.place("w"), depth))) for depth in (1, 2, 3, 4)] == [1, 2, 3, 3]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
def test_modes_stay(files, folder):
    (folder / "run.sh").write_bytes(b"x")
    (folder / "run.sh").chmod(0o750)
    files.write_bytes(files.place("w/run.sh"), b"y")
    assert (folder / "run.sh").stat().st_mode & 0o777 == 0o750
    mask = os.umask(0o022)
    try:
        files.write_bytes(files.place("w/new"), b"y")
    finally:
        os.umask(mask)
    assert (folder / "new").stat().st_mode & 0o777 == 0o644, "as any other program would create it"


def test_lock_tables_do_not_grow(files):
    for number in range(100):
        files.write_bytes(files.place(f"w/{number}"), b"x")
    assert len(files._locks._table) <= 1
