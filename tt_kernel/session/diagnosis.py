"""Everything that is to say about a profile before it runs: spec tauritavern §11.2, §11.5."""

from tt_kernel.domain.profiles import Breach, Profile
from tt_kernel.session.models import model_breaches, preset_breaches
from tt_kernel.store.connections import ConnectionShelf
from tt_kernel.store.profile_rules import breaches
from tt_kernel.toolkit.catalog import Catalog
from tt_kernel.toolkit.profile_tools import tool_breaches


def diagnose(profile: Profile, catalog: Catalog, connections: ConnectionShelf | None = None) -> list[Breach]:
    """The rules that the profile breaks, then what it asks for and does not get: preset, model, tools.

    Args:
        profile: Any profile, also a draft that breaks rules.
        catalog: All tools there are now.
        connections: The user's; None: connections are not looked at.
    """
    found = [
        *breaches(profile),
        *preset_breaches(profile),
        *model_breaches(profile, connections),
        *tool_breaches(profile, catalog),
    ]
    if not profile.run.direct_runnable:
        message = "run.directRunnable is false: only other agents can start it."
        found.append(Breach("agent.profile_not_direct_runnable", message, blocks=False))
    return list(dict.fromkeys(found))
