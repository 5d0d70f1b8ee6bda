"""What a conversation for other tools takes from a run's folder: the bytes of its images, and when it began."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.runs import Run

ReadImage = Callable[[StoredFile], bytes | None]


def image_reader(run: Run) -> ReadImage:
    """Reads an image from the run's folder, or from the recordings when it is no more there; None: it is gone."""
    blobs = run.folder.parent.parent / "recordings" / "blobs"

    def read(file: StoredFile) -> bytes | None:
        for place in (run.folder / file.path, blobs / file.sha256):
            try:
                return place.read_bytes()
            except OSError:
                continue
        return None

    return read


def missing_image(file: StoredFile) -> str:
    return f"[image {file.path}, sha256 {file.sha256}]"


def started_at(run: Run) -> datetime:
    """When the run began; 1970 where its record is gone, so that the same conversation is always the same data."""
    try:
        return datetime.fromisoformat(json.loads((run.folder / "run.json").read_bytes())["started_at"])
    except (OSError, ValueError, KeyError, TypeError):
        return datetime.fromtimestamp(0, UTC)
