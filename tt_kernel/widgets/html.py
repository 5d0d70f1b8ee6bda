"""text/html of a run: the picture that needs nothing else, in notebooks, exports and untrusted files.

No script, no style element, no address outside the notebook's folder; every text is escaped. Images are inline.
"""

from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from tt_kernel.domain.views import RunView
from tt_kernel.widgets import styles
from tt_kernel.widgets.cards import ImageBudget, call_card, div, span
from tt_kernel.widgets.prose import safe_html
from tt_kernel.widgets.wording import clean, counted, facts, problem_line, status_mark, status_word

LIVE_MARKDOWN_CHARS = 8_000
"""A longer answer is plain text until it is complete: rendering it several times a second would cost too much."""


def run_html(view: RunView) -> str:
    """Draw a run. Equal views give equal text."""
    parts = (_header(view), *_story(view), _answer(view), _problem(view), _footer(view))
    return div(styles.BOX, "".join(parts))


def _header(view: RunView) -> str:
    failed = status_mark(view) == "✗"
    state = f"{status_mark(view)} {view.profile}"
    parts = [span(styles.ERROR if failed else styles.STRONG, escape(clean(state)))]
    if status_word(view) != "done":
        parts.append(span(styles.ERROR if failed else styles.STRONG, escape(clean(status_word(view)))))
    texts = [view.model, *facts(view), *([f"continues {view.continues}"] if view.continues else [])]
    return div(styles.HEADER, "".join(parts + [span(styles.DIM, escape(clean(text))) for text in texts if text]))


def _story(view: RunView) -> Iterator[str]:
    """Calls and the texts between them, in the order in which they happened."""
    budget = ImageBudget()
    notes = sorted(view.notes, key=lambda note: note.after)
    previous = 0
    for call in view.calls:
        while notes and notes[0].after < call.index:
            yield div(styles.NOTE, safe_html(notes.pop(0).text))
        if call.index > previous + 1:
            yield div(styles.NOTE, f"… {counted(call.index - previous - 1, 'call')} not shown")
        previous = call.index
        yield call_card(call, budget)
    yield from (div(styles.NOTE, safe_html(note.text)) for note in notes)


def _answer(view: RunView) -> str:
    if not view.text.strip():
        return ""
    if view.status == "running" and len(view.text) > LIVE_MARKDOWN_CHARS:
        return div(styles.PLAIN_ANSWER, escape(clean(view.text)))
    cut = div(styles.LABEL, "Cut here; the whole answer is in the run's folder.") if view.text_truncated else ""
    return div(styles.ANSWER, safe_html(view.text)) + cut


def _problem(view: RunView) -> str:
    problem = problem_line(view)
    style = styles.LABEL if status_word(view) == "interrupted" else styles.ERROR
    return div(style, escape(problem)) if problem else ""


def _footer(view: RunView) -> str:
    if not view.folder:
        return ""
    links = [_link(view.folder, path) for path in view.files]
    return div(styles.FOOTER, " · ".join([span(styles.MONO, escape(clean(view.folder))), *links]))


def _link(folder: str, path: str) -> str:
    target = quote(clean(f"{folder}/{path}"), safe="/")
    return f'<a href="{escape(target)}" style="{styles.MONO}">{escape(clean(path))}</a>'
