"""Profiles as documents: the notebook's, the user's and the shipped ones; of one name, the nearest counts (DESIGN §4)."""

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tt_kernel.domain.canonical import Json, canonical_json
from tt_kernel.domain.errors import NotFound, ProfileInvalid, StorageFault, TTError
from tt_kernel.domain.profiles import Profile
from tt_kernel.store.atomic import read_json, storage_fault, write_json
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.locks import locked
from tt_kernel.store.profile_rules import breaches
from tt_kernel.store.secrets import Scrubber

Origin = Literal["notebook", "user", "shipped"]

SHIPPED = Path(__file__).parent / "shipped"
LONGEST_ID = 128

_CODES = {
    "schemaVersion": "schema_unsupported",
    "kind": "kind_invalid",
    "displayName": "display_name_required",
    "run.modelRetry": "model_retry_invalid",
    "workspace": "workspace_root_invalid",
}


class ProfileShelf:
    """Finds and stores profiles by id."""

    def __init__(self, agent_folder: AgentFolder, user_folder: Path) -> None:
        """Args:
        agent_folder: The notebook's.
        user_folder: The user's own documents; see `layout.user_folder`.
        """
        self._agent_folder = agent_folder
        self._folders: dict[Origin, Path] = {
            "notebook": agent_folder.profiles,
            "user": user_folder / "profiles",
            "shipped": SHIPPED,
        }

    def load(self, profile_id: str) -> Profile:
        """The nearest profile of this id. A broken one is an error, even where a farther one would do.

        Raises:
            NotFound: code `agent.profile_not_found`, naming the nearest ids.
            ProfileInvalid: naming the file, the field and what is expected (spec tauritavern §11.2).
        """
        path = self._paths().get(profile_id)
        if path is None:
            raise self._not_found(profile_id)
        return read_profile(path[1])

    def list(self) -> list[tuple[Profile, Origin]]:
        """Every profile that can be loaded, by id, with where it comes from. `broken` tells about the others."""
        return [(profile, origin) for _, origin, profile in self._read() if isinstance(profile, Profile)]

    def broken(self) -> dict[Path, TTError]:
        """The files that are no valid profile, with the reason."""
        return {path: problem for path, _, problem in self._read() if isinstance(problem, TTError)}

    def save(self, profile: Profile, *, to: Literal["notebook", "user"] = "notebook") -> Path:
        """Store a profile under its id, replacing the document of that id in the same place.

        Raises:
            ProfileInvalid: it breaks a rule, or holds a secret (`agent.profile_secret`).
            StorageFault: naming the file; the old one is untouched.
        """
        found = breaches(profile)
        if found:
            raise ProfileInvalid(found[0].code, f"Profile {profile.id!r} was not saved: {found[0].message}")
        _refuse_secrets(profile)
        if to == "notebook":
            self._agent_folder.create()
        path = self._folders[to] / f"{profile.id}.json"
        with locked(path.parent):
            write_json(path, profile, durable=True)
        return path

    def _paths(self) -> dict[str, tuple[Origin, Path]]:
        found: dict[str, tuple[Origin, Path]] = {}
        for origin in ("shipped", "user", "notebook"):
            for path in _documents(self._folders[origin]):
                found[path.stem] = (origin, path)
        return dict(sorted(found.items()))

    def _read(self) -> Iterator[tuple[Path, Origin, Profile | TTError]]:
        for origin, path in self._paths().values():
            try:
                yield path, origin, read_profile(path)
            except (ProfileInvalid, StorageFault) as problem:
                yield path, origin, problem

    def _not_found(self, wanted: str) -> NotFound:
        known = list(self._paths())
        near = difflib.get_close_matches(wanted, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return NotFound(
            "agent.profile_not_found", f"There is no profile {wanted!r}.{hint} Profiles: {', '.join(known)}."
        )


def read_profile(path: Path) -> Profile:
    """The profile of a file.

    Raises:
        ProfileInvalid: naming the file and the first thing that is wrong.
        StorageFault: it cannot be read.
    """
    try:
        document = read_json(path)
    except StorageFault as fault:
        if fault.code != "storage.not_json":
            raise
        raise ProfileInvalid(None, f"Profile {fault.message}") from fault
    profile = decode_profile(document, source=str(path))
    if profile.id != path.stem:
        raise ProfileInvalid(
            "agent.profile_id_invalid", f"Profile {path}: id is {profile.id!r}, unlike the file's name."
        )
    return profile


def decode_profile(document: Json, *, source: str) -> Profile:
    """A valid profile from its JSON document; unknown fields are refused (spec tauritavern §11.1).

    Args:
        document: The JSON value.
        source: What it is, for error messages: a file or where it was imported from.

    Raises:
        ProfileInvalid: with the code of spec tauritavern §11.2.
    """
    try:
        profile = Profile.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ProfileInvalid(_code(first), f"Profile {source}: {_sentence(first)}") from error
    found = breaches(profile)
    if found:
        raise ProfileInvalid(found[0].code, f"Profile {source}: {found[0].message}")
    return profile


def _code(error: ErrorDetails) -> str | None:
    field = _field(error)
    if error["type"] == "extra_forbidden":
        return None
    if field == "id":
        return f"agent.profile_{_id_problem(error)}"
    codes = (code for prefix, code in _CODES.items() if field == prefix or field.startswith(f"{prefix}."))
    code = next(codes, None)
    return f"agent.profile_{code}" if code else None


def _id_problem(error: ErrorDetails) -> str:
    value = error["input"]
    if error["type"] == "missing" or value == "":
        return "id_empty"
    return "id_too_long" if isinstance(value, str) and len(value) > LONGEST_ID else "id_invalid"


def _sentence(error: ErrorDetails) -> str:
    field = _field(error)
    if error["type"] == "extra_forbidden":
        return f"{field} is no field of a profile.{_nearest_field(field)}"
    if error["type"] == "missing":
        return f"{field} is missing."
    if not field:
        return f"{error['msg']}."
    return f"{field} is {_shown(error['input'])}: {error['msg']}."


def _field(error: ErrorDetails) -> str:
    return ".".join(str(part) for part in error["loc"])


def _nearest_field(field: str) -> str:
    parent, _, name = field.rpartition(".")
    schema = Profile.model_json_schema()
    here: Json = schema
    for part in filter(None, parent.split(".")):
        here = here.get("properties", {}).get(part, {})
        here = schema["$defs"].get(here.get("$ref", "").rpartition("/")[2], here)
    near = difflib.get_close_matches(name, here.get("properties", {}), n=1)
    return f" Did you mean {near[0]}?" if near else ""


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_ID else text[:LONGEST_ID] + "..."


def _documents(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json" and not path.name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise storage_fault("read", folder, error) from error


def _refuse_secrets(profile: Profile) -> None:
    text = canonical_json(profile.model_dump(mode="json"))
    if Scrubber.from_environment().text(text) != text:
        raise ProfileInvalid(
            "agent.profile_secret",
            f"Profile {profile.id!r} was not saved: it holds a secret. Profiles are shared; name an environment variable instead.",
        )
