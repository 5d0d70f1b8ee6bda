"""What a command lists: a sequence of the things themselves that shows itself as a table."""

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

from tt_kernel.widgets.table import table_html, table_text
from tt_kernel.widgets.wording import clean

T = TypeVar("T")


class Listing(Sequence[T], Generic[T]):
    """Args:
    items: What is listed; indexing gives these.
    columns: Column titles.
    rows: One row of texts an item.
    notes: Lines below the table, or instead of an empty one.
    """

    def __init__(
        self, items: Sequence[T], columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
    ) -> None:
        self.items, self.columns, self.rows, self.notes = tuple(items), tuple(columns), tuple(rows), tuple(notes)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __repr__(self) -> str:
        table = [table_text(self.columns, self.rows)] if self.rows else []
        return "\n".join([*table, *map(clean, self.notes)])

    def _repr_html_(self) -> str | None:
        if not self.rows:
            return None
        from html import escape  # noqa: PLC0415

        notes = "".join(f"<div>{escape(clean(note))}</div>" for note in self.notes)
        return table_html(self.columns, self.rows) + notes

    def to_df(self) -> Any:
        """The table as a pandas DataFrame of texts."""
        import pandas as pd  # noqa: PLC0415  heavy, and optional

        return pd.DataFrame([list(row) for row in self.rows], columns=list(self.columns))


class Lines(str):
    """A text that shows itself as it is, not as a quoted string."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
