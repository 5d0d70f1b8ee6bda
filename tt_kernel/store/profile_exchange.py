"""Profiles given away and taken in: spec tauritavern §11.5.

A profile travels without its model: the model, the connection and the account are the receiver's.
"""

from pathlib import Path

from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.domain.profiles import ModelChoice, Profile
from tt_kernel.store.atomic import write_json
from tt_kernel.store.profiles import decode_profile, read_document, refuse_secrets

UNCHOSEN = ModelChoice(mode="requiresConfiguration")


def portable(profile: Profile) -> Profile:
    """The profile as it is given away or embedded."""
    return profile.model_copy(update={"model": UNCHOSEN})


def with_model(profile: Profile, name: str) -> Profile:
    """The profile bound to a model: `provider:model`, or the name of a connection, which then says the model too."""
    chosen = ModelChoice(model_id=name) if ":" in name else ModelChoice(mode="connectionRef", connection_ref=name)
    return profile.model_copy(update={"model": chosen})


def export_profile(profile: Profile, path: Path, *, replace: bool = False) -> None:
    """Write the portable profile to a file.

    Raises:
        UsageProblem: `storage.exists`: the file exists and is not to be replaced.
        ProfileInvalid: `agent.profile_secret`.
        StorageFault: naming the file.
    """
    refuse_secrets(profile, "exported")
    if path.exists() and not replace:
        raise UsageProblem("storage.exists", f"{path} exists already. Give another name, or add --replace.")
    write_json(path, portable(profile))


def import_profile(path: Path, *, profile_id: str | None = None) -> Profile:
    """A profile from a file of any schema, without somebody else's connection; a model by name alone may stay.

    Args:
        path: The file.
        profile_id: Its id from now on; None keeps its own.

    Raises:
        NotFound: `storage.not_found`: there is no such file.
        ProfileInvalid: with the code of spec tauritavern §11.2.
    """
    if not path.is_file():
        raise NotFound("storage.not_found", f"There is no file {path}.")
    document = read_document(path)
    if profile_id is not None and isinstance(document, dict):
        document = {**document, "id": profile_id}
    profile = decode_profile(document, source=str(path))
    return portable(profile) if profile.model.mode == "connectionRef" else profile
