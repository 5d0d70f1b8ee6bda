"""The cells of a notebook as text: what a person wrote, what came out, and which part of it is an agent's answer (DESIGN §5.2).

Two readings of the same notebook (from the kernel's history, from the saved file) must give the same text, so what is volatile or
depends on the way a cell was run is left out: the error stream, colours, addresses of objects, the order in which kinds of output
came. Kept light: it is loaded with the extension.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tt_kernel.domain.canonical import Json, JsonObject

CellKind = Literal["code", "markdown"]

MAX_SOURCE = 200_000
MAX_OUTPUT = 20_000
"""Characters of a cell's output; the rest is named, not kept."""
OUTPUT_HEAD = "[output]"

_OURS = "application/vnd.tt-kernel"
_PROMPT = re.compile(r"%%agent(?=\s|$)")
_NBVAL = re.compile(r"\s*#\s*(?:NBVAL_\w+|PYTEST_VALIDATE_\w+)\s*$")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]")
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{4,}")
_HOLLOW = re.compile(r"<(?:IPython\.core\.display\.\w+ object|Figure size [^>]*)>")
"""What stands for a picture or a page where text is shown."""


@dataclass(frozen=True)
class Answer:
    """An agent's answer in a cell's output."""

    profile: str
    text: str


@dataclass(frozen=True)
class CellOutputs:
    """A cell's outputs as text, by kind: printed, displayed, the value of its last line, the error that ended it; and answers."""

    printed: str = ""
    shown: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()

    @property
    def text(self) -> str:
        parts = [tidy(part) for part in (self.printed, *self.shown, *self.values, *self.errors)]
        text = "\n".join(part for part in parts if part)
        left_out = len(text) - MAX_OUTPUT
        return text if left_out <= 0 else f"{text[:MAX_OUTPUT]}\n[output cut: {left_out} more characters]"


@dataclass(frozen=True)
class Cell:
    """One cell. `id` is the notebook format's; empty where cells have none."""

    kind: CellKind
    source: str
    outputs: CellOutputs = CellOutputs()
    id: str = ""


def read_cell(cell: JsonObject) -> Cell | None:
    """A cell of a notebook file (format 4); None for raw cells and what is no cell."""
    kind = cell.get("cell_type")
    if kind not in ("code", "markdown"):
        return None
    outputs = read_outputs(cell.get("outputs") or ()) if kind == "code" else CellOutputs()
    return Cell(kind, _text(cell.get("source")), outputs, str(cell.get("id") or ""))


def read_outputs(outputs: Iterable[JsonObject]) -> CellOutputs:
    """The outputs of a cell of a notebook file, or messages of a kernel in that shape."""
    printed, shown, values, errors, answers = [], list[str](), list[str](), list[str](), list[Answer]()
    for output in outputs:
        kind = output.get("output_type")
        if kind == "stream" and output.get("name") == "stdout":
            printed.append(_text(output.get("text")))
        elif kind == "error":
            errors.append(f"{output.get('ename')}: {output.get('evalue')}")
        elif kind in ("display_data", "execute_result"):
            answer = read_answer(output.get("data") or {})
            if answer is None:
                (shown if kind == "display_data" else values).append(plain_text(output.get("data") or {}))
            else:
                answers.append(answer)
    return CellOutputs("".join(printed), tuple(shown), tuple(values), tuple(errors), tuple(answers))


def read_answer(data: JsonObject) -> Answer | None:
    """The answer of a run's output bundle; None for other bundles."""
    if not any(kind.startswith(_OURS) for kind in data):
        return None
    from tt_kernel.domain.views import RUN_MIME  # noqa: PLC0415  40 ms that loading the extension must not take

    view = data.get(RUN_MIME)
    if not isinstance(view, dict):
        return None
    return Answer(str(view.get("profile") or ""), str(view.get("text") or ""))


def plain_text(data: JsonObject) -> str:
    """What a bundle says in text."""
    text = _text(data.get("text/plain"))
    return text if text and not _HOLLOW.fullmatch(text.strip()) else _text(data.get("text/markdown"))


def prompt_of(source: str) -> str | None:
    """The prompt of an `%%agent` cell; None for any other cell."""
    lines = source.splitlines(keepends=True)
    first = next((n for n, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    if first is None or not _PROMPT.match(lines[first].lstrip()):
        return None
    return "".join(line for line in lines[first + 1 :] if not _NBVAL.match(line.rstrip("\r\n"))).strip("\r\n")


def written(cell: Cell) -> str:
    """What a person wrote in a cell, as its message says it."""
    prompt = prompt_of(cell.source) if cell.kind == "code" else None
    text = (cell.source if prompt is None else prompt).strip("\r\n")
    return text if len(text) <= MAX_SOURCE else text[:MAX_SOURCE]


def tidy(text: str) -> str:
    """Output as a person reads it: without colours, with overwritten progress gone, and without addresses."""
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _ADDRESS.sub("at 0x...", text).strip("\n")


def _text(value: Json) -> str:
    """Text as the notebook format stores it: one string, or its lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""
