"""The inline pictures of a run's images: small, and the same bytes on every machine."""

import base64
from collections.abc import Callable

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.views import MAX_INLINE_IMAGE_BYTES, ImageView
from tt_kernel.store.recordings import Recordings
from tt_kernel.toolkit.images import thumbnail


class Pictures:
    """An image of at most MAX_INLINE_IMAGE_BYTES is shown as it is. A larger one gets a thumbnail that is made once and kept
    beside the recordings, so that another version of the image library cannot change a replayed output.
    """

    def __init__(self, recordings: Recordings, read: Callable[[StoredFile], bytes], *, keep: bool = False) -> None:
        self._recordings = recordings
        self._read = read
        self._keep = keep

    def draw(self, file: StoredFile, folder: str) -> ImageView:
        view = ImageView(path=f"{folder}/{file.path}", mime_type=file.mime_type, width=file.width, height=file.height)
        data, mime_type = self._inline(file)
        if data is None:
            return view
        return view.model_copy(update={"data": base64.b64encode(data).decode("ascii"), "data_mime_type": mime_type})

    def _inline(self, file: StoredFile) -> tuple[bytes | None, str]:
        kept = self._recordings.read_blob(f"{file.sha256}.thumb")
        if kept is not None:
            return kept, "image/jpeg"
        try:
            data = self._read(file)
        except OSError:
            return None, ""
        if len(data) <= MAX_INLINE_IMAGE_BYTES:
            return data, file.mime_type
        small = thumbnail(data, MAX_INLINE_IMAGE_BYTES)
        if small is None:
            return None, ""
        if self._keep:
            self._recordings.save_blob(f"{file.sha256}.thumb", small.data)
        return small.data, small.mime_type
