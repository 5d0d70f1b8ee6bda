"""text/markdown of a run. All that models and tools wrote, the answer apart, is inside code spans, so none of it is markup."""

from collections.abc import Iterator

from tt_kernel.domain.views import CallView, RunView
from tt_kernel.widgets.prose import safe_markdown
from tt_kernel.widgets.wording import (
    arguments_line,
    counted,
    facts,
    one_line,
    place_line,
    problem_line,
    result_line,
    status_word,
)


def run_markdown(view: RunView) -> str:
    """The status line, one list item per call, the answer, what went wrong, and where things are."""
    return "\n\n".join(part for part in (_header(view), "\n".join(_calls(view)), *_end(view)) if part)


def _header(view: RunView) -> str:
    texts = [code(view.profile), status_word(view), code(view.model), *facts(view)]
    return " · ".join(text for text in texts if text)


def _calls(view: RunView) -> Iterator[str]:
    previous = 0
    for call in view.calls:
        if call.index > previous + 1:
            yield f"- {counted(call.index - previous - 1, 'call')} not shown"
        previous = call.index
        yield f"- {_call(call)}"


def _call(call: CallView) -> str:
    parts = [code(one_line(call.name, 80)), code(arguments_line(call)), "→", code(result_line(call))]
    return " ".join(part for part in parts if part)


def _end(view: RunView) -> Iterator[str]:
    yield safe_markdown(view.text.strip())  # stripped first: what is stripped later could move a fence to the margin
    yield code(problem_line(view))
    yield code(place_line(view))


def code(text: str) -> str:
    """A code span that ends nowhere but at its end, whatever the text."""
    line = one_line(text, 4_000)
    if not line:
        return ""
    fence = "`" * (1 + max((len(run) for run in _runs(line)), default=0))
    pad = " " if "`" in (line[0], line[-1]) else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _runs(line: str) -> Iterator[str]:
    """Runs of back-ticks."""
    return (run for run in "".join(c if c == "`" else " " for c in line).split())
