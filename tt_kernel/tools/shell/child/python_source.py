"""Makes a script fit Monty, whose `sys` is fixed: what it lacks is bound under names of our own.

`sys.argv`, `sys.exit`, `sys.stdin`, `sys.stdout.write`, `sys.stderr.write`, `SystemExit(code)` and `from sys import ...` of these
are replaced by names of the same length, so that the columns of a traceback stay true; `restore` puts the originals back in
what the user sees.
"""

import ast
import re
from dataclasses import dataclass

ARGV, EXIT, STDIN = "_sysargv", "_sysexit", "_sysstdin"
OUT, ERR = "_sysstdout_write", "_sysstderr_write"
SYSTEM_EXIT = "_SystemExt"

_NAMES = {
    "sys.argv": ARGV,
    "sys.exit": EXIT,
    "sys.stdin": STDIN,
    "sys.stdout.write": OUT,
    "sys.stderr.write": ERR,
    "SystemExit": SYSTEM_EXIT,
}
_MEMBERS = {"argv": ARGV, "exit": EXIT, "stdin": STDIN}
_BACK = re.compile("|".join(map(re.escape, _NAMES.values())))


@dataclass(frozen=True)
class Fitted:
    """A script ready to run. `reads_stdin`: it may ask for its standard input."""

    code: str
    reads_stdin: bool


def fit(code: str) -> Fitted:
    """Replace what Monty's `sys` lacks. A script that is not Python is left as it is: Monty says what is wrong."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Fitted(code, "stdin" in code)
    edits = list(_edits(tree))
    lines = code.encode("utf-8").splitlines(keepends=True)
    for (line, start, end), text in sorted(edits, reverse=True):
        row = lines[line - 1]
        lines[line - 1] = row[:start] + text.encode() + row[end:]
    fitted = b"".join(lines).decode("utf-8")
    asks = STDIN in fitted or "/dev/stdin" in code or _calls(tree, "input")
    return Fitted(fitted, asks)


def restore(text: str) -> str:
    """Undo the replacements in an error message."""
    back = {new: old for old, new in _NAMES.items()}
    return _BACK.sub(lambda found: back[found[0]], text)


Edit = tuple[tuple[int, int, int], str]


def _edits(tree: ast.AST) -> list[Edit]:
    aliases = _aliases(tree)
    edits: list[Edit] = []
    inside: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and id(node) not in inside and isinstance(node.ctx, ast.Load):
            name = _dotted(node, aliases)
            if name in _NAMES and node.lineno == node.end_lineno:
                edits.append((_place(node), _NAMES[name].ljust(_width(node))))
                inside.update(map(id, ast.walk(node)))
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            called = node.exc.func
            if isinstance(called, ast.Name) and called.id == "SystemExit" and node.exc.args:
                edits.append((_place(called), SYSTEM_EXIT))
        elif isinstance(node, ast.ImportFrom) and node.module == "sys" and node.lineno == node.end_lineno:
            edits += _import(node)
    return edits


def _aliases(tree: ast.AST) -> frozenset[str]:
    """The names under which the script knows sys."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    return frozenset(name.asname or name.name for node in imports for name in node.names if name.name == "sys")


def _dotted(node: ast.AST, aliases: frozenset[str]) -> str | None:
    """`sys.stdout.write` for the expression that means it."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in aliases:
        return None
    return ".".join(["sys", *reversed(parts)])


def _import(node: ast.ImportFrom) -> list[Edit]:
    """`from sys import argv, stderr as e` -> `argv = ...; from sys import stderr as e`."""
    ours = [name for name in node.names if name.name in _MEMBERS]
    if not ours:
        return []
    parts = [f"{name.asname or name.name} = {_MEMBERS[name.name]}" for name in ours]
    others = [name for name in node.names if name.name not in _MEMBERS]
    if others:
        parts.append("from sys import " + ", ".join(_alias(name) for name in others))
    return [(_place(node), "; ".join(parts))]


def _alias(name: ast.alias) -> str:
    return f"{name.name} as {name.asname}" if name.asname else name.name


def _place(node: ast.expr | ast.stmt) -> tuple[int, int, int]:
    """Line from 1, start and end as offsets of UTF-8 bytes; of nodes on one line."""
    return node.lineno, node.col_offset, node.end_col_offset or node.col_offset


def _width(node: ast.expr) -> int:
    _, start, end = _place(node)
    return end - start


def _calls(tree: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
        for node in ast.walk(tree)
    )
