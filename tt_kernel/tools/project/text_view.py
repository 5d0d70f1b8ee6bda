"""Lines as a model sees them: numbered, without line ends, within a size."""

from dataclasses import dataclass

from tt_kernel.tools.project.scanning import KEPT_BYTES, Scan

MAX_BYTES = 200 * 1024
"""Of what is shown, counted on whole lines."""
MAX_LINE_CHARS = 20_000


@dataclass(frozen=True)
class TextView:
    """`rows` are the numbered lines; `cut` when some of the asked lines, or a part of one, are not among them."""

    rows: list[str]
    first: int
    cut: bool
    full: bool

    def text(self, name: str, scan: Scan) -> str:
        """With a header, and a mark where something is missing."""
        if scan.size == 0:
            return f"{name} lines=0-0 / 0 view=full\n(empty file)"
        last = self.first + len(self.rows) - 1
        view = "full" if self.full else "partial"
        header = f"{name} lines={self.first}-{last} / {scan.total_lines} view={view}{_oddities(scan)}"
        marks = ["[...truncated...]"] if self.cut else []
        if last < scan.total_lines:
            marks.append(f"[{scan.total_lines - last} more lines: go on with start_line={last + 1}]")
        return "\n".join([header, *self.rows, *marks])


def text_view(scan: Scan, first: int, limit: int) -> TextView:
    """The lines that were asked for, as far as they fit.

    Args:
        scan: Of the file, with these lines kept.
        first: Number of the first kept line.
        limit: How many were asked for.
    """
    text = scan.kept.decode("utf-8", "replace")
    lines = text.removesuffix("\n").split("\n") if text else []
    # The last line may itself have been cut at the size that is kept.
    cut = len(scan.kept) >= KEPT_BYTES
    rows: list[str] = []
    room = MAX_BYTES
    for number, line in enumerate(lines, first):
        visible = _visible(line, number)
        row = f"{number:>6}\t{visible[:MAX_LINE_CHARS]}"
        if len(visible) > MAX_LINE_CHARS:
            row += f"[{len(visible) - MAX_LINE_CHARS} more characters]"
            cut = True
        room -= len(row.encode("utf-8", "replace")) + 1
        if room < 0 and rows:
            cut = True
            break
        rows.append(row)
    whole = first == 1 and limit >= scan.total_lines and len(rows) == scan.total_lines
    return TextView(rows, first, cut, full=whole and not cut)


def _visible(line: str, number: int) -> str:
    line = line.removesuffix("\r")
    return line.removeprefix("\ufeff") if number == 1 else line


def _oddities(scan: Scan) -> str:
    """What the rows do not show, but an edit depends on."""
    odd = []
    if scan.crlf:
        same = scan.crlf == scan.line_ends
        odd.append("CRLF line ends" if same else f"mixed line ends ({scan.crlf} of {scan.line_ends} CRLF)")
    if scan.bom:
        odd.append("starts with a BOM")
    if scan.ends_open:
        odd.append("no line end at the end")
    if not scan.is_utf8:
        odd.append("not UTF-8: shown with replacement characters, cannot be edited")
    return f" ({', '.join(odd)})" if odd else ""
