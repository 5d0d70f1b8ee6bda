"""text/plain of a run: what consoles, git diffs and file viewers show. No colours, nothing that needs a special font."""

from collections.abc import Iterator

from tt_kernel.domain.views import CallView, RunView
from tt_kernel.widgets.wording import (
    arguments_line,
    clean,
    counted,
    facts,
    one_line,
    place_line,
    problem_line,
    result_line,
    status_word,
)

NOTE_CHARS = 110


def run_text(view: RunView) -> str:
    """The whole run as lines; the answer last, as it is."""
    return clean("\n".join(_lines(view)))


def _lines(view: RunView) -> Iterator[str]:
    yield f"agent {view.profile} [{status_word(view)}] " + ", ".join([*facts(view), *_identity(view)])
    notes = sorted(view.notes, key=lambda note: note.after)
    width = len(str(view.call_count))
    previous = 0
    for call in view.calls:
        while notes and notes[0].after < call.index:
            yield f"  - {one_line(notes.pop(0).text, NOTE_CHARS)}"
        if call.index > previous + 1:
            yield f"  ... {counted(call.index - previous - 1, 'call')} not shown"
        previous = call.index
        yield f"  {call.index:>{width}} {_call(call, view.folder)}"
    yield from (f"  - {one_line(note.text, NOTE_CHARS)}" for note in notes)
    if view.text.strip():
        yield clean(view.text).rstrip() + (
            "\n... (cut here; the whole answer is in the run's folder)" if view.text_truncated else ""
        )
    if problem_line(view):
        yield problem_line(view)
    if place_line(view):
        yield f"in {place_line(view)}"


def _identity(view: RunView) -> list[str]:
    """The run's id, and the run it goes on from."""
    return [view.id] * bool(view.id) + [f"continues {view.continues}"] * bool(view.continues)


def _call(call: CallView, folder: str) -> str:
    """The paths of images are below the run's folder, which the last line names."""
    paths = [clean(image.path.removeprefix(f"{folder}/")) for image in call.images]
    images = f" ({', '.join(paths)})" if paths else ""
    parts = [one_line(call.name, 80), arguments_line(call), "->", result_line(call) + images]
    return " ".join(part for part in parts if part)
