"""Images that go with a prompt, as files named by their content."""

from collections.abc import Sequence

from tt_kernel.domain.calls import StoredFile
from tt_kernel.domain.canonical import digest_bytes
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.toolkit.images import ImageProblem, normalise_image


def attach(images: Sequence[bytes]) -> tuple[tuple[StoredFile, ...], dict[str, bytes]]:
    """The files of encoded images, and their contents by digest.

    Raises:
        UsageProblem: An image cannot be used; the code says why.
    """
    files, blobs = [], dict[str, bytes]()
    for data in images:
        image = normalise_image(data)
        if isinstance(image, ImageProblem):
            raise UsageProblem(image.code, f"An attached image cannot be used: {image.message}")
        sha = digest_bytes(image.data)
        suffix = image.mime_type.removeprefix("image/").replace("jpeg", "jpg")
        files.append(
            StoredFile(
                path=f"input/{sha[:16]}.{suffix}",
                mime_type=image.mime_type,
                sha256=sha,
                size=len(image.data),
                width=image.width,
                height=image.height,
            )
        )
        blobs[sha] = image.data
    return tuple(files), blobs
