"""A profile that is edited: its form, its draft, and what there is to choose from."""

import difflib
import json

import pytest

from tt_kernel.domain.connections import Connection
from tt_kernel.domain.errors import NotFound, ProfileChanged, ProfileInvalid
from tt_kernel.domain.profiles import ModelChoice
from tt_kernel.session.core import Session
from tt_kernel.session.profile_choices import model_choices, tool_choices, tool_states
from tt_kernel.session.profile_draft import ProfileDraft
from tt_kernel.session.profile_form import fields, form
from tt_kernel.session.profile_leaves import changed_leaves, merged, put
from tt_kernel.session.profile_words import EMPTY, GROUPS, HELP, LABELS


@pytest.fixture
def session(notebook_folder, monkeypatch):
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(notebook_folder / "config"))
    return Session(notebook_folder / "nb.ipynb")


@pytest.fixture
def draft(session):
    return ProfileDraft(session, "assistant")


def document(session, name="assistant"):
    return json.loads((session.folder.profiles / f"{name}.json").read_text())


def problems(draft, *, blocking=True):
    return {".".join(map(str, p.path)): p.message for p in draft.check().problems if p.blocks == blocking}


# ---- the form


def test_every_field_has_its_place_and_its_words():
    placed = [field["name"] for group in form() for part in group["parts"] for field in part["fields"]]
    assert sorted(placed) == sorted(field["name"] for field in fields())
    assert len(set(placed)) == len(placed)
    assert [field["name"] for field in fields() if not field["help"]] == []


def test_no_words_are_left_of_fields_that_are_gone():
    inner = [item["name"] for field in fields() for item in field.get("items", ())]
    names = {field["name"] for field in fields()} | set(inner)
    assert set(HELP) | set(LABELS) <= names
    assert [prefix for prefix in EMPTY if not any(name.startswith(prefix) for name in names)] == []
    prefixes = [prefix for group in GROUPS for part in group.parts for prefix in part.fields]
    assert [p for p in prefixes if not any(name == p or name.startswith(f"{p}.") for name in names)] == []


def test_fields_say_how_they_are_entered():
    by_name = {field["name"]: field for field in fields()}
    turns = by_name["limits.turns"]
    assert (turns["kind"], turns["nullable"], turns["minimum"], turns["path"]) == (
        "integer",
        True,
        1,
        ["limits", "turns"],
    )
    assert by_name["run.completion"]["options"] == ["finish", "return", "reply"]
    assert by_name["workspace.visibleRoots"]["kind"] == "choices"
    assert by_name["instructions.agentSystemPrompt"]["kind"] == "long"
    assert by_name["tools.allow"]["kind"] == "list"
    rules = by_name["permissions.rules"]
    assert [(item["path"], item["kind"]) for item in rules["items"]] == [
        (["tool"], "text"),
        (["decision"], "choice"),
        (["arguments"], "map"),
    ]
    assert by_name["id"]["fixed"]
    assert not rules["items"][0]["fixed"]


# ---- leaves


def test_put_makes_what_is_missing_and_leaves_the_rest():
    before = {"a": {"b": 1}, "c": 2}
    assert put(before, ("a", "x", "y"), 3) == {"a": {"b": 1, "x": {"y": 3}}, "c": 2}
    assert before == {"a": {"b": 1}, "c": 2}
    assert put(before, (), 3) is before


def test_both_sides_of_a_change_are_kept():
    base = {"a": {"b": 1, "d": {"one": {"x": 1}, "two": {"x": 2}}}, "c": [1]}
    mine = {"a": {"b": 5, "d": {"two": {"x": 2}}}, "c": [1]}
    theirs = {"a": {"b": 1, "d": {"one": {"x": 1}, "two": {"x": 9}}}, "c": [1, 2]}
    assert merged(base, mine, theirs) == ({"a": {"b": 5, "d": {"two": {"x": 9}}}, "c": [1, 2]}, [])
    assert merged(base, mine, {**base, "a": {**base["a"], "b": 7}})[1] == ["a.b"]
    assert changed_leaves(base, mine) == {("a", "b"): 5, ("a", "d", "one", "x"): None}


# ---- the draft


def test_a_shipped_profile_is_saved_as_a_copy(session, draft):
    assert draft.is_copy
    assert draft.check().changed == ()
    draft.change(("limits", "turns"), 12)
    checked = draft.check()
    assert checked.can_be_saved
    assert [tuple(change) for change in checked.changes] == [("limits.turns", None, 12)]
    assert '+    "turns": 12,' in draft.file_diff()
    assert not session.folder.profiles.exists(), "nothing is written before it is saved"
    assert draft.save() == session.profiles.load("assistant")
    assert document(session)["limits"]["turns"] == 12


def test_the_diff_is_that_of_the_file(session, draft):
    draft.change(("displayName",), "Änderung")
    draft.save()
    before = (session.folder.profiles / "assistant.json").read_text().splitlines()
    again = ProfileDraft(session, "assistant")
    again.change(("sampling", "stop"), ["x", "y"])
    diff = again.file_diff().splitlines()[2:]
    again.save()
    after = (session.folder.profiles / "assistant.json").read_text().splitlines()
    assert diff == list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:]
    assert '+      "y"' in diff


def test_what_is_wrong_is_told_and_not_saved(session, draft):
    draft.change(("limits", "turns"), "many")
    draft.change(("sampling", "temperature"), "warm")
    assert set(problems(draft)) == {"limits.turns", "sampling.temperature"}
    assert draft.file_diff() == ""
    with pytest.raises(ProfileInvalid, match=r"limits\.turns is 'many'"):
        draft.save()
    assert not session.folder.profiles.exists()
    draft.change(("limits", "turns"), None)
    draft.change(("sampling", "temperature"), None)
    assert problems(draft) == {}
    draft.change(("instructions", "agentSystemPrompt"), "  ")
    assert set(problems(draft)) == {"instructions.agentSystemPrompt"}


def test_a_tool_that_nobody_has_is_no_news_where_it_stood_already(session, draft):
    allow = draft.document["tools"]["allow"]
    draft.change(("tools", "allow"), [*allow, "builtin:dice.rol"])
    assert problems(draft)["tools.allow"].startswith(
        "There is no tool 'builtin:dice.rol' to allow. Nearest: builtin:dice.roll"
    )
    assert "tools.allow" not in problems(draft, blocking=False), "said once"
    draft.change(("tools", "allow"), allow)
    draft.save()
    path = session.folder.profiles / "assistant.json"
    path.write_text(path.read_text().replace("builtin:workspace.shell", "builtin:workspace.shel"))
    again = ProfileDraft(session, "assistant")
    assert problems(again) == {}
    assert "there is no such tool" in problems(again, blocking=False)["tools.allow"]


def test_what_is_no_field_of_the_form_stays(draft):
    for path in (("id",), ("schemaVersion",), (), ("tools",), ("limits", "turns", "more"), ("nothing",)):
        draft.change(path, "other")
    assert draft.check().changed == ()


def test_a_profile_that_breaks_rules_can_be_mended(session):
    session.folder.create()
    session.folder.profiles.mkdir(exist_ok=True)
    (session.folder.profiles / "x.json").write_text(
        json.dumps({"id": "x", "displayName": "X", "workspace": {"visibleRoots": []}})
    )
    draft = ProfileDraft(session, "x")
    assert "workspace.visibleRoots" in problems(draft)
    draft.change(("workspace", "visibleRoots"), ["output", "scratch", "plan", "summaries", "persist"])
    draft.save()
    assert session.profiles.load("x").workspace.visible_roots[0] == "output"


def test_no_such_profile(session):
    with pytest.raises(NotFound):
        ProfileDraft(session, "nobody")


# ---- two editors


def test_two_editors_keep_both_changes(session, draft):
    other = ProfileDraft(session, "assistant")
    draft.change(("limits", "turns"), 12)
    other.change(("sampling", "seed"), 7)
    other.change(("tools", "toolDescriptions"), {"builtin:workspace.shell": {"description": "Run.", "properties": {}}})
    other.save()
    with pytest.raises(ProfileChanged):
        draft.save()
    assert document(session)["limits"]["turns"] is None
    assert draft.take_both() == []
    assert [change.field for change in draft.check().changes] == ["limits.turns"]
    draft.save()
    assert (document(session)["limits"]["turns"], document(session)["sampling"]["seed"]) == (12, 7)
    assert "builtin:workspace.shell" in document(session)["tools"]["toolDescriptions"]


def test_where_both_changed_a_field_it_is_said(session, draft):
    other = ProfileDraft(session, "assistant")
    draft.change(("limits", "turns"), 12)
    other.change(("limits", "turns"), 3)
    other.save()
    assert draft.take_both() == ["limits.turns"]
    assert [tuple(change) for change in draft.check().changes] == [("limits.turns", 3, 12)]


def test_a_draft_is_given_up_for_theirs(session, draft):
    other = ProfileDraft(session, "assistant")
    draft.change(("limits", "turns"), 12)
    other.change(("limits", "turns"), 3)
    other.save()
    draft.take_theirs()
    assert draft.check().changed == ()
    assert draft.document["limits"]["turns"] == 3


def test_a_file_that_is_gone_can_be_written_again(session, draft):
    draft.save()
    again = ProfileDraft(session, "assistant")
    again.change(("limits", "turns"), 12)
    again.target.unlink()
    with pytest.raises(ProfileChanged):
        again.save()
    assert again.theirs() is None
    again.take_both()
    again.save()
    assert document(session)["limits"]["turns"] == 12


def test_a_file_that_cannot_be_read_is_not_overwritten(session, draft):
    draft.save()
    again = ProfileDraft(session, "assistant")
    again.change(("limits", "turns"), 12)
    again.target.write_text("{ half")
    with pytest.raises(ProfileChanged):
        again.save()
    with pytest.raises(ProfileInvalid, match="not valid JSON"):
        again.take_both()
    assert again.document["limits"]["turns"] == 12
    assert again.target.read_text() == "{ half"


def test_the_user_s_own_stays_the_user_s(session, draft):
    session.profiles.save(draft.base, to="user")
    again = ProfileDraft(session, "assistant")
    again.change(("limits", "turns"), 12)
    again.save()
    assert not session.folder.profiles.exists()
    assert session.profiles.load("assistant").limits.turns == 12


# ---- choices


def test_connections_are_told_without_address_and_key(session):
    key = "env_of_the_key"
    session.connections.save(
        Connection(
            name="lab", provider="openai", model="m1", base_url="https://models.example.org/v1", credential=key.upper()
        )
    )
    chosen = ModelChoice(mode="connectionRef", connection_ref="lab", model_id="m2")
    session.profiles.save(session.profiles.load("writer").model_copy(update={"model": chosen}))
    choices = model_choices(session)
    (lab,) = choices["connections"]
    assert lab == {"name": "lab", "description": None, "provider": "openai", "model": "m1", "models": ["m1", "m2"]}
    assert "example.org" not in json.dumps(choices)
    assert key.upper() not in json.dumps(choices)
    assert "local:smollm2" in choices["models"]


def test_tools_are_told_with_what_they_touch(session, draft):
    tools = {tool["id"]: tool for tool in tool_choices(draft.catalog())}
    bash = tools["builtin:Bash"]
    assert (bash["name"], bash["effect"], bash["readOnly"], bash["source"]) == ("Bash", "host", False, "built in")
    assert "command" in bash["properties"]
    assert tools["builtin:workspace.read_file"]["name"] == "workspace_read_file"
    assert all(tool["tokens"] > 0 for tool in tools.values())


def test_which_entries_mean_a_tool(draft):
    draft.change(("tools", "allow"), ["builtin:workspace.*", "dice_roll"])
    draft.change(("tools", "deny"), ["builtin:workspace.shell"])
    draft.change(("tools", "toolDescriptions"), {"dice_roll": {"description": "Roll."}})
    states = tool_states(draft.catalog(), draft.document)
    assert states["builtin:workspace.shell"] == {
        "allow": ["builtin:workspace.*"],
        "deny": ["builtin:workspace.shell"],
        "described": None,
    }
    assert states["builtin:dice.roll"] == {"allow": ["dice_roll"], "deny": [], "described": "dice_roll"}
    assert states["builtin:Bash"] == {"allow": [], "deny": [], "described": None}


def test_an_address_brings_its_tool(draft):
    assert "builtin:HttpGetTest" not in draft.catalog()
    draft.change(("tools", "httpGetTestUrl"), "https://example.org")
    assert "builtin:HttpGetTest" in draft.catalog()
