"""Long-term files of the agents: immutable versions, one per run that changed them (spec tauritavern §7.4).

- `persist/<state-id>/` holds `manifest.json` and the files below `files/`; the state id is the id of the run that published it.
- A run works on a copy of its base state. Only a successful end publishes; what did not change is no new version.
- Two runs that began from the same state and both published are a conflict: both versions exist, the later one is told.
"""

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tt_kernel.domain.canonical import digest, digest_bytes
from tt_kernel.domain.errors import NotFound, StorageFault
from tt_kernel.domain.events import PersistChanged
from tt_kernel.domain.frozen import Frozen
from tt_kernel.store.atomic import read_json, storage_fault, write_json
from tt_kernel.store.copies import copy_files
from tt_kernel.store.journal import now_iso

MANIFEST = "manifest.json"
FILES = "files"


class PersistManifest(Frozen):
    """`files`: path -> SHA-256. `base`: the state that the run began from; None for the first. Times in ISO 8601 UTC."""

    schema_version: int = 1
    state: str
    base: str | None
    published_at: str
    files: dict[str, str]


@dataclass(frozen=True)
class Published:
    """`state`: what the notebook's memory is now. `conflict`: another run published from the same base meanwhile."""

    state: str | None
    is_new: bool
    conflict: str | None = None


class PersistShelf:
    """The versions of one agent folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def manifest(self, state: str) -> PersistManifest:
        """Raises NotFound: no such state, or one that was never finished."""
        path = self._folder / state / MANIFEST
        try:
            return PersistManifest.model_validate(read_json(path))
        except (StorageFault, FileNotFoundError, ValueError) as error:
            raise NotFound("agent.persist_state_not_found", f"There is no memory state {state!r}.") from error

    def content_digest(self, state: str | None) -> str:
        """What a run sees of a state: equal files have equal digests, whatever the state is called."""
        return digest(self.manifest(state).files if state else {})

    def project(self, state: str | None, target: Path) -> None:
        """Copy a state's files to where a run works on them."""
        if state is None:
            return
        self.manifest(state)
        source = self._folder / state / FILES
        try:
            if source.is_dir():
                copy_files(source, target)
        except OSError as error:
            raise storage_fault("copy the memory to", target, error) from error

    def rivals(self, base: str | None, since: str) -> set[str]:
        """The states that were published from this base since a moment."""
        return {m.state for m in self._manifests() if m.base == base and m.published_at >= since}

    def publish(self, state: str, source: Path, base: str | None, since: str) -> Published:
        """Keep what a run left, as a new version if it differs from its base.

        Args:
            state: The id of the new version: the run's.
            source: The run's `persist` folder.
            base: What the run began from.
            since: When the run began; what others published from the same base since then is a conflict.

        Raises:
            StorageFault: Nothing was published.
        """
        files = listing(source)
        if files == (self.manifest(base).files if base else {}):
            return Published(base, is_new=False)
        if not (self._folder / state / MANIFEST).exists():
            self._keep(PersistManifest(state=state, base=base, published_at=now_iso(), files=files), source)
        others = self.rivals(base, since) - {state}
        return Published(state, is_new=True, conflict=min(others) if others else None)

    def replayed(self, state: str, source: Path, base: str | None) -> PersistChanged | None:
        """What the recorded run published, told again; None if its memory did not change."""
        if listing(source) == (self.manifest(base).files if base else {}):
            return None
        return PersistChanged(type="persistent_changes_committed", state=state, base=base)

    def _keep(self, manifest: PersistManifest, source: Path) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            staging = Path(tempfile.mkdtemp(prefix=f".{manifest.state}-", dir=self._folder))
            try:
                if source.is_dir():
                    shutil.copytree(source, staging / FILES)
                write_json(staging / MANIFEST, manifest)
                staging.replace(self._folder / manifest.state)
            finally:
                shutil.rmtree(staging, ignore_errors=True)
        except OSError as error:
            raise storage_fault("publish the memory to", self._folder / manifest.state, error) from error

    def _manifests(self) -> list[PersistManifest]:
        found = []
        for path in sorted(self._folder.glob(f"[!.]*/{MANIFEST}")):
            try:
                found.append(self.manifest(path.parent.name))
            except NotFound:
                continue
        return found


def listing(folder: Path) -> dict[str, str]:
    """Path below `folder` -> SHA-256 of the content, for regular files."""
    if not folder.is_dir():
        return {}
    return {
        path.relative_to(folder).as_posix(): digest_bytes(path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
