"""A page about one profile, and where its document lies, as people see it."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.profiles import Profile
from tt_kernel.widgets.pages import Page

if TYPE_CHECKING:
    from tt_kernel.session.core import Session
    from tt_kernel.store.profiles import Origin


class ProfilePage(Page):
    """A page about one profile.

    Attributes:
        profile: The profile; None where its document is broken.
        path: Its file.
    """

    def __init__(self, profile: Profile | None, path: Path, title: str, **parts: Any) -> None:
        self.profile, self.path = profile, path
        super().__init__(title, **parts)


def place(session: "Session", path: Path, origin: "Origin") -> str:
    return "tt_kernel (shipped)" if origin == "shipped" else shown(session, path)


def shown(session: "Session", path: Path) -> str:
    """Relative to the notebook's folder where it lies there: the same text on every machine."""
    if path.is_relative_to(session.base_dir):
        return path.relative_to(session.base_dir).as_posix()
    home = os.path.expanduser("~")  # noqa: PTH111  a text, not a path
    return path.as_posix().replace(Path(home).as_posix(), "~", 1) if path.is_relative_to(home) else str(path)


def own_rows(profile: Profile) -> list[tuple[str, str]]:
    """The fields that are not at their defaults."""
    from tt_kernel.session.profile_changes import own_fields  # noqa: PLC0415  wires everything

    def text(value: Any) -> str:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return [(field, text(value)) for field, value in own_fields(profile)]
