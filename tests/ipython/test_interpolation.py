"""`@{expression}`: DESIGN §8."""

import io
import pathlib

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.runs import Run
from tt_kernel.domain.turns import Usage
from tt_kernel.domain.views import RunView
from tt_kernel.ipython.interpolation import interpolate

BASE = pathlib.Path.cwd()


def fill(prompt, base=BASE, **namespace):
    return interpolate(prompt, namespace, base)


def text(prompt, base=BASE, **namespace):
    return fill(prompt, base, **namespace).text


@given(st.text().filter(lambda t: "@{" not in t))
def test_a_prompt_without_an_expression_is_passed_on_byte_for_byte(prompt):
    assert text(prompt) == prompt


def test_typescript_latex_templates_and_shell_are_no_expressions():
    """Field reports A2."""
    prompt = (
        "const f = <T,>(x: T) => ({ ...x, y: `${x}` });\n\\frac{a}{b} {{ jinja }} $HOME %s {0} user@{} x@y {a}".replace(
            "@{}", "@host{}"
        )
    )
    assert text(prompt) == prompt


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("@{x}", "one"),
        ("a @{x} b @{x}@{x}", "a one b oneone"),
        ("@{d['}']}", "brace"),
        ("@{ {1: 2}[1] }", "2"),
        ('@{f"{x}!"}', "one!"),
        ("@{(lambda: x)()}", "one"),
        ("@{[y for y in 'ab' if x]}", '["a", "b"]'),
        ("@{x}}", "one}"),
        ("@{\n x\n}", "one"),
        ("@@{x} and @@@{x}", "@{x} and @@{x}"),
        ("user@@{host}", "user@{host}"),
    ],
)
def test_where_an_expression_ends(prompt, expected):
    assert text(prompt, x="one", d={"}": "brace"}) == expected


def test_a_value_is_never_expanded_again():
    assert text("@{a}", a="@{b} @@{c} {d} $e") == "@{b} @@{c} {d} $e"


def test_the_namespace_is_not_changed():
    namespace = {"x": 1}
    interpolate("@{(y := x)}", namespace, BASE)
    assert namespace == {"x": 1}


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("@{nope}", "@{nope} failed: NameError"),
        ("@{1/0}", "@{1/0} failed: ZeroDivisionError: division by zero"),
        ("@{a b}", "@{a b} is not a Python expression"),
        ("@{$ref}", "@{$ref} is not a Python expression"),
        ("@{Name='x'; y}", "write @@{, or use --raw"),
        ("@{never closed", "@{never closed} is not a Python expression: there is no closing brace"),
        ("@{}", "@{} is not a Python expression"),
        ("@{'" + "x" * 500 + "'.nope}", "@{'" + "x" * 58 + "…} failed: AttributeError"),
    ],
)
def test_an_error_names_the_expression_and_the_way_out(prompt, message):
    with pytest.raises(UsageProblem) as caught:
        text(prompt)
    assert message in caught.value.message


class Opaque:
    pass


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text with 'quotes' and é", "text with 'quotes' and é"),
        (None, "null"),
        (3, "3"),
        ([1, "a", {"k": None}], '[1, "a", {"k": null}]'),
        ({"b", "a", "c"}, '["a", "b", "c"]'),
    ],
)
def test_plain_values(value, expected):
    assert text("@{v}", v=value) == expected


def test_an_object_has_no_address():
    shown = text("@{v}", v=Opaque())
    assert "Opaque" in shown
    assert "0x" not in shown


def test_large_values_are_cut():
    assert len(text("@{v}", v=list(range(100_000)))) < 21_000


def test_a_run_gives_its_text():
    """Field reports A4: not a repr."""
    view = RunView(id="x", status="done", profile="p", model="m", turns=0, call_count=0, tokens=0)
    run = Run("x", "completed", "the answer", [], [], [], [], Usage(), pathlib.Path(), False, view)
    assert text("@{v}", v=run) == "the answer"


def test_a_small_dataframe_is_there_whole():
    frame = pd.DataFrame({"species": ["Adelie", "Gentoo"], "mass": [3700.5, None]})
    shown = text("@{df}", df=frame)
    assert shown.splitlines()[0] == "DataFrame of 2 rows and 2 columns"
    assert "Columns: species (" in shown
    assert "mass (float64)" in shown
    assert shown.endswith("All rows (CSV):\nspecies,mass\nAdelie,3700.5\nGentoo,")


def test_a_large_dataframe_is_cut_to_a_budget():
    frame = pd.DataFrame({f"column_{n}": range(5_000) for n in range(300)})
    shown = text("@{df}", df=frame)
    assert "DataFrame of 5,000 rows and 300 columns" in shown
    assert "First rows (CSV):" in shown
    assert len(shown) < 5_000


def test_a_series_and_an_array():
    assert text("@{s}", s=pd.Series([1, 2], name="n")).startswith("Series 'n' of 2 values (int64)")
    assert text("@{a}", a=np.zeros((3, 2))).startswith("Array of shape 3 x 2 (float64)")


def png(size=(4, 3)):
    out = io.BytesIO()
    Image.new("RGB", size, "red").save(out, "PNG")
    return out.getvalue()


def figure():
    fig = matplotlib.figure.Figure(figsize=(1, 1))
    fig.add_subplot().plot([1, 2])
    return fig


@pytest.mark.parametrize(
    "value",
    [
        Image.new("RGB", (4, 3)),
        Image.new("RGBA", (4, 3)),
        np.zeros((4, 3, 3), dtype="uint8"),
        figure(),
        figure().axes[0],
        png(),
    ],
    ids=["PIL RGB", "PIL RGBA", "array", "figure", "axes", "png bytes"],
)
def test_pictures_become_attached_images(value):
    filled = fill("look at @{v} and @{v}", v=value)
    assert filled.text == "look at [image 1] and [image 2]"
    for data in filled.images:
        assert Image.open(io.BytesIO(data)).format == "PNG"


def test_a_figure_gives_the_same_bytes_each_time():
    assert fill("@{v}", v=figure()).images == fill("@{v}", v=figure()).images


def test_a_path_gives_the_file_relative_to_the_notebook(tmp_path):
    (tmp_path / "notes.md").write_text("# Notes\n", encoding="utf-8")
    (tmp_path / "pic.png").write_bytes(png())
    assert text("@{p}", tmp_path, p=pathlib.Path("notes.md")) == "# Notes\n"
    assert fill("@{p}", tmp_path, p=pathlib.Path("pic.png")).images == (png(),)


def test_a_long_file_is_cut_and_a_strange_one_refused(tmp_path):
    (tmp_path / "long.txt").write_text("x" * 500_000, encoding="utf-8")
    (tmp_path / "binary").write_bytes(b"\xff\x00\xfe")
    assert len(text("@{p}", tmp_path, p=pathlib.Path("long.txt"))) < 101_000
    with pytest.raises(UsageProblem, match="neither UTF-8 text nor an image"):
        text("@{p}", tmp_path, p=pathlib.Path("binary"))
    with pytest.raises(UsageProblem, match=r"@\{p\}: .*missing.* cannot be read: No such file"):
        text("@{p}", tmp_path, p=pathlib.Path("missing"))
