"""What calls were asked and what came of them, as files of the run (spec tauritavern §2.6(1), §8.2)."""

import hashlib
from pathlib import Path, PurePosixPath

from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import StoredFile, ToolCall, ToolResult
from tt_kernel.domain.canonical import Json, digest_bytes
from tt_kernel.domain.errors import StorageFault
from tt_kernel.domain.ids import CallId
from tt_kernel.store.atomic import create_bytes, storage_fault
from tt_kernel.store.runs import RunFolder
from tt_kernel.store.secrets import Scrubber

_CALL_DIGITS = 16


class ResultStore:
    """Files of calls, under logical paths that stay true when the run's folder moves. Each is written once."""

    def __init__(self, folder: RunFolder, scrub: Scrubber) -> None:
        self._folder = folder
        self._scrub = scrub

    def clean(self, value: Json) -> Json:
        """A JSON value without secrets, for files that others write."""
        return self._scrub.json(value)

    def save_arguments(self, call: ToolCall, raw: ToolArguments | Json) -> str:
        """Store the arguments as the model gave them; returns the logical path.

        Args:
            call: Whose arguments.
            raw: What they are: the object, or the text that was none.

        Raises:
            StorageFault: code `storage.exists` for a second call of the same turn with the same id.
        """
        if isinstance(raw, ToolArguments):
            raw = raw.value if raw.is_valid else raw.raw
        return self._create(f"tool-args/{_stem(call)}.json", self._scrub.line(raw))

    def save_result(self, call: ToolCall, result: ToolResult) -> str:
        """Store the whole result; returns the logical path.

        Raises:
            StorageFault: as for arguments.
        """
        return self._create(f"tool-results/{_stem(call)}.json", self._scrub.line(result.model_dump(mode="json")))

    def save_file(
        self,
        call: ToolCall,
        index: int,
        data: bytes,
        mime_type: str,
        suffix: str,
        *,
        width: int | None = None,
        height: int | None = None,
    ) -> StoredFile:
        """Store a file of a result.

        Args:
            call: The call it belongs to.
            index: Tells the files of a call apart, from 0.
            data: Its content; secrets are taken out of text.
            mime_type: What it is.
            suffix: End of its name, such as `png` or `.txt`.
            width: Pixels, of an image.
            height: Pixels, of an image.

        Raises:
            StorageFault: as for arguments.
        """
        stored = self._scrubbed(data, mime_type)
        path = self._create(f"tool-results/{_stem(call)}-{index}.{suffix.lstrip('.')}", stored)
        return StoredFile(
            path=path,
            mime_type=mime_type,
            sha256=digest_bytes(stored),
            size=len(stored),
            width=width,
            height=height,
        )

    def restore(self, file: StoredFile, data: bytes) -> None:
        """Put a file of a recorded result where its path says, if it is not there.

        Raises:
            StorageFault: as for `read`.
        """
        place = self._inside(file.path)
        if not place.exists():
            create_bytes(place, data)

    def read(self, path: str) -> bytes:
        """The bytes of a file of the run.

        Args:
            path: Logical, below the run's folder, as it was returned or as a StoredFile has it.

        Raises:
            StorageFault: it is not there, cannot be read, or leads out of the run's folder (`storage.path_denied`).
        """
        file = self._inside(path)
        try:
            return file.read_bytes()
        except OSError as error:
            raise storage_fault("read", file, error) from error

    def _create(self, path: str, data: bytes) -> str:
        create_bytes(self._folder.layout.root / path, data)
        return path

    def _scrubbed(self, data: bytes, mime_type: str) -> bytes:
        if not mime_type.startswith("text/") and mime_type != "application/json":
            return data
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return data
        scrubbed = self._scrub.text(text)
        return data if scrubbed is text else scrubbed.encode("utf-8")

    def _inside(self, path: str) -> Path:
        root = self._folder.layout.root
        parts = PurePosixPath(path).parts
        file = root.joinpath(*parts)
        if not parts or ".." in parts or "\0" in path or not _within(root, file):
            raise StorageFault("storage.path_denied", f"{path!r} is no file of the run {root}.")
        return file


def _within(root: Path, file: Path) -> bool:
    """Links included."""
    try:
        return file.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return False


def _stem(call: ToolCall) -> str:
    return f"{call.invocation_id}/round-{call.turn:03d}-call_{_short(call.id)}"


def _short(call_id: CallId) -> str:
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:_CALL_DIGITS]
