import re

from tt_kernel.widgets.table import table_html, table_text

COLUMNS = ("run", "status", "prompt")
ROWS = [("3fa92c17", "completed", "Summarise\n<b>x</b> " + "long " * 100), ("a", "b", "")]


def test_text_has_one_line_a_row_and_aligned_columns():
    lines = table_text(COLUMNS, ROWS).splitlines()
    assert lines[0] == "run       status     prompt"
    assert lines[1].startswith("3fa92c17  completed  Summarise <b>x</b> long long")
    assert lines[1].endswith("…")
    assert lines[2] == "a         b"


def test_html_is_escaped():
    html = table_html(COLUMNS, ROWS)
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert set(re.findall(r"<(\w+)", html)) == {"table", "thead", "tbody", "tr", "th", "td"}
