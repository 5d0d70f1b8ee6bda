"""`%agent branch tree`: another run from a turn of a stored one on, and where the runs come from."""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.canonical import JsonObject
from tt_kernel.domain.errors import UsageProblem
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.ipython.run_commands import Pending, names_run

if TYPE_CHECKING:
    from tt_kernel.experiments.lineage import Tree

USAGE = (
    "%agent branch RUN --turn N [--prompt TEXT | --message TEXT | --reply TEXT | --call CALL=JSON | --result CALL=TEXT | "
    "--set FIELD=VALUE | -m MODEL] [--live | --replay]"
)
_ASSIGNED = re.compile(r"(?P<name>[^=]+)=(?P<value>.*)", re.DOTALL)
_VALUED = {
    "--turn": "turn",
    "--prompt": "prompt",
    "--message": "message",
    "--reply": "reply",
    "-m": "model",
    "--model": "model",
}
_MANY = {"--call": "calls", "--result": "results", "--set": "settings"}
_MODES = {"--live": "live", "--replay": "replay"}


def is_branch(words: Sequence[str]) -> bool:
    return not words or (names_run(words) and (len(words) == 1 or words[1].startswith("-")))


def branch(notebook: Notebook, words: Sequence[str]) -> Pending:
    """Decide the branch; the magic runs and shows it.

    Raises:
        UsageProblem: What is wrong with the line, or what cannot be changed at that turn.
        NotFound: No such run.
    """
    from tt_kernel.domain.runs import TurnEdit  # noqa: PLC0415

    if len(words) < 2:  # noqa: PLR2004  a run and what is to change
        raise UsageProblem(message=f"Write: {USAGE}")
    options, many = _parsed(words[1:])
    turn = options.pop("turn", "1")
    if not turn.isdigit():
        raise UsageProblem(message=f"--turn needs a number, not {turn!r}. Write: {USAGE}")
    prompt, mode = options.pop("prompt", None), options.pop("mode", None)
    calls = {number: _arguments(number, text) for number, text in many.pop("calls").items()}
    edit = TurnEdit(turn=int(turn), calls=calls, **many, **options)
    session = notebook.session
    run_id = session.load("last").id if words[0] == "last" else words[0]
    return Pending(session.prepare_branch(run_id, edit, prompt=prompt, mode=mode))


def _arguments(number: str, text: str) -> JsonObject:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise UsageProblem(message=f"--call {number} needs its arguments as a JSON object, not {text}.")
    return value


def _parsed(words: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options with one value; and those that name what they are of: arguments and results of calls, profile fields."""
    options: dict[str, Any] = {}
    many: dict[str, Any] = {name: {} for name in _MANY.values()}
    queue = list(words)
    while queue:
        name, equals, value = queue.pop(0).partition("=")
        if name in _MODES and not equals:
            options["mode"] = _MODES[name]
            continue
        if name not in _VALUED and name not in _MANY:
            raise UsageProblem(message=f"{name} is no option here. Write: {USAGE}")
        if not equals:
            if not queue:
                raise UsageProblem(message=f"{name} needs a value. Write: {USAGE}")
            value = queue.pop(0)
        if name in _VALUED:
            options[_VALUED[name]] = value
            continue
        assigned = _ASSIGNED.fullmatch(value)
        if assigned is None:
            raise UsageProblem(message=f"{name} {value} is no assignment. Write: {USAGE}")
        many[_MANY[name]][assigned["name"]] = assigned["value"]
    return options, many


def tree(notebook: Notebook, _: Sequence[str]) -> "Tree":
    from tt_kernel.experiments.lineage import Tree  # noqa: PLC0415

    return Tree(notebook.session.index.list())
