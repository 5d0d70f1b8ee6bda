"""The inline pictures of a run's images: small, and the same bytes on every machine."""

import base64
from collections.abc import Callable

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.runs import Run
from tt_kernel.domain.views import MAX_INLINE_IMAGE_BYTES, ImageView
from tt_kernel.store.recordings import Recordings
from tt_kernel.toolkit.images import thumbnail

SMALL_IMAGE_BYTES = 12_000
"""Of an image in a table of many runs."""
MOST_SMALL_IMAGES = 4
"""Of one run in such a table."""


class Pictures:
    """An image of at most `limit` bytes is shown as it is. A larger one gets a thumbnail that is made once and kept
    beside the recordings, so that another version of the image library cannot change a replayed output.

    Args:
        recordings: Where thumbnails are kept.
        read: Gives the bytes of an image.
        keep: Whether new thumbnails are kept.
        limit: Bytes of a picture.
        size: The name of that limit.
    """

    def __init__(
        self,
        recordings: Recordings,
        read: Callable[[StoredFile], bytes],
        *,
        keep: bool = False,
        limit: int = MAX_INLINE_IMAGE_BYTES,
        size: str = "thumb",
    ) -> None:
        self._recordings = recordings
        self._read = read
        self._keep = keep
        self._limit = limit
        self._size = size

    def draw(self, file: StoredFile, folder: str) -> ImageView:
        view = ImageView(path=f"{folder}/{file.path}", mime_type=file.mime_type, width=file.width, height=file.height)
        data, mime_type = self._inline(file)
        if data is None:
            return view
        return view.model_copy(update={"data": base64.b64encode(data).decode("ascii"), "data_mime_type": mime_type})

    def _inline(self, file: StoredFile) -> tuple[bytes | None, str]:
        kept = self._recordings.read_blob(f"{file.sha256}.{self._size}")
        if kept is not None:
            return kept, "image/jpeg"
        try:
            data = self._read(file)
        except OSError:
            return None, ""
        if len(data) <= self._limit:
            return data, file.mime_type
        small = thumbnail(data, self._limit)
        if small is None:
            return None, ""
        if self._keep:
            self._recordings.save_blob(f"{file.sha256}.{self._size}", small.data)
        return small.data, small.mime_type


def small_pictures(recordings: Recordings, run: Run, *, keep: bool) -> tuple[ImageView, ...]:
    """The first images of a run's results, small enough for a table of many runs."""
    pictures = Pictures(
        recordings, lambda file: (run.folder / file.path).read_bytes(), keep=keep, limit=SMALL_IMAGE_BYTES, size="small"
    )
    images = [image for record in run.tool_calls if record.result for image in record.result.images]
    return tuple(pictures.draw(image, run.view.folder) for image in images[:MOST_SMALL_IMAGES])
