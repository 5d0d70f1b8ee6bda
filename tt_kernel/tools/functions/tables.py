"""Tables and arrays: stored whole as text, told to the model in brief."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tt_kernel.domain.canonical import encode_json
from tt_kernel.tools.functions.pictures import is_instance

BRIEF_CHARS = 2_000
"""Upper bound of what the model is told of one table."""
COLUMNS_CHARS = 800
HEAD_ROWS = 10
LINE_CHARS = 300
SMALL_ARRAY = 100
"""An array of at most so many elements inside another value is written out as a list."""


@dataclass(frozen=True)
class Table:
    """`text` is the whole as CSV; `brief(path)` is for the model, given where it was stored."""

    text: str
    title: str
    columns: str
    rows: int

    @property
    def data(self) -> bytes:
        return encode_json(self.text)

    def brief(self, path: str) -> str:
        """Title, columns and the first rows, within BRIEF_CHARS."""
        lines = [f"{self.title}. The whole is in {path} (CSV, {len(self.data):,} bytes)."]
        if self.columns:
            lines.append(_cut(f"Columns: {self.columns}", COLUMNS_CHARS))
        head = [_cut(line, LINE_CHARS) for line in _first_lines(self.text, HEAD_ROWS + 1)]
        if not self.rows:
            return "\n".join([*lines, "It is empty."])
        heading = "All rows:" if self.rows <= HEAD_ROWS else f"First rows of {self.rows:,}:"
        room = BRIEF_CHARS - sum(len(line) + 1 for line in [*lines, heading])
        return "\n".join([*lines, heading, *_fitting(head, room)])


def table_of(value: Any) -> Table | None:
    """A DataFrame, Series or array as a Table; None for anything else."""
    if is_instance(value, "pandas", "DataFrame"):
        return _frame(value)
    if is_instance(value, "pandas", "Series"):
        return _series(value)
    if is_instance(value, "numpy", "ndarray") and value.ndim > 0:
        return _array(value)
    return None


def is_table(value: Any) -> bool:
    """True for what is stored as a file even inside another value."""
    if is_instance(value, "numpy", "ndarray"):
        return bool(value.size > SMALL_ARRAY)
    return is_instance(value, "pandas", "DataFrame") or is_instance(value, "pandas", "Series")


def _frame(frame: Any) -> Table:
    rows, columns = frame.shape
    kinds = ", ".join(f"{name} ({kind})" for name, kind in zip(frame.columns, frame.dtypes, strict=True))
    text = frame.to_csv(index=not _is_default(frame.index), lineterminator="\n")
    return Table(text, f"DataFrame of {_count(rows, 'row')} and {_count(columns, 'column')}", kinds, rows)


def _series(series: Any) -> Table:
    text = series.to_csv(index=not _is_default(series.index), lineterminator="\n")
    name = f" {series.name!r}" if series.name is not None else ""
    return Table(text, f"Series{name} of {_count(len(series), 'value')} ({series.dtype})", "", len(series))


def _array(array: Any) -> Table:
    """Rows of the last dimension; what more dimensions there are is said in the title."""
    flat = array.astype(str) if array.dtype.kind in "mM" else array
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if flat.dtype.names:
        writer.writerow(flat.dtype.names)
    rows = _rows(flat)
    writer.writerows(row if isinstance(row, (list, tuple)) else [row] for row in rows)
    shape = " x ".join(str(n) for n in array.shape)
    return Table(out.getvalue(), f"Array of shape {shape} ({array.dtype})", "", len(rows))


def _rows(array: Any) -> list[Any]:
    if array.dtype.names or array.ndim == 1 or not array.size:
        return list(array.reshape(-1).tolist())
    return list(array.reshape(-1, array.shape[-1]).tolist())


def _is_default(index: Any) -> bool:
    return is_instance(index, "pandas", "RangeIndex") and index.start == 0 and index.step == 1 and index.name is None


def _first_lines(text: str, count: int) -> list[str]:
    return io.StringIO(text).read(BRIEF_CHARS * 8).splitlines()[:count]


def _fitting(lines: Iterable[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
