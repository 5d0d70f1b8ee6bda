"""`freeze` and `bundle`: what a notebook's results rest on, by digest; and all of it in one file (issue 6.7).

The manifest is `manifest.json` in the agent folder. It names no time, no user and no absolute path: freezing the same notebook in the same
environment gives the same bytes.
"""

import json
import platform
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from tt_kernel.domain.canonical import Json, digest, digest_bytes
from tt_kernel.domain.errors import NotFound, StorageFault, UsageProblem
from tt_kernel.domain.frozen import Frozen
from tt_kernel.domain.ids import Digest
from tt_kernel.domain.runs import RunRecord
from tt_kernel.domain.specs import Snapshot
from tt_kernel.session.core import Session
from tt_kernel.store.atomic import decoded, read_json, write_json
from tt_kernel.store.budget import NAME as BUDGET
from tt_kernel.store.layout import LOCK_NAME, AgentFolder, RunLayout
from tt_kernel.store.spending import NAME as SPENT

MANIFEST = "manifest.json"
_LEFT_OUT = frozenset({".cache", MANIFEST, SPENT, BUDGET})
"""Derived data, the manifest itself, and what is about money, which goes on."""
SHOWN_DIGITS = 12
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest that a zip file can say: a bundle's bytes do not tell when it was made."""


class FrozenRun(Frozen):
    """What decided a run: its key covers all of it, the digests tell what of it another run has too.

    Attributes:
        prompt_digest: Of the prompt and the images that go with it.
        profile_digest: Of the whole profile, as it was resolved.
        tools_digest: Of the tools' names, descriptions, schemas and versions; empty where they are not kept any more.
        model_digest: Of the model's name and the connection that it was reached by.
    """

    key: str
    slot: int
    status: str
    model: str
    profile: str
    prompt_digest: str
    profile_digest: str
    tools_digest: str
    model_digest: str


class Manifest(Frozen):
    """Attributes:
    python: Version of the interpreter.
    system: Operating system and architecture.
    packages: Name -> version of tt_kernel and what it needs.
    notebook: Name -> SHA-256 of the notebook file.
    files: Path in the agent folder -> SHA-256, all but derived data.
    runs: Run id -> what decided it.
    digests: Part -> digest of all that the manifest says of it. Two manifests with the same digest agree in that part.
    """

    schema_version: int = 1
    python: str
    system: str
    packages: dict[str, str]
    notebook: dict[str, str]
    files: dict[str, str]
    runs: dict[str, FrozenRun]
    digests: dict[str, str] = Field(default_factory=dict)

    def parts(self) -> dict[str, str]:
        """The digest of each part, from what the manifest says."""
        return {name: digest(value) for name, value in self._parts().items()}

    def _parts(self) -> dict[str, Json]:
        def of_runs(name: str) -> Json:
            return {run: getattr(frozen, name) for run, frozen in self.runs.items()}

        def of_files(kind: str) -> Json:
            return {name: sha for name, sha in self.files.items() if _kind(name) == kind}

        return {
            "environment": [self.python, self.system],
            "packages": dict(self.packages),
            "notebook": dict(self.notebook),
            "prompts": of_runs("prompt_digest"),
            "profiles": [of_runs("profile_digest"), of_files("profiles")],
            "tools": of_runs("tools_digest"),
            "models": of_runs("model_digest"),
            "recordings": of_files("recordings"),
            "journals": of_files("journals"),
            "files": of_files("files"),
            "runs": {run: [frozen.key, frozen.slot, frozen.status] for run, frozen in self.runs.items()},
        }


def _kind(name: str) -> str:
    """Which part of the manifest a file of the agent folder belongs to."""
    first, _, rest = name.partition("/")
    if first == "runs" and rest.endswith("/events.jsonl"):
        return "journals"
    return first if first in ("recordings", "profiles") else "files"


_MANIFEST = TypeAdapter(Manifest)


def manifest_of(notebook: Path) -> Manifest:
    """The manifest of a notebook as it is now.

    Raises:
        NotFound: There is no such notebook.
    """
    if not notebook.is_file():
        raise NotFound("notebook.not_found", f"There is no notebook {str(notebook)!r}. Save it first.")
    session = Session(notebook)
    runs = {str(record.id): _frozen(record, session.folder.run(record.id)) for record in session.index.list()}
    manifest = Manifest(
        python=platform.python_version(),
        system=f"{sys.platform} {platform.machine()}",
        packages=dict(sorted(_packages())),
        notebook={notebook.name: digest_bytes(notebook.read_bytes())},
        files={name: digest_bytes(path.read_bytes()) for name, path in _files(session.folder)},
        runs=dict(sorted(runs.items())),
    )
    return manifest.model_copy(update={"digests": manifest.parts()})


def _frozen(record: RunRecord, layout: RunLayout) -> FrozenRun:
    try:
        tools = Snapshot.model_validate(read_json(layout.input / "snapshot.json")).digest
    except (StorageFault, FileNotFoundError, ValidationError):
        tools = Digest("")
    connection = record.connection.model_dump(mode="json") if record.connection else None
    return FrozenRun(
        key=record.key,
        slot=record.slot,
        status=record.status,
        model=record.model,
        profile=record.profile.id,
        prompt_digest=digest([record.prompt, [file.sha256 for file in record.attachments]]),
        profile_digest=digest(record.profile.model_dump(mode="json")),
        tools_digest=tools,
        model_digest=digest([record.model, connection]),
    )


def freeze(notebook: Path) -> tuple[Path, Manifest]:
    """Write the manifest; returns where it is."""
    manifest = manifest_of(notebook)
    folder = AgentFolder.for_notebook(notebook)
    folder.create()
    write_json(folder.root / MANIFEST, manifest)
    return folder.root / MANIFEST, manifest


def tampered(notebook: Path) -> list[str]:
    """What is not as the manifest says: changed and missing files, one sentence each. Nothing where there is no manifest.

    What was added since is no finding: more runs leave the frozen ones as they are. Nor is another environment: it is what a replay
    must not depend on. A manifest whose digests are not those of what it says was changed itself.
    """
    folder = AgentFolder.for_notebook(notebook)
    try:
        data = (folder.root / MANIFEST).read_bytes()
    except OSError:
        return []
    manifest = decoded(_MANIFEST, data)
    if manifest is None:
        return [f"{MANIFEST} cannot be read."]
    found = [
        f"{MANIFEST} was changed: its digest of {name} is not that of what it says."
        for name, value in manifest.parts().items()
        if manifest.digests.get(name) != value
    ]
    places = {name: folder.root / name for name in manifest.files}
    known = {**manifest.files, **manifest.notebook}
    for name, path in {**places, **{name: notebook.with_name(name) for name in manifest.notebook}}.items():
        if not path.is_file():
            found.append(f"{name} is missing since it was frozen.")
        elif digest_bytes(path.read_bytes()) != known[name]:
            found.append(f"{name} changed since it was frozen.")
    return found


def bundle(notebook: Path, target: Path, also: Sequence[Path] = ()) -> int:
    """One zip file with the notebook, its agent folder, the manifest, and more files. Unpacked elsewhere, it verifies.

    Args:
        notebook: The .ipynb file.
        target: The zip file; it is replaced.
        also: Files beside the notebook that its code reads.

    Returns:
        How many files are in it.

    Raises:
        UsageProblem: A file that is not below the notebook's folder.
    """
    path, _ = freeze(notebook)
    folder = AgentFolder.for_notebook(notebook)
    members = {notebook.name: notebook, f"{folder.root.name}/{MANIFEST}": path}
    members |= {f"{folder.root.name}/{name}": file for name, file in _files(folder)}
    for file in also:
        members[_below(file, notebook.absolute().parent)] = file
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for name, file in sorted(members.items()):
            entry = zipfile.ZipInfo(name, _ZIP_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            made.writestr(entry, file.read_bytes())
    return len(members)


def _below(file: Path, folder: Path) -> str:
    place = file.absolute()
    if not place.is_relative_to(folder) or not place.is_file():
        raise UsageProblem(message=f"{file} is no file below {folder}, where the notebook would look for it.")
    return place.relative_to(folder).as_posix()


def _files(folder: AgentFolder) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.root.rglob("*")):
        name = path.relative_to(folder.root)
        if path.is_file() and name.parts[0] not in _LEFT_OUT and path.name != LOCK_NAME:
            yield name.as_posix(), path


def _packages() -> Iterator[tuple[str, str]]:
    """tt_kernel and what it needs, with the extras that are installed."""
    names = ["tt_kernel", *(re.split(r"[^\w.-]", need, maxsplit=1)[0] for need in requires("tt_kernel") or ())]
    for name in dict.fromkeys(names):
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue  # an extra that is not here


def shown(manifest: Manifest) -> list[tuple[str, str]]:
    """The manifest in short, for a table."""
    document: Json = json.loads(manifest.model_dump_json())
    return [
        ("python", document["python"]),
        ("system", document["system"]),
        ("packages", str(len(manifest.packages))),
        ("files", str(len(manifest.files))),
        ("runs", str(len(manifest.runs))),
        ("models", ", ".join(sorted({run.model for run in manifest.runs.values()}))),
        *((f"digest of {name}", value[:SHOWN_DIGITS]) for name, value in manifest.digests.items()),
    ]
