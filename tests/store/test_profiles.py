"""Spec tauritavern §11.1, §11.2, §11.2b, §11.5; DESIGN §4: the nearest document of a name counts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.errors import NotFound, ProfileInvalid, StorageFault
from tt_kernel.domain.profiles import WORKSPACE_ROOTS, Artifact, Profile, WorkspacePolicy
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.profiles import SHIPPED, ProfileShelf, decode_profile, read_profile

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shelf(tmp_path: Path) -> ProfileShelf:
    return ProfileShelf(AgentFolder(tmp_path / "nb.agent"), tmp_path / "user")


def put(folder: Path, profile_id: str, **fields: object) -> Path:
    path = folder / "profiles" / f"{profile_id}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"id": profile_id, "displayName": profile_id} | fields))
    return path


# ---- shipped


def test_three_profiles_are_shipped_and_valid(shelf: ProfileShelf) -> None:
    assert [(profile.id, origin) for profile, origin in shelf.list()] == [
        ("assistant", "shipped"),
        ("engineer", "shipped"),
        ("writer", "shipped"),
    ]
    assert shelf.broken() == {}
    assert {path.name for path in SHIPPED.iterdir()} == {"assistant.json", "engineer.json", "writer.json"}


def test_the_assistant_replies_and_has_the_notebooks_functions(shelf: ProfileShelf) -> None:
    profile = shelf.load("assistant")
    assert profile.run.completion == "reply"
    assert "extension/notebook:*" in profile.tools.allow
    assert "builtin:workspace.shell" in profile.tools.allow
    assert not {"builtin:workspace.finish", "builtin:workspace.commit"} & set(profile.tools.allow)


def test_the_writer_is_the_default_of_the_specification(shelf: ProfileShelf) -> None:
    profile = shelf.load("writer")
    assert (profile.run.completion, profile.run.presentation) == ("finish", "foreground")
    assert profile.run.direct_runnable
    assert profile.run.stream
    assert profile.model.mode == "currentPromptSnapshot"
    assert profile.workspace == WorkspacePolicy(visible_roots=WORKSPACE_ROOTS, writable_roots=WORKSPACE_ROOTS)
    assert profile.output.artifacts == (
        Artifact(
            id="main", path="output/main.md", kind="markdown", target="messageBody", required=True, assembly_order=0
        ),
    )
    tools = ["list_files", "search_files", "read_file", "write_file", "apply_patch", "shell", "commit", "finish"]
    own = ("builtin:chat.search", "builtin:chat.read_messages", "builtin:worldinfo.read_activated")
    assert profile.tools.allow == (*own, *(f"builtin:workspace.{tool}" for tool in tools))


def test_the_engineer_replies(shelf: ProfileShelf) -> None:
    profile = shelf.load("engineer")
    assert profile.run.completion == "reply"
    assert {"builtin:Read", "builtin:Edit", "builtin:Bash"} <= set(profile.tools.allow)


# ---- finding


def test_the_nearest_document_counts(shelf: ProfileShelf, tmp_path: Path) -> None:
    put(tmp_path / "user", "assistant", displayName="the user's")
    put(tmp_path / "user", "own", displayName="the user's own")
    assert shelf.load("assistant").display_name == "the user's"
    put(tmp_path / "nb.agent", "assistant", displayName="the notebook's")
    assert shelf.load("assistant").display_name == "the notebook's"
    origins = {profile.id: origin for profile, origin in shelf.list()}
    assert origins == {"assistant": "notebook", "engineer": "shipped", "own": "user", "writer": "shipped"}


@pytest.mark.parametrize("wanted", ["asistant", "nothing", "", "../profiles/assistant", "assistant.json"])
def test_an_unknown_profile_names_those_that_there_are(wanted: str, shelf: ProfileShelf) -> None:
    with pytest.raises(NotFound) as caught:
        shelf.load(wanted)
    assert caught.value.code == "agent.profile_not_found"
    assert f"There is no profile {wanted!r}." in caught.value.message
    assert "Profiles: assistant, engineer, writer." in caught.value.message
    assert ("Did you mean 'assistant'?" in caught.value.message) == ("assis" in wanted or "asis" in wanted)


def test_a_broken_profile_hides_no_other_and_is_no_other(shelf: ProfileShelf, tmp_path: Path) -> None:
    path = put(tmp_path / "nb.agent", "assistant")
    path.write_text("<<<<<<< HEAD\n{}")
    assert [profile.id for profile, _ in shelf.list()] == ["engineer", "writer"]
    assert list(shelf.broken()) == [path]
    with pytest.raises(ProfileInvalid, match=r"assistant\.json is not valid JSON"):
        shelf.load("assistant")


@given(rubbish=st.binary(max_size=80))
def test_rubbish_is_a_clear_error(rubbish: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "rubbish.json"
    path.write_bytes(rubbish)
    with pytest.raises(ProfileInvalid, match=r"Profile .*rubbish\.json"):
        read_profile(path)


def test_a_file_has_the_name_of_its_profile(tmp_path: Path) -> None:
    path = put(tmp_path, "one", id="two")
    with pytest.raises(ProfileInvalid, match=r"one\.json: id is 'two', unlike the file's name") as caught:
        read_profile(path)
    assert caught.value.code == "agent.profile_id_invalid"


def test_hidden_files_and_folders_beside_are_no_profiles(shelf: ProfileShelf, tmp_path: Path) -> None:
    put(tmp_path / "nb.agent", ".hidden")
    (tmp_path / "nb.agent" / "profiles" / "notes.txt").touch()
    assert len(shelf.list()) == 3
    assert shelf.broken() == {}


# ---- decoding: spec tauritavern §11.2, identity and shape


@pytest.mark.parametrize(
    ("document", "code", "words"),
    [
        (3, "contract_invalid", "valid dictionary"),
        ({"displayName": "x"}, "id_empty", "id is missing"),
        ({"id": "", "displayName": "x"}, "id_empty", "id is ''"),
        ({"id": "A b", "displayName": "x"}, "id_invalid", "id is 'A b'"),
        ({"id": 1, "displayName": "x"}, "id_invalid", "id is 1"),
        ({"id": "x\n", "displayName": "x"}, "id_invalid", "line break"),
        ({"id": "x" * 129, "displayName": "x"}, "id_too_long", "id is 'xxx"),
        ({"id": "x"}, "display_name_required", "displayName is missing"),
        ({"id": "x", "displayName": " "}, "display_name_required", "displayName is empty"),
        ({"id": "x", "displayName": "x", "schemaVersion": 6}, "schema_unsupported", "schemaVersion is 6"),
        ({"id": "x", "displayName": "x", "kind": "other"}, "kind_invalid", "kind is 'other'"),
        (
            {"id": "x", "displayName": "x", "run": {"modelRetry": {"maxRetries": -1}}},
            "model_retry_invalid",
            "maxRetries is -1",
        ),
        ({"id": "x", "displayName": "x", "workspace": {"visibleRoots": ["tmp"]}}, "workspace_root_invalid", "'tmp'"),
        (
            {"id": "x", "displayName": "x", "tools": {"toolDescriptions": {"builtin:x": {"properties": ["path"]}}}},
            "tool_properties_invalid",
            "properties is ['path']",
        ),
        (
            {"id": "x", "displayName": "x", "tool": {}},
            "contract_invalid",
            "tool is no field of a profile. Did you mean tools?",
        ),
        (
            {"id": "x", "displayName": "x", "sampling": {"temprature": 1}},
            "contract_invalid",
            "sampling.temprature is no field of a profile. Did you mean temperature?",
        ),
        ({"id": "x", "displayName": "x", "limits": {"turns": 0}}, "contract_invalid", "limits.turns is 0"),
    ],
)
def test_errors_name_the_source_the_field_and_the_code(document: object, code: str, words: str) -> None:
    with pytest.raises(ProfileInvalid) as caught:
        decode_profile(document, source="mine.json")
    assert caught.value.code == f"agent.profile_{code}"
    assert caught.value.message.startswith("Profile mine.json: ")
    assert words in caught.value.message


# ---- saving


def test_a_saved_profile_is_a_readable_document(shelf: ProfileShelf, tmp_path: Path) -> None:
    profile = shelf.load("writer").model_copy(update={"id": "mine", "display_name": "Schön"})
    path = shelf.save(profile)
    assert path == tmp_path / "nb.agent" / "profiles" / "mine.json"
    assert shelf.load("mine") == profile
    text = path.read_text(encoding="utf-8")
    assert '\n  "displayName": "Schön",\n' in text
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert (tmp_path / "nb.agent" / ".gitignore").exists()


def test_a_profile_may_be_saved_for_all_notebooks(shelf: ProfileShelf, tmp_path: Path) -> None:
    shelf.save(Profile(id="mine", display_name="x"), to="user")
    assert [(p.id, o) for p, o in shelf.list() if p.id == "mine"] == [("mine", "user")]
    assert not (tmp_path / "nb.agent").exists()


def test_an_invalid_profile_is_not_saved(shelf: ProfileShelf, tmp_path: Path) -> None:
    with pytest.raises(ProfileInvalid, match="Profile 'mine' was not saved: displayName is empty") as caught:
        shelf.save(Profile(id="mine", display_name=" "))
    assert caught.value.code == "agent.profile_display_name_required"
    assert not (tmp_path / "nb.agent").exists()


def test_a_secret_is_not_saved(shelf: ProfileShelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_OWN_API_KEY", "value-of-the-test")
    profile = Profile.model_validate(
        {"id": "mine", "displayName": "x", "sampling": {"extra": {"headers": {"key": "value-of-the-test"}}}}
    )
    with pytest.raises(ProfileInvalid, match="holds a secret") as caught:
        shelf.save(profile)
    assert caught.value.code == "agent.profile_secret"
    assert "value-of-the-test" not in caught.value.message


def test_a_read_only_place_is_named(read_only_folder: Path) -> None:
    shelf = ProfileShelf(AgentFolder(read_only_folder), read_only_folder / "user")
    for to in ("notebook", "user"):
        with pytest.raises(StorageFault) as caught:
            shelf.save(Profile(id="mine", display_name="x"), to=to)  # type: ignore[arg-type]
        assert caught.value.code == "storage.denied"
        assert str(read_only_folder) in caught.value.message


def test_many_processes_may_save_one_profile(shelf: ProfileShelf, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from tt_kernel.store.profiles import ProfileShelf\n"
        "from tt_kernel.store.layout import AgentFolder; from tt_kernel.domain.profiles import Profile\n"
        "shelf = ProfileShelf(AgentFolder(Path(sys.argv[1])), Path(sys.argv[1]) / 'user')\n"
        "for number in range(40): shelf.save(Profile(id='mine', display_name=sys.argv[2] * 2000))"
    )
    shelf.save(Profile(id="mine", display_name="x"))
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "nb.agent"), name], cwd=ROOT) for name in "abc"
    ]
    while any(process.poll() is None for process in processes):
        assert len(set(shelf.load("mine").display_name)) == 1
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sorted(p.name for p in (tmp_path / "nb.agent" / "profiles").iterdir()) == ["mine.json"]
