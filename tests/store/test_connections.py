"""Connections: where a service is and what its credential is called, never the credential (DESIGN §9; spec tauritavern §11.2)."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.canonical import encode_json
from tt_kernel.domain.connections import Connection
from tt_kernel.domain.errors import ModelUnavailable, StorageFault
from tt_kernel.store.connections import INVALID, MISSING, ConnectionShelf, read_connection
from tt_kernel.store.credentials import credential_value, how_to_set

SECRET = "sk-proj-0123456789abcdefghijABCDEFGHIJ"


@pytest.fixture
def shelf(tmp_path: Path) -> ConnectionShelf:
    return ConnectionShelf(tmp_path / "user")


def put(shelf: ConnectionShelf, stem: str, **fields: object) -> Path:
    path = shelf.folder / f"{stem}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"name": stem, "provider": "openai"} | fields))
    return path


def test_a_saved_connection_is_a_readable_document(shelf: ConnectionShelf) -> None:
    lab = Connection(name="lab", provider="openai", base_url="http://gpu:8000/v1", credential="LAB_KEY", model="qwen")
    path = shelf.save(lab)
    assert shelf.load("lab") == lab
    assert shelf.list() == [lab]
    assert json.loads(path.read_text()) == {
        "baseUrl": "http://gpu:8000/v1",
        "credential": "LAB_KEY",
        "description": None,
        "kind": "tt_kernel.connection",
        "model": "qwen",
        "name": "lab",
        "provider": "openai",
        "schemaVersion": 1,
    }


def test_a_missing_connection_names_the_near_ones_and_the_place(shelf: ConnectionShelf) -> None:
    with pytest.raises(ModelUnavailable, match="Connections: none yet") as caught:
        shelf.load("lab")
    assert caught.value.code == MISSING == "agent.profile_model_connection_missing"
    put(shelf, "lab")
    with pytest.raises(ModelUnavailable, match=r"no connection 'lap'. Did you mean 'lab'\?") as caught:
        shelf.load("lap")
    assert str(shelf.folder) in caught.value.message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"provider": ""}, "provider is ''"),
        ({"provider": "local"}, "provider local needs no connection"),
        ({"provider": "scripted"}, "provider scripted needs no connection"),
        ({"name": "other"}, "name is 'other', unlike the file's name"),
        ({"baseURL": "http://x"}, "baseURL is no field of a connection. Did you mean baseUrl?"),
        ({"baseUrl": "gpu:8000"}, "baseUrl must be an http or https address"),
        ({"baseUrl": "ftp://gpu/"}, "baseUrl must be an http or https address"),
        ({"baseUrl": "http://gpu:99999/"}, "baseUrl must be an http or https address"),
        ({"baseUrl": "http://[gpu/"}, "baseUrl must be an http or https address"),
        ({"baseUrl": "http://me:hunter2hunter2@gpu/"}, "baseUrl may hold no user, password or query"),
        ({"baseUrl": "http://gpu/?key=hunter2hunter2"}, "baseUrl may hold no user, password or query"),
        ({"credential": SECRET}, "credential: String should match pattern"),
        ({"credential": "keyring:lab"}, "credential: String should match pattern"),
        ({"credential": "LAB KEY"}, "credential: String should match pattern"),
        ({"credential": "LAB_KEY\n"}, "credential: String should match pattern"),
        ({"schemaVersion": 2}, "schemaVersion is 2"),
    ],
)
def test_what_is_wrong_is_told_without_showing_a_secret(
    fields: dict[str, object], words: str, shelf: ConnectionShelf
) -> None:
    path = put(shelf, "lab", **fields)
    with pytest.raises(ModelUnavailable) as caught:
        shelf.load("lab")
    assert caught.value.code == INVALID == "agent.profile_model_connection_invalid"
    assert caught.value.message.startswith(f"Connection {path}: ")
    assert words in caught.value.message
    assert SECRET not in caught.value.message
    assert "hunter2" not in caught.value.message
    assert shelf.list() == []
    assert list(shelf.broken()) == [path]


def test_rubbish_is_told_too(shelf: ConnectionShelf) -> None:
    put(shelf, "lab").write_text("{")
    with pytest.raises(ModelUnavailable, match=r"lab\.json is not valid JSON"):
        shelf.load("lab")


def test_a_broken_connection_hides_no_other(shelf: ConnectionShelf) -> None:
    put(shelf, "a", baseUrl="x")
    put(shelf, "b")
    assert [connection.name for connection in shelf.list()] == ["b"]


def test_a_secret_is_not_saved(shelf: ConnectionShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_OWN_API_KEY", "value_of_the_test")
    for fields in (
        {"description": f"key {SECRET}"},
        {"credential": "value_of_the_test"},
        {"credential": "AKIAIOSFODNN7EXAMPLE"},
    ):
        with pytest.raises(ModelUnavailable, match="it holds a secret") as caught:
            shelf.save(Connection.model_validate({"name": "lab", "provider": "openai", **fields}))
        assert caught.value.code == INVALID
    assert not shelf.folder.exists()


def test_an_invalid_connection_is_not_saved(shelf: ConnectionShelf) -> None:
    with pytest.raises(ModelUnavailable, match="Connection 'lab' was not saved: baseUrl must be"):
        shelf.save(Connection(name="lab", provider="openai", base_url="x"))


def test_a_read_only_place_is_named(read_only_folder: Path) -> None:
    with pytest.raises(StorageFault) as caught:
        ConnectionShelf(read_only_folder).save(Connection(name="lab", provider="openai"))
    assert str(read_only_folder) in caught.value.message


# ---- credentials


def test_a_credential_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert credential_value("LAB_KEY") is None
    monkeypatch.setenv("LAB_KEY", "")
    assert credential_value("LAB_KEY") is None
    monkeypatch.setenv("LAB_KEY", "value")
    assert credential_value("LAB_KEY") == "value"
    assert how_to_set("LAB_KEY") == "Set the environment variable LAB_KEY."


@pytest.fixture
def ring():
    """The keyring library with a backend that keeps its entries in memory."""
    import keyring
    from keyring.backend import KeyringBackend

    class Ring(KeyringBackend):
        priority = 1
        entries: dict[tuple[str, str], str] = {}

        def get_password(self, service: str, username: str) -> str | None:
            if service == "locked":
                raise keyring.errors.KeyringLocked
            return self.entries.get((service, username))

        def set_password(self, service: str, username: str, password: str) -> None:
            self.entries[service, username] = password

        def delete_password(self, service: str, username: str) -> None:
            del self.entries[service, username]

    before, mine = keyring.get_keyring(), Ring()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


def test_an_entry_of_the_keyring(ring) -> None:
    ring.set_password("lab", "me/team", "value")
    assert credential_value("keyring:lab/me/team") == "value"
    assert credential_value("keyring:lab/you") is None
    assert credential_value("keyring:locked/me") is None
    assert how_to_set("keyring:lab/you") == "Store it in a terminal: keyring set lab you."


def test_a_system_without_keyring_has_no_entries() -> None:
    assert credential_value("keyring:lab/me") is None


def test_without_the_library_the_way_out_is_to_install_it(tmp_path: Path, repository: Path) -> None:
    """In a process that cannot import it."""
    import subprocess
    import sys

    code = (
        "import importlib.util, sys; real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'keyring' else real(name, *a)\n"
        "from tt_kernel.store.credentials import credential_value, how_to_set\n"
        "print(credential_value('keyring:a/b'), how_to_set('keyring:a/b'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=repository, env=os.environ, check=True
    )
    assert done.stdout.strip() == "None Run: pip install 'tt_kernel[keyring]'."


FIELDS = st.fixed_dictionaries(
    {"name": st.just("lab")},
    optional={
        name: st.none()
        | st.integers()
        | st.text(max_size=20)
        | st.sampled_from(["http://[", "https://a:b@c", "http://h:0/", "X", "openai"])
        for name in ("provider", "model", "baseUrl", "credential", "kind", "schemaVersion", "other")
    },
)


@given(document=FIELDS | st.text() | st.lists(st.integers()))
def test_whatever_stands_in_a_document_is_a_connection_or_refused_in_words(
    document: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "lab.json"
    path.write_bytes(encode_json(json.dumps(document)))
    try:
        connection = read_connection(path)
    except ModelUnavailable as problem:
        assert problem.code == INVALID
        assert problem.message.startswith("Connection ")
    else:
        assert connection.provider
