"""`tt export`: a notebook as a script whose agent cells are calls of the Python API, and so replay (issue 6.9).

The script belongs beside the notebook: it uses the notebook's agent folder. What only IPython can do (other magics, shell
lines, top-level await) and turns of sessions stay as comments. A run that read the cells above it reads what the recorded one read. A cell
that may raise (its tag says so) may in the script too.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

from tt_kernel.domain.errors import NotFound, UsageProblem
from tt_kernel.domain.views import RUN_MIME
from tt_kernel.ipython.arguments import LAST, Options, parse_cell, parse_line
from tt_kernel.ipython.command_words import plain_words
from tt_kernel.ipython.subcommands import find_command
from tt_kernel.ipython.sweeping import varied_values
from tt_kernel.ipython.transform import strip_nbval
from tt_kernel.store.layout import AgentFolder
from tt_kernel.store.runs import RunIndex

_CELL = re.compile(r"%%agent(?=\s|$)")
_LINE = re.compile(r"%agent(?=\s|$)")
_HEAD = '''"""{name} as a script, by tt export. It belongs beside the notebook."""

from pathlib import Path

import tt_kernel

session = tt_kernel.Session(Path(__file__).with_name({name!r}), namespace=globals())
'''
_FILLED = '''

def filled(prompt):
    """The text and the images of a prompt with @{...} in it."""
    from tt_kernel.ipython.interpolation import interpolate

    found = interpolate(prompt, globals(), session.base_dir)
    return {"prompt": found.text, "images": found.images}
'''


def script_of(notebook: Path) -> str:
    """The script's text; it compiles.

    Raises:
        NotFound: No such notebook.
        UsageProblem: It is none, or an agent cell in it makes no sense (names the cell).
    """
    if not notebook.is_file():
        raise NotFound("notebook.not_found", f"There is no notebook {str(notebook)!r}.")
    nbformat: Any = import_module("nbformat")
    try:
        cells = nbformat.read(notebook, as_version=4).cells
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, UnicodeDecodeError) as error:
        raise UsageProblem("notebook.unreadable", f"{str(notebook)!r} is not a notebook: {error}") from None
    lookers = _lookers(AgentFolder.for_notebook(notebook))
    parts = [text for number, cell in enumerate(cells, start=1) if (text := _part(number, cell, lookers))]
    filled = _FILLED if any("**filled(" in part for part in parts) else ""
    return _HEAD.format(name=notebook.name) + filled + "\n" + "\n\n".join(parts) + "\n"


def _lookers(folder: AgentFolder) -> AbstractSet[str]:
    """Ids of the runs that looked at the cells above them."""
    return {str(record.id) for record in RunIndex(folder).list() if record.chat_digest is not None}


def _part(number: int, cell: Any, lookers: AbstractSet[str]) -> str:
    text = _cell(number, cell)
    if cell.cell_type != "code" or not text:
        return text
    shown = {str(output.data[RUN_MIME].get("id", "")) for output in cell.outputs if RUN_MIME in output.get("data", {})}
    if "session=session" not in text:
        return text
    if seen := sorted(shown & lookers):
        text = f"session.see_as({seen[0]!r})\n{text}"
    if "raises-exception" in cell.metadata.get("tags", []) and _is_plain(text):
        return f"try:\n{indent(text, '    ')}\nexcept Exception as error:\n    print(error)"
    return text


def _is_plain(text: str) -> bool:
    """Whether indenting changes nothing but the indentation: no string goes over several lines."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return False
    return not any(
        isinstance(node, ast.Constant | ast.JoinedStr) and node.lineno != node.end_lineno for node in ast.walk(tree)
    )


def _cell(number: int, cell: Any) -> str:
    source = cell.source.strip("\n")
    if not source.strip():
        return ""
    if cell.cell_type != "code":
        return _comment(source)
    first, _, body = source.partition("\n")
    try:
        if _CELL.match(first):
            return _run(parse_cell(first[len("%%agent") :].strip()), strip_nbval(body))
        return "\n".join(_lines(source))
    except UsageProblem as problem:
        raise UsageProblem(problem.code, f"Cell {number}: {problem.message}") from problem


def _lines(source: str) -> Iterator[str]:
    """Python as it is; lines of magics as calls or comments; the whole cell as a comment where that does not compile."""
    if source.lstrip().startswith("%%"):
        yield _comment(source)
        return
    lines = [_line(line) for line in source.split("\n")]
    if _compiles("\n".join(lines)):
        yield from lines
    else:
        yield _comment(source)


def _compiles(text: str) -> bool:
    """As a part of a script: an `await` outside of a function does not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "cell", "exec")
        except (SyntaxError, ValueError):
            return False
    return True


def _line(line: str) -> str:
    text = line.lstrip()
    indent = line[: len(line) - len(text)]
    if _LINE.match(text):
        rest = text[len("%agent") :].strip()
        if not plain_words([rest]) or find_command(rest) is not None:
            return f"{indent}pass  # {text}" if indent else f"# {text}"
        options = parse_line(rest)
        return "\n".join(indent + made for made in _run(options, options.text or "").split("\n"))
    if text.startswith(("%", "!")):
        return f"{indent}pass  # {text}" if indent else f"# {text}"
    return line


def _run(options: Options, prompt: str) -> str:
    if options.session is not None:
        return _comment(f"A turn of the session {options.session}, which a script has no call for:\n{prompt}")
    call = _sweep(options, prompt) if options.is_sweep else _single(options, prompt)
    name = f"{options.output} = " if options.output else ""
    shown = "" if options.quiet else ("\nprint(_)" if options.is_sweep else "\nprint(_.text)")
    return f"{name}_ = {call}{shown}"


def _single(options: Options, prompt: str) -> str:
    arguments = [] if options.continue_from is None else [_continued(options.continue_from)]
    if "@{" in prompt and not options.raw:
        return f"tt_kernel.run({', '.join([f'**filled({prompt!r})', *_common(options), *arguments])})"
    return f"tt_kernel.run({', '.join([repr(prompt), *_common(options), *arguments])})"


def _continued(run: str) -> str:
    return "continue_from=_" if run == LAST else f"continue_from={run!r}"


def _sweep(options: Options, prompt: str) -> str:
    vary = ", ".join(f"{name!r}: {varied_values(value)!r}" for name, value in options.vary.items())
    arguments = [f"vary={{{vary}}}"] if vary else []
    arguments += [f"repeat={options.repeat}"] if options.repeat != 1 else []
    arguments += [f"checks={dict(zip(options.checks, options.checks, strict=True))!r}"] if options.checks else []
    arguments += [f"concurrency={options.concurrency}"] if options.concurrency is not None else []
    arguments += [f"budget_usd={options.budget_usd!r}"] if options.budget_usd is not None else []
    return f"tt_kernel.sweep({', '.join([repr(prompt), *_common(options), *arguments])})"


def _common(options: Options) -> list[str]:
    given = {
        "profile": options.profile,
        "model": options.model,
        "tools": options.tools or None,
        "mode": options.mode,
        "settings": dict(options.settings) or None,
    }
    return [f"{name}={value!r}" for name, value in given.items() if value is not None] + ["session=session"]


def _comment(text: str) -> str:
    return "\n".join(f"# {line}".rstrip() for line in text.split("\n"))
