"""Text for the model names other tools by their call names and itself "this tool" (spec tauritavern §2.1, §4).

Every declared built-in is found by importing its module, so a new family is covered the day it is written.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tt_kernel.tools
from tt_kernel.domain.arguments import ToolArguments
from tt_kernel.domain.calls import ToolCall
from tt_kernel.domain.errors import ToolError
from tt_kernel.domain.ids import ROOT_INVOCATION, CallId
from tt_kernel.runtime.prompt import _GUIDANCE
from tt_kernel.toolkit.declare import Declaration
from tt_kernel.toolkit.naming import plain_name

PACKAGE = Path(tt_kernel.tools.__file__).parent.parent
SPEAKING = sorted(path for folder in ("tools", "toolkit", "runtime") for path in (PACKAGE / folder).rglob("*.py"))
"""Modules whose texts a model may read."""


def declared() -> dict[str, Declaration]:
    modules = (
        importlib.import_module(m.name) for m in pkgutil.walk_packages(tt_kernel.tools.__path__, "tt_kernel.tools.")
    )
    found = (value for module in modules for value in vars(module).values() if isinstance(value, Declaration))
    return {str(declaration.id): declaration for declaration in found}


DECLARED = declared()
NATIVES = {declaration.id.native for declaration in DECLARED.values()} | {native for native, _ in _GUIDANCE}
DOTTED = "|".join(re.escape(native) for native in sorted(NATIVES) if "." in native)
STABLE_ID = re.compile(rf"\bbuiltin:|\bextension/[\w-]+:|\bmcp/[\w-]+:|(?<![\w.])(?:{DOTTED})(?![\w.]*\w)")


def test_the_walk_finds_the_families() -> None:
    assert {"builtin:workspace.read_file", "builtin:workspace.shell", "builtin:dice.roll"} <= set(DECLARED)
    assert STABLE_ID.search("use chat.search first")
    assert STABLE_ID.search("see builtin:x")
    assert not STABLE_ID.search("use chat_search first; see docs/chat.search.md, or re.search")


def schema_texts(schema: Any) -> Iterator[str]:
    """Titles and descriptions anywhere in a schema."""
    if isinstance(schema, dict):
        for name, value in schema.items():
            if name in ("description", "title") and isinstance(value, str):
                yield value
            else:
                yield from schema_texts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from schema_texts(value)


def says_its_own_name(declaration: Declaration, text: str) -> bool:
    """Plain English words are no names, unless they are marked as code."""
    name = plain_name(declaration.id)
    is_a_word = re.fullmatch("[A-Z]?[a-z]+", name) is not None
    return re.search(rf"`{name}`" if is_a_word else rf"(?<!\w){name}(?!\w)", text) is not None


@pytest.mark.parametrize("tool", sorted(DECLARED))
def test_descriptions_and_parameters(tool: str) -> None:
    spec = DECLARED[tool].spec
    texts = [spec.description, *schema_texts(spec.input_schema)]
    assert [text for text in texts if STABLE_ID.search(text)] == []
    assert [text for text in texts if says_its_own_name(DECLARED[tool], text)] == []


@pytest.mark.parametrize("tool", sorted(DECLARED))
def test_what_is_said_of_wrong_arguments(tool: str) -> None:
    declaration = DECLARED[tool]
    name = plain_name(declaration.id)
    properties = declaration.spec.input_schema.get("properties", {})
    wrong: list[ToolArguments] = [
        ToolArguments(raw='{"path": "x'),
        ToolArguments(value={"no_such_parameter": 1}),
        ToolArguments(value={parameter: {"wrong": []} for parameter in properties}),
    ]
    for arguments in wrong:
        call = ToolCall(
            id=CallId("c"),
            tool_id=declaration.id,
            name=name,
            arguments=arguments,
            invocation_id=ROOT_INVOCATION,
            turn=1,
            index=0,
        )
        try:
            declaration.check(call)
        except ToolError as error:
            assert not STABLE_ID.search(error.message), error.message
            assert name in error.message


def ids_in_sentences(source: str) -> list[tuple[int, str]]:
    """Literals with a blank in them are sentences; a lone `chat.search` is an id or a code, and no text. No docstrings."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " in node.value
        and STABLE_ID.search(node.value)
        and not isinstance(parents.get(node), ast.Expr)
    ]


def ids_put_into_errors(source: str) -> list[tuple[int, str]]:
    """`{call.tool_id}` and `{spec.id}` in the texts of `ToolError(...)` and `ToolResult.error(...)`."""
    tree = ast.parse(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    errors = [call for call in calls if ast.unparse(call.func).split(".")[-1] in ("ToolError", "error")]
    put = [value.value for error in errors for value in ast.walk(error) if isinstance(value, ast.FormattedValue)]
    named = [(value.lineno, ast.unparse(value)) for value in put]
    return [(line, name) for line, name in named if name.endswith(("tool_id", "spec.id", "declaration.id"))]


def test_the_reading_of_sources_finds_what_it_should() -> None:
    bad = """
        raise ToolError("tool.x", f"Use {call.tool_id} or workspace.read_file instead of builtin:x")
        ToolResult.error(call, "tool.x", f"{binding.spec.id!r} is unknown")
    """
    good = """
        'Documentation of builtin:x and chat.search.'
        raise ToolError("chat.search", f"Use {call.name}, not {tool.identity}.")
        UsageProblem("x", f"Tool {spec.id!r} is denied.")
    """
    assert [line for line, _ in ids_in_sentences(inspect.cleandoc(bad))] == [1]
    assert [name for _, name in ids_put_into_errors(inspect.cleandoc(bad))] == ["call.tool_id", "binding.spec.id"]
    assert ids_in_sentences(inspect.cleandoc(good)) == []
    assert ids_put_into_errors(inspect.cleandoc(good)) == []


@pytest.mark.parametrize("path", SPEAKING, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_texts_of_results_and_errors(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert ids_in_sentences(source) == []
    assert ids_put_into_errors(source) == []
