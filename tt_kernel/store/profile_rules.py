"""What a profile must satisfy beyond its shape: spec tauritavern §11.2, as far as nothing else is needed to tell.

What depends on the tools there are is in `toolkit/profile_tools.py`, on connections in `session/models.py`; `session/diagnosis.py`
puts all of it together. Differences from the specification: `model.modelId` may stand without a connection (it is a model's
whole name here) and may be left to the connection; a `reply` profile may have no tools; the rules about finishing and
committing hold for the `finish` protocol only, because a `reply` ends by itself.
"""

import fnmatch
import re
from collections import Counter
from collections.abc import Callable, Iterator

from tt_kernel.domain.profiles import Breach, Profile

_ARTIFACT_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_NAME = re.compile(r"[a-z0-9_-]{1,128}")
"""Of skills and profiles."""
_WRITERS = ("builtin:workspace.write_file", "builtin:workspace.apply_patch", "builtin:workspace.shell")
_PRESET_APIS = frozenset(
    ["openai", "textgenerationwebui", "kobold", "koboldhorde", "novel", "instruct", "context", "sysprompt", "reasoning"]
)
"""Kinds of SillyTavern presets; agents can use the first."""


def breaches(profile: Profile) -> list[Breach]:
    """Every rule that the profile breaks; empty when it is valid."""
    return [Breach(f"agent.profile_{code}", message) for rule in _RULES for code, message in rule(profile)]


Found = Iterator[tuple[str, str]]


def _identity(profile: Profile) -> Found:
    if profile.id.endswith("\n"):  # which a pattern that ends in $ lets pass
        yield "id_invalid", "id ends with a line break."
    if not profile.display_name.strip():
        yield "display_name_required", "displayName is empty."


def _model(profile: Profile) -> Found:
    model = profile.model
    if model.mode == "connectionRef":
        if not (model.connection_ref or "").strip():
            yield "model_connection_ref_required", "model.mode connectionRef needs model.connectionRef."
    elif model.mode == "currentPromptSnapshot" and model.connection_ref is not None:
        yield (
            "model_current_snapshot_extra_fields",
            "model.connectionRef has no meaning in mode currentPromptSnapshot; write mode connectionRef.",
        )
    elif model.mode == "requiresConfiguration" and (model.connection_ref is not None or model.model_id is not None):
        yield (
            "model_requires_configuration_extra_fields",
            "model.mode requiresConfiguration means that no model is chosen; remove model.connectionRef and model.modelId.",
        )
    retry = profile.run.model_retry
    if retry.max_retries > 0 and retry.interval_ms == 0:
        yield "model_retry_invalid", "run.modelRetry.intervalMs is 0 although there are retries."


def _preset(profile: Profile) -> Found:
    preset = profile.preset
    if preset.reasoning_effort is not None and preset.mode != "ref":
        yield "preset_reasoning_effort_requires_ref", "preset.reasoningEffort belongs to preset.mode ref."
    if preset.mode != "ref":
        return
    if preset.ref is None:
        yield "preset_ref_required", "preset.mode ref needs preset.ref."
        return
    if preset.ref.api_id not in _PRESET_APIS:
        yield "preset_api_invalid", f"preset.ref.apiId {preset.ref.api_id!r} is no kind of preset."
    if not preset.ref.name.strip():
        yield "preset_name_required", "preset.ref.name is empty."


def _prompt(profile: Profile) -> Found:
    prompt = profile.instructions.agent_system_prompt
    if prompt is not None and not prompt.strip():
        yield "system_prompt_empty", "instructions.agentSystemPrompt is blank; null means the default text."


def _tools(profile: Profile) -> Found:
    if profile.run.completion == "finish" and not profile.tools.allow:
        yield "tools_empty", "tools.allow is empty, so the agent could never finish."
    if "builtin:task.return" in profile.tools.allow:
        yield "task_return_runtime_only", "tools.allow lists builtin:task.return, which the runtime adds by itself."
    for tool, texts in profile.tools.tool_descriptions.items():
        if not _has(profile, tool):
            yield "tool_description_invisible", f"tools.toolDescriptions describes {tool}, which is not allowed."
        if texts.description is not None and not texts.description.strip():
            yield "tool_description_empty", f"tools.toolDescriptions of {tool}: description is blank."
        for name, text in texts.properties.items():
            if not text.strip():
                yield "tool_property_description_empty", f"tools.toolDescriptions of {tool}: {name} is blank."


def _completion(profile: Profile) -> Found:
    if profile.run.completion != "finish" or not profile.run.direct_runnable:
        return
    if not _has(profile, "builtin:workspace.finish"):
        yield "finish_required", "run.completion is finish, but tools.allow lacks builtin:workspace.finish."
    if profile.run.presentation == "foreground" and not _has(profile, "builtin:workspace.commit"):
        yield "commit_required", "A foreground agent answers by builtin:workspace.commit, which tools.allow lacks."
    required = any(artifact.required for artifact in profile.output.artifacts)
    if required and not any(_has(profile, writer) for writer in _WRITERS):
        yield (
            "output_writer_required",
            "No allowed tool can write the required output: add builtin:workspace.write_file.",
        )


def _delegation(profile: Profile) -> Found:
    policy = profile.delegation
    if not policy.allowed_callers:
        yield "delegation_callers_empty", 'delegation.allowedCallers is empty; ["*"] lets every agent call.'
    for caller in policy.allowed_callers:
        if caller != "*" and not _NAME.fullmatch(caller):
            yield "id_invalid", f"delegation.allowedCallers has {caller!r}, which is no profile's id."
    if policy.description_for_agents is not None and not policy.description_for_agents.strip():
        yield "delegation_description_empty", "delegation.descriptionForAgents is blank; null means none."
    target = policy.allow_as_subagent or policy.allow_as_handoff_target
    if target and not policy.callable:
        yield (
            "delegation_callable_required",
            "delegation.allowAsSubagent and allowAsHandoffTarget need delegation.callable.",
        )
    if policy.callable and not target:
        yield (
            "delegation_target_mode_required",
            "delegation.callable needs delegation.allowAsSubagent or delegation.allowAsHandoffTarget.",
        )
    yield from _delegating(profile)
    yield from _indirect(profile)


def _delegating(profile: Profile) -> Found:
    """Tools that are named need the right; a glob only takes what there is."""
    named = set(profile.tools.allow) - set(profile.tools.deny)
    if named & {"builtin:agent.delegate", "builtin:agent.await"} and not profile.delegation.can_delegate:
        yield (
            "agent_delegate_requires_delegation",
            "tools.allow has builtin:agent.delegate or builtin:agent.await, which need delegation.canDelegate.",
        )
    if "builtin:agent.handoff" in named and not profile.delegation.can_handoff:
        yield (
            "agent_handoff_requires_handoff",
            "tools.allow has builtin:agent.handoff, which needs delegation.canHandoff.",
        )


def _indirect(profile: Profile) -> Found:
    """A profile that nobody starts directly must be one that other agents may start."""
    if profile.run.direct_runnable:
        return
    policy = profile.delegation
    if not policy.callable or not (policy.allow_as_subagent or policy.allow_as_handoff_target):
        yield (
            "direct_runnable_disabled_requires_delegation_target",
            "run.directRunnable is false, so delegation.callable and allowAsSubagent or allowAsHandoffTarget must be true.",
        )
    if not policy.allow_as_handoff_target and profile.run.presentation != "background":
        yield (
            "subagent_only_background_required",
            "An agent that only works for others publishes nothing: run.presentation must be background.",
        )


def _skills(profile: Profile) -> Found:
    if not profile.skills.visible:
        yield "skill_visible_empty", 'skills.visible is empty; ["*"] shows all, and skills.deny ["*"] none.'
    for field, names in (("visible", profile.skills.visible), ("deny", profile.skills.deny)):
        for name in names:
            if name != "*" and not _NAME.fullmatch(name):
                yield "skill_name_invalid", f"skills.{field} has {name!r}, which cannot be a skill's name."


def _plan(profile: Profile) -> Found:
    if profile.plan.mode != "none":
        yield "plan_mode_unsupported", f"plan.mode is {profile.plan.mode}; there is no plan engine, so it must be none."
    if profile.plan.nodes:
        yield "plan_nodes_unsupported", "plan.nodes must be empty: there is no plan engine."


def _workspace(profile: Profile) -> Found:
    visible, writable = profile.workspace.visible_roots, profile.workspace.writable_roots
    if not visible:
        yield "workspace_visible_empty", "workspace.visibleRoots is empty."
    for root in writable:
        if root not in visible:
            yield "workspace_root_invalid", f"workspace.writableRoots has {root!r}, which workspace.visibleRoots lacks."


def _output(profile: Profile) -> Found:
    artifacts = profile.output.artifacts
    if not artifacts:
        yield "output_empty", "output.artifacts is empty."
        return
    bodies = [artifact for artifact in artifacts if artifact.target == "messageBody"]
    if not bodies:
        yield "output_message_body_missing", "No artifact of output.artifacts has target messageBody."
    if len(bodies) > 1:
        yield "output_duplicate_message_body", "More than one artifact of output.artifacts has target messageBody."
    for name, count in Counter(artifact.id for artifact in artifacts).items():
        if count > 1:
            yield "output_duplicate_id", f"output.artifacts has the id {name!r} {count} times."
    for path, count in Counter(artifact.path for artifact in artifacts).items():
        if count > 1:
            yield "output_duplicate_path", f"output.artifacts has the path {path!r} {count} times."


def _artifacts(profile: Profile) -> Found:
    for artifact in profile.output.artifacts:
        if not _ARTIFACT_ID.fullmatch(artifact.id):
            yield "artifact_id_invalid", f"The artifact id {artifact.id!r} may hold letters, digits, '_' and '-' only."
        if not artifact.kind.strip():
            yield "output_kind_required", f"The artifact {artifact.id!r} has no kind."
        root, _, rest = artifact.path.partition("/")
        if root not in profile.workspace.writable_roots or not rest or ".." in rest.split("/"):
            roots = ", ".join(profile.workspace.writable_roots) or "none"
            yield "output_path_denied", f"The path {artifact.path!r} must lie below a writable root ({roots})."


def _has(profile: Profile, tool: str) -> bool:
    """Whether the lists allow a tool; deny wins."""

    def listed(patterns: tuple[str, ...]) -> bool:
        return any(fnmatch.fnmatchcase(tool, pattern) for pattern in patterns)

    return listed(profile.tools.allow) and not listed(profile.tools.deny)


_RULES: tuple[Callable[[Profile], Found], ...] = (
    _identity,
    _preset,
    _model,
    _prompt,
    _tools,
    _completion,
    _delegation,
    _skills,
    _workspace,
    _plan,
    _output,
    _artifacts,
)
