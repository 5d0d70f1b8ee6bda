"""How `%%agent` becomes a cell that awaits (notes/frontend.md §3).

A cell magic of IPython is synchronous, and a synchronous cell blocks the kernel's event loop: no button of a widget would be
answered while the agent works. So the text of the cell is rewritten, before IPython looks at it, to a top-level `await`.
That also keeps the prompt as it is: IPython's own steps would dedent it, strip `>>>` from it and take `x?` for a question.

Where nothing can be awaited (inside `%%time`, a loop's `run_cell_magic`, with `%autoawait off`) the synchronous magic is
called instead, with the same text.
"""

import re
import tokenize
from collections.abc import Sequence
from typing import Any

from IPython.core.inputtransformer2 import TokenTransformBase, assemble_continued_line, find_end_of_continued_line
from IPython.core.interactiveshell import InteractiveShell, _asyncio_runner  # type: ignore[attr-defined]

from tt_kernel.ipython.frames import called_from

_CELL = re.compile(r"%%agent(?=\s|$)")
_LINE = re.compile(r"%agent(?=\s|$)")
_HELP = re.compile(r"%{1,2}agent\?{1,2}\s*$")
_NBVAL = re.compile(r"\s*#\s*(?:NBVAL_\w+|PYTEST_VALIDATE_\w+)\s*$")
"""Comment lines that nbval reads anywhere in a cell; they are no part of a prompt."""

MODULE = "tt_kernel.ipython.magics"


class AgentTransform:
    """One of `input_transformers_cleanup`, and the first: the others change the text."""

    has_side_effects = True
    """Left out when a console asks whether a cell is complete: rewritten, every first line would be."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def __call__(self, lines: Sequence[str]) -> list[str]:
        start = _first_code_line(lines)
        if start is None:
            return list(lines)
        first = lines[start].lstrip()
        indent = len(lines[start]) - len(first)
        if _CELL.match(first):
            return [self._call("cell", first[len("%%agent") :].strip(), _body(lines[start + 1 :], indent))]
        if _is_prompt(first) and not "".join(lines[start + 1 :]).strip():
            return [self._call("line", first[len("%agent") :].strip())]
        return list(lines)

    def _call(self, form: str, *texts: str) -> str:
        arguments = ", ".join(map(repr, texts))
        if self._can_await():
            return f"await __import__({MODULE!r}, fromlist=['x']).await_{form}({arguments})\n"
        return f"__import__({MODULE!r}, fromlist=['x']).run_{form}({arguments})\n"

    def _can_await(self) -> bool:
        """Whether this text is a cell of its own, and IPython awaits cells on asyncio."""
        awaits = self._shell.autoawait and self._shell.loop_runner is _asyncio_runner
        # While a cell is being executed, this is the text of one of its magics.
        return bool(awaits) and not called_from(InteractiveShell.run_code.__code__)


def _first_code_line(lines: Sequence[str]) -> int | None:
    """The first line that is neither blank nor a comment."""
    return next((n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)


def _body(lines: Sequence[str], indent: int) -> str:
    """The prompt: every byte below the first line, without the last line's end, and nbval's comments.

    A cell that is indented as a whole is moved to the margin, as IPython does.
    """
    if indent:
        lines = [line[min(indent, len(line) - len(line.lstrip(" \t"))) :] for line in lines]
    body = "".join(line for line in lines if not _NBVAL.match(line.rstrip("\r\n")))
    return body.removesuffix("\n")


def strip_nbval(body: str) -> str:
    """The same for a body that did not come through the transformer."""
    return _body(body.splitlines(keepends=True), 0)


class AgentLine(TokenTransformBase):
    """`%agent` on a line of a longer cell, before IPython takes a question mark at its end for a request of help."""

    priority = 4
    """HelpEnd has 5."""

    @classmethod
    def find(cls, tokens_by_line: Sequence[Sequence[tokenize.TokenInfo]]) -> "AgentLine | None":
        for line in tokens_by_line:
            code = [token for token in line if token.type not in (tokenize.INDENT, tokenize.DEDENT)]
            if code and code[0].string == "%" and _is_prompt(code[0].line[code[0].start[1] :]):
                return cls(code[0].start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        end = find_end_of_continued_line(lines, self.start_line)
        text = assemble_continued_line(lines, (self.start_line, self.start_col), end)
        call = f"get_ipython().run_line_magic('agent', {text[len('%agent') :].strip()!r})\n"
        return [*lines[: self.start_line], lines[self.start_line][: self.start_col] + call, *lines[end + 1 :]]


def _is_prompt(text: str) -> bool:
    return _LINE.match(text) is not None and not _HELP.match(text)
