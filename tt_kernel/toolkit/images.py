"""Images as models take them, and as small pictures for outputs: spec tauritavern §8.3.

What an image is, is decided by its bytes, never by a declared type. Pillow is imported at first use.
"""

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_EDGE = 1280
"""Longest edge in pixels."""
MAX_BYTES = 1_000_000
MAX_PIXELS = 89_478_485
"""Larger pictures are refused before they are decoded (a small file can claim any size)."""
JPEG_QUALITY = 85

_KEPT = {"PNG": "image/png", "JPEG": "image/jpeg", "MPO": "image/jpeg", "WEBP": "image/webp"}
# No EPS, PDF or WMF: their decoders start other programs.
_READ = (*_KEPT, "GIF", "BMP", "TIFF", "ICO", "PPM", "TGA", "AVIF", "JPEG2000")
_SHRINK = 0.8
_THUMBNAIL_STEPS = ((640, 80), (480, 75), (320, 70), (240, 60), (160, 50), (96, 40))


@dataclass(frozen=True)
class NormalImage:
    """An image within the limits. Size in pixels."""

    data: bytes
    mime_type: str
    width: int
    height: int


@dataclass(frozen=True)
class ImageProblem:
    """Why bytes are no image for a model; `message` is one sentence for the end of a result."""

    code: str
    message: str


def normalise_image(data: bytes) -> NormalImage | ImageProblem:
    """The image as a model gets it.

    PNG, JPEG and WebP of at most MAX_EDGE pixels and MAX_BYTES stay as they are. Everything else becomes a JPEG of quality
    85 on white, upright, scaled down as required.
    """
    image = _decoded(data)
    if isinstance(image, ImageProblem):
        return image
    mime = _KEPT.get(image.format or "")
    if mime and max(image.size) <= MAX_EDGE and len(data) <= MAX_BYTES:
        return NormalImage(data, mime, *image.size)
    flat = _flattened(image)
    if isinstance(flat, ImageProblem):
        return flat
    edge = MAX_EDGE
    while edge > 1:
        picture = _jpeg(flat, edge, JPEG_QUALITY)
        if len(picture.data) <= MAX_BYTES:
            return picture
        edge = int(edge * _SHRINK)
    return ImageProblem(
        "image.too_large", f"An image of {len(data):,} bytes could not be made smaller than {MAX_BYTES:,}."
    )


def thumbnail(data: bytes, max_bytes: int) -> NormalImage | None:
    """A small picture of at most `max_bytes` for an output; the image itself when it is small enough; None if it is none."""
    image = _decoded(data)
    if isinstance(image, ImageProblem):
        return None
    mime = _KEPT.get(image.format or "")
    if mime and len(data) <= max_bytes:
        return NormalImage(data, mime, *image.size)
    flat = _flattened(image)
    if isinstance(flat, ImageProblem):
        return None
    pictures = (_jpeg(flat, edge, quality) for edge, quality in _THUMBNAIL_STEPS)
    return next((picture for picture in pictures if len(picture.data) <= max_bytes), None)


def _decoded(data: bytes) -> "Image | ImageProblem":
    """The first frame, wholly decoded, so that a cut file is found here."""
    from PIL import Image, UnidentifiedImageError  # noqa: PLC0415

    Image.init()
    try:
        image = Image.open(io.BytesIO(data), formats=[name for name in _READ if name in Image.OPEN])
        if image.width * image.height > MAX_PIXELS:
            return _too_many(image.width, image.height)
        image.load()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        return ImageProblem("image.too_many_pixels", f"An image has more than {MAX_PIXELS:,} pixels.")
    except UnidentifiedImageError:
        return ImageProblem("image.not_decodable", f"{len(data):,} bytes are no image that can be read.")
    except Exception as error:  # noqa: BLE001  decoders of broken files raise anything
        return ImageProblem("image.not_decodable", f"An image of {len(data):,} bytes cannot be decoded: {error}.")
    return image


def _flattened(image: "Image") -> "Image | ImageProblem":
    """Upright, RGB, on white."""
    from PIL import Image, ImageOps  # noqa: PLC0415

    try:
        upright = ImageOps.exif_transpose(image)
        deep = _eight_bit(upright)
        if not deep.has_transparency_data:
            return deep.convert("RGB")
        layer = deep.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer).convert("RGB")
    except Exception as error:  # noqa: BLE001  colour modes and metadata of broken files
        return ImageProblem("image.not_decodable", f"An image cannot be converted: {error}.")


def _eight_bit(image: "Image") -> "Image":
    """Pillow clips deep greys when it converts; here they are scaled: 16 bit by its range, others by what is in them."""
    if image.mode.startswith("I;16"):
        return image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    if image.mode not in ("I", "F"):
        return image
    low, high = image.getextrema()
    span = float(high) - float(low) or 1.0  # type: ignore[arg-type]  # one band, so two numbers
    grey = image.convert("F")
    return grey.point(lambda value: value * (255 / span) - float(low) * 255 / span).convert("L")  # type: ignore[arg-type]


def _jpeg(image: "Image", edge: int, quality: int) -> NormalImage:
    from PIL import Image  # noqa: PLC0415

    scale = min(1.0, edge / max(image.size))
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    small = image if size == image.size else image.resize(size, Image.Resampling.LANCZOS)
    out = io.BytesIO()
    small.save(out, "JPEG", quality=quality)
    return NormalImage(out.getvalue(), "image/jpeg", *size)


def _too_many(width: int, height: int) -> ImageProblem:
    return ImageProblem(
        "image.too_many_pixels", f"An image of {width} x {height} pixels is larger than {MAX_PIXELS:,} pixels."
    )
