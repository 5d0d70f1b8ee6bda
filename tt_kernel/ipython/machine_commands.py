"""`%agent connections doctor verify export replay`: what `tt` does from outside, said inside the notebook."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.ipython.command_words import parsed
from tt_kernel.ipython.listing import Lines, Listing
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.ipython.run_commands import Pending

if TYPE_CHECKING:
    from tt_kernel.domain.connections import Connection
    from tt_kernel.experiments.verify import RunVerdict
    from tt_kernel.ipython.doctor import Finding

CONNECTION_ACTIONS = ("list", "add", "remove")
CONNECTIONS = "%agent connections [list | add NAME PROVIDER[:MODEL] [--base-url URL] [--credential VARIABLE] [--replace] | remove NAME]"
_CONNECTION_OPTIONS = ("--base-url", "--credential", "--replace")


def is_connections(words: Sequence[str]) -> bool:
    """Whether words are those of this command, not a prompt that begins with it."""
    return not words or words[0] in CONNECTION_ACTIONS


def connections(notebook: Notebook, words: Sequence[str]) -> "Listing[Connection]":
    """The user's connections after what was asked. They name the place of a key and never hold one.

    Raises:
        UsageProblem: Words that make no sense, or a name that is taken.
        ModelUnavailable: The connection breaks a rule, or holds a secret.
        NotFound: `remove` of what is not there.
    """
    shelf = notebook.session.connections
    said = parsed(words, CONNECTIONS, takes=_CONNECTION_OPTIONS)
    match said.words:
        case () | ("list",):
            pass
        case ("add", name, model):
            if name in {known.name for known in shelf.list()} and "--replace" not in said.flags:
                raise UsageProblem(message=f"There is a connection {name!r} already. --replace overwrites it.")
            shelf.save(_connection(name, model, said.value("--base-url"), said.value("--credential")))
        case ("remove", name):
            shelf.remove(name)
        case _:
            raise UsageProblem(message=f"Write: {CONNECTIONS}")
    found = shelf.list()
    rows = [(c.name, f"{c.provider}:{c.model or '*'}", c.base_url or "", c.credential or "") for c in found]
    notes = [problem.message for problem in shelf.broken().values()]
    none = [] if rows or notes else [f"No connections yet. {CONNECTIONS}"]
    return Listing(found, ("connection", "model", "address", "key in"), rows, [*none, *notes])


def _connection(name: str, model: str, base_url: str | None, credential: str | None) -> "Connection":
    from pydantic import ValidationError  # noqa: PLC0415

    from tt_kernel.domain.connections import Connection  # noqa: PLC0415
    from tt_kernel.store.documents import first_error, sentence_of  # noqa: PLC0415

    provider, _, model_name = model.partition(":")
    fields = {"provider": provider, "model": model_name or None, "base_url": base_url, "credential": credential}
    try:
        return Connection.model_validate({"name": name, **fields}, by_name=True)
    except ValidationError as error:
        # A key may have been written where the name of its variable belongs: it is not repeated.
        hidden = ("credential", "base_url", "baseUrl")
        raise UsageProblem(
            message=f"Connection {name!r}: {sentence_of(first_error(error), Connection, 'connection', hidden=hidden)}"
        ) from None


def doctor(notebook: Notebook, _: Sequence[str]) -> "Listing[Finding]":
    """What works on this machine, and what to do about the rest."""
    from tt_kernel.ipython.doctor import examine  # noqa: PLC0415  starts engines

    found = examine(notebook.session.base_dir)
    return Listing(found, ("", "what"), [(finding.mark, finding.text) for finding in found])


def verify(notebook: Notebook, _: Sequence[str]) -> "Listing[RunVerdict] | Lines":
    """Execute the notebook as it is saved from its record alone, in a kernel of its own, and hold every run against it."""
    from tt_kernel.experiments.guard import REPORT_VARIABLE  # noqa: PLC0415
    from tt_kernel.experiments.verify import verify_notebook  # noqa: PLC0415  heavy
    from tt_kernel.runtime.loop_thread import submit  # noqa: PLC0415

    path = _saved(notebook)
    if REPORT_VARIABLE in os.environ:
        return Lines("This notebook is being verified.")  # by another kernel, which is at this very cell
    found = notebook.session.foreground.wait(*submit(verify_notebook(path)))
    rows = [(str(run.cell), run.run or "-", run.verdict, run.why) for run in found.runs]
    good = sum(run.verdict == "identical" for run in found.runs)
    head = f"{'Verified' if found.passed else 'Not verified'}: {good} of {len(found.runs)} runs are identical."
    return Listing(found.runs, ("cell", "run", "verdict", "why"), rows, [head, *found.problems])


def export(notebook: Notebook, words: Sequence[str]) -> Lines:
    """Write the notebook as it is saved as a script that runs its agent cells, and replays."""
    from tt_kernel.ipython.script_export import script_of  # noqa: PLC0415
    from tt_kernel.store.atomic import write_bytes  # noqa: PLC0415

    path = _saved(notebook)
    target = path.with_suffix(".py") if not words else path.parent / Path(words[0]).expanduser()
    if target.exists() and not words:
        raise UsageProblem(message=f"{target.name} exists. %agent export FILE writes to FILE, and over it.")
    write_bytes(target, script_of(path).encode())
    return Lines(f"Written to {target.name}.")


def is_export(words: Sequence[str]) -> bool:
    return not words or (len(words) == 1 and words[0].endswith(".py"))


def replay(notebook: Notebook, words: Sequence[str]) -> Pending:
    """Run a stored run again, strictly from its record."""
    session = notebook.session
    run_id = words[0] if words and words[0] != "last" else session.load("last").id
    return Pending(session.prepare_replay(run_id))


def _saved(notebook: Notebook) -> Path:
    path = notebook.session.notebook
    if path is None:
        raise UsageProblem(message="Which notebook is this? Say it with %agent notebook PATH.")
    if not path.is_file():
        raise NotFound("notebook.not_found", f"{path.name} was never saved. Save it first.")
    return path
