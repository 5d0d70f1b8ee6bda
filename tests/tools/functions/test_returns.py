"""What a notebook function returns, as files and text: issue 2 item 5, with the real libraries."""

import datetime as dt
import enum
import io
import uuid
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image
from pydantic import BaseModel

from tt_kernel.tools.functions.plain import MAX_REPR, bounded_repr, plain_of, text_of
from tt_kernel.tools.functions.returns import NOTHING, Picture, parts_of
from tt_kernel.tools.functions.tables import BRIEF_CHARS, Table, table_of


def penguins(rows=344):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "species": rng.choice(["Adelie", "Gentoo", "Chinstrap"], rows),
            "mass": rng.normal(4200, 800, rows),
            "year": rng.integers(2007, 2010, rows),
        }
    )


def returned(bench, value):
    def give():
        return value

    return bench.call(give)


def test_text_as_it_is(bench):
    assert returned(bench, "x" * 9).content == "x" * 9
    assert returned(bench, "").content == ""


def test_nothing_is_a_fixed_sentence(bench):
    assert returned(bench, None).content == NOTHING


def test_a_frame_is_stored_whole_and_told_in_brief(bench):
    frame = penguins()
    result = returned(bench, frame)
    (stored,) = result.files
    assert (stored.mime_type, result.images, result.resource_refs) == ("text/csv", (), (stored.path,))
    whole = pd.read_csv(io.BytesIO(bench.files[stored.path]))
    pd.testing.assert_frame_equal(whole, frame, check_dtype=False)
    assert len(result.content) <= BRIEF_CHARS
    lines = result.content.splitlines()
    assert (
        lines[0] == f"DataFrame of 344 rows and 3 columns. The whole is in {stored.path} (CSV, {stored.size:,} bytes)."
    )
    assert lines[1] == "Columns: species (str), mass (float64), year (int64)"
    assert lines[2] == "First rows of 344:"
    assert lines[3] == "species,mass,year"
    assert len(lines) == 14


def test_a_frame_with_an_index_keeps_it(bench):
    frame = penguins(3).set_index("species")
    result = returned(bench, frame)
    assert bench.files[result.files[0].path].startswith(b"species,mass,year\n")
    assert "All rows:" in result.content
    assert b"\r" not in bench.files[result.files[0].path]


def test_wide_long_and_empty_frames_stay_brief(bench):
    wide = pd.DataFrame([[f"value {'x' * 50}"] * 900] * 3, columns=[f"column {n}" for n in range(900)])
    assert len(table_of(wide).brief("p")) <= BRIEF_CHARS
    long = pd.DataFrame({"text": ["y" * 5000] * 30})
    assert len(table_of(long).brief("p")) <= BRIEF_CHARS
    assert table_of(pd.DataFrame({"a": []})).brief("p").endswith("It is empty.")
    assert table_of(pd.DataFrame()).brief("p").startswith("DataFrame of 0 rows and 0 columns")
    odd = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert "a (int64), a (int64)" in table_of(odd).brief("p")


def test_a_series(bench):
    result = returned(bench, penguins().groupby("species")["mass"].mean())
    assert result.content.startswith("Series 'mass' of 3 values (float64). The whole is in ")
    assert bench.files[result.files[0].path].startswith(b"species,mass\nAdelie,")


@pytest.mark.parametrize(
    ("array", "text", "title"),
    [
        (np.array([0.1, 2.0]), "0.1\n2.0\n", "Array of shape 2 (float64)"),
        (np.arange(4).reshape(2, 2), "0,1\n2,3\n", "Array of shape 2 x 2 (int64)"),
        (np.arange(4).reshape(2, 1, 2), "0,1\n2,3\n", "Array of shape 2 x 1 x 2 (int64)"),
        (np.array(["a,b", "c"]), '"a,b"\nc\n', "Array of shape 2 (<U3)"),
        (np.array(["2024-02-29"], "datetime64[D]"), "2024-02-29\n", "Array of shape 1 (datetime64[D])"),
        (np.array([(1, 2.5)], [("n", int), ("x", float)]), "n,x\n1,2.5\n", "Array of shape 1 ("),
        (np.zeros((0, 3)), "", "Array of shape 0 x 3 (float64)"),
        (np.zeros((3, 4, 3), float), "0.0,0.0,0.0\n" * 12, "Array of shape 3 x 4 x 3 (float64)"),
    ],
)
def test_arrays(array, text, title):
    table = table_of(array)
    assert table.text == text
    assert table.title.startswith(title)


def test_floats_survive_the_file():
    values = np.random.default_rng(0).normal(size=50)
    assert np.array_equal(np.loadtxt(io.StringIO(table_of(values).text)), values)


def test_numbers_of_numpy_are_numbers(bench):
    assert returned(bench, np.float64(0.5)).content == "0.5"
    assert returned(bench, np.array(3)).content == "3"
    assert returned(bench, np.bool_(True)).content == "true"


def figure():
    fig, axes = plt.subplots(figsize=(2, 1))
    axes.plot([1, 2])
    return fig


def test_a_figure_becomes_an_image_and_is_not_shown_again(bench):
    result = bench.call(figure)
    (stored,) = result.images
    assert stored.mime_type == "image/png"
    assert bench.image(stored.path).size == (stored.width, stored.height)
    assert result.content == f"Image 1: {stored.width} x {stored.height} pixels, {stored.path}."
    assert plt.get_fignums() == []


def test_axes_and_arrays_of_axes_mean_their_figure(bench):
    assert len(returned(bench, penguins().plot.scatter("year", "mass")).images) == 1
    assert len(returned(bench, penguins().hist()).images) == 1
    bare = Figure(figsize=(1, 1))
    bare.subplots().plot([1])
    assert len(returned(bench, bare).images) == 1


def test_equal_figures_have_equal_bytes():
    assert parts_of(figure()) == parts_of(figure())


def test_pil_images_of_every_mode(bench):
    for mode in ("1", "L", "P", "RGB", "RGBA", "CMYK", "YCbCr", "F", "I;16"):
        (picture,) = parts_of(Image.new(mode, (4, 3)))
        assert Image.open(io.BytesIO(picture.data)).size == (4, 3)
    assert returned(bench, Image.new("RGB", (4, 3))).images[0].width == 4


def test_image_arrays_are_images_and_other_arrays_are_not():
    assert isinstance(parts_of(np.zeros((5, 4, 3), np.uint8))[0], Picture)
    assert isinstance(parts_of(np.zeros((5, 4, 4), np.uint8))[0], Picture)
    for other in (np.zeros((5, 4, 2), np.uint8), np.zeros((5, 4), np.uint8), np.zeros((5, 4, 3), np.int64)):
        assert isinstance(parts_of(other)[0], Table)


def test_objects_that_draw_themselves(bench):
    out = io.BytesIO()
    Image.new("RGB", (4, 3)).save(out, "PNG")

    class Drawing:
        def _repr_png_(self):
            return out.getvalue()

    class Shy:
        def _repr_png_(self):
            return None

        def __repr__(self):
            return "Shy()"

    assert returned(bench, Drawing()).images[0].width == 4
    assert returned(bench, Shy()).content == "Shy()"


def test_large_images_are_normalised(bench):
    """Spec tauritavern §8.3."""
    (stored,) = returned(bench, Image.new("RGB", (2000, 1000), "teal")).images
    assert (stored.mime_type, stored.width, stored.height) == ("image/jpeg", 1280, 640)
    assert stored.path.endswith(".jpg")


def test_several_rich_values_at_once(bench):
    result = returned(bench, (penguins(3), figure(), "and a note", 5))
    assert len(result.files) == 1
    assert len(result.images) == 1
    assert result.content.endswith("and a note\n\n5")
    named = returned(bench, {"table": penguins(2), "picture": Image.new("L", (2, 2)), "n": 3})
    assert named.content.startswith("table:\n\nDataFrame of 2 rows")
    assert named.content.endswith("n:\n\n3")


@dataclass
class Point:
    x: int
    tags: set


class Model(BaseModel):
    day: dt.date
    points: list[int] = []


class Pair(NamedTuple):
    x: int
    y: int


class Colour(enum.Enum):
    red = "r"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (True, "true"),
        ([1, None, "ä"], '[1, null, "ä"]'),
        ({"b": 1, "a": (2,)}, '{"b": 1, "a": [2]}'),
        ({1: {3, 1, 2}}, '{"1": [1, 2, 3]}'),
        ({("a", 1): 2, None: 3}, '{"[\\"a\\", 1]": 2, "null": 3}'),
        (Point(1, {"b", "a"}), '{"x": 1, "tags": ["a", "b"]}'),
        (Model(day=dt.date(2024, 2, 29)), '{"day": "2024-02-29", "points": []}'),
        (Pair(1, 2), "[1, 2]"),
        (Colour.red, "r"),
        (dt.datetime(2024, 2, 29, 1), "2024-02-29T01:00:00"),
        (pd.Timestamp("2024-02-29"), "2024-02-29T00:00:00"),
        (Decimal("1.50"), "1.50"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Path("a") / "b", str(Path("a/b"))),
        (b"abc", "3 bytes"),
        ({"n": np.int64(3), "v": np.array([1, 2])}, '{"n": 3, "v": [1, 2]}'),
        (float("nan"), "NaN"),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_json_and_its_neighbours(value, text):
    assert text_of(value) == text


def test_sets_of_text_are_in_order():
    assert text_of({"x", "a", "m"}) == '["a", "m", "x"]'


def test_other_objects_by_repr_without_addresses(bench):
    class Thing:
        pass

    text = returned(bench, Thing()).content
    assert "Thing object" in text
    assert "0x" not in text
    assert returned(bench, [Thing()]).content == f'["{text}"]'
    assert "0x" not in text_of(penguins().groupby("species"))
    assert "0x" not in text_of(lambda: 0)


def test_reprs_are_bounded():
    class Long:
        def __repr__(self):
            return "y" * 10_000

    assert bounded_repr(Long()) == "y" * MAX_REPR + "... (10,000 characters)"


def test_values_that_contain_themselves():
    loop: list = []
    loop.append(loop)
    assert "[...]" in text_of(loop)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_json_values_are_themselves(value):
    assert plain_of(value) == value
