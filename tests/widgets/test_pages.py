import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.widgets.pages import Page, Section

NASTY = "<script>alert(1)</script> ```\n| a | *b* _c_ [d](javascript:x) \x1b[31m\u202e `"
PAGE = Page(NASTY, ("one", "two"), [(NASTY, "2")], [Section(NASTY, f"{NASTY}\n````\nend", is_open=True)], [NASTY])


def test_text_is_title_table_sections_and_notes():
    page = Page("a page", ("field", "value"), [("x", "1")], [Section("body", "as\n  it is\n")], ["a note"])
    assert repr(page) == page.text == "a page\n\nfield  value\nx      1\n\n--- body\nas\n  it is\n\na note"


def test_html_has_plain_elements_only_and_every_text_escaped():
    html = PAGE._repr_html_()
    assert html == PAGE.html
    assert set(re.findall(r"<(\w+)", html)) == {
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "details",
        "summary",
        "pre",
    }
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html


def test_markdown_renders_every_text_as_text():
    from markdown_it import MarkdownIt

    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(PAGE._repr_markdown_())
    assert "<script" not in html
    assert "<em>" not in html
    assert "<a " not in html
    assert html.count("<pre>") == 1
    assert html.count("<td>") == 2


@given(text=st.text(alphabet="`~a\n <|\\", max_size=40))
def test_a_section_never_leaves_its_block(text):
    from markdown_it import MarkdownIt

    page = Page("t", sections=[Section("s", text)], notes=["end"])
    tokens = MarkdownIt().parse(page.markdown)
    assert [t.type for t in tokens if t.type in {"fence", "code_block"}] == ["fence"]
    assert tokens[-2].content == "end"


@pytest.mark.parametrize("part", ["html", "markdown", "text"])
def test_equal_pages_are_equal_texts(part):
    assert getattr(PAGE, part) == getattr(Page(NASTY, PAGE.columns, PAGE.rows, PAGE.sections, PAGE.notes), part)


def test_a_page_of_one_line():
    page = Page("only this")
    assert page.text == "only this"
    assert page.markdown == "**only this**"
