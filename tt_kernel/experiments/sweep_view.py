"""A Sweep as front ends draw it: a table to sort and open. Its static pictures are the Page of `sweep_result.py`."""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from tt_kernel.domain.canonical import Json
from tt_kernel.domain.views import (
    SweepCellView,
    SweepColumnView,
    SweepPointView,
    SweepRunView,
    SweepView,
)
from tt_kernel.experiments.sweep_plan import shown
from tt_kernel.experiments.sweep_result import Row, Sweep
from tt_kernel.widgets.bundle import fitted

TEXT_CHARS = 2_000
FEW_POINTS = 200
PICTURE_CHARS = 120_000
"""Inline pictures of one sweep together, in base64."""


def sweep_document(sweep: Sweep) -> Json:
    """The JSON of the sweep's view, at most MAX_VIEW_BYTES."""
    return fitted(sweep_view(sweep), (_shorter(500), _shorter(100), _images(0), _fewer(20), _fewer(3), _fewer(0)))[1]


def sweep_view(sweep: Sweep) -> SweepView:
    points = sweep.points()
    numbers = {check for check in sweep.checks if not sweep.rate(check)[1] and _numbers(check, sweep.rows)}
    columns = [
        *(SweepColumnView(name=name, kind="varied") for name in sweep.names),
        SweepColumnView(name="runs", kind="number"),
        SweepColumnView(name="completed", kind="rate"),
        *(SweepColumnView(name=check, kind="number" if check in numbers else "rate") for check in sweep.checks),
        SweepColumnView(name="tokens", kind="number"),
    ]
    view = SweepView(
        columns=tuple(columns),
        checks=sweep.checks,
        points=tuple(
            SweepPointView(cells=tuple(_cells(sweep, rows)), runs=tuple(_run(row, sweep.checks) for row in rows))
            for rows in points
        ),
        stopped=sweep.stopped,
    )
    return _images(PICTURE_CHARS)(view)


def _cells(sweep: Sweep, rows: Sequence[Row]) -> Iterator[SweepCellView]:
    for value in rows[0].case.point.values():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        yield SweepCellView(shown=shown(value), value=float(str(value)) if is_number else None)
    done = [row for row in rows if row.status == "completed"]
    yield SweepCellView(shown=str(len(rows)), value=len(rows))
    yield SweepCellView(shown=str(len(done)), value=len(done) / len(rows))
    yield from (_checked(sweep, check, rows) for check in sweep.checks)
    tokens = fmean(row.usage.total_tokens for row in done) if done else None
    yield SweepCellView(shown="" if tokens is None else f"{tokens:,.0f}", value=tokens)


def _checked(sweep: Sweep, check: str, rows: Sequence[Row]) -> SweepCellView:
    passed, trials, (low, high) = sweep.rate(check, rows)
    if trials:
        return SweepCellView(shown=f"{passed}/{trials}", value=passed / trials, low=low, high=high)
    values = _numbers(check, rows)
    return SweepCellView(shown=f"{fmean(values):.4g}", value=fmean(values)) if values else SweepCellView(shown="?")


def _numbers(check: str, rows: Sequence[Row]) -> list[float]:
    return [float(value) for row in rows if (value := row.value(check)) is not None]


def _run(row: Row, checks: Sequence[str]) -> SweepRunView:
    return SweepRunView(
        id=row.run,
        repeat=row.case.repeat,
        status=row.status,
        folder=row.folder,
        text=row.text[:TEXT_CHARS],
        text_truncated=len(row.text) > TEXT_CHARS,
        problem=row.problem[:TEXT_CHARS],
        passes=tuple(row.value(check) for check in checks),
        call_count=row.calls,
        tokens=row.usage.total_tokens,
        images=row.images,
    )


# ---- what goes first where it is too much


def _each(view: SweepView, change: Callable[[SweepRunView], SweepRunView]) -> SweepView:
    points = (point.model_copy(update={"runs": tuple(map(change, point.runs))}) for point in view.points)
    return view.model_copy(update={"points": tuple(points)})


def _shorter(limit: int) -> Callable[[SweepView], SweepView]:
    def cut(run: SweepRunView) -> SweepRunView:
        changes = {"text": run.text[:limit], "problem": run.problem[:limit]}
        return run.model_copy(update=changes | {"text_truncated": run.text_truncated or len(run.text) > limit})

    return lambda view: _each(view, cut)


def _images(limit: int) -> Callable[[SweepView], SweepView]:
    """At most `limit` characters of pictures, of the first runs of all points before the second ones; the others are named."""

    def cut(view: SweepView) -> SweepView:
        runs = sorted((run for point in view.points for run in point.runs if run.images), key=lambda run: run.repeat)
        left, kept = limit, set[int]()
        for run in runs:
            left -= sum(len(image.data or "") for image in run.images)
            if left >= 0:
                kept.add(id(run))
        bare = {"data": None, "data_mime_type": None}
        return _each(
            view,
            lambda run: (
                run
                if id(run) in kept
                else run.model_copy(update={"images": tuple(image.model_copy(update=bare) for image in run.images)})
            ),
        )

    return cut


def _fewer(limit: int) -> Callable[[SweepView], SweepView]:
    """The first `limit` runs of each point; 0: none, and only the first points."""

    def cut(view: SweepView) -> SweepView:
        points = view.points if limit else view.points[:FEW_POINTS]
        points = tuple(point.model_copy(update={"runs": point.runs[:limit]}) for point in points)
        before = sum(len(point.runs) for point in view.points)
        after = sum(len(point.runs) for point in points)
        return view.model_copy(update={"points": points, "hidden_runs": view.hidden_runs + before - after})

    return cut
