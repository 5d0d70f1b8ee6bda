"""Tab in `%%agent` and `%agent` lines, and in `@{`: options and values, in every front end (the kernel completes)."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from IPython.core.completer import SimpleCompletion, context_matcher

from tt_kernel.ipython.arguments import NOT_YET, OPTIONS, Option
from tt_kernel.ipython.subcommands import SUBCOMMANDS

if TYPE_CHECKING:
    from tt_kernel.ipython.magics import AgentMagics
    from tt_kernel.ipython.notebook import Notebook

_MAGIC = re.compile(r"\s*(%%|%)agent\s")
_OPEN = re.compile(r"(?<!@)@\{(?P<name>\w*)$")
_SPLIT = re.compile(r"\s+")

Completions = list[tuple[str, str]]
"""Text and kind."""


def agent_completions(magics: "AgentMagics") -> Callable[[Any], dict[str, Any]]:
    """The matcher of one shell."""

    @context_matcher(identifier="tt_kernel.agent")  # type: ignore[untyped-decorator]
    def match(context: Any) -> dict[str, Any]:
        fragment, found = complete(magics.notebook, context.full_text, context.cursor_line, context.cursor_position)
        matching = [SimpleCompletion(text, type=kind) for text, kind in found if text.startswith(fragment)]
        return {"completions": matching, "matched_fragment": fragment, "suppress": bool(matching)}

    match.magics = magics
    return match  # type: ignore[no-any-return]


def complete(notebook: "Notebook", text: str, line: int, column: int) -> tuple[str, Completions]:
    """The piece of text before the cursor that is completed, and everything that may stand there."""
    lines = text.split("\n")
    before = lines[line][:column]
    form = _form(lines)
    opened = _OPEN.search(before)
    if form and opened:
        names = [name for name in notebook.shell.user_ns if not name.startswith("_")]
        return opened["name"], [(name, "variable") for name in sorted(names)]
    magic = _MAGIC.match(before)
    if not magic or (magic[1] == "%%" and form != "%%"):
        return "", []
    return _arguments(notebook, before[magic.end() :], is_cell=magic[1] == "%%")


def _form(lines: list[str]) -> str | None:
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    magic = _MAGIC.match(first + "\n")
    return magic[1] if magic else None


def _arguments(notebook: "Notebook", before: str, *, is_cell: bool) -> tuple[str, Completions]:
    *earlier, word = _SPLIT.split(before.lstrip()) if before.strip() else [""]
    name, equals, value = word.partition("=")
    previous = _option(earlier[-1]) if earlier else None
    if equals and (option := _option(name)):
        return value, _values(notebook, option.value)
    if previous is not None and previous.value and not previous.optional and "=" not in earlier[-1]:
        return word, _values(notebook, previous.value)
    if word.startswith("-"):
        return word, [(name, "option") for option in OPTIONS for name in option.names if name not in NOT_YET]
    if is_cell:
        return word, _values(notebook, "PROFILE")
    if not earlier:
        return word, [(command, "command") for command in SUBCOMMANDS]
    command = SUBCOMMANDS.get(earlier[0])
    kinds = command.values.upper().split() if command else []
    return word, _values(notebook, kinds[len(earlier) - 1]) if len(earlier) <= len(kinds) else []


def _option(text: str) -> Option | None:
    return next((option for option in OPTIONS if text.partition("=")[0] in option.names), None)


def _values(notebook: "Notebook", kind: str) -> Completions:
    """Completion is a courtesy: a folder or profile that cannot be read completes nothing, and says nothing here."""
    try:
        return [(text, kind.lower()) for text in _VALUES.get(kind, _none)(notebook)]
    except Exception:  # noqa: BLE001
        return []


def _none(_: "Notebook") -> Iterator[str]:
    return iter(())


def _profiles(notebook: "Notebook") -> Iterator[str]:
    return (profile.id for profile, _ in notebook.session.profiles.list())


def _rule_actions(_: "Notebook") -> Iterable[str]:
    from tt_kernel.ipython.permission_commands import ACTIONS  # noqa: PLC0415

    return ACTIONS


def _models(notebook: "Notebook") -> Iterable[str]:
    from tt_kernel.providers.names import known_models  # noqa: PLC0415

    return known_models(notebook.session.base_dir)


def _tools(notebook: "Notebook") -> Iterator[str]:
    return (binding.name for binding in notebook.session.tools().bindings)


def _runs(notebook: "Notebook") -> Iterator[str]:
    return (record.id for record in notebook.session.index.list())


def _fields(_: "Notebook") -> Iterator[str]:
    from tt_kernel.domain.profiles import Profile  # noqa: PLC0415
    from tt_kernel.session.settings import field_names  # noqa: PLC0415

    return (f"{name}=" for name in field_names(Profile))


def _actions(_: "Notebook") -> Iterable[str]:
    from tt_kernel.ipython.profile_commands import ACTIONS  # noqa: PLC0415

    return ACTIONS


def _connection_actions(_: "Notebook") -> Iterable[str]:
    from tt_kernel.ipython.machine_commands import CONNECTION_ACTIONS  # noqa: PLC0415

    return CONNECTION_ACTIONS


_VALUES: dict[str, Callable[["Notebook"], Iterable[str]]] = {
    "ACTION": _actions,
    "PROFILE": _profiles,
    "MODEL": _models,
    "TOOL": _tools,
    "RUN": _runs,
    "FIELD=VALUE": _fields,
    "RULE": _rule_actions,
    "CONNECTION_ACTION": _connection_actions,
}
