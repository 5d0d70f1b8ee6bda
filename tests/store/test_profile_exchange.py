"""Spec tauritavern §11.5: export, import, repair."""

import json
from pathlib import Path

import pytest

from tt_kernel.domain.errors import NotFound, ProfileInvalid, UsageProblem
from tt_kernel.domain.profiles import ModelChoice, Profile
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.profile_exchange import export_profile, import_profile, portable, with_model
from tt_kernel.store.profile_repair import broken_files, repair
from tt_kernel.store.profiles import ProfileShelf, read_profile

OLD = Path(__file__).parent / "old_profiles"
BOUND = ModelChoice(mode="connectionRef", connection_ref="lab", model_id="m")


@pytest.fixture
def shelf(tmp_path: Path) -> ProfileShelf:
    return ProfileShelf(AgentFolder(tmp_path / "nb.agent"), tmp_path / "user")


def put(tmp_path: Path, name: str, text: str | None = None, *, to: str = "nb.agent", **fields: object) -> Path:
    path = tmp_path / to / "profiles" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"id": path.stem, "displayName": "X", "kind": "tt_kernel.agentProfile", "schemaVersion": 5} | fields
    path.write_text(json.dumps(document) if text is None else text)
    return path


# ---- export and import


@pytest.mark.parametrize("model", [BOUND, ModelChoice(model_id="openai:gpt-x"), ModelChoice()])
def test_an_exported_profile_leaves_the_model_out(model: ModelChoice, tmp_path: Path) -> None:
    profile = Profile(id="mine", display_name="Mine", model=model)
    export_profile(profile, tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text())
    assert ModelChoice.model_validate(document["model"]) == ModelChoice(mode="requiresConfiguration")
    assert import_profile(tmp_path / "out.json") == portable(profile)


def test_an_export_replaces_nothing_by_itself(tmp_path: Path) -> None:
    profile = Profile(id="mine", display_name="Mine")
    path = tmp_path / "out.json"
    path.write_text("mine")
    with pytest.raises(UsageProblem, match="exists already") as caught:
        export_profile(profile, path)
    assert caught.value.code == "storage.exists"
    assert path.read_text() == "mine"
    export_profile(profile, path, replace=True)
    assert import_profile(path).id == "mine"


def test_an_export_holds_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_OWN_API_KEY", "value-of-the-test")
    with pytest.raises(ProfileInvalid, match="was not exported: it holds a secret"):
        export_profile(Profile(id="mine", display_name="value-of-the-test"), tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


def test_somebody_elses_connection_is_not_imported(tmp_path: Path) -> None:
    critic = import_profile(OLD / "v2-critic.json")
    assert critic.model == ModelChoice(mode="requiresConfiguration")
    assert critic.tools.allow[0] == "builtin:workspace.read_file"
    named = put(tmp_path, "named.json", model={"modelId": "openai:gpt-x"})
    assert import_profile(named).model.model_id == "openai:gpt-x"


def test_the_importer_chooses_a_model() -> None:
    editor = import_profile(OLD / "v4-editor.json")
    assert with_model(editor, "openai:gpt-x").model == ModelChoice(model_id="openai:gpt-x")
    assert with_model(editor, "lab").model == ModelChoice(mode="connectionRef", connection_ref="lab")


def test_an_import_may_have_another_id(tmp_path: Path) -> None:
    assert import_profile(OLD / "v4-editor.json", profile_id="mine").id == "mine"
    with pytest.raises(ProfileInvalid, match="id is 'No Id'"):
        import_profile(OLD / "v4-editor.json", profile_id="No Id")


def test_an_import_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no file"):
        import_profile(tmp_path / "nothing.json")
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(ProfileInvalid, match=r"x\.json"):
        import_profile(tmp_path / "x.json")
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(ProfileInvalid, match="not valid JSON"):
        import_profile(tmp_path / "x.json")


# ---- repair


@pytest.mark.parametrize(
    ("name", "fields", "repaired"),
    [
        ("mine.json", {"id": "other"}, "mine.json"),
        ("mine.json", {"kind": "something"}, "mine.json"),
        ("mine.json", {"schemaVersion": 9}, "mine.json"),
        ("My Profile (2).json", {"id": "My Profile"}, "my-profile-2.json"),
    ],
)
def test_an_identity_can_be_normalized(
    name: str, fields: dict[str, object], repaired: str, shelf: ProfileShelf, tmp_path: Path
) -> None:
    path = put(tmp_path, name, instructions={"agentSystemPrompt": " as it was "}, **fields)
    (file,) = broken_files(shelf)
    assert (file.path, file.origin, file.actions) == (path, "notebook", ("normalizeIdentity", "delete"))
    new = repair(shelf, name, "normalizeIdentity")
    assert new == path.with_name(repaired)
    assert read_profile(new).instructions.agent_system_prompt == " as it was "
    assert [p.name for p in path.parent.iterdir() if not p.name.startswith(".")] == [repaired]
    assert broken_files(shelf) == []


def test_an_old_document_keeps_its_schema_when_its_identity_is_repaired(shelf: ProfileShelf, tmp_path: Path) -> None:
    put(tmp_path, "mine.json", (OLD / "v1-novelist.json").read_text())
    repair(shelf, "mine", "normalizeIdentity")
    assert "builtin:chat.search" in shelf.load("mine").tools.allow


@pytest.mark.parametrize(
    ("name", "text", "fields"),
    [
        ("mine.json", "{", {}),
        ("mine.json", "[]", {}),
        ("mine.json", None, {"tools": {"alow": []}}),
        ("mine.json", None, {"displayName": ""}),
        ("???.json", None, {}),
    ],
)
def test_what_is_wrong_elsewhere_can_only_be_deleted(
    name: str, text: str | None, fields: dict[str, object], shelf: ProfileShelf, tmp_path: Path
) -> None:
    path = put(tmp_path, name, text, **fields)
    (file,) = broken_files(shelf)
    assert file.actions == ("delete",)
    with pytest.raises(UsageProblem, match="normalizeIdentity cannot repair") as caught:
        repair(shelf, name, "normalizeIdentity")
    assert caught.value.code == "agent.profile_repair_unavailable"
    assert path.exists()
    assert repair(shelf, path.stem, "delete") == path
    assert not path.exists()


def test_no_other_profile_is_overwritten(shelf: ProfileShelf, tmp_path: Path) -> None:
    put(tmp_path, "my-profile.json")
    put(tmp_path, "My Profile.json")
    (file,) = broken_files(shelf)
    assert file.actions == ("delete",)


def test_broken_files_of_the_user_are_found_behind_the_notebooks(shelf: ProfileShelf, tmp_path: Path) -> None:
    put(tmp_path, "mine.json")
    hidden = put(tmp_path, "mine.json", "{", to="user")
    assert shelf.broken() == {}
    (file,) = broken_files(shelf)
    assert (file.path, file.origin) == (hidden, "user")
    repair(shelf, "mine", "delete")
    assert shelf.load("mine").id == "mine"


def test_only_broken_files_are_repaired(shelf: ProfileShelf, tmp_path: Path) -> None:
    path = put(tmp_path, "mine.json")
    put(tmp_path, "other.json", "{")
    with pytest.raises(NotFound, match=r"No broken profile is called 'mine'. Broken files: other\.json"):
        repair(shelf, "mine", "delete")
    assert path.exists()
