"""Small JSON documents that people read and edit: where they are, and what is wrong with one, in a sentence."""

import difflib
from collections.abc import Collection
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tt_kernel.domain.canonical import Json, canonical_json
from tt_kernel.store.atomic import storage_fault
from tt_kernel.store.secrets import Scrubber

SHOWN_CHARS = 128
"""Of a wrong value, in a message."""


def documents_in(folder: Path) -> list[Path]:
    """The JSON files of a folder by name; hidden ones and a missing folder are nothing.

    Raises:
        StorageFault: the folder cannot be read.
    """
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".json" and not path.name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise storage_fault("read", folder, error) from error


def first_error(error: ValidationError) -> ErrorDetails:
    return error.errors(include_url=False)[0]


def field_of(error: ErrorDetails) -> str:
    """The dotted name of the field that is wrong; empty for the whole document."""
    return ".".join(str(part) for part in error["loc"])


def sentence_of(error: ErrorDetails, model: type[BaseModel], noun: str, *, hidden: Collection[str] = ()) -> str:
    """What is wrong, naming the field, what it is and what is expected; for an unknown field the nearest one.

    Args:
        error: Of pydantic.
        model: The type of the whole document.
        noun: What the document is: "profile".
        hidden: Fields whose value may be a secret that was put in the wrong place, and is not repeated.
    """
    field = field_of(error)
    if error["type"] == "extra_forbidden":
        return f"{field} is no field of a {noun}.{_nearest_field(field, model)}"
    if error["type"] == "missing":
        return f"{field} is missing."
    if not field:
        return f"{error['msg']}."
    if field in hidden:
        return f"{field}: {error['msg']}."
    return f"{field} is {_shown(error['input'])}: {error['msg']}."


def holds_secret(document: BaseModel) -> bool:
    """Whether a credential of the environment, or what looks like one, stands in it."""
    text = canonical_json(document.model_dump(mode="json"))
    return Scrubber.from_environment().text(text) != text


def _nearest_field(field: str, model: type[BaseModel]) -> str:
    parent, _, name = field.rpartition(".")
    schema = model.model_json_schema()
    here: Json = schema
    for part in filter(None, parent.split(".")):
        here = here.get("properties", {}).get(part, {})
        here = schema.get("$defs", {}).get(here.get("$ref", "").rpartition("/")[2], here)
    near = difflib.get_close_matches(name, here.get("properties", {}), n=1)
    return f" Did you mean {near[0]}?" if near else ""


def _shown(value: object) -> str:
    text = Scrubber.from_environment().text(repr(value))
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "..."
