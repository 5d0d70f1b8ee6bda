"""`%agent tools`, `profiles`, `runs`, `show`, `notebook`, `help`: each returns an object that shows itself."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.ipython.arguments import words
from tt_kernel.ipython.notebook import Notebook

if TYPE_CHECKING:
    from tt_kernel.domain.profiles import Profile
    from tt_kernel.domain.runs import Run
    from tt_kernel.domain.specs import Binding
    from tt_kernel.ipython.listing import Lines, Listing

Command = Callable[[Notebook], object]

_RUN_ID = re.compile(r"[0-9a-f]{8}(\.\d+)?")
_RUN_PREFIX = re.compile(r"[0-9a-f]{4,8}(\.\d+)?")
_NO_COMMANDS = {
    "sweep": "is a cell: %%agent --vary FIELD=V1,V2 --repeat N, and its prompt",
    **dict.fromkeys(["mcp", "memory", "skills"], "is not available yet"),
}
"""What people may try, and what to say instead of asking a model."""


def find_command(line: str) -> Command | None:
    """The command that a line begins with; None when it is a prompt.

    A known word with more words than the command takes is the beginning of a prompt: `%agent show me the data`.

    Raises:
        UsageProblem: What looks like a command and is none.
    """
    first, *rest = [word.text for word in words(line)] or ["?"]
    subcommand = SUBCOMMANDS.get(first)
    if subcommand is not None and subcommand.takes(rest):
        return lambda notebook: subcommand.run(notebook, rest)
    if first in _NO_COMMANDS and (not rest or _RUN_ID.fullmatch(rest[0])):
        raise UsageProblem(message=f"%agent {first} {_NO_COMMANDS[first]}. As a prompt: %agent -- {line.strip()}")
    return None


def _tools(notebook: Notebook, arguments: Sequence[str]) -> "Listing[Binding]":
    from tt_kernel.ipython.prompt_commands import tool_listing  # noqa: PLC0415

    return tool_listing(notebook.session.tools(*arguments))


def _profiles(notebook: Notebook, _: Sequence[str]) -> "Listing[Profile]":
    from tt_kernel.ipython.profile_commands import profile_listing  # noqa: PLC0415

    return profile_listing(notebook.session)


def _profile(notebook: Notebook, arguments: Sequence[str]) -> object:
    from tt_kernel.ipython.profile_commands import profile_command  # noqa: PLC0415

    return profile_command(notebook, arguments)


def _is_profile(arguments: Sequence[str]) -> bool:
    from tt_kernel.ipython.profile_commands import is_profile_command  # noqa: PLC0415

    return is_profile_command(arguments)


def _prompt(notebook: Notebook, arguments: Sequence[str]) -> object:
    from tt_kernel.ipython.prompt_commands import prompt_command  # noqa: PLC0415

    return prompt_command(notebook, arguments)


def _is_prompt(arguments: Sequence[str]) -> bool:
    from tt_kernel.ipython.prompt_commands import is_prompt_command  # noqa: PLC0415

    return is_prompt_command(arguments)


def _late(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when it is first called."""

    def call(*arguments: object) -> Any:
        return getattr(import_module(f"tt_kernel.ipython.{module}"), name)(*arguments)

    return call


def _about_run(words: Sequence[str]) -> bool:
    return bool(words) and (words[0] == "last" or _RUN_PREFIX.fullmatch(words[0]) is not None)


def _about_run_and_more(words: Sequence[str]) -> bool:
    return _about_run(words) and len(words) > 1


def _show(notebook: Notebook, arguments: Sequence[str]) -> "Run":
    try:
        return notebook.session.load(arguments[0] if arguments else "last")
    except NotFound as error:
        if not arguments:
            raise
        hint = f" %agent runs lists the runs; as a prompt: %agent -- show {arguments[0]}"
        raise NotFound(error.code, error.message + hint) from None


def _notebook(notebook: Notebook, arguments: Sequence[str]) -> "Lines":
    from tt_kernel.ipython.listing import Lines  # noqa: PLC0415

    if arguments:
        path = Path(arguments[0]).expanduser().absolute()
        if not path.parent.is_dir():
            raise UsageProblem(message=f"There is no folder {path.parent}.")
        notebook.path.chosen = path
    session = notebook.session
    name = str(session.notebook) if session.notebook else "unknown (say it with %agent notebook PATH)"
    return Lines(f"notebook      {name}\nagent folder  {session.folder.root}")


def _help(_: Notebook, __: Sequence[str]) -> "Lines":
    from tt_kernel.ipython.help import help_text  # noqa: PLC0415
    from tt_kernel.ipython.listing import Lines  # noqa: PLC0415

    return Lines(help_text())


def _if_empty(rows: Sequence[object], text: str) -> list[str]:
    return [] if rows else [text]


@dataclass(frozen=True)
class Subcommand:
    """`most`: how many words may follow, or `accepts`: whether these may; `values`: what completes the words, in order."""

    run: Callable[[Notebook, Sequence[str]], object]
    most: int = 0
    values: str = ""
    accepts: Callable[[Sequence[str]], bool] | None = None

    def takes(self, rest: Sequence[str]) -> bool:
        return len(rest) <= self.most if self.accepts is None else self.accepts(rest)


SUBCOMMANDS = {
    "?": Subcommand(_help),
    "help": Subcommand(_help),
    "approve": Subcommand(
        _late("plan_commands", "approve"), values="run", accepts=_late("plan_commands", "is_approve")
    ),
    "notebook": Subcommand(_notebook, 1, "path"),
    "permissions": Subcommand(
        _late("permission_commands", "permissions"),
        values="rule tool",
        accepts=_late("permission_commands", "is_permissions"),
    ),
    "profile": Subcommand(_profile, values="action profile field=value", accepts=_is_profile),
    "profiles": Subcommand(_profiles),
    "prompt": Subcommand(_prompt, values="profile", accepts=_is_prompt),
    "branch": Subcommand(
        _late("branch_commands", "branch"), values="run", accepts=_late("branch_commands", "is_branch")
    ),
    "budget": Subcommand(_late("budget_commands", "budget"), accepts=_late("budget_commands", "is_budget")),
    "check": Subcommand(_late("experiment_commands", "check")),
    "connections": Subcommand(
        _late("machine_commands", "connections"),
        values="connection_action",
        accepts=_late("machine_commands", "is_connections"),
    ),
    "costs": Subcommand(_late("experiment_commands", "costs"), accepts=_late("experiment_commands", "is_costs")),
    "diff": Subcommand(
        _late("experiment_commands", "diff"), values="run run", accepts=_late("experiment_commands", "are_two_runs")
    ),
    "doctor": Subcommand(_late("machine_commands", "doctor")),
    "export": Subcommand(_late("machine_commands", "export"), accepts=_late("machine_commands", "is_export")),
    "find": Subcommand(_late("experiment_commands", "find"), accepts=lambda _: True),
    "fix": Subcommand(_late("run_commands", "fix"), values="run", accepts=_about_run_and_more),
    "freeze": Subcommand(_late("experiment_commands", "freeze")),
    "guide": Subcommand(_late("run_commands", "guide"), accepts=_late("run_commands", "is_guidance")),
    "prune": Subcommand(_late("run_commands", "prune"), accepts=_late("run_commands", "is_prune")),
    "replay": Subcommand(
        _late("machine_commands", "replay"), values="run", accepts=_late("experiment_commands", "is_run_or_nothing")
    ),
    "resume": Subcommand(_late("run_commands", "resume"), values="run", accepts=_about_run),
    "rewind": Subcommand(_late("run_commands", "rewind"), values="run", accepts=_about_run),
    "rollback": Subcommand(_late("run_commands", "rollback"), values="run", accepts=_about_run),
    "roots": Subcommand(_late("folder_commands", "roots"), accepts=_late("folder_commands", "is_roots")),
    "runs": Subcommand(_late("run_commands", "runs"), accepts=_late("run_commands", "is_runs")),
    "session": Subcommand(_late("folder_commands", "session"), accepts=_late("folder_commands", "is_session")),
    "show": Subcommand(_show, 1, "run"),
    "tools": Subcommand(_tools, 1, "profile"),
    "verify": Subcommand(_late("machine_commands", "verify")),
    "worldinfo": Subcommand(
        _late("worldinfo_commands", "worldinfo"), accepts=_late("worldinfo_commands", "is_worldinfo")
    ),
    "tree": Subcommand(_late("branch_commands", "tree")),
    "why": Subcommand(
        _late("experiment_commands", "why"), values="run", accepts=_late("experiment_commands", "is_run_or_nothing")
    ),
}
