"""Images at ingestion: spec tauritavern §8.3, §23.11."""

import io
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tt_kernel.toolkit.images import MAX_BYTES, MAX_EDGE, ImageProblem, NormalImage, normalise_image, thumbnail


def encoded(image, kind="PNG", **how):
    out = io.BytesIO()
    image.save(out, kind, **how)
    return out.getvalue()


def noise(width, height, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def opened(normal):
    assert isinstance(normal, NormalImage)
    image = Image.open(io.BytesIO(normal.data))
    image.load()
    assert image.size == (normal.width, normal.height)
    assert f"image/{image.format.lower()}" == normal.mime_type
    return image


def test_2000_by_1000_becomes_a_jpeg_of_1280():
    image = opened(normalise_image(encoded(Image.new("RGB", (2000, 1000), "teal"))))
    assert (image.format, image.size) == ("JPEG", (1280, 640))
    # Quality 85 is seen in the quantisation table (the libjpeg standard table scaled by 30 %).
    assert image.quantization[0][0] == 5


def test_900_kb_of_1000_pixels_stays_untouched():
    data = encoded(noise(1000, 300))
    assert 850_000 < len(data) <= MAX_BYTES
    assert normalise_image(data) == NormalImage(data, "image/png", 1000, 300)


@pytest.mark.parametrize(("kind", "mime"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp")])
def test_the_three_formats_stay_up_to_the_limits(kind, mime):
    data = encoded(Image.new("RGB", (1280, 10), "teal"), kind)
    assert normalise_image(data) == NormalImage(data, mime, 1280, 10)
    assert normalise_image(encoded(Image.new("RGB", (1281, 10), "teal"), kind)).width == MAX_EDGE


def test_too_many_bytes_are_made_fewer():
    data = encoded(noise(1280, 1280))
    assert len(data) > MAX_BYTES
    image = normalise_image(data)
    assert image.mime_type == "image/jpeg"
    assert len(image.data) <= MAX_BYTES
    assert opened(image).size == (1024, 1024)


@pytest.mark.parametrize("kind", ["GIF", "BMP", "TIFF"])
def test_other_formats_become_jpeg(kind):
    assert normalise_image(encoded(Image.new("RGB", (20, 10), "red"), kind)).mime_type == "image/jpeg"


def test_transparency_is_laid_on_white():
    for mode, kind in [("RGBA", "TIFF"), ("LA", "TIFF")]:
        clear = Image.new(mode, (16, 16), 0)
        assert opened(normalise_image(encoded(clear, kind))).convert("RGB").getpixel((8, 8)) == (255, 255, 255)
    palette = Image.new("P", (16, 16), 0)
    palette.putpalette([255, 0, 0] * 256)
    data = encoded(palette, "GIF", transparency=0)
    assert opened(normalise_image(data)).getpixel((8, 8)) == (255, 255, 255)


def test_exif_orientation_is_applied():
    exif = Image.Exif()
    exif[0x112] = 6
    image = opened(normalise_image(encoded(Image.new("RGB", (2000, 1000)), "JPEG", exif=exif)))
    assert image.size == (640, 1280)
    assert 0x112 not in image.getexif()


def test_deep_greys_keep_their_range():
    ramp = np.linspace(0, 65535, 1500 * 20).reshape(20, 1500).astype(np.uint16)
    low, high = opened(normalise_image(encoded(Image.fromarray(ramp)))).convert("L").getextrema()
    assert low <= 3
    assert high >= 252
    floats = np.linspace(-5, 1000, 1500 * 20).reshape(20, 1500).astype(np.float32)
    low, high = opened(normalise_image(encoded(Image.fromarray(floats), "TIFF"))).convert("L").getextrema()
    assert low <= 3
    assert high >= 252


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I", "F"])
def test_every_colour_mode(mode):
    assert opened(normalise_image(encoded(Image.new(mode, (1400, 20)), "TIFF"))).mode == "RGB"


def test_the_bytes_decide_not_a_name():
    assert normalise_image(encoded(Image.new("RGB", (4, 4)), "BMP")).mime_type == "image/jpeg"


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"\x89PNG\r\n\x1a\n", b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"%!PS-Adobe EPSF-3.0"]
)
def test_what_is_no_image_is_a_problem_value(data):
    problem = normalise_image(data)
    assert isinstance(problem, ImageProblem)
    assert problem.code == "image.not_decodable"
    assert thumbnail(data, 1000) is None


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_cut_file_is_a_problem_value(kind):
    data = encoded(noise(300, 300), kind)
    problem = normalise_image(data[: len(data) // 2])
    assert isinstance(problem, ImageProblem)
    assert problem.code == "image.not_decodable"


def test_a_decompression_bomb_is_refused_before_decoding():
    for side in (9500, 15000):
        problem = normalise_image(encoded(Image.new("1", (side, side))))
        assert isinstance(problem, ImageProblem)
        assert problem.code == "image.too_many_pixels"


def test_our_limit_holds_when_the_user_lifted_pillows(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    assert normalise_image(encoded(Image.new("1", (9500, 9500)))).code == "image.too_many_pixels"


def test_extreme_shapes_keep_at_least_one_pixel():
    assert opened(normalise_image(encoded(Image.new("RGB", (20_000, 1))))).size == (1280, 1)


def test_thumbnail():
    small = encoded(Image.new("RGB", (300, 200), "red"))
    assert thumbnail(small, 100_000) == NormalImage(small, "image/png", 300, 200)
    big = thumbnail(encoded(noise(1600, 1200)), 100_000)
    assert len(big.data) <= 100_000
    assert max(opened(big).size) >= 320
    assert thumbnail(encoded(noise(1600, 1200)), 50) is None


def test_equal_input_gives_equal_bytes():
    data = encoded(noise(1300, 40))
    assert normalise_image(data) == normalise_image(data)


@given(st.binary(max_size=200), st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "TIFF"]), st.integers(0, 199))
def test_damaged_files_never_raise(junk, kind, at):
    data = bytearray(encoded(noise(24, 24), kind))
    data[at % len(data) : at % len(data) + len(junk)] = junk
    assert isinstance(normalise_image(bytes(data)), NormalImage | ImageProblem)


def test_pillow_is_imported_only_when_it_is_needed():
    code = "import sys, tt_kernel.toolkit.images; sys.exit('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
