"""Which model a profile means, and how it is reached: spec tauritavern §11.1, §11.2; DESIGN §9."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tt_kernel.domain.connections import Connection
from tt_kernel.domain.errors import ModelUnavailable, ProfileInvalid
from tt_kernel.domain.messages import BACKGROUND, Message
from tt_kernel.domain.ports import Provider
from tt_kernel.domain.profiles import Breach, Profile
from tt_kernel.domain.runs import RunRequest
from tt_kernel.providers.circuits import Circuits
from tt_kernel.providers.failover import Candidate, FailoverProvider
from tt_kernel.providers.names import default_model, no_model_message, provider_for
from tt_kernel.store.connections import MISSING, ConnectionShelf

UNCONFIGURED = "agent.profile_model_requires_configuration"
UNNAMED = "agent.profile_model_id_required"
UNCHOSEN = "model.not_configured"

Remembered = Callable[[str], Connection | None]
"""A connection as the newest run with it knew it, by its name."""


@dataclass(frozen=True)
class Target:
    """A model by its whole name, and the connection that it is reached by; None: the environment's address and key."""

    name: str
    connection: Connection | None = None


def target_of(
    profile: Profile,
    connections: ConnectionShelf,
    *,
    default: str | None = None,
    remembered: Remembered = lambda _: None,
) -> Target:
    """The model of a profile when no other is asked for.

    A notebook that came from somebody else names a connection of theirs. Its runs remember what decides the answers (provider
    and address), so they can be replayed without it; to ask the model, `live_provider` wants the user's own.

    Args:
        profile: Whose model.
        connections: The user's.
        default: The session's default model; None: the environment's.
        remembered: Where a connection is looked up that the user does not have.

    Raises:
        ModelUnavailable: `agent.profile_model_requires_configuration`, `..._model_id_required`, `..._connection_missing`,
            `..._connection_invalid`, or `model.not_configured`.
    """
    if profile.model.mode == "requiresConfiguration":
        raise ModelUnavailable(UNCONFIGURED, _unconfigured(profile))
    if profile.model.mode == "connectionRef":
        return _by_connection(profile, connections, remembered)
    name = profile.model.model_id or default or default_model()
    if name is None:
        raise ModelUnavailable(UNCHOSEN, no_model_message())
    return Target(name)


def live_provider(
    name: str, connection: Connection | None, *, base_dir: Path, connections: ConnectionShelf
) -> Provider:
    """The provider that asks the model. Where a key is sent is decided by the user's own documents, never by a run's record.

    Raises:
        ModelUnavailable: `agent.profile_model_connection_missing`, or what `provider_for` raises.
    """
    own = connections.load(connection.name) if connection is not None else None
    return provider_for(name, base_dir=base_dir, connection=own)


def live_model(request: RunRequest, *, base_dir: Path, connections: ConnectionShelf, circuits: Circuits) -> Provider:
    """The provider of a run: its model, and behind it the fallbacks of its profile, if any (spec liveagent §18).

    Raises:
        ModelUnavailable: The model itself cannot be asked. A fallback that cannot be is passed over.
    """
    choice, name, connection = request.profile.model, request.model, request.connection
    primary = live_provider(name, connection, base_dir=base_dir, connections=connections)
    others = [fallback for fallback in choice.fallbacks if fallback != name or connection is not None]
    if not others:
        return primary
    return FailoverProvider(
        primary,
        [Candidate(other, other, partial(provider_for, other, base_dir=base_dir)) for other in others],
        primary_key=f"{name} by {connection.name}" if connection is not None else name,
        circuits=circuits,
        max_retries=request.profile.run.model_retry.max_retries,
        max_switches=choice.max_switches,
    )


def startable(profile: Profile) -> Profile:
    """The profile as it runs: with the reasoning effort of its preset choice.

    Raises:
        ProfileInvalid: `agent.profile_not_direct_runnable`, or a preset is required (`preset_breaches`).
    """
    if not profile.run.direct_runnable:
        raise ProfileInvalid(
            "agent.profile_not_direct_runnable",
            f"Profile {profile.id!r} works for other agents only (run.directRunnable is false).",
        )
    for breach in preset_breaches(profile):
        if breach.blocks:
            raise ProfileInvalid(breach.code, breach.message)
    effort = profile.preset.reasoning_effort
    if effort in (None, "auto") or profile.sampling.reasoning_effort is not None:
        return profile
    sampling = profile.sampling.model_copy(update={"reasoning_effort": effort})
    return profile.model_copy(update={"sampling": sampling})


def model_breaches(profile: Profile, connections: ConnectionShelf | None) -> list[Breach]:
    """Why the profile's model cannot be asked, as far as it depends on the user's documents.

    Args:
        profile: Whose model.
        connections: None: nothing is known of them, and nothing is said.
    """
    if profile.model.mode == "requiresConfiguration":
        return [Breach(UNCONFIGURED, _unconfigured(profile))]
    named = (profile.model.connection_ref or "").strip()
    if profile.model.mode != "connectionRef" or connections is None or not named:
        return []
    try:
        _by_connection(profile, connections, lambda _: None)
    except ModelUnavailable as problem:
        return [Breach(problem.code, problem.message)]
    return []


def preset_breaches(profile: Profile) -> list[Breach]:
    """What the profile wants of a preset: a notebook has none."""
    preset = profile.preset
    if preset.mode != "ref" or preset.ref is None:
        return []
    found = []
    if preset.ref.api_id != "openai":
        message = f"preset.ref.apiId is {preset.ref.api_id!r}; agents can use presets of openai only."
        found.append(Breach("agent.profile_preset_api_unsupported", message, blocks=preset.required))
    named = f"Profile {profile.id!r} is written for the preset {preset.ref.name!r}, and a notebook has no presets"
    if preset.required:
        way_out = f"{named}. Put its text into instructions.agentSystemPrompt and set preset.mode none."
        found.append(Breach("agent.profile_preset_missing", way_out))
    else:
        found.append(Breach("agent.profile_preset_missing", f"{named}; it runs without.", blocks=False))
    return found


def _unconfigured(profile: Profile) -> str:
    return (
        f"Profile {profile.id!r} was imported without a model. Choose one with -m MODEL, "
        f"or for good: %agent profile set {profile.id} -m MODEL"
    )


def _by_connection(profile: Profile, connections: ConnectionShelf, remembered: Remembered) -> Target:
    wanted = profile.model.connection_ref or ""
    try:
        connection = connections.load(wanted)
    except ModelUnavailable as problem:
        known = remembered(wanted) if problem.code == MISSING else None
        if known is None:
            raise ModelUnavailable(problem.code, f"Profile {profile.id!r}: {problem.message}") from problem
        connection = known
    model = profile.model.model_id or connection.model
    if model is None:
        raise ModelUnavailable(
            UNNAMED,
            f"Profile {profile.id!r} uses connection {connection.name!r}, and neither names a model. Set model.modelId.",
        )
    return Target(f"{connection.provider}:{model.removeprefix(f'{connection.provider}:')}", connection)


def first_prompt(prompt: str, history: Sequence[Message]) -> str:
    """What a conversation began with: a scripted model is chosen by it."""
    said = (m.text for m in history if m.role == "user" and m.source not in BACKGROUND)
    return next(said, prompt)
