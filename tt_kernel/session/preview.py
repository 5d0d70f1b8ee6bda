"""What a model would get from a profile, without asking it."""

from collections.abc import Sequence
from dataclasses import dataclass

from tt_kernel.domain.errors import ModelUnavailable
from tt_kernel.domain.messages import Message
from tt_kernel.domain.profiles import Profile
from tt_kernel.domain.specs import Completion, Diagnostic, ToolOffer
from tt_kernel.domain.turns import Sampling
from tt_kernel.session.core import Session
from tt_kernel.session.lookout import opening_of
from tt_kernel.session.models import UNCONFIGURED

_NO_MODEL = frozenset({"model.not_configured", UNCONFIGURED})
_SEEING = "openai:gpt-5"
"""Stands for any model that accepts images: nothing else of a model decides what it gets."""


@dataclass(frozen=True)
class Preview:
    """The first request of a run.

    Attributes:
        profile: Its id.
        model: The model's name; None: none is chosen, and the tools are those for one that accepts images.
        completion: How the run would end.
        messages: System prompt first.
        tools: In their order.
        sampling: Settings that are not the provider's defaults.
        diagnostics: What the profile asks for and does not get.
    """

    profile: str
    model: str | None
    completion: Completion
    messages: tuple[Message, ...]
    tools: tuple[ToolOffer, ...]
    sampling: Sampling
    diagnostics: tuple[Diagnostic, ...]


def preview(
    session: Session, profile: str | Profile, *, prompt: str, model: str | None = None, tools: Sequence[str] = ()
) -> Preview:
    """Prepare a run as `Session.prepare` does, and look at its first request.

    Raises:
        UserError: What `Session.prepare` raises, but for a model that is not chosen yet.
    """
    chosen = model
    try:
        prepared = session.prepare(prompt, profile=profile, model=model, tools=tools)
        chosen = prepared.request.model
    except ModelUnavailable as problem:
        if problem.code not in _NO_MODEL:
            raise
        prepared = session.prepare(prompt, profile=profile, model=_SEEING, tools=tools)
    snapshot, opening = prepared.snapshot, opening_of(prepared, session.planner.scrubber)
    return Preview(
        profile=prepared.request.profile.id,
        model=chosen,
        completion=snapshot.completion,
        messages=tuple(opening.messages),
        tools=opening.asked.tools,
        sampling=prepared.request.profile.sampling,
        diagnostics=snapshot.diagnostics,
    )
