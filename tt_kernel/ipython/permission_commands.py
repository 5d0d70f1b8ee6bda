"""`%agent permissions`: the rules of this notebook and of the user, seen and changed (DESIGN §10)."""

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from tt_kernel.domain.errors import UsageProblem
from tt_kernel.domain.profiles import Permissions, Safety
from tt_kernel.domain.specs import PermissionRule, ToolSpec
from tt_kernel.ipython.command_words import Parsed, parsed
from tt_kernel.ipython.listing import Listing
from tt_kernel.ipython.notebook import Notebook
from tt_kernel.toolkit.catalog import is_glob, means

if TYPE_CHECKING:
    from tt_kernel.session.core import Session
    from tt_kernel.store.permissions import Level

DECISIONS = ("allow", "ask", "deny")
ACTIONS = ("list", *DECISIONS, "remove", "safety")
USAGE = "%agent permissions [list | allow|ask|deny TOOL [--pattern ARGUMENT=GLOB] | remove TOOL | safety MODE] [--user]"


def is_permissions(words: Sequence[str]) -> bool:
    """Whether words are those of this command, not a prompt that begins with it."""
    return not words or words[0] in ACTIONS


def permissions(notebook: Notebook, words: Sequence[str]) -> "Listing[PermissionRule]":
    """Do what is asked, then show the rules of both documents.

    Raises:
        UsageProblem: Words that make no sense.
        NotFound: `remove` of what is not there.
    """
    session = notebook.session
    said = parsed(words, USAGE, takes=("--pattern", "--user"))
    level: Level = "user" if "--user" in said.flags else "notebook"
    if said.values.get("--pattern") and (not said.words or said.words[0] not in DECISIONS):
        raise UsageProblem(message=f"--pattern belongs to allow, ask and deny. Write: {USAGE}")
    notes: list[str] = []
    match said.words:
        case () | ("list",):
            pass
        case ("allow" | "ask" | "deny" as decision, tool):
            specs = _meant(session, tool)
            patterns = _patterns(said, tool, specs)
            session.permissions.add(PermissionRule(tool=tool, decision=decision, arguments=patterns), level)
            notes += [] if specs or _names_many(tool) else [_unknown(session, tool)]
        case ("remove", tool):
            session.permissions.remove(tool, level)
        case ("safety", mode) if mode in get_args(Safety):
            session.permissions.set_safety(mode, level)
        case ("safety", *_):
            raise UsageProblem(message=f"%agent permissions safety MODE; the modes are {', '.join(get_args(Safety))}.")
        case _:
            raise UsageProblem(message=f"Write: {USAGE}")
    return _listing(session, notes)


def _listing(session: "Session", notes: Sequence[str]) -> "Listing[PermissionRule]":
    documents: dict[Level, Permissions] = {
        "notebook": session.permissions.load("notebook"),
        "user": session.permissions.load("user"),
    }
    rules = [(level, rule) for level, document in documents.items() for rule in document.rules]
    rows = [
        (rule.decision, rule.tool, " ".join(f"{a}={p}" for a, p in rule.arguments.items()), level)
        for level, rule in rules
    ]
    safety = [f"safety = {d.safety} ({level})" for level, d in documents.items() if d.safety != "auto"]
    none = [] if rows else ["No rules besides those of the profile and the defaults. " + USAGE]
    return Listing([rule for _, rule in rules], ("decision", "tool", "where", "of"), rows, [*none, *safety, *notes])


def _patterns(said: Parsed, tool: str, specs: Sequence[ToolSpec]) -> dict[str, str]:
    """`ARGUMENT=GLOB`, or a glob alone, which is for the first argument of the tool."""
    return dict(_pattern(text, tool, specs) for text in said.values.get("--pattern", ()))


def _pattern(text: str, tool: str, specs: Sequence[ToolSpec]) -> tuple[str, str]:
    names = list(dict.fromkeys(name for spec in specs for name in spec.input_schema.get("properties", {})))
    argument, equals, glob = text.partition("=")
    if equals and argument in names:
        return argument, glob
    if not equals and len(specs) == 1 and names:
        return names[0], text
    if equals and not names and argument.isidentifier():
        return argument, glob
    known = f"{tool} has the arguments {', '.join(names)}." if names else f"The arguments of {tool} are not known here."
    raise UsageProblem(message=f"--pattern needs ARGUMENT=GLOB, got {text!r}. {known}")


def _meant(session: "Session", tool: str) -> list[ToolSpec]:
    """The tools that a rule's text means now."""
    catalog = session.toolbox.catalog(session.toolbox.functions(()))
    if tool.startswith("group:"):
        return [spec for spec in catalog if spec.group == tool.removeprefix("group:")]
    if tool.startswith("server:"):
        return [spec for spec in catalog if spec.id.provider == f"mcp/{tool.removeprefix('server:')}"]
    return [spec for spec in catalog if means(tool, spec.id)]


def _names_many(tool: str) -> bool:
    """A pattern, group or server may well mean nothing yet."""
    return is_glob(tool) or tool.startswith(("group:", "server:", "mcp"))


def _unknown(session: "Session", tool: str) -> str:
    names = [str(spec.id.native).replace(".", "_") for spec in session.toolbox.catalog(session.toolbox.functions(()))]
    near = difflib.get_close_matches(tool, names, n=2)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"There is no tool {tool!r} now; the rule waits for one.{hint}"
