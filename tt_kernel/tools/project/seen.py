"""What the model has seen of each file: spec liveagent §5.1, bound to the content's digest and the file's time.

Keyed by the real path on the disk: two spellings, or a link and its target, are one file. (Upstream goes by inode, which
changes with every atomic write.)
"""

import os
import threading
from dataclasses import dataclass, field

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.ids import Digest

Window = tuple[str, int, int]
"""What a read asked for: kind, first, how many."""


@dataclass(frozen=True)
class Version:
    """One state of a file. Both parts count: a touched file is stale, and so is one changed within the same tick."""

    sha256: Digest
    mtime_ns: int

    @property
    def facts(self) -> dict[str, Json]:
        return {"sha256": self.sha256}


@dataclass
class _Known:
    version: Version
    windows: set[Window] = field(default_factory=set)


class SeenFiles:
    """The files of one invocation. Used from several threads."""

    def __init__(self) -> None:
        self._files: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def version(self, path: str) -> Version | None:
        """The version that the model knows; None when it has not seen the file, or must not rely on it."""
        with self._lock:
            known = self._files.get(_key(path))
            return known.version if known else None

    def saw(self, path: str, version: Version, window: Window | None = None) -> bool:
        """The model sees this version now. Says whether it has seen the same window of the same version before."""
        with self._lock:
            known = self._files.get(_key(path))
            if known is None or known.version != version:
                known = self._files[_key(path)] = _Known(version)
            again = window in known.windows
            if window is not None:
                known.windows.add(window)
            return again

    def forget(self, path: str) -> None:
        """It must be read anew: it was deleted, or a change failed that the model did not look at the file for."""
        with self._lock:
            self._files.pop(_key(path), None)

    def forget_windows(self) -> None:
        """Nothing that was shown is in the conversation any more (it was compacted): show it again when asked."""
        with self._lock:
            for known in self._files.values():
                known.windows.clear()


def _key(path: str) -> str:
    return os.path.normcase(path)
