"""text/markdown may be rendered by a front end that trusts it: read here with two renderers that pass raw HTML on."""

import re

import mistune
import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from run_views import HOSTILE, everywhere, markup, penguins

from tt_kernel.widgets.markdown import code, run_markdown
from tt_kernel.widgets.prose import safe_html, safe_markdown

TRUSTING = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
TRUSTING.validateLink = lambda url: True


def active(text):
    """Raw HTML, pictures and links of other kinds that a trusting renderer would make of it."""
    for token in TRUSTING.parse(text):
        for part in (token, *(token.children or ())):
            if part.type in {"html_block", "html_inline", "image"}:
                yield part.type, part.content
            if part.type == "link_open" and not re.match(r"(https?://|mailto:|#|[\w./%#-]+$)", part.attrGet("href")):
                yield "link", part.attrGet("href")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_is_active(text):
    shown = run_markdown(everywhere(text))
    assert list(active(shown)) == []


@given(markup)
def test_nothing_at_all_is_active(text):
    assert list(active(run_markdown(everywhere(text)))) == []


@given(markup)
def test_nothing_is_active_for_another_parser_either(text):
    rendered = mistune.create_markdown(escape=False)(safe_markdown(text))
    assert not re.search(r"<(?!/?(p|h[1-6]|pre|code|ul|ol|li|em|strong|a|blockquote|hr|br|del)\b)[a-zA-Z/!?]", rendered)
    assert not re.search(r"<[^>]*\son\w+=", rendered)
    assert "javascript:" not in " ".join(re.findall(r'href="([^"]*)"', rendered)).lower()


def test_ordinary_markdown_is_left_as_it_is():
    text = (
        "# A\n\n- `x[0]` and **b** [link](https://a.example/x_(y)) [file](output/a-b.md)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
        "```c\n#include <stdio.h>\nif (a<b) ![x](y)\n```\n\n1 < 2 and a <3\n"
    )
    kept = safe_markdown(text)
    assert kept.replace("&#93;(https://a.example/x_(y))", "](https://a.example/x_(y))") == text


def test_the_whole_of_the_mock_up():
    assert run_markdown(penguins()).split("\n") == [
        "`assistant` · done · `scripted:penguins.yaml` · 3 turns · 4 calls · 2,113 tokens",
        "",
        '- `workspace_list_files` `path="/"` → `3 entries`',
        '- `workspace_shell` `command="jq -s length"` → `exit 0`',
        '- `workspace_shell` `command="python x.py"` → `error workspace.shell_exit: exit 1`',
        '- `plot_hist` `column="body_mass_g" bins=20` → `1 image`',
        "",
        "The 344 penguins weigh 4.2 kg on average, Gentoo most (5.1 kg).",
        "",
        "`analysis.agent/runs/3fa92c17 · output/hist.png`",
    ]


@given(markup)
def test_a_code_span_holds_its_text(text):
    span = code(text)
    if span:
        tokens = TRUSTING.parse("x" + span)[1].children
        assert [t.type for t in tokens] == ["text", "code_inline"]


def test_html_of_markdown_never_passes_html_on():
    assert "<b>" not in safe_html("<b>x</b>\n\n<div>\ny\n</div>")
