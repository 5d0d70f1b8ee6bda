"""`--set FIELD=VALUE`: one profile field by its dotted name."""

import difflib
import json
from collections.abc import Iterator, Mapping

from pydantic import BaseModel
from pydantic.alias_generators import to_camel, to_snake

from tt_kernel.domain.canonical import Json, JsonObject
from tt_kernel.domain.errors import ProfileInvalid
from tt_kernel.domain.profiles import Profile
from tt_kernel.store.profile_rules import breaches
from tt_kernel.store.profiles import decode_draft


def with_settings(profile: Profile, settings: Mapping[str, Json]) -> Profile:
    """The profile with the fields changed and everything validated again.

    Args:
        settings: Dotted field, in snake_case or camelCase -> JSON value, or text that is read as JSON where it is JSON.

    Raises:
        ProfileInvalid: An unknown field (names the nearest ones), a value that does not fit, or a rule that the profile did
            not break before (spec tauritavern §11.2).
    """
    if not settings:
        return profile
    document = profile.model_dump(mode="json")
    for field, value in settings.items():
        _put(document, field, _value(value))
    changed, found = decode_draft(document, source=repr(profile.id))
    known = breaches(profile)
    for breach in found:
        if breach not in known:
            raise ProfileInvalid(breach.code, f"Profile {profile.id!r}: {breach.message}")
    return changed


def _put(document: JsonObject, field: str, value: Json) -> None:
    path = [to_snake(part) for part in field.split(".")]
    if ".".join(path) not in set(field_names(Profile)):
        near = difflib.get_close_matches(".".join(path), list(field_names(Profile)), n=3, cutoff=0.4)
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        raise ProfileInvalid("agent.profile_field_unknown", f"A profile has no field {field!r}.{hint}")
    at = document
    for part in path[:-1]:
        at = at[to_camel(part)]
    at[to_camel(path[-1])] = value


def field_names(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Every dotted field of a profile, in snake_case."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        yield prefix + name
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from field_names(kind, f"{prefix}{name}.")


def _value(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
