"""Spec tauritavern §11.4: profiles of schemas 1 to 4 as schema 5; §23(18)."""

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.domain.errors import ProfileInvalid
from tt_kernel.domain.profiles import ModelRetry, Profile
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.migrations import migrated
from tt_kernel.store.profiles import ProfileShelf, decode_draft, decode_profile

OLD = Path(__file__).parent / "old_profiles"
NAMES = ["v1-novelist", "v2-critic", "v3-lorekeeper", "v4-editor", "v5-default-writer"]
RETIRED = ("maxRounds", "maxCallsPerRun", "maxCallsPerTool", "mcpResultInlineCharLimit", "maxReadCharsPerCall", "maxReadCharsPerRun")  # fmt: skip


def document(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((OLD / f"{name}.json").read_text())
    return loaded


def profile(name: str) -> Profile:
    return decode_profile(document(name), source=name)


@pytest.mark.parametrize("name", NAMES)
def test_old_documents_load_and_are_saved_as_schema_5(name: str, tmp_path: Path) -> None:
    """§23(18)."""
    folder = tmp_path / "nb.agent" / "profiles"
    folder.mkdir(parents=True)
    profile_id = document(name)["id"]
    shutil.copy(OLD / f"{name}.json", folder / f"{profile_id}.json")
    shelf = ProfileShelf(AgentFolder(tmp_path / "nb.agent"), tmp_path / "user")
    loaded = shelf.load(profile_id)
    text = shelf.save(loaded).read_text()
    assert json.loads(text)["schemaVersion"] == 5
    assert [field for field in RETIRED if field in text] == []
    assert shelf.load(profile_id) == loaded


@pytest.mark.parametrize("name", NAMES)
def test_instructions_are_untouched_and_no_right_is_added(name: str) -> None:
    before, after = document(name), profile(name)
    assert after.instructions.agent_system_prompt == before["instructions"].get("agentSystemPrompt")

    def stable(tools: list[str]) -> set[str]:
        return {tool if ":" in tool else f"builtin:{tool}" for tool in tools}

    gone = {tool for tool in stable(before["tools"]["deny"]) if ".list" in tool or ":skill." in tool}
    assert set(after.tools.allow) <= stable(before["tools"]["allow"])
    assert set(after.tools.deny) == stable(before["tools"]["deny"]) - gone
    assert list(after.workspace.visible_roots) == before["workspace"]["visibleRoots"]
    assert list(after.workspace.writable_roots) == before["workspace"]["writableRoots"]
    assert list(after.skills.visible) == before["skills"]["visible"]
    assert list(after.skills.deny) == before["skills"]["deny"]
    for right in ("canDelegate", "canHandoff", "callable", "allowAsSubagent", "allowAsHandoffTarget"):
        assert after.model_dump()["delegation"][right] == before.get("delegation", {}).get(right, False)


def test_schema_1_bare_names_become_stable_ids_everywhere() -> None:
    migrated_tools = migrated(document("v1-novelist"))["tools"]
    assert migrated_tools["allow"] == [
        f"builtin:{name}"
        for name in (
            "chat.search", "chat.read_messages", "workspace.list_files", "workspace.read_file", "workspace.write_file",
            "workspace.commit", "workspace.finish",
        )
    ]  # fmt: skip
    assert migrated_tools["deny"] == ["builtin:workspace.apply_patch"]
    assert migrated_tools["toolDescriptions"] == {
        "builtin:workspace.write_file": {"description": "Write the chapter.", "properties": {"path": "Below output/."}}
    }


def test_schema_2_a_tool_that_was_named_both_ways_is_allowed_once() -> None:
    critic = profile("v2-critic")
    assert critic.tools.allow == (
        "builtin:workspace.read_file",
        "builtin:workspace.search_files",
        "builtin:workspace.write_file",
    )
    assert critic.tools.deny == ("builtin:workspace.shell",)
    assert critic.run.model_retry == ModelRetry(max_retries=1, interval_ms=500)
    assert critic.context.initial_chat_history_messages == 12
    assert critic.delegation.max_concurrent_invocations == 2


def test_schema_3_loses_skill_tools_and_the_list_of_agents_but_no_foreign_tool() -> None:
    keeper = profile("v3-lorekeeper")
    assert keeper.tools.allow == (
        "builtin:agent.delegate",
        "builtin:agent.await",
        "builtin:worldinfo.read_activated",
        "builtin:workspace.read_file",
        "builtin:workspace.write_file",
        "builtin:workspace.commit",
        "builtin:workspace.finish",
        "mcp/0b1c5a4e-8f2e-4c7d-9a55-1f1f6f0f2a11:skill.lookup",
    )
    assert list(keeper.tools.tool_descriptions) == ["builtin:agent.delegate"]
    assert keeper.tools.external_result_inline_char_limit == 12345


def test_schema_4_loses_its_limits() -> None:
    editor = profile("v4-editor")
    assert editor.tools.allow[-1] == "extension/words-counter:count"
    assert editor.model.mode == "requiresConfiguration"
    assert editor.limits.turns is None


def test_the_specified_default_profile() -> None:
    """§11.2b."""
    writer = profile("v5-default-writer")
    assert writer.delegation.can_delegate
    assert len(writer.tools.allow) == 13
    assert not {"builtin:agent.handoff", "builtin:dice.roll"} & set(writer.tools.allow)


@pytest.mark.parametrize(
    ("name", "completion", "messages"),
    [("v1-novelist", "finish", -1), ("v2-critic", "reply", 12), ("v4-editor", "finish", 0), ("v5-default-writer", "finish", -1)],
)  # fmt: skip
def test_documents_of_the_specification_keep_its_defaults(name: str, completion: str, messages: int) -> None:
    loaded = profile(name)
    assert loaded.run.completion == completion
    assert loaded.context.initial_chat_history_messages == messages


def test_a_denied_finish_is_no_finish() -> None:
    old = document("v5-default-writer")
    old["tools"]["deny"] = ["builtin:workspace.finish"]
    assert "completion" not in migrated(old)["run"]


def test_an_own_document_keeps_our_defaults() -> None:
    ours = migrated(
        {"kind": "tt_kernel.agentProfile", "schemaVersion": 5, "tools": {"allow": ["builtin:workspace.finish"]}}
    )
    assert "run" not in ours
    assert "context" not in ours


@pytest.mark.parametrize("field", RETIRED[:3])
def test_a_retired_field_in_schema_5_is_an_unknown_field(field: str) -> None:
    current = document("v5-default-writer")
    current["tools"][field] = {} if field == "maxCallsPerTool" else 80
    with pytest.raises(ProfileInvalid, match=f"tools.{field} is no field of a profile"):
        decode_profile(current, source="x")


@pytest.mark.parametrize("field", RETIRED[4:])
def test_a_read_budget_is_retired_since_schema_4(field: str) -> None:
    old = document("v4-editor")
    old["skills"][field] = 1
    with pytest.raises(ProfileInvalid, match=f"skills.{field} is no field of a profile"):
        decode_profile(old, source="x")
    old["schemaVersion"] = 3
    decode_profile(old, source="x")


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_the_legacy_name_of_the_result_limit_is_read_in_every_schema(version: int) -> None:
    tools = migrated({"schemaVersion": version, "tools": {"mcpResultInlineCharLimit": 7}})["tools"]
    assert tools == {"externalResultInlineCharLimit": 7}
    both = {"mcpResultInlineCharLimit": 7, "externalResultInlineCharLimit": 8}
    assert migrated({"schemaVersion": version, "tools": both})["tools"] == {"externalResultInlineCharLimit": 8}


@pytest.mark.parametrize("version", [0, 6, -1, "4", 4.0, True, None, [4]])
def test_another_version_is_left_for_the_decoder_to_refuse(version: object) -> None:
    old = document("v4-editor") | {"schemaVersion": version}
    assert migrated(old) is old
    with pytest.raises(ProfileInvalid, match="schemaVersion is") as caught:
        decode_profile(old, source="x")
    assert caught.value.code == "agent.profile_schema_unsupported"


def test_a_draft_of_an_old_schema_decodes_with_what_it_breaks() -> None:
    """§11.4: the same removal when drafts are decoded."""
    draft = document("v1-novelist")
    draft["displayName"] = " "
    draft["output"] = {"artifacts": []}
    loaded, found = decode_draft(draft, source="draft")
    assert loaded.tools.allow == profile("v1-novelist").tools.allow
    assert [breach.code for breach in found] == ["agent.profile_display_name_required", "agent.profile_output_empty"]


def test_a_draft_with_unknown_fields_is_refused() -> None:
    with pytest.raises(ProfileInvalid, match=r"tools\.maxRoundz is no field"):
        decode_draft({**document("v1-novelist"), "tools": {"maxRoundz": 1}}, source="draft")


@pytest.mark.parametrize("name", NAMES)
def test_the_document_that_was_given_is_not_changed(name: str) -> None:
    old = document(name)
    before = copy.deepcopy(old)
    migrated(old)
    assert old == before


@pytest.mark.parametrize("name", NAMES)
def test_migrating_twice_changes_nothing_more(name: str) -> None:
    once = migrated(document(name))
    assert migrated(once) == once


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
TOOLS = st.fixed_dictionaries(
    {},
    optional={
        name: JSON
        | st.lists(st.sampled_from(["skill.read", "agent.list", "workspace.shell", "builtin:skill.x", "mcp/a:skill.b"]))
        for name in ("allow", "deny", "toolDescriptions", "maxCallsPerTool", "maxRounds", "mcpResultInlineCharLimit")
    },
)


@given(
    version=st.integers(1, 5),
    kind=JSON | st.just("tauritavern.agentProfile"),
    tools=TOOLS | JSON,
    skills=JSON,
    run=JSON,
)
def test_whatever_stands_in_a_document_is_migrated_or_refused_in_words(
    version: int, kind: object, tools: object, skills: object, run: object
) -> None:
    old = {
        "schemaVersion": version,
        "kind": kind,
        "id": "x",
        "displayName": "X",
        "tools": tools,
        "skills": skills,
        "run": run,
    }
    after = migrated(old)
    assert after["schemaVersion"] == 5
    assert migrated(after) == after
    try:
        decode_draft(old, source="x")
    except ProfileInvalid as problem:
        assert problem.message.startswith("Profile x: ")


@given(value=JSON)
def test_what_is_no_object_is_left_alone(value: object) -> None:
    after = migrated(value)
    assert after == value or isinstance(value, dict)
