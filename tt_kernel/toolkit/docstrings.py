"""A function's docstring as text for the model: the description, and what it says of each parameter.

Understands the Google, numpy and sphinx (reST field) styles. Sections that are not about parameters (Returns, Raises,
Examples ...) are for people who read the code and are left out.
"""

import inspect
import re
from dataclasses import dataclass, field

_PARAMETER_SECTIONS = frozenset(
    {"args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters"}
)
_SECTIONS = _PARAMETER_SECTIONS | {
    "returns", "return", "yields", "yield", "raises", "raise", "warns", "receives", "attributes", "methods", "example", "examples",
    "note", "notes", "warning", "warnings", "references", "see also", "todo",
}  # fmt: skip
_GOOGLE_HEADER = re.compile(r"^([A-Za-z ]+):\s*$")
_GOOGLE_ITEM = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY_ITEM = re.compile(r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX_PARAM = re.compile(r"^:(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)$")
_SPHINX_FIELD = re.compile(r"^:\w+[^:]*:")


@dataclass(frozen=True)
class Docs:
    """`description` is everything before the first section; `parameters` maps a name to its text, on one line."""

    description: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def parse_docstring(text: str | None) -> Docs:
    """Split a docstring (of any of the three styles, or none) into Docs."""
    if not text:
        return Docs()
    lines = inspect.cleandoc(text).splitlines()
    description: list[str] = []
    parameters: dict[str, str] = {}
    at = 0
    while at < len(lines):
        header = _header(lines, at)
        if header is None and not _SPHINX_FIELD.match(lines[at]):
            description.append(lines[at])
            at += 1
            continue
        if header is None:
            block, at = _field_block(lines, at)
            parameters.update(_sphinx_items(block))
            continue
        name, numpy, start = header
        block, at = _section_block(lines, start, numpy=numpy)
        if name in _PARAMETER_SECTIONS:
            parameters.update(_numpy_items(block) if numpy else _google_items(block))
    return Docs(_paragraphs(description), parameters)


def _header(lines: list[str], at: int) -> tuple[str, bool, int] | None:
    """(section name, is numpy style, first line of the body) when a section starts at line `at`."""
    line = lines[at]
    if at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1].strip()) and line.strip().lower() in _SECTIONS:
        return line.strip().lower(), True, at + 2
    found = _GOOGLE_HEADER.match(line)
    if found and found[1].strip().lower() in _SECTIONS:
        return found[1].strip().lower(), False, at + 1
    return None


def _section_block(lines: list[str], start: int, *, numpy: bool) -> tuple[list[str], int]:
    """The lines of a section and where it ends: google at the first line that is not indented, numpy at the next header."""
    end = start
    while end < len(lines):
        line = lines[end]
        if _header(lines, end) is not None or (not numpy and line.strip() and not line.startswith((" ", "\t"))):
            break
        end += 1
    return lines[start:end], end


def _field_block(lines: list[str], start: int) -> tuple[list[str], int]:
    """A reST field with its continuation lines."""
    end = start + 1
    while end < len(lines) and (lines[end].startswith((" ", "\t")) and lines[end].strip()):
        end += 1
    return lines[start:end], end


def _google_items(block: list[str]) -> dict[str, str]:
    return _items(inspect.cleandoc("\n".join(["", *block])).splitlines(), _GOOGLE_ITEM)


def _numpy_items(block: list[str]) -> dict[str, str]:
    return _items(block, _NUMPY_ITEM)


def _sphinx_items(block: list[str]) -> dict[str, str]:
    return _items(block, _SPHINX_PARAM)


def _items(lines: list[str], pattern: re.Pattern[str]) -> dict[str, str]:
    """Items start at lines without indentation that match; what follows belongs to them."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        match = None if line.startswith((" ", "\t")) else pattern.match(line)
        if match:
            current = [match[2]] if pattern.groups > 1 else []
            found.update(dict.fromkeys((name.strip().lstrip("*") for name in match[1].split(",")), current))
        else:
            current.append(line)
    return {name: " ".join(" ".join(texts).split()) for name, texts in found.items()}


def _paragraphs(lines: list[str]) -> str:
    """Join lines within a paragraph; keep paragraphs, lists and indented blocks as they were."""
    out: list[str] = []
    for line in lines:
        joins = (
            out
            and out[-1]
            and line
            and not re.match(r"\s|[-*+>|`#]|\d+[.)]\s", line)
            and not re.match(r"\s|[>|`#]", out[-1])
        )
        if joins:
            out[-1] = f"{out[-1]} {line}"
        else:
            out.append(line.rstrip())
    return "\n".join(out).strip()
