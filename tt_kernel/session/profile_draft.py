"""A profile that is being edited: the document as it was read, as it is now, and what is to say about it.

Nothing is written before `save`, and `save` writes only over what was read: a document that somebody else changed meanwhile is
told (`ProfileChanged`), and `take_both` puts the changes of both together. So two editors lose nothing.
"""

import difflib
from dataclasses import dataclass
from typing import Literal

from tt_kernel.domain.canonical import Json, JsonObject, indented_json
from tt_kernel.domain.errors import ProfileInvalid
from tt_kernel.domain.profiles import Profile
from tt_kernel.session.core import Session
from tt_kernel.session.diagnosis import diagnose
from tt_kernel.session.profile_changes import Change, changes
from tt_kernel.session.profile_form import fields
from tt_kernel.session.profile_leaves import changed_leaves, merged, put
from tt_kernel.store.atomic import read_if_there
from tt_kernel.store.profile_problems import Problem, located, problems_of
from tt_kernel.store.profiles import read_draft
from tt_kernel.toolkit.catalog import Catalog
from tt_kernel.toolkit.profile_tools import newly_enabled

UNKNOWN_TOOL = "agent.profile_unknown_tool"


@dataclass(frozen=True)
class Checked:
    """What is to say about a draft.

    Attributes:
        profile: The draft as a profile; None: its shape is not right.
        problems: What is wrong, and what it asks for and would not get.
        changes: What saving would change, field by field; empty where there is no profile.
        changed: Paths of the document that differ from what was read.
    """

    profile: Profile | None
    problems: tuple[Problem, ...]
    changes: tuple[Change, ...]
    changed: tuple[tuple[str, ...], ...]

    @property
    def can_be_saved(self) -> bool:
        return self.profile is not None and not any(problem.blocks for problem in self.problems)


class ProfileDraft:
    """Args:
    session: Whose profiles, tools and connections.
    profile_id: Which.

    Attributes:
        document: The draft as JSON.
        base: The profile as it was read.
        target: The file that `save` writes.
        is_copy: The profile is shipped with tt_kernel; saving makes the notebook's own copy.

    Raises:
        NotFound: No profile is called so.
        ProfileInvalid: The document's shape is not right, so that there is nothing to edit it by.
    """

    def __init__(self, session: Session, profile_id: str) -> None:
        self._session = session
        path, origin = session.profiles.find(profile_id)
        self._to: Literal["notebook", "user"] = "user" if origin == "user" else "notebook"
        self.is_copy = origin == "shipped"
        self.target = session.profiles.folder(self._to) / f"{profile_id}.json"
        self._read_as = read_if_there(self.target)
        self.base, _ = read_draft(path)
        self.document: JsonObject = self.base.model_dump(mode="json")

    def change(self, path: tuple[str, ...], value: Json) -> None:
        """Exchange the value of one field of the form. What a form does not change (the id) stays as it is."""
        if any(field["path"] == list(path) and not field["fixed"] for field in fields()):
            self.document = put(self.document, path, value)

    def check(self) -> Checked:
        """Validate the draft as `%agent profile set` would, but find everything at once."""
        profile, problems = problems_of(self.document)
        changed = tuple(changed_leaves(self.base.model_dump(mode="json"), self.document))
        if profile is None:
            return Checked(None, tuple(problems), (), changed)
        told = [*problems, *self._about_surroundings(profile, {problem.message for problem in problems})]
        return Checked(profile, tuple(told), tuple(changes(self.base, profile)), changed)

    def file_diff(self) -> str:
        """What would change in the file, as git shows it; of a profile that has no file yet, from the shipped one."""
        after, _ = problems_of(self.document)
        if after is None:
            return ""
        lines = difflib.unified_diff(_lines(self.base), _lines(after), "before", "after", n=2)
        return "".join(lines)

    def save(self) -> Profile:
        """Write the draft, if its file still is what was read.

        Raises:
            ProfileInvalid: It cannot be saved as it is.
            ProfileChanged: The file was changed meanwhile.
            StorageFault: It cannot be written; the old one is untouched.
        """
        checked = self.check()
        if checked.profile is None or not checked.can_be_saved:
            first = next(problem.message for problem in checked.problems if problem.blocks)
            raise ProfileInvalid(message=f"Profile {self.base.id!r} was not saved: {first}")
        self._session.profiles.save(checked.profile, to=self._to, read_as=self._read_as)
        return checked.profile

    def theirs(self) -> Profile | None:
        """What the file is now; None: it is gone.

        Raises:
            ProfileInvalid, StorageFault: It cannot be read.
        """
        return read_draft(self.target)[0] if self.target.exists() else None

    def take_both(self) -> list[str]:
        """Make what the file is now the base, with the changes of this draft on it.

        Returns:
            Fields that both changed: there this draft counts.
        """
        seen, now = read_if_there(self.target), self.theirs()
        clashes: list[str] = []
        if now is not None:
            old, new = self.base.model_dump(mode="json"), now.model_dump(mode="json")
            self.document, clashes = merged(old, self.document, new)
            self.base = now
        self._read_as = seen
        return clashes

    def take_theirs(self) -> None:
        """Give this draft up for what the file is now, or, where it is gone, for the profile that counts in its place."""
        seen, now = read_if_there(self.target), self.theirs()
        self.base = now or self._session.profiles.load(self.base.id)
        self.document = self.base.model_dump(mode="json")
        self._read_as = seen

    def catalog(self) -> Catalog:
        """Every tool that there is for this draft."""
        address = self.document.get("tools", {}).get("httpGetTestUrl")
        toolbox = self._session.toolbox
        return toolbox.catalog(toolbox.functions(()), endpoint=address if isinstance(address, str) else None)

    def _about_surroundings(self, profile: Profile, known: set[str]) -> list[Problem]:
        """Tools that are newly allowed and do not exist block; everything else is told."""
        catalog = self.catalog()
        missing = newly_enabled(self.base, profile, catalog)
        told = [b for b in diagnose(profile, catalog, self._session.connections) if b.message not in known]
        fresh = [repr(pattern) for pattern in profile.tools.allow if pattern not in self.base.tools.allow]
        if missing:  # the same, said of a document that has it already
            told = [b for b in told if b.code != UNKNOWN_TOOL or not any(name in b.message for name in fresh)]
        return [*map(located, missing), *(located(breach, blocks=False) for breach in told)]


def _lines(profile: Profile) -> list[str]:
    """Of its file."""
    return indented_json(profile.model_dump(mode="json")).decode("utf-8", "replace").splitlines(keepends=True)
