"""Diagnosis of a profile (spec tauritavern §11.2, §11.5) and `--set` (DESIGN §8)."""

import pytest

from tt_kernel.domain.errors import ProfileInvalid
from tt_kernel.domain.profiles import Profile
from tt_kernel.session.diagnosis import diagnose
from tt_kernel.session.profile_changes import Change, changes, own_fields
from tt_kernel.session.settings import with_settings
from tt_kernel.store.connections import ConnectionShelf
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.profiles import ProfileShelf

from .support import make_session


@pytest.fixture
def catalog(tmp_path):
    return make_session(tmp_path / "catalog").toolbox.catalog(())


def profile(**fields):
    return Profile.model_validate({"id": "p", "displayName": "P"} | fields)


def codes(found):
    return [(breach.code.removeprefix("agent.profile_"), breach.blocks) for breach in found]


def test_the_shipped_profiles_are_sound(catalog, tmp_path):
    shelf = ProfileShelf(AgentFolder(tmp_path / "nb.agent"), tmp_path / "user")
    for shipped, _ in shelf.list():
        assert diagnose(shipped, catalog, ConnectionShelf(tmp_path / "user")) == []


def test_rules_then_preset_model_and_tools_each_once(catalog, tmp_path):
    chosen = profile(
        displayName=" ",
        preset={"mode": "ref", "ref": {"apiId": "openai", "name": "Long"}, "required": True},
        model={"mode": "connectionRef", "connectionRef": "lab", "modelId": "m"},
        run={"directRunnable": False, "presentation": "background"},
        delegation={"callable": True, "allowAsSubagent": True},
        tools={
            "allow": ["builtin:workspace.read_file", "builtin:nothing", "builtin:nothing"],
            "toolDescriptions": {"builtin:workspace.read_file": {"description": " "}},
        },
    )
    assert codes(diagnose(chosen, catalog, ConnectionShelf(tmp_path))) == [
        ("display_name_required", True),
        ("tool_description_empty", True),
        ("preset_missing", True),
        ("model_connection_missing", True),
        ("unknown_tool", False),
        ("tool_description_empty", True),
        ("not_direct_runnable", False),
    ]
    assert "model_connection_missing" not in dict(codes(diagnose(chosen, catalog)))


# ---- --set


def test_a_field_is_set_by_either_spelling():
    for name in ("sampling.max_tokens", "sampling.maxTokens"):
        assert with_settings(profile(), {name: "5"}).sampling.max_tokens == 5
    changed = with_settings(profile(), {"context.initial_chat_history_messages": "-1", "preset.mode": "none"})
    assert changed.context.initial_chat_history_messages == -1
    assert with_settings(profile(), {}) == profile()


@pytest.mark.parametrize(
    ("settings", "code", "words"),
    [
        ({"limits.turn": 1}, "field_unknown", "A profile has no field 'limits.turn'. Did you mean limits.turns"),
        ({"limits.turns": "0"}, "contract_invalid", "Profile 'p': limits.turns is 0"),
        ({"workspace.visible_roots": '["x"]'}, "workspace_root_invalid", "workspace.visibleRoots.0 is 'x'"),
        ({"output.artifacts": "[]"}, "output_empty", "Profile 'p': output.artifacts is empty."),
        ({"run.completion": "finish"}, "tools_empty", "tools.allow is empty"),
    ],
)
def test_what_cannot_be_set_has_a_code(settings, code, words):
    with pytest.raises(ProfileInvalid) as caught:
        with_settings(profile(), settings)
    assert caught.value.code == f"agent.profile_{code}"
    assert words in caught.value.message


def test_a_rule_that_was_broken_before_does_not_stand_in_the_way():
    broken = profile(displayName=" ")
    assert with_settings(broken, {"limits.turns": 3}).limits.turns == 3


# ---- changes


def test_changes_are_fields_in_order():
    one = profile(tools={"allow": ["builtin:a", "builtin:b"]})
    other = profile(
        description="d",
        tools={"allow": ["builtin:b", "builtin:c"], "toolDescriptions": {"builtin:b": {"description": "B"}}},
    )
    assert changes(one, one) == []
    found = changes(one, other)
    assert [change.field for change in found] == [
        "description",
        "tools.allow",
        "tools.toolDescriptions.builtin:b.description",
    ]
    assert found[0] == Change("description", None, "d")
    assert found[0].told() == ("", "d")
    assert found[1].told() == ("-builtin:a", "+builtin:c")
    assert changes(other, one)[1].told() == ("-builtin:c", "+builtin:a")


def test_an_order_is_told_in_full():
    assert Change("x", ["a", "b"], ["b", "a"]).told() == ('["a","b"]', '["b","a"]')
    assert Change("x", None, True).told() == ("", "true")


def test_own_fields_are_those_that_are_not_at_their_defaults():
    chosen = profile(limits={"turns": 3}, workspace={"writableRoots": ["output"]})
    assert own_fields(chosen) == [
        ("id", "p"),
        ("displayName", "P"),
        ("workspace.writableRoots", ["output"]),
        ("limits.turns", 3),
    ]
