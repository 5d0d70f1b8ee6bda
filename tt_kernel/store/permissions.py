"""Permission documents beside the profiles': the notebook's and the user's (DESIGN §10).

`permissions.json` in the agent folder and in the user's folder: `{"safety": ..., "rules": [...]}`. The nearest document that has
a matching rule decides; a deny anywhere wins.
"""

from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from tt_kernel.domain.errors import NotFound, ProfileInvalid
from tt_kernel.domain.profiles import Permissions
from tt_kernel.domain.specs import PermissionRule
from tt_kernel.store.atomic import read_json, write_json
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.locks import locked

Level = Literal["notebook", "user"]
NAME = "permissions.json"


class PermissionShelf:
    """The two documents of a notebook."""

    def __init__(self, agent_folder: AgentFolder, user: Path) -> None:
        self._agent_folder = agent_folder
        self._paths: dict[Level, Path] = {"notebook": agent_folder.permissions_file, "user": user / NAME}

    def load(self, level: Level) -> Permissions:
        """A document; an absent one allows and denies nothing.

        Raises:
            ProfileInvalid: `agent.permissions_invalid`: it cannot be understood. Nothing may run then, so it is never ignored.
        """
        path = self._paths[level]
        if not path.exists():
            return Permissions()
        try:
            return Permissions.model_validate(read_json(path))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ProfileInvalid(
                "agent.permissions_invalid", f"{path}: {where}: {first['msg']}. Mend or delete the file."
            ) from error

    def layers(self) -> list[Permissions]:
        """Nearest first."""
        return [self.load("notebook"), self.load("user")]

    def add(self, rule: PermissionRule, level: Level = "notebook") -> Permissions:
        """Put a rule before the others of its document; one for the same tool and arguments is replaced."""
        others = (r for r in self.load(level).rules if (r.tool, r.arguments) != (rule.tool, rule.arguments))
        return self._save(level, self.load(level).model_copy(update={"rules": (rule, *others)}))

    def remove(self, tool: str, level: Level = "notebook") -> Permissions:
        """Take out all rules for a tool or pattern.

        Raises:
            NotFound: `agent.permission_rule_not_found`.
        """
        document = self.load(level)
        left = tuple(rule for rule in document.rules if rule.tool != tool)
        if len(left) == len(document.rules):
            known = ", ".join(sorted({rule.tool for rule in document.rules})) or "none"
            raise NotFound(
                "agent.permission_rule_not_found", f"The {level}'s rules have none for {tool!r}; there are: {known}."
            )
        return self._save(level, document.model_copy(update={"rules": left}))

    def set_safety(self, safety: str, level: Level = "notebook") -> Permissions:
        """A word that is no safety mode becomes `ask`."""
        document = self.load(level)
        return self._save(level, Permissions.model_validate(document.model_dump() | {"safety": safety}))

    def _save(self, level: Level, document: Permissions) -> Permissions:
        path = self._paths[level]
        if level == "notebook":
            self._agent_folder.create()
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.parent):
            write_json(path, document)
        return document
