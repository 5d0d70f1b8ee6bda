"""From the catalog and a profile to the frozen tool set of one invocation: spec tauritavern §2.4.

The steps, each a function below: select (allow, deny, extra) -> context -> completion protocol -> image input -> the
profile's own descriptions -> call names.
"""

from collections.abc import Sequence

from tt_kernel.domain.errors import ProfileInvalid
from tt_kernel.domain.ids import ToolId, builtin
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.specs import Binding, Completion, Context, Diagnostic, Snapshot, ToolSpec
from tt_kernel.toolkit.catalog import Catalog, Selection, means
from tt_kernel.toolkit.naming import call_names
from tt_kernel.toolkit.profile_tools import absence, described

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
    diagnostics = [d for d in (absence(pattern, profile) for pattern in selection.absent) if d is not None]
    specs = _for_protocol(_for_context(selection, context), catalog, completion, profile)
    blind = [s for s in specs if s.returns_images and not accepts_images]
    diagnostics += [_needs_images(spec) for spec in blind]
    told = [described(spec, profile) for spec in specs if spec not in blind]
    _refuse_invisible(profile, selection)
    names = call_names([spec.id for spec in told])
    bindings = tuple(Binding(name=names[spec.id], spec=spec) for spec in told)
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


def _needs_images(spec: ToolSpec) -> Diagnostic:
    message = (
        f"{spec.id!r} returns images, but the model is not known to accept them; the run goes on without this tool."
    )
    return Diagnostic(code="extension.tool_needs_image_input", subject=spec.id, message=message)


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
