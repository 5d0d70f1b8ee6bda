"""The plot of a sweep."""

from collections.abc import Mapping, Sequence
from typing import Any

Bar = tuple[float, float, float]
"""Height, and the ends of its interval."""


def plot_points(labels: Sequence[str], series: Mapping[str, Sequence[Bar]], axis: str) -> Any:
    """Bars with intervals, side by side for each label.

    Returns:
        A matplotlib Figure that belongs to no window, so that it is shown once.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  heavy, and optional

    figure = Figure(figsize=(max(4.0, 1.2 * len(labels)), 3.2), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / max(1, len(series))
    for number, (name, bars) in enumerate(series.items()):
        places = [place + (number - (len(series) - 1) / 2) * width for place in range(len(labels))]
        heights = [height for height, _, _ in bars]
        ends = [[h - low for h, low, _ in bars], [high - h for h, _, high in bars]]
        axes.bar(places, heights, width * 0.9, yerr=ends, capsize=3, label=name)
    axes.set_xticks(range(len(labels)), labels, rotation=20, ha="right")
    axes.set_ylabel(axis)
    if axis == "pass rate":
        axes.set_ylim(0, 1.05)
    if len(series) > 1:
        axes.legend()
    return figure
