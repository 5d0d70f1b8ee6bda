"""Granted additional folders, `root://<alias>/...`: spec liveagent §4.5.

- The grants are one document of the user (`roots.json` in the user's folder), never a file beside the notebook: a notebook
  from somebody else cannot bring rights along. A grant counts for the project (the notebook's folder) that it was given for.
- What was granted is the real path of that day. When the folder is gone, or its path leads somewhere else by now, the grant is
  refused until it is removed and added again.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from tt_kernel.domain.errors import NotFound, StorageFault, UsageProblem
from tt_kernel.domain.frozen import Frozen
from tt_kernel.store.atomic import read_json, write_json
from tt_kernel.store.locks import locked
from tt_kernel.store.workspace import Root, is_inside

Access = Literal["read", "write"]
GrantState = Literal["active", "missing", "changed"]

PROJECT = "workspace"
"""Name of the root that is the project itself; its paths are shown without a prefix."""
SKILLS = "skill"
RESERVED = frozenset({PROJECT, SKILLS, "uploads", "external"})
ALIAS = re.compile(r"[a-z][a-z0-9_-]{0,31}")
DOCUMENT = "roots.json"


class Grant(Frozen):
    """One folder. `path` is as the user wrote it, made absolute; `canonical` its real path when it was granted."""

    alias: str
    project: str
    path: str
    canonical: str
    access: Access

    @property
    def state(self) -> GrantState:
        """What the disk says now: only `active` grants can be used."""
        real = Path(self.path).resolve()
        if not real.is_dir():
            return "missing"
        return "active" if str(real) == self.canonical else "changed"


class _Grants(Frozen):
    schema_version: Literal[1] = 1
    roots: tuple[Grant, ...] = ()


class RootGrants:
    """The additional folders of one project.

    Args:
        user_folder: Where the user's documents are; see `layout.user_folder`.
        project: The notebook's folder.
    """

    def __init__(self, user_folder: Path, project: Path) -> None:
        self._file = user_folder / DOCUMENT
        self._project = project.resolve()

    def list(self) -> Sequence[Grant]:
        """The grants of this project by alias, usable or not (see `Grant.state`).

        Raises:
            StorageFault: The document cannot be read, or is damaged (`storage.roots_damaged`): then nothing is granted.
        """
        return sorted(self._own(self._load()), key=lambda grant: grant.alias)

    def add(self, alias: str, path: Path, access: Access = "read") -> Grant:
        """Grant a folder, or change the access of one that is granted under this alias and is still the same folder.

        Raises:
            UsageProblem: The alias or the folder cannot be granted (`root.alias_invalid`, `root.alias_taken`, `root.changed`,
                `root.not_a_folder`, `root.overlaps`), saying why and what to do.
            StorageFault: As `list`, or the document cannot be written.
        """
        grant = self._grant(alias, path, access)
        with locked(self._file.parent):
            every = self._load()
            own = self._own(every)
            self._check_alias(grant, own)
            self._check_place(grant, [other for other in own if other.alias != alias])
            kept = [g for g in every if not (g.project == grant.project and g.alias == alias)]
            self._save([*kept, grant])
        return grant

    def remove(self, alias: str) -> Grant:
        """Take a grant back; counts from the next run on.

        Raises:
            NotFound: `root.not_found`, naming the aliases there are.
        """
        with locked(self._file.parent):
            every = self._load()
            found = next((grant for grant in self._own(every) if grant.alias == alias), None)
            if found is None:
                names = ", ".join(sorted(grant.alias for grant in self._own(every))) or "none"
                raise NotFound("root.not_found", f"No folder is granted as {alias!r}. Granted: {names}.")
            self._save([grant for grant in every if grant != found])
        return found

    def roots(self, *, read_only: bool = False) -> Sequence[Root]:
        """The grants as roots of a workspace, the unusable ones too: using one tells why it cannot be used.

        Args:
            read_only: For sub-agents: nothing is writable, whatever was granted.

        Raises:
            StorageFault: As `list`.
        """
        return [
            Root(
                grant.alias,
                Path(grant.path),
                writable=grant.access == "write" and not read_only,
                life="project",
                prefix=f"root://{grant.alias}/",
                follow_links=True,
                pinned=Path(grant.canonical),
            )
            for grant in self.list()
        ]

    def _grant(self, alias: str, path: Path, access: Access) -> Grant:
        if not ALIAS.fullmatch(alias) or alias in RESERVED:
            reserved = f"{alias!r} is reserved. " if alias in RESERVED else ""
            raise UsageProblem(
                "root.alias_invalid",
                f"{alias!r} cannot be the name of a folder. {reserved}"
                "A name has up to 32 characters: small letters, digits, '-' and '_', and begins with a letter.",
            )
        absolute = path.expanduser().absolute()
        if not absolute.is_dir():
            raise UsageProblem("root.not_a_folder", f"{path} is no folder. Only folders that exist can be granted.")
        canonical = str(absolute.resolve())
        return Grant(alias=alias, project=str(self._project), path=str(absolute), canonical=canonical, access=access)

    def _check_alias(self, grant: Grant, own: Sequence[Grant]) -> None:
        former = next((other for other in own if other.alias == grant.alias), None)
        if former is None or (former.canonical == grant.canonical and former.state == "active"):
            return
        if former.path == grant.path:
            raise UsageProblem(
                "root.changed",
                f"{grant.alias!r} was granted when {grant.path} was {former.canonical}; now it leads elsewhere or is gone. "
                f"Remove {grant.alias!r} first, then add it again.",
            )
        raise UsageProblem(
            "root.alias_taken",
            f"{grant.alias!r} is granted already, for {former.path}. Remove it first, or use another name.",
        )

    def _check_place(self, grant: Grant, others: Sequence[Grant]) -> None:
        project = str(self._project)
        if is_inside(grant.canonical, project):
            raise UsageProblem(
                "root.overlaps", f"{grant.path} is inside of the notebook's folder, which tools can use anyway."
            )
        if is_inside(project, grant.canonical) and grant.access == "write":
            raise UsageProblem(
                "root.overlaps", f"{grant.path} holds the notebook's folder, so it can be granted for reading only."
            )
        for other in others:
            if is_inside(grant.canonical, other.canonical) or is_inside(other.canonical, grant.canonical):
                raise UsageProblem(
                    "root.overlaps",
                    f"{grant.path} and {other.path}, which is granted as {other.alias!r}, overlap. Grant one of them only.",
                )

    def _own(self, grants: Sequence[Grant]) -> Sequence[Grant]:
        return [grant for grant in grants if grant.project == str(self._project)]

    def _load(self) -> Sequence[Grant]:
        try:
            return _Grants.model_validate(read_json(self._file)).roots
        except StorageFault as fault:
            if isinstance(fault.__cause__, FileNotFoundError):
                return []
            raise
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise StorageFault(
                "storage.roots_damaged", f"{self._file} is no list of granted folders (at {where}). Mend or delete it."
            ) from error

    def _save(self, grants: Sequence[Grant]) -> None:
        ordered = sorted(grants, key=lambda grant: (grant.project, grant.alias))
        write_json(self._file, _Grants(roots=tuple(ordered)), durable=True)


def project_root(folder: Path, *, writable: bool = True) -> Root:
    """The notebook's folder as the root `workspace`: its paths are shown relative, `.` is the folder itself."""
    return Root(PROJECT, folder, writable=writable, life="project", prefix="", follow_links=True)
