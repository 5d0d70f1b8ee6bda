"""The picture of a Why: the first difference in a sentence, all of them in a table, their texts below."""

from collections.abc import Iterator

from tt_kernel.experiments.why import Why
from tt_kernel.session.contrasts import Contrast
from tt_kernel.widgets.differences import pieces_html, pieces_text, shortened, unified, unified_html, word_diff
from tt_kernel.widgets.pages import Page, Section

_BY_LINES = frozenset({"tool", "provider", "model"})


class WhyPage(Page):
    """Shows a Why.

    Attributes:
        why: What it shows.
    """

    def __init__(self, why: Why) -> None:
        self.why = why
        first = f"run {why.run}" + (f", turn {why.turn}" if why.turn else "") + f": {why.sentence}"
        rows = [(contrast.kind, contrast.name, contrast.sentence) for contrast in why.contrasts]
        near = [f"Nearest recording: run {why.nearest}."] if why.nearest else []
        super().__init__(first, ("kind", "of", "what"), rows, list(_sections(why)), near)


def _sections(why: Why) -> Iterator[Section]:
    for contrast in why.contrasts:
        if contrast.old or contrast.new:
            yield _section(contrast)


def _section(contrast: Contrast) -> Section:
    title = " ".join(part for part in (contrast.kind, contrast.name) if part)
    if contrast.kind in _BY_LINES:
        diff = unified(contrast.old, contrast.new, ("recorded", "now"))
        return Section(title, diff, is_open=True, html=unified_html(diff), language="diff")
    pieces = shortened(word_diff(contrast.old, contrast.new))
    return Section(title, pieces_text(pieces), is_open=True, html=pieces_html(pieces))
