"""A page: what a command shows beyond one table. A heading, a table, texts as they are, and notes; as html, markdown and text.

Nothing in it is markup: every text is escaped, or stands in a code block that it cannot end.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tt_kernel.widgets import styles
from tt_kernel.widgets.cards import div
from tt_kernel.widgets.table import Rows, table_html, table_text
from tt_kernel.widgets.wording import clean, one_line


@dataclass(frozen=True)
class Section:
    """A text with its title. Long ones begin closed in html.

    `html` is another picture of the body, HTML already; `language` is what markdown calls the body.
    """

    title: str
    body: str
    is_open: bool = False
    html: str = ""
    language: str = "text"


class Page:
    """Shows itself in every front end.

    Args:
        title: One line.
        columns: Titles of the table's columns.
        rows: One row of texts each.
        sections: Texts, in order.
        notes: Lines at the end.
    """

    def __init__(
        self,
        title: str,
        columns: Sequence[str] = (),
        rows: Rows = (),
        sections: Sequence[Section] = (),
        notes: Sequence[str] = (),
    ) -> None:
        self.title, self.columns, self.rows = title, tuple(columns), tuple(rows)
        self.sections, self.notes = tuple(sections), tuple(notes)

    @property
    def text(self) -> str:
        parts = [one_line(self.title, 1_000)]
        parts += [table_text(self.columns, self.rows)] if self.rows else []
        parts += [f"--- {one_line(s.title, 200)}\n{clean(s.body).rstrip()}" for s in self.sections]
        return "\n\n".join([*parts, *(["\n".join(map(clean, self.notes))] if self.notes else [])])

    @property
    def html(self) -> str:
        parts = [div(styles.HEADER, escape(one_line(self.title, 1_000)))]
        parts += [table_html(self.columns, self.rows)] if self.rows else []
        parts += [_section_html(section) for section in self.sections]
        parts += [div(styles.NOTE, escape(clean(note))) for note in self.notes]
        return div(styles.BOX, "".join(parts))

    @property
    def markdown(self) -> str:
        parts = [f"**{_inline(self.title)}**"]
        parts += [_table_markdown(self.columns, self.rows)] if self.rows else []
        parts += [f"**{_inline(s.title)}**\n\n{_fenced(s.body, s.language)}" for s in self.sections]
        return "\n\n".join([*parts, *map(_inline, self.notes)])

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html

    def _repr_markdown_(self) -> str:
        return self.markdown


def _section_html(section: Section) -> str:
    body = section.html or f'<pre style="{styles.PRE}">{escape(clean(section.body))}</pre>'
    title = f'<summary style="{styles.SUMMARY}">{escape(one_line(section.title, 200))}</summary>'
    return f"<details{' open' * section.is_open}>{title}{body}</details>"


def _table_markdown(columns: Sequence[str], rows: Rows) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    return _inline(text).replace("|", "\\|") if text != "---" else text


def _inline(text: str) -> str:
    """Plain characters: whatever could begin markup is an entity or escaped."""
    line = one_line(text, 1_000).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{c}" if c in "\\`*_[]" else c for c in line)


def _fenced(text: str, language: str) -> str:
    """A code block that ends nowhere but at its end."""
    body = clean(text).rstrip("\n")
    longest = max((len(run) for run in "".join(c if c == "`" else " " for c in body).split()), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{body}\n{fence}"
