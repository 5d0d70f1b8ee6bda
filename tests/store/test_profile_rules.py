"""Spec tauritavern §11.2: the validation codes that need nothing but the profile."""

from typing import Any

import pytest

from tt_kernel.domain.profiles import Profile
from tt_kernel.store.profile_rules import breaches

FINISH = {
    "run": {"completion": "finish"},
    "tools": {"allow": ["builtin:workspace.write_file", "builtin:workspace.commit", "builtin:workspace.finish"]},
}


def artifact(**fields: object) -> dict[str, object]:
    return {"id": "main", "path": "output/main.md"} | fields


def without(tool: str) -> dict[str, Any]:
    allow = [known for known in FINISH["tools"]["allow"] if not known.endswith(tool)]
    return FINISH | {"tools": {"allow": allow}}


SUBAGENT = {
    "run": {"directRunnable": False, "presentation": "background", "completion": "finish"},
    "delegation": {"callable": True, "allowAsSubagent": True},
}


def codes(fields: dict[str, Any]) -> list[str]:
    profile = Profile.model_validate({"id": "x", "displayName": "x"} | fields)
    return [breach.code.removeprefix("agent.profile_") for breach in breaches(profile)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"displayName": ""}, "display_name_required"),
        ({"model": {"mode": "connectionRef", "modelId": "m"}}, "model_connection_ref_required"),
        ({"model": {"mode": "connectionRef", "connectionRef": " ", "modelId": "m"}}, "model_connection_ref_required"),
        ({"model": {"connectionRef": "c"}}, "model_current_snapshot_extra_fields"),
        ({"model": {"mode": "requiresConfiguration", "modelId": "m"}}, "model_requires_configuration_extra_fields"),
        ({"run": {"modelRetry": {"maxRetries": 1, "intervalMs": 0}}}, "model_retry_invalid"),
        ({"preset": {"mode": "ref"}}, "preset_ref_required"),
        ({"preset": {"mode": "ref", "ref": {"apiId": "gpt", "name": "x"}}}, "preset_api_invalid"),
        ({"preset": {"mode": "ref", "ref": {"apiId": "openai", "name": " "}}}, "preset_name_required"),
        ({"preset": {"mode": "none", "reasoningEffort": "low"}}, "preset_reasoning_effort_requires_ref"),
        ({"instructions": {"agentSystemPrompt": " \n"}}, "system_prompt_empty"),
        ({"delegation": {"allowedCallers": []}}, "delegation_callers_empty"),
        ({"delegation": {"allowedCallers": ["The Writer"]}}, "id_invalid"),
        ({"delegation": {"descriptionForAgents": " "}}, "delegation_description_empty"),
        ({"delegation": {"allowAsSubagent": True}}, "delegation_callable_required"),
        ({"delegation": {"allowAsHandoffTarget": True}}, "delegation_callable_required"),
        ({"delegation": {"callable": True}}, "delegation_target_mode_required"),
        ({"tools": {"allow": ["builtin:agent.delegate"]}}, "agent_delegate_requires_delegation"),
        ({"tools": {"allow": ["builtin:agent.await"]}}, "agent_delegate_requires_delegation"),
        ({"tools": {"allow": ["builtin:agent.handoff"]}}, "agent_handoff_requires_handoff"),
        (
            {"run": {"directRunnable": False, "presentation": "background"}},
            "direct_runnable_disabled_requires_delegation_target",
        ),
        (SUBAGENT | {"run": {"directRunnable": False}}, "subagent_only_background_required"),
        ({"skills": {"visible": []}}, "skill_visible_empty"),
        ({"skills": {"visible": ["Lore"]}}, "skill_name_invalid"),
        ({"skills": {"deny": ["a b"]}}, "skill_name_invalid"),
        ({"plan": {"mode": "free"}}, "plan_mode_unsupported"),
        ({"plan": {"nodes": [{"id": "a", "title": "A"}]}}, "plan_nodes_unsupported"),
        ({"tools": {"allow": ["builtin:task.return"]}}, "task_return_runtime_only"),
        ({"tools": {"toolDescriptions": {"builtin:x": {}}}}, "tool_description_invisible"),
        (
            {"tools": {"allow": ["builtin:*"], "deny": ["builtin:x"], "toolDescriptions": {"builtin:x": {}}}},
            "tool_description_invisible",
        ),
        (
            {"tools": {"allow": ["builtin:x"], "toolDescriptions": {"builtin:x": {"description": " "}}}},
            "tool_description_empty",
        ),
        (
            {"tools": {"allow": ["builtin:*"], "toolDescriptions": {"builtin:x": {"properties": {"path": ""}}}}},
            "tool_property_description_empty",
        ),
        (without("finish"), "finish_required"),
        (without("commit"), "commit_required"),
        (without("write_file"), "output_writer_required"),
        ({"workspace": {"visibleRoots": ["output"], "writableRoots": ["output", "plan"]}}, "workspace_root_invalid"),
        ({"output": {"artifacts": []}}, "output_empty"),
        ({"output": {"artifacts": [artifact(target="other")]}}, "output_message_body_missing"),
        ({"output": {"artifacts": [artifact(), artifact(id="b", path="output/b")]}}, "output_duplicate_message_body"),
        ({"output": {"artifacts": [artifact(), artifact(path="output/b", target="t")]}}, "output_duplicate_id"),
        ({"output": {"artifacts": [artifact(), artifact(id="b", target="t")]}}, "output_duplicate_path"),
        ({"output": {"artifacts": [artifact(kind=" ")]}}, "output_kind_required"),
        ({"output": {"artifacts": [artifact(id="a b")]}}, "artifact_id_invalid"),
        ({"output": {"artifacts": [artifact(path="tool-results/x")]}}, "output_path_denied"),
        ({"output": {"artifacts": [artifact(path="output")]}}, "output_path_denied"),
        ({"output": {"artifacts": [artifact(path="output/../x")]}}, "output_path_denied"),
        ({"output": {"artifacts": [artifact(path="/etc/x")]}}, "output_path_denied"),
        (
            {"workspace": {"visibleRoots": ["output", "plan"], "writableRoots": ["plan"]}},
            "output_path_denied",
        ),
    ],
)
def test_each_rule_has_its_code(fields: dict[str, Any], expected: str) -> None:
    assert codes(fields) == [expected]


def test_several_breaches_are_all_told() -> None:
    assert codes({"displayName": " ", "output": {"artifacts": []}}) == ["display_name_required", "output_empty"]
    assert "tools_empty" in codes({"run": {"completion": "finish"}})
    assert "workspace_visible_empty" in codes({"workspace": {"visibleRoots": [], "writableRoots": []}})


@pytest.mark.parametrize(
    "fields",
    [
        {},
        FINISH,
        {"run": {"completion": "finish"}, "tools": {"allow": ["builtin:*"]}},
        without("commit") | {"run": {"completion": "finish", "presentation": "background"}},
        {"tools": {"allow": ["builtin:x"]}} | SUBAGENT,
        {"delegation": {"callable": True, "allowAsHandoffTarget": True}, "run": {"directRunnable": False}},
        {"tools": {"allow": ["builtin:*"]}},  # a glob takes what there is, and asks for no right
        {"tools": {"allow": ["builtin:agent.delegate"], "deny": ["builtin:agent.delegate"]}},
        {"tools": {"allow": ["builtin:agent.delegate", "builtin:agent.await"]}, "delegation": {"canDelegate": True}},
        {"delegation": {"allowedCallers": ["*", "writer"]}},
        {"preset": {"mode": "ref", "ref": {"apiId": "openai", "name": "Long"}, "reasoningEffort": "high"}},
        {"preset": {"mode": "none"}},
        {"skills": {"visible": ["lore-1"], "deny": ["*"]}},
        {"model": {"mode": "connectionRef", "connectionRef": "c"}},
        {"model": {"modelId": "openai:gpt-x"}},
        {"model": {"mode": "requiresConfiguration"}},
        {"model": {"mode": "connectionRef", "connectionRef": "c", "modelId": "m"}},
        {"run": {"modelRetry": {"maxRetries": 0, "intervalMs": 0}}},
    ],
)
def test_valid_profiles_break_nothing(fields: dict[str, Any]) -> None:
    assert codes(fields) == []
