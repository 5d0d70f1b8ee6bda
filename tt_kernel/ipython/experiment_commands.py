"""`%agent diff why check find`: runs held against each other, against what was recorded, against nbval; and found again."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.ipython.notebook import Notebook

if TYPE_CHECKING:
    from tt_kernel.domain.runs import Run
    from tt_kernel.experiments.check import Finding
    from tt_kernel.experiments.costs import Cost
    from tt_kernel.experiments.diff import RunDiff
    from tt_kernel.experiments.search import Hit
    from tt_kernel.experiments.why_page import WhyPage
    from tt_kernel.ipython.listing import Listing
    from tt_kernel.widgets.pages import Page

MOST_RUNS = 2
COST_WORDS = frozenset({"model", "day", "profile", "prompt", "status", "cell"})
_RUN = re.compile(r"last|[0-9a-f]{1,8}(\.\d+)?")


def are_two_runs(words: Sequence[str]) -> bool:
    """Ids of runs, or variables: a word that can be neither begins a prompt."""
    return len(words) <= MOST_RUNS and all(_RUN.fullmatch(word) or word.isidentifier() for word in words)


def is_run_or_nothing(words: Sequence[str]) -> bool:
    return len(words) <= 1 and all(_RUN.fullmatch(word) for word in words)


def diff(notebook: Notebook, words: Sequence[str]) -> "RunDiff":
    """`%agent diff A [B]`: runs by id, by the variables that hold them, or `last`, which B is if it is left out."""
    from tt_kernel.experiments.diff import diff as compare  # noqa: PLC0415  draws; not before it is asked for

    if not words:
        raise UsageProblem(message="Compare which runs? %agent diff A B, or %agent diff A for A and the last one.")
    one, other = [*words, "last"][:2]
    return compare(run_of(notebook, one), run_of(notebook, other))


def why(notebook: Notebook, words: Sequence[str]) -> "WhyPage":
    """`%agent why [RUN]`: why it was not replayed; the newest run if none is named."""
    from tt_kernel.experiments.why import why as explain  # noqa: PLC0415
    from tt_kernel.experiments.why_page import WhyPage  # noqa: PLC0415

    run_id = words[0] if words and words[0] != "last" else notebook.session.load("last").id
    return WhyPage(explain(notebook.session, run_id))


def run_of(notebook: Notebook, word: str) -> "Run":
    """A run by its id or the variable that holds it.

    Raises:
        UsageProblem: A variable that holds something else.
        NotFound: No such run.
    """
    value = notebook.shell.user_ns.get(word)
    if hasattr(value, "tool_calls") and hasattr(value, "view"):
        run: Run = value
        return run
    if value is None or _RUN.fullmatch(word):
        return notebook.session.load(word)
    raise UsageProblem(message=f"{word} is a {type(value).__name__}, not a Run. Name a run by its id: %agent runs")


def check(notebook: Notebook, _: Sequence[str]) -> "Listing[Finding]":
    """`%agent check`: what stands in the way of nbval, in the notebook as it is saved."""
    from tt_kernel.experiments.check import check_notebook  # noqa: PLC0415  reads the whole notebook
    from tt_kernel.ipython.listing import Listing  # noqa: PLC0415

    path = notebook.session.notebook
    if path is None:
        raise UsageProblem(message="Which notebook is this? Say it with %agent notebook PATH.")
    found = check_notebook(path)
    rows = [(str(finding.cell), finding.kind, finding.message) for finding in found]
    notes = [] if found else ["Nothing stands in the way of nbval."]
    return Listing(found, ("cell", "kind", "what"), rows, notes)


def find(notebook: Notebook, words: Sequence[str]) -> "Listing[Hit]":
    """`%agent find WORDS… [tool:NAME model:M profile:P status:S since:DATE until:DATE in:KIND]`."""
    from tt_kernel.experiments.search import find as search  # noqa: PLC0415
    from tt_kernel.experiments.search import parse_query  # noqa: PLC0415
    from tt_kernel.ipython.listing import Listing  # noqa: PLC0415

    found = search(notebook.session.folder, parse_query(words))
    rows = [
        (h.run, h.status, h.profile, h.model, h.prompt, f"{h.where}: {h.snippet}" if h.where else "") for h in found
    ]
    notes = [] if found else ["No run fits."]
    return Listing(found, ("run", "status", "profile", "model", "prompt", "found in"), rows, notes)


def is_costs(words: Sequence[str]) -> bool:
    return len(words) <= 1 and all(word in COST_WORDS for word in words)


def costs(notebook: Notebook, words: Sequence[str]) -> "Listing[Cost]":
    """`%agent costs [model | day | profile | prompt | status | cell]`: what the live runs of this notebook used."""
    from tt_kernel.experiments.costs import costs as told  # noqa: PLC0415
    from tt_kernel.experiments.costs import total  # noqa: PLC0415
    from tt_kernel.ipython.budget_commands import standing  # noqa: PLC0415
    from tt_kernel.ipython.listing import Listing  # noqa: PLC0415

    by = words[0] if words else "model"
    spent = notebook.session.spending.all(notebook.session.index.list())
    found = told(spent, "prompt" if by == "cell" else by)
    rows = [_cost_row(cost) for cost in found]
    rows += [_cost_row(total(spent))] if len(found) > 1 else []
    notes = ["? is the price of a model that is not known."] if any(cost.unpriced for cost in found) else []
    notes += standing(notebook.session.budget)
    return Listing(
        found,
        (by, "runs", "input", "cached", "output", "cost"),
        rows,
        notes if rows else ["There are no runs yet.", *notes],
    )


def _cost_row(cost: "Cost") -> tuple[str, ...]:
    usage = cost.usage
    numbers = (cost.runs, usage.input_tokens, usage.cached_tokens, usage.output_tokens)
    return (cost.name, *(f"{number:,}" for number in numbers), cost.dollars)


def freeze(notebook: Notebook, _: Sequence[str]) -> "Page":
    """`%agent freeze`: write the manifest of the notebook as it is saved."""
    from tt_kernel.experiments.freeze import freeze as write  # noqa: PLC0415
    from tt_kernel.experiments.freeze import shown  # noqa: PLC0415
    from tt_kernel.widgets.pages import Page  # noqa: PLC0415

    session = notebook.session
    if session.notebook is None:
        raise UsageProblem(message="Which notebook is this? Say it with %agent notebook PATH.")
    path, manifest = write(session.notebook)
    notes = ["tt verify and tt bundle hold the notebook against it."]
    return Page(f"frozen in {session.folder.root.name}/{path.name}", ("what", "value"), shown(manifest), notes=notes)
