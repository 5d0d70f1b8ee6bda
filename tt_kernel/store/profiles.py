"""Profiles as documents: the notebook's, the user's and the shipped ones; of one name, the nearest counts (DESIGN §4)."""

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.errors import NotFound, ProfileChanged, ProfileInvalid, StorageFault, TTError
from tt_kernel.domain.profiles import Breach, Profile
from tt_kernel.store.atomic import read_if_there, read_json, write_json
from tt_kernel.store.documents import documents_in, field_of, first_error, holds_secret, sentence_of
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.locks import locked
from tt_kernel.store.migrations import migrated
from tt_kernel.store.profile_rules import breaches

Origin = Literal["notebook", "user", "shipped"]

SHIPPED = Path(__file__).parent / "shipped"
LONGEST_ID = 128

_DESCRIBED = re.compile(r"tools\.toolDescriptions\..+\.properties(?:\..*)?")

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
        return read_profile(self.find(profile_id)[0])

    def list(self) -> list[tuple[Profile, Origin]]:
        """Every profile that can be loaded, by id, with where it comes from. `broken` tells about the others."""
        return [(profile, origin) for _, origin, profile in self._read() if isinstance(profile, Profile)]

    def broken(self) -> dict[Path, TTError]:
        """The files that are no valid profile, with the reason."""
        return {path: problem for path, _, problem in self._read() if isinstance(problem, TTError)}

    def find(self, profile_id: str) -> tuple[Path, Origin]:
        """The file of the nearest profile of this id, valid or not, and whose it is.

        Raises:
            NotFound: code `agent.profile_not_found`, naming the nearest ids.
        """
        found = self._paths().get(profile_id)
        if found is None:
            raise self._not_found(profile_id)
        return found[1], found[0]

    def folder(self, origin: Origin) -> Path:
        """Where profiles of this origin are; it need not exist."""
        return self._folders[origin]

    def files(self) -> Iterator[tuple[Path, Origin]]:
        """The files of the notebook's and the user's profiles, whether or not a nearer one hides them."""
        for origin in ("notebook", "user"):
            for path in documents_in(self._folders[origin]):
                yield path, origin

    def save(
        self, profile: Profile, *, to: Literal["notebook", "user"] = "notebook", read_as: bytes | None = None
    ) -> Path:
        """Store a profile under its id, replacing the document of that id in the same place.

        Args:
            profile: What to store.
            to: Whose it becomes.
            read_as: Replace the document only if it still is this (empty: if there is none); None: whatever it is.

        Raises:
            ProfileInvalid: it breaks a rule, or holds a secret (`agent.profile_secret`).
            ProfileChanged: the document is not `read_as` any more; nothing was written.
            StorageFault: naming the file; the old one is untouched.
        """
        found = breaches(profile)
        if found:
            raise ProfileInvalid(found[0].code, f"Profile {profile.id!r} was not saved: {found[0].message}")
        refuse_secrets(profile, "saved")
        if to == "notebook":
            self._agent_folder.create()
        path = self._folders[to] / f"{profile.id}.json"
        with locked(path.parent):
            if read_as is not None and read_if_there(path) != read_as:
                raise ProfileChanged(message=f"{path} was changed meanwhile, by another editor or by hand.")
            write_json(path, profile, durable=True)
        return path

    def _paths(self) -> dict[str, tuple[Origin, Path]]:
        found: dict[str, tuple[Origin, Path]] = {}
        for origin in ("shipped", "user", "notebook"):
            for path in documents_in(self._folders[origin]):
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
    profile, found = read_draft(path)
    if found:
        raise ProfileInvalid(found[0].code, f"Profile {path}: {found[0].message}")
    return profile


def read_document(path: Path) -> Json:
    """The JSON of a profile's file, whatever it says.

    Raises:
        ProfileInvalid: It is no JSON.
        StorageFault: It cannot be read.
    """
    try:
        return read_json(path)
    except StorageFault as fault:
        if fault.code != "storage.not_json":
            raise
        raise ProfileInvalid(None, f"Profile {fault.message}") from fault


def read_draft(path: Path) -> tuple[Profile, list[Breach]]:
    """The profile of a file whose shape is right, with every rule that it breaks.

    Raises:
        ProfileInvalid: not even the shape is right, or the file has another profile's name.
        StorageFault: it cannot be read.
    """
    draft = decode_draft(read_document(path), source=str(path))
    if draft[0].id != path.stem:
        raise ProfileInvalid(
            "agent.profile_id_invalid", f"Profile {path}: id is {draft[0].id!r}, unlike the file's name."
        )
    return draft


def decode_profile(document: Json, *, source: str) -> Profile:
    """A valid profile from its JSON document of any schema; unknown fields are refused (spec tauritavern §11.1, §11.4).

    Args:
        document: The JSON value.
        source: What it is, for error messages: a file or where it was imported from.

    Raises:
        ProfileInvalid: with the code of spec tauritavern §11.2.
    """
    profile, found = decode_draft(document, source=source)
    if found:
        raise ProfileInvalid(found[0].code, f"Profile {source}: {found[0].message}")
    return profile


def decode_draft(document: Json, *, source: str) -> tuple[Profile, list[Breach]]:
    """The same for a document that is still being written: it may break rules, which come with it.

    Raises:
        ProfileInvalid: a field is unknown, missing or of the wrong type.
    """
    try:
        profile = Profile.model_validate(migrated(document))
    except ValidationError as error:
        first = first_error(error)
        raise ProfileInvalid(_code(first), f"Profile {source}: {sentence_of(first, Profile, 'profile')}") from error
    return profile, breaches(profile)


def refuse_secrets(profile: Profile, what: str) -> None:
    """Raises ProfileInvalid `agent.profile_secret`, saying that `what` was not done."""
    if holds_secret(profile):
        raise ProfileInvalid(
            "agent.profile_secret",
            f"Profile {profile.id!r} was not {what}: it holds a secret. Profiles are shared; name an environment variable instead.",
        )


def _code(error: ErrorDetails) -> str | None:
    field = field_of(error)
    if error["type"] == "extra_forbidden":
        return None
    if field == "id":
        return f"agent.profile_{_id_problem(error)}"
    if _DESCRIBED.fullmatch(field):
        return "agent.profile_tool_properties_invalid"
    codes = (code for prefix, code in _CODES.items() if field == prefix or field.startswith(f"{prefix}."))
    code = next(codes, None)
    return f"agent.profile_{code}" if code else None


def _id_problem(error: ErrorDetails) -> str:
    value = error["input"]
    if error["type"] == "missing" or value == "":
        return "id_empty"
    return "id_too_long" if isinstance(value, str) and len(value) > LONGEST_ID else "id_invalid"
