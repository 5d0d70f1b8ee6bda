"""Text that a model wrote, as Markdown: safe HTML, and safe Markdown for renderers that would trust it.

- Raw HTML is never markup: it is shown as the characters it is.
- A picture is never loaded from an address in the text (that would tell its server what the run said): its link is shown.
- A link goes to http, https, mailto or a place beside the notebook; any other is shown as text.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from tt_kernel.widgets.styles import CELL, CODE, PARAGRAPH, PRE, QUOTE, TABLE
from tt_kernel.widgets.wording import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_SCHEME = re.compile(r"\s*([a-z][a-z0-9+.\-]*):", re.IGNORECASE)
_SCHEMES = ("http", "https", "mailto")

_STYLES = {
    "code_inline": CODE,
    "paragraph_open": PARAGRAPH,
    "blockquote_open": QUOTE,
    "table_open": TABLE,
    "th_open": CELL,
    "td_open": CELL,
}


def safe_html(text: str) -> str:
    """Markdown to HTML made of plain elements with inline styles."""
    rendered: str = _parser().render(clean(text))
    return rendered


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415  only when something is drawn

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.validateLink = _is_safe_link  # type: ignore[method-assign]  # the documented way to replace it
    parser.core.ruler.push("tt_styles", _decorate)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("fence", _code_block)
    parser.add_render_rule("code_block", _code_block)
    return parser


def _is_safe_link(url: str) -> bool:
    scheme = _SCHEME.match(url)
    return scheme is None or scheme[1].lower() in _SCHEMES


def _decorate(state: Any) -> None:
    for token in state.tokens:
        _style(token)
        for child in token.children or ():
            _style(child)


def _style(token: "Token") -> None:
    if token.type in _STYLES:
        align = str(token.attrGet("style") or "")  # of table cells: text-align
        token.attrSet("style", ";".join(part for part in (_STYLES[token.type], align) if part))
    elif token.type == "link_open":
        token.attrSet("target", "_blank")
        token.attrSet("rel", "noopener noreferrer")


def _image(self: Any, tokens: "Sequence[Token]", index: int, options: Any, env: Any) -> str:
    """`![alt](address)`: the alt text and the address, neither of them active."""
    token = tokens[index]
    alt = self.renderInlineAsText(token.children or [], options, env)
    return escape(f"[image: {alt}] ({token.attrGet('src')})")


def _code_block(self: Any, tokens: "Sequence[Token]", index: int, options: Any, env: Any) -> str:
    del self, options, env
    return f'<pre style="{PRE}">{escape(tokens[index].content)}</pre>\n'


# ---- Markdown that another renderer may trust

_FENCE = re.compile(r"(`{3,}|~{3,})([^`]*)")
_RUN = re.compile(r"`{3,}|~{3,}")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LINK = re.compile(r"\](?=\s*[(:\[])")
_PLAIN_TARGET = re.compile(r"\]\((?:https?://|mailto:|#)[^\s()<>\\&]*\)|\]\([\w./%#-]+\)")


def safe_markdown(text: str) -> str:
    """The same Markdown without raw HTML, pictures and links of other kinds.

    Renderers differ, so nothing may depend on how one reads back-ticks or containers: code is kept only in fences that begin
    at the margin, and these are written anew, with a fence longer than any in them; other fences are taken apart. Elsewhere a
    `<` that could begin a tag becomes an entity (not an escape: the text could hold a backslash before it), also in inline
    code, where it then shows.
    """
    safe: list[str] = []
    lines = iter(clean(text).split("\n"))
    for line in lines:
        opened = _FENCE.fullmatch(line)
        safe += _code(opened[1], opened[2], lines) if opened else [_safe_line(line)]
    return "\n".join(safe)


def _code(opening: str, info: str, lines: Iterator[str]) -> list[str]:
    closing = re.compile(rf" {{0,3}}{opening[0]}{{{len(opening)},}}[ \t]*")
    content = list(takewhile(lambda line: not closing.fullmatch(line), lines))
    longest = max((len(run) for line in content for run in _RUN.findall(line)), default=2)
    fence = "`" * (longest + 1)
    return [fence + re.sub(r"[^\w+#.\- ]", "", info), *content, fence]


def _safe_line(line: str) -> str:
    line = _RUN.sub(lambda run: f"&#{ord(run[0][0])};" * len(run[0]), line)
    line = _TAG.sub("&lt;", line).replace("![", "&#33;[")
    return _LINK.sub(lambda found: "]" if _PLAIN_TARGET.match(line, found.start()) else "&#93;", line)
