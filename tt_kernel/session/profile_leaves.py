"""A profile's document as its leaves: what two documents differ in, and taking over what another writer changed."""

import copy
from collections.abc import Iterator

from tt_kernel.domain.canonical import Json, JsonObject

Path = tuple[str, ...]


def put(document: JsonObject, path: Path, value: Json) -> JsonObject:
    """The document with one value exchanged; None of the others is touched. Missing objects on the way are made."""
    if not path:
        return document
    name, *rest = path
    inner = document.get(name)
    if not rest:
        return {**document, name: value}
    return {**document, name: put(inner if isinstance(inner, dict) else {}, tuple(rest), value)}


def changed_leaves(before: JsonObject, after: JsonObject) -> dict[Path, Json]:
    """The leaves of `after` that `before` does not have like this, and None for those that are gone. Lists are leaves."""
    old, new = dict(_leaves(before, ())), dict(_leaves(after, ()))
    gone: dict[Path, Json] = {path: None for path in old if path not in new}
    return gone | {path: value for path, value in new.items() if path not in old or old[path] != value}


def merged(base: JsonObject, mine: JsonObject, theirs: JsonObject) -> tuple[JsonObject, list[str]]:
    """Both sides' changes of `base` in one document.

    Returns:
        The document, and the dotted names that both changed differently: there `mine` counts.
    """
    own, other = changed_leaves(base, mine), changed_leaves(base, theirs)
    present = dict(_leaves(mine, ()))
    document = copy.deepcopy(theirs)
    for path, value in own.items():
        document = put(document, path, value) if path in present else _without(document, path)
    clashes = [".".join(path) for path, value in own.items() if path in other and other[path] != value]
    return document, clashes


def _leaves(value: JsonObject, path: Path) -> Iterator[tuple[Path, Json]]:
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _leaves(inner, (*path, name))
        else:
            yield (*path, name), inner


def _without(document: JsonObject, path: Path) -> JsonObject:
    name, *rest = path
    inner = document.get(name)
    kept = _without(inner, tuple(rest)) if rest and isinstance(inner, dict) else {}
    if kept:
        return {**document, name: kept}
    return {other: value for other, value in document.items() if other != name}
