"""Profile files that cannot be used, and what can be done with each: spec tauritavern §11.5.

`normalizeIdentity` changes schemaVersion, kind and id, and the file's name where that can be no id; it is offered only where
that makes a valid profile. Anything else in a document is its writer's: what is wrong there is told, not repaired.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from tt_kernel.domain.canonical import Json, JsonObject
from tt_kernel.domain.errors import NotFound, ProfileInvalid, StorageFault, TTError, UsageProblem
from tt_kernel.domain.profiles import Profile
from tt_kernel.store.atomic import read_json, storage_fault, write_json
from tt_kernel.store.locks import locked
from tt_kernel.store.migrations import CURRENT
from tt_kernel.store.profiles import LONGEST_ID, Origin, ProfileShelf, decode_profile, read_profile

Action = Literal["delete", "normalizeIdentity"]

_KINDS = get_args(Profile.model_fields["kind"].annotation)
_NOT_IN_IDS = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True)
class BrokenFile:
    """A file that is no usable profile.

    Attributes:
        path: Where it is.
        origin: Whose it is.
        problem: Why.
        actions: What `repair` can do, the gentlest first.
    """

    path: Path
    origin: Origin
    problem: TTError
    actions: tuple[Action, ...]


def broken_files(shelf: ProfileShelf) -> list[BrokenFile]:
    """Every broken file of the notebook and the user, also where a nearer profile hides it."""
    found = []
    for path, origin in shelf.files():
        try:
            read_profile(path)
        except (ProfileInvalid, StorageFault) as problem:
            actions: tuple[Action, ...] = ("normalizeIdentity", "delete") if _normalized(path) else ("delete",)
            found.append(BrokenFile(path, origin, problem, actions))
    return found


def repair(shelf: ProfileShelf, name: str, action: Action) -> Path:
    """Repair one broken file.

    Args:
        shelf: Whose files.
        name: The file's name, with or without `.json`.
        action: What to do.

    Returns:
        The repaired file, or the one that is gone.

    Raises:
        NotFound: `agent.profile_not_found`: no broken file is called so, naming those that there are.
        UsageProblem: `agent.profile_repair_unavailable`: the action would not help.
    """
    broken = broken_files(shelf)
    file = next((file for file in broken if name in (file.path.name, file.path.stem)), None)
    if file is None:
        names = ", ".join(sorted(file.path.name for file in broken)) or "none"
        raise NotFound("agent.profile_not_found", f"No broken profile is called {name!r}. Broken files: {names}.")
    if action not in file.actions:
        raise UsageProblem(
            "agent.profile_repair_unavailable",
            f"{action} cannot repair {file.path}: {file.problem.message} Edit the file, or repair it with delete.",
        )
    with locked(file.path.parent):
        return _delete(file.path) if action == "delete" else _normalize(file.path)


def _normalize(path: Path) -> Path:
    """The file gets its name first (also where a disk takes `My` and `my` for the same), then its document the identity."""
    normalized = _normalized(path)
    assert normalized is not None, "offered only where it is possible"
    target, document = normalized
    if target.name != path.name:
        try:
            path.replace(target)
        except OSError as error:
            raise storage_fault("rename", path, error) from error
    write_json(target, document, durable=True)
    return target


def _delete(path: Path) -> Path:
    try:
        path.unlink()
    except OSError as error:
        raise storage_fault("delete", path, error) from error
    return path


def _normalized(path: Path) -> tuple[Path, JsonObject] | None:
    """The file's new place and its document with another identity, where nothing else is wrong."""
    try:
        document: Json = read_json(path)
    except StorageFault:
        return None
    profile_id = _NOT_IN_IDS.sub("-", path.stem.lower()).strip("-")[:LONGEST_ID]
    target = path.with_name(f"{profile_id}.json")
    if not isinstance(document, dict) or not profile_id or (target.exists() and not target.samefile(path)):
        return None
    version, kind = document.get("schemaVersion", CURRENT), document.get("kind")
    document = {
        **document,
        "schemaVersion": version if type(version) is int and 1 <= version <= CURRENT else CURRENT,
        "kind": kind if kind in _KINDS else _KINDS[0],
        "id": profile_id,
    }
    try:
        decode_profile(document, source=str(path))
    except ProfileInvalid:
        return None
    return target, document
