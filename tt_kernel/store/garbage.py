"""What nothing needs any more besides runs: recordings whose runs are gone, blobs, unfinished writes, caches.

- A recorded line belongs to the run that made it. It is kept while that run has a folder, something refers to the run, or a kept
  run went on from its recording (the prefix lines of a chain).
- A chain is rewritten beside itself and moved into place, under the lock that appending takes: killed anywhere, the folder has the
  old chain or the new one. Blobs go after the chains that named them.
- What is younger than an hour is nobody's left-over: another process may be about to name it.
"""

import json
import re
import shutil
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.store.atomic import TEMPORARY_PREFIX, read_if_there, storage_fault, write_bytes
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.locks import locked

Kind = Literal["recordings", "blob", "left-over", "cache"]

YOUNG_SECONDS = 3600.0
_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_LISTS_BLOBS = frozenset({".json", ".jsonl"})


@dataclass(frozen=True)
class Waste:
    """Something to delete. `size` is what that frees, in bytes; `runs` are those whose lines leave a chain, of `of` in it."""

    kind: Kind
    path: Path
    size: int
    runs: tuple[str, ...] = ()
    of: int = 0


def waste(folder: AgentFolder, needed: Collection[str], *, frozen: str = "") -> list[Waste]:
    """What could be deleted now, in the order in which it must be.

    Args:
        needed: Ids of runs that have a folder, or that something refers to.
        frozen: A text; a chain that it names stays as it is (a manifest lists files by digest).
    """
    found = _chains(folder, needed, frozen)
    found += _blobs(folder, found, frozen)
    found += [Waste("left-over", path, _size(path)) for path in _left_overs(folder)]
    if folder.cache.is_dir():
        found.append(Waste("cache", folder.cache, _size(folder.cache)))
    return found


def throw_away(folder: AgentFolder, item: Waste) -> None:
    """Raises StorageFault: it is as it was, or partly deleted where it is a folder."""
    try:
        if item.kind == "recordings":
            with locked(folder.recordings):
                _forget(item)
        elif item.path.is_dir():
            shutil.rmtree(item.path)
        else:
            item.path.unlink(missing_ok=True)
    except OSError as error:
        raise storage_fault("delete", item.path, error) from error


def _forget(item: Waste) -> None:
    """Read again: somebody may have appended since the plan was made."""
    data = read_if_there(item.path)
    kept = _kept(data, frozenset(item.runs))
    if any(b'"run":' in line for line in kept):
        write_bytes(item.path, b"".join(kept), durable=True)
    else:
        item.path.unlink(missing_ok=True)


# ---- chains


def _chains(folder: AgentFolder, needed: Collection[str], frozen: str) -> list[Waste]:
    found = []
    for path in sorted(folder.recordings.glob("*.jsonl")):
        if path.name in frozen:
            continue
        data = read_if_there(path)
        runs, parents = _runs_of(data)
        alive = _with_ancestors(runs & set(needed), parents)
        dead = sorted(runs - alive)
        if dead:
            size = len(data) - (sum(map(len, _kept(data, frozenset(dead)))) if alive else 0)
            found.append(Waste("recordings", path, size, tuple(dead), len(runs)))
    return found


def _runs_of(data: bytes) -> tuple[set[str], dict[str, set[str]]]:
    """The runs that lines of a chain belong to, and run -> runs whose recordings it went on from."""
    runs: set[str] = set()
    parents: dict[str, set[str]] = {}
    for line in _parsed(data):
        run = line.get("run")
        if isinstance(run, str):
            runs.add(run)
            if line.get("kind") == "prefix":
                parents.setdefault(run, set()).add(line.get("of", ""))
    return runs, parents


def _with_ancestors(runs: set[str], parents: dict[str, set[str]]) -> set[str]:
    alive, queue = set(runs), list(runs)
    while queue:
        for parent in parents.get(queue.pop(), set()) - alive:
            alive.add(parent)
            queue.append(parent)
    return alive


def _kept(data: bytes, dead: Collection[str]) -> list[bytes]:
    """The lines of a chain without those of `dead` runs, and without descriptions of requests that no line left speaks of."""
    lines = [(raw, _object(raw)) for raw in data.splitlines(keepends=True)]
    left = [(raw, line) for raw, line in lines if line.get("run") not in dead]
    described = {line["digest"]: line for _, line in left if line.get("kind") == "request"}
    wanted = set(_named_requests(line for _, line in left))
    queue = list(wanted)
    while queue:  # a request is understood from the ones before it
        parent = described.get(queue.pop(), {}).get("parent")
        if parent is not None and parent not in wanted:
            wanted.add(parent)
            queue.append(parent)
    bodies = {str(line.get("fixed")) for digest, line in described.items() if digest in wanted}
    return [raw for raw, line in left if _speaks(line, wanted, bodies)]


def _speaks(line: JsonObject, requests: Collection[str], bodies: Collection[str]) -> bool:
    if line.get("kind") == "request":
        return line["digest"] in requests
    return line.get("kind") != "body" or line["digest"] in bodies


def _named_requests(lines: Iterator[JsonObject]) -> Iterator[str]:
    for line in lines:
        if "request" in line:
            yield line["request"]
        yield from line.get("requests", ())


def _parsed(data: bytes) -> Iterator[JsonObject]:
    return (_object(raw) for raw in data.splitlines())


def _object(raw: bytes) -> JsonObject:
    """A line; one that was cut off or that is of another version is an empty object, and stays as it is."""
    try:
        value = json.loads(raw)
    except ValueError:
        return {}
    return (
        value if isinstance(value, dict) and (value.get("kind") not in ("request", "body") or "digest" in value) else {}
    )


# ---- files


def _blobs(folder: AgentFolder, gone: Sequence[Waste], frozen: str) -> list[Waste]:
    blobs = folder.recordings / "blobs"
    old = [path for path in sorted(blobs.glob("[0-9a-f]*")) if path.is_file() and not _is_young(path)]
    if not old:
        return []
    named = set(_DIGEST.findall(frozen.encode()))
    dead = {item.path: frozenset(item.runs) for item in gone}
    for path in folder.recordings.glob("*.jsonl"):
        for line in _kept(read_if_there(path), dead.get(path, frozenset())):
            named.update(_DIGEST.findall(line))
    for path in folder.runs.rglob("*"):
        if path.suffix in _LISTS_BLOBS and path.is_file():
            named.update(_DIGEST.findall(read_if_there(path)))
    return [Waste("blob", path, _size(path)) for path in old if path.name[:64].encode() not in named]


def _left_overs(folder: AgentFolder) -> list[Path]:
    """Unfinished writes of processes that were killed, and folders of runs whose deletion was."""
    gone = sorted(folder.runs.glob(f"{TEMPORARY_PREFIX}*"))
    unfinished = [
        path
        for path in sorted(folder.root.rglob(f"{TEMPORARY_PREFIX}*"))
        if path.is_file() and folder.cache not in path.parents and not _is_young(path)
    ]
    unfinished += [path for path in sorted((folder.recordings / "blobs").glob(".*.tmp")) if not _is_young(path)]
    return gone + [path for path in unfinished if not any(place in path.parents or place == path for place in gone)]


def _is_young(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < YOUNG_SECONDS
    except OSError:
        return True  # just renamed or deleted by its owner


def _size(path: Path) -> int:
    if not path.is_dir():
        return path.lstat().st_size if path.exists() else 0
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_file())
