"""A table of short texts: what `%agent runs`, `tools` and `profiles` show."""

from collections.abc import Sequence
from html import escape

from tt_kernel.widgets import styles
from tt_kernel.widgets.wording import one_line

CELL_CHARS = 100

Rows = Sequence[Sequence[str]]


def table_text(columns: Sequence[str], rows: Rows) -> str:
    """Columns padded to their widest cell; the last one is not padded."""
    lines = [list(columns), *([one_line(cell, CELL_CHARS) for cell in row] for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(columns) - 1)]
    return "\n".join(_padded(line, widths) for line in lines)


def _padded(line: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1]]).rstrip()


def table_html(columns: Sequence[str], rows: Rows) -> str:
    head = "".join(f'<th style="{styles.CELL}">{escape(column)}</th>' for column in columns)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    return f'<table style="{styles.TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cells(row: Sequence[str]) -> str:
    return "".join(f'<td style="{styles.CELL}">{escape(one_line(cell, CELL_CHARS))}</td>' for cell in row)
