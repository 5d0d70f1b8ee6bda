"""What differs between two profiles, field by field."""

from collections.abc import Iterator
from typing import NamedTuple

from tt_kernel.domain.canonical import Json, JsonObject, canonical_json
from tt_kernel.domain.profiles import Profile


class Change(NamedTuple):
    """One field that differs.

    Attributes:
        field: Dotted, as in the document.
        before: Its value in the first profile; None where there is none.
        after: Its value in the second.
    """

    field: str
    before: Json
    after: Json

    def told(self) -> tuple[str, str]:
        """Both sides in short: of two lists only what the other does not have, or their order."""
        if not (isinstance(self.before, list) and isinstance(self.after, list)):
            return _text(self.before), _text(self.after)
        gone = [item for item in self.before if item not in self.after]
        new = [item for item in self.after if item not in self.before]
        if not gone and not new:
            return _text(self.before), _text(self.after)
        return _signed("-", gone), _signed("+", new)


def changes(before: Profile, after: Profile) -> list[Change]:
    """The fields in which two profiles differ, in the order of the schema."""
    one, other = dict(_fields(_document(before))), dict(_fields(_document(after)))
    names = dict.fromkeys([*one, *other])
    pairs = (Change(name, one.get(name), other.get(name)) for name in names)
    return [change for change in pairs if change.before != change.after]


def own_fields(profile: Profile) -> list[tuple[str, Json]]:
    """The fields that are not at their defaults, with their values."""
    plain = Profile(id=profile.id, display_name=profile.display_name)
    identity = [("id", profile.id), ("displayName", profile.display_name)]
    return [*identity, *((change.field, change.after) for change in changes(plain, profile))]


def _document(profile: Profile) -> JsonObject:
    document: JsonObject = profile.model_dump(mode="json")
    return document


def _fields(value: JsonObject, prefix: str = "") -> Iterator[tuple[str, Json]]:
    for name, inner in value.items():
        if isinstance(inner, dict) and inner:
            yield from _fields(inner, f"{prefix}{name}.")
        elif inner != {}:
            yield prefix + name, inner


def _text(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else canonical_json(value)


def _signed(sign: str, items: list[Json]) -> str:
    return " ".join(f"{sign}{_text(item)}" for item in items)
