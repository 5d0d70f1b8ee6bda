"""Docstrings of the three common styles as text for the model."""

from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.toolkit.docstrings import parse_docstring

GOOGLE = """Plot a histogram
    of one column.

    The bins are equal:
    - at least 2
    - at most 100

    Args:
        column (str): Name of the column,
            as in the header.
        bins: How many: more is finer.
        **style: Passed on.

    Returns:
        Axes: not for the model.

    Raises:
        KeyError: no such column.
    """

NUMPY = """Plot a histogram of one column.

    Parameters
    ----------
    column : str
        Name of the column,
        as in the header.
    low, high : float, optional
        Range.
    bins
        How many.

    Returns
    -------
    Axes
        not for the model
    """

SPHINX = """Plot a histogram of one column.

    :param column: Name of the column,
        as in the header.
    :param int bins: How many.
    :type column: str
    :returns: not for the model
    :raises KeyError: no such column
    """


def test_google():
    docs = parse_docstring(GOOGLE)
    assert docs.description == ("Plot a histogram of one column.\n\nThe bins are equal:\n- at least 2\n- at most 100")
    assert docs.parameters == {
        "column": "Name of the column, as in the header.",
        "bins": "How many: more is finer.",
        "style": "Passed on.",
    }


def test_numpy():
    docs = parse_docstring(NUMPY)
    assert docs.description == "Plot a histogram of one column."
    assert docs.parameters == {
        "column": "Name of the column, as in the header.",
        "low": "Range.",
        "high": "Range.",
        "bins": "How many.",
    }


def test_sphinx():
    docs = parse_docstring(SPHINX)
    assert docs.description == "Plot a histogram of one column."
    assert docs.parameters == {"column": "Name of the column, as in the header.", "bins": "How many."}


def test_text_after_a_google_section_is_description_again():
    assert parse_docstring("A.\n\nArgs:\n    x: The x.\n\nMore.").description == "A.\n\nMore."


def test_a_word_with_a_colon_is_no_section():
    assert (
        parse_docstring("Use it like this:\n    run\nFormula:\n    3d6").description
        == "Use it like this:\n    run\nFormula:\n    3d6"
    )


def test_no_docstring():
    assert parse_docstring(None).description == ""
    assert parse_docstring("").parameters == {}


@given(st.text(alphabet=st.sampled_from("ab: \n-\t*,Args:Parameters"), max_size=200))
def test_any_text_parses(text):
    docs = parse_docstring(text)
    assert "\n\n\n\n\n" not in docs.description or "\n\n\n" in text
    assert all(name.isidentifier() for name in docs.parameters)
