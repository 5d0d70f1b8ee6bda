"""From the catalog and a profile to the frozen tool set of one invocation: spec tauritavern §2.4.

The steps, each a function below: select (allow, deny, extra) -> context -> completion protocol -> image input -> the
profile's own descriptions -> call names.
"""

from collections.abc import Sequence
from typing import Any

from tt_kernel.domain.errors import ProfileInvalid
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.profiles import Profile, ToolDescription
from tt_kernel.domain.specs import Binding, Completion, Context, Diagnostic, Snapshot, ToolSpec
from tt_kernel.toolkit.catalog import Catalog, Selection, is_glob, means
from tt_kernel.toolkit.naming import call_names

COMMIT = builtin("workspace.commit")
FINISH = builtin("workspace.finish")
TASK_RETURN = builtin("task.return")

REMOVED: dict[Completion, frozenset[ToolId]] = {
    "finish": frozenset({TASK_RETURN}),
    # A reply ends the run, so nothing else may; publishing a file as the answer stays possible.
    "reply": frozenset({FINISH, TASK_RETURN}),
    "return": frozenset({COMMIT, FINISH, builtin("agent.delegate"), builtin("agent.handoff"), builtin("agent.await")}),
}
"""Tools that an invocation with the protocol does not have."""

NOTEBOOK = "extension/notebook"
"""Provider of the functions that the user wrote in this notebook."""


def make_snapshot(
    catalog: Catalog,
    profile: Profile,
    *,
    completion: Completion,
    context: Context,
    accepts_images: bool,
    extra_tools: Sequence[str] = (),
) -> Snapshot:
    """Freeze the tools of one invocation.

    Args:
        catalog: All known tools.
        profile: Its `tools` decide; the order of `tools.allow` is the order of the tools.
        completion: How the invocation ends.
        context: A cell's run or a session.
        accepts_images: The model is known to take images.
        extra_tools: Ids, globs or names added for this run (option -t).

    Raises:
        NotFound, UsageProblem: An extra tool is unknown or denied.
        ProfileInvalid: The profile names `task.return`, describes a tool that it does not have, or needs
            `workspace.finish` and does not have it.
    """
    _refuse_runtime_only(profile)
    selection = catalog.select(profile.tools.allow, profile.tools.deny, extra_tools)
    diagnostics = [d for d in (_absence(pattern, profile) for pattern in selection.absent) if d is not None]
    specs = _for_protocol(_for_context(selection, context), catalog, completion, profile)
    blind = [s for s in specs if s.returns_images and not accepts_images]
    diagnostics += [_needs_images(spec) for spec in blind]
    described = [_described(spec, profile) for spec in specs if spec not in blind]
    _refuse_invisible(profile, selection)
    names = call_names([spec.id for spec in described])
    bindings = tuple(Binding(name=names[spec.id], spec=spec) for spec in described)
    return Snapshot(completion=completion, bindings=bindings, diagnostics=tuple(diagnostics))


def _for_context(selection: Selection, context: Context) -> list[ToolSpec]:
    return [spec for spec in selection.specs if context in spec.contexts]


def _for_protocol(specs: list[ToolSpec], catalog: Catalog, completion: Completion, profile: Profile) -> list[ToolSpec]:
    """The tool set after the exit policy; what ends the invocation must be in it."""
    kept = [spec for spec in specs if spec.id not in REMOVED[completion]]
    if completion == "return":
        kept = [spec for spec in kept if spec.id != TASK_RETURN]
        kept += [spec for spec in catalog if spec.id == TASK_RETURN]
    ends_by = {"finish": FINISH, "return": TASK_RETURN}.get(completion)
    if ends_by is not None and all(spec.id != ends_by for spec in kept):
        raise ProfileInvalid(
            "agent.profile_finish_required",
            f"Profile {profile.id!r} ends by {ends_by!r} but does not have that tool. "
            'Add it to tools.allow, or set run.completion to "reply".',
        )
    return kept


def _absence(pattern: str, profile: Profile) -> Diagnostic | None:
    """Why a pattern of the allow list meant nothing; None where that is normal."""
    provider = pattern.partition(":")[0]
    if provider == NOTEBOOK and is_glob(pattern):
        return None  # a notebook without tool functions
    if provider.startswith(("extension/", "mcp/")):
        message = (
            f"{pattern!r} is allowed by profile {profile.id!r} but is not available now; the run goes on without it."
        )
        return Diagnostic(code="tool.unavailable", subject=pattern, message=message)
    message = f"Profile {profile.id!r} allows {pattern!r}, but there is no such tool."
    return Diagnostic(code="agent.profile_unknown_tool", subject=pattern, message=message)


def _needs_images(spec: ToolSpec) -> Diagnostic:
    message = (
        f"{spec.id!r} returns images, but the model is not known to accept them; the run goes on without this tool."
    )
    return Diagnostic(code="extension.tool_needs_image_input", subject=spec.id, message=message)


def _described(spec: ToolSpec, profile: Profile) -> ToolSpec:
    """The spec with the profile's own texts."""
    for pattern, texts in profile.tools.tool_descriptions.items():
        if means(pattern, spec.id):
            return _rewritten(spec, texts, profile)
    return spec


def _rewritten(spec: ToolSpec, texts: ToolDescription, profile: Profile) -> ToolSpec:
    if texts.description is not None and not texts.description.strip():
        raise _invalid(profile, "tool_description_empty", f"describes {spec.id!r} with an empty text")
    properties: dict[str, Any] = dict(spec.input_schema.get("properties", {}))
    for name, text in texts.properties.items():
        if name not in properties:
            known = ", ".join(properties) or "none"
            raise _invalid(
                profile, "unknown_tool_property", f"describes {name!r} of {spec.id!r}; its parameters: {known}"
            )
        if not text.strip():
            raise _invalid(
                profile, "tool_property_description_empty", f"describes {name!r} of {spec.id!r} with an empty text"
            )
        properties[name] = {**properties[name], "description": text}
    schema = {**spec.input_schema, "properties": properties}
    return spec.model_copy(update={"description": texts.description or spec.description, "input_schema": schema})


def _refuse_runtime_only(profile: Profile) -> None:
    if str(TASK_RETURN) in profile.tools.allow:
        raise _invalid(profile, "task_return_runtime_only", f"allows {TASK_RETURN!r}, which the runtime adds by itself")


def _refuse_invisible(profile: Profile, selection: Selection) -> None:
    for pattern in profile.tools.tool_descriptions:
        known = any(means(pattern, spec.id) for spec in selection.specs) or pattern in selection.absent
        if not known and pattern.startswith("builtin:"):
            raise _invalid(profile, "tool_description_invisible", f"describes {pattern!r}, which it does not allow")


def _invalid(profile: Profile, code: str, what: str) -> ProfileInvalid:
    return ProfileInvalid(f"agent.profile_{code}", f"Profile {profile.id!r} {what}.")
