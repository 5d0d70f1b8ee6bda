"""Everything that is wrong with a profile's document at once, each thing with the field that it is about.

The sentences are those of `store/profiles.py` and `store/profile_rules.py`, which tell the first one only.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.profiles import Breach, Profile
from tt_kernel.store.documents import field_of, sentence_of
from tt_kernel.store.migrations import migrated
from tt_kernel.store.profile_rules import breaches
from tt_kernel.store.secrets import Scrubber

Path = tuple[str | int, ...]

_NAMES = re.compile(r"[A-Za-z]+(?:\.[A-Za-z]+)*")
_WITHOUT_NAME = {
    "agent.profile_output_writer_required": "tools.allow",
    "agent.profile_artifact_": "output.artifacts",
    "agent.profile_output_": "output.artifacts",
    "agent.profile_unknown_tool": "tools.allow",
    "agent.profile_tool_": "tools.toolDescriptions",
    "agent.profile_model_": "model",
}
"""Fields of rules whose sentence names none, by the beginning of their code."""


class Problem(NamedTuple):
    """One thing that is wrong.

    Attributes:
        path: Where in the document; empty for the whole of it.
        message: A sentence for a person.
        blocks: The document is not saved with it; otherwise it is only told.
    """

    path: Path
    message: str
    blocks: bool = True


def problems_of(document: Json) -> tuple[Profile | None, list[Problem]]:
    """The profile, where its shape is right, and everything that is wrong with it.

    Args:
        document: A JSON value of any schema.
    """
    try:
        profile = Profile.model_validate(migrated(document))
    except ValidationError as error:
        return None, [
            Problem(tuple(one["loc"]), sentence_of(one, Profile, "profile"))
            for one in error.errors(include_url=False)
            if field_of(one) or not isinstance(document, dict)
        ]
    return profile, [located(breach) for breach in breaches(profile)] + list(_secrets(profile))


def located(breach: Breach, *, blocks: bool = True) -> Problem:
    """A broken rule at the first field that its sentence names."""
    found = next((name for name in _NAMES.findall(breach.message) if name in _FIELDS), None)
    if found is None:
        found = next((field for code, field in _WITHOUT_NAME.items() if breach.code.startswith(code)), "")
    return Problem(tuple(found.split(".")) if found else (), breach.message, blocks)


def _secrets(profile: Profile) -> Iterator[Problem]:
    scrub = Scrubber.from_environment().text
    for path, text in _texts(profile.model_dump(mode="json"), ()):
        if scrub(text) != text:
            name = ".".join(map(str, path))
            yield Problem(path, f"{name} holds a secret. Profiles are shared; name an environment variable instead.")


def _texts(value: Json, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from _texts(one, (*path, name))


def _names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        dotted = prefix + (field.alias or name)
        yield dotted
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _names(kind, f"{dotted}.")


_FIELDS = frozenset(name for name in _names(Profile) if "." in name or name == "displayName")
"""Names that stand for the field wherever they stand; the others (`tools`, `plan`) are words too."""
