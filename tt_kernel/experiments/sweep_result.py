"""What a sweep found: one row a run, one line a point; as a table, a DataFrame and a plot."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from statistics import fmean
from typing import Any

from tt_kernel.domain.canonical import Json, JsonObject, canonical_json
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.turns import Usage
from tt_kernel.domain.views import SWEEP_MIME, ImageView
from tt_kernel.experiments.checks import Checked
from tt_kernel.experiments.proportions import Interval, bootstrap, mcnemar, wilson
from tt_kernel.experiments.sweep_plan import Case, shown
from tt_kernel.widgets.pages import Page, Section
from tt_kernel.widgets.wording import one_line

NOT_RUN = "not run"
MOST_ANSWERS = 60
ANSWER_CHARS = 110


@dataclass(frozen=True)
class Row:
    """One run of a sweep.

    Attributes:
        case: What was varied, and which repeat it is.
        status: Of the run; `not run` where it never began.
        run: Its id; empty where it never began.
        checks: Name -> what the check found.
        problem: Why it is not completed.
        replayed: Whether it came from the record.
        folder: Of the run, relative to the notebook's folder.
        images: Small pictures of the images of its results.
    """

    case: Case
    status: str
    run: str = ""
    text: str = ""
    turns: int = 0
    calls: int = 0
    usage: Usage = Usage()
    checks: Mapping[str, Checked] = field(default_factory=dict)
    problem: str = ""
    replayed: bool = False
    folder: str = ""
    images: tuple[ImageView, ...] = ()

    def value(self, check: str) -> bool | float | None:
        found = self.checks.get(check)
        return found.value if found else None


@dataclass(frozen=True)
class Comparison:
    """Two points, paired by everything else that was varied and by repeat.

    Attributes:
        pairs: How many.
        before, after: Means of the check.
        p_value: Exact McNemar; for checks that pass or do not.
        interval: Of the difference, by bootstrap; for checks that are numbers.
    """

    pairs: int
    before: float
    after: float
    p_value: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class Sweep:
    """The rows of a sweep, in the order of its points. Shows itself as one table.

    Attributes:
        rows: One a run.
        checks: The names of the checks.
        stopped: Why some were not run: budget, interrupt; empty where all were.
    """

    rows: tuple[Row, ...]
    checks: tuple[str, ...] = ()
    stopped: str = ""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """What was varied."""
        return tuple(self.rows[0].case.point) if self.rows else ()

    @property
    def df(self) -> Any:
        """A pandas DataFrame, one row a run: what was varied, repeat, run, status, text, the checks, numbers, problem."""
        import pandas as pd  # noqa: PLC0415  heavy, and optional

        return pd.DataFrame([_record(row, self.checks) for row in self.rows])

    def points(self) -> list[tuple[Row, ...]]:
        """The rows by point."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(_key(row.case.point), []).append(row)
        return [tuple(rows) for rows in found.values()]

    def rate(self, check: str, rows: Sequence[Row] | None = None) -> tuple[int, int, Interval]:
        """How many runs pass a check, of how many it could be told of, and the Wilson interval of the rate."""
        values = [v for row in (self.rows if rows is None else rows) if isinstance(v := row.value(check), bool)]
        return sum(values), len(values), wilson(sum(values), len(values))

    def compare(self, check: str, before: Mapping[str, Json], after: Mapping[str, Json]) -> Comparison:
        """Hold two points against each other.

        Args:
            check: The name of a check.
            before: Values of some of what was varied: `{"model": "a"}`.
            after: The same names with other values.

        Raises:
            UsageProblem: There are no pairs.
        """
        one, other = self._paired(check, before), self._paired(check, after)
        keys = [key for key in one if key in other]
        if not keys:
            raise UsageProblem(
                message=f"No run of {dict(before)} has a partner in {dict(after)} for the check {check!r}."
            )
        pairs = [(one[key], other[key]) for key in keys]
        means = fmean(a for a, _ in pairs), fmean(b for _, b in pairs)
        if all(isinstance(a, bool) and isinstance(b, bool) for a, b in pairs):
            return Comparison(len(pairs), *means, p_value=mcnemar([(bool(a), bool(b)) for a, b in pairs]))
        return Comparison(len(pairs), *means, interval=bootstrap([(float(a), float(b)) for a, b in pairs]))

    def _paired(self, check: str, where: Mapping[str, Json]) -> dict[str, bool | float]:
        """The values of the runs at a point, by what else tells them apart."""
        found: dict[str, bool | float] = {}
        for row in self.rows:
            value = row.value(check)
            if value is not None and all(row.case.point.get(name) == wanted for name, wanted in where.items()):
                rest = {name: v for name, v in row.case.point.items() if name not in where}
                found[_key({**rest, "": row.case.repeat})] = value
        return found

    def plot(self) -> Any:
        """A matplotlib figure: the pass rate of each check by point with its interval; without checks the tokens."""
        from tt_kernel.experiments.sweep_plot import plot_points  # noqa: PLC0415  heavy, and optional

        labels = [rows[0].case.label for rows in self.points()]
        if not self.checks:
            tokens = [fmean(row.usage.total_tokens for row in rows) for rows in self.points()]
            return plot_points(labels, {"tokens": [(value, value, value) for value in tokens]}, "tokens a run")
        series = {
            check: [(k / n if n else 0.0, low, high) for k, n, (low, high) in self._rates(check)]
            for check in self.checks
        }
        return plot_points(labels, series, "pass rate")

    def _rates(self, check: str) -> list[tuple[int, int, Interval]]:
        return [self.rate(check, rows) for rows in self.points()]

    @cached_property
    def page(self) -> Page:
        done = sum(row.status == "completed" for row in self.rows)
        title = f"sweep of {len(self.points())} points, {len(self.rows)} runs, {done} completed"
        columns = (*self.names, "runs", "completed", *self.checks, "tokens")
        rows = [self._line(rows) for rows in self.points()]
        notes = [self.stopped] if self.stopped else []
        problems = dict.fromkeys(row.problem for row in self.rows if row.problem and row.status != NOT_RUN)
        return Page(title, columns, rows, list(self._sections()), [*notes, *list(problems)[:5]])

    def _line(self, rows: tuple[Row, ...]) -> tuple[str, ...]:
        done = [row for row in rows if row.status == "completed"]
        tokens = f"{fmean(row.usage.total_tokens for row in done):,.0f}" if done else ""
        told = [self._told(check, rows) for check in self.checks]
        return (*map(shown, rows[0].case.point.values()), str(len(rows)), str(len(done)), *told, tokens)

    def _told(self, check: str, rows: tuple[Row, ...]) -> str:
        passed, trials, (low, high) = self.rate(check, rows)
        if trials:
            return f"{passed}/{trials} ({low:.0%} to {high:.0%})"
        numbers = [value for row in rows if (value := row.value(check)) is not None]
        return f"{fmean(numbers):.4g}" if numbers else "?"

    def _sections(self) -> Iterator[Section]:
        if self.rows:
            lines = [
                f"{r.case.label} #{r.case.repeat}: {one_line(r.text or r.status, ANSWER_CHARS)}" for r in self.rows
            ]
            more = (
                [f"... {len(lines) - MOST_ANSWERS} more; they are in .rows and .df"]
                if len(lines) > MOST_ANSWERS
                else []
            )
            yield Section("answers", "\n".join(lines[:MOST_ANSWERS] + more))

    def __repr__(self) -> str:
        return self.page.text

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> JsonObject:
        """What JupyterLab draws; the other forms come from the methods below."""
        del include, exclude
        return {SWEEP_MIME: import_module("tt_kernel.experiments.sweep_view").sweep_document(self)}  # made of this

    def _repr_html_(self) -> str:
        return self.page.html

    def _repr_markdown_(self) -> str:
        return self.page.markdown


def _key(point: Mapping[str, Json]) -> str:
    return canonical_json({name: shown(value) for name, value in point.items()})


def _record(row: Row, checks: Sequence[str]) -> dict[str, Any]:
    return {
        **row.case.point,
        "repeat": row.case.repeat,
        "run": row.run,
        "status": row.status,
        "text": row.text,
        **{check: row.value(check) for check in checks},
        "turns": row.turns,
        "calls": row.calls,
        "input_tokens": row.usage.input_tokens,
        "output_tokens": row.usage.output_tokens,
        "cost_usd": row.usage.cost_usd,
        "problem": row.problem,
    }
