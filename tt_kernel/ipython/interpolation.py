"""`@{expression}` in a prompt: the only thing in it that is not passed on byte for byte (DESIGN §8).

- The expression is Python, evaluated in the notebook's namespace. It ends at the first `}` with which it is complete, so it
  may hold braces and strings.
- What it puts in is never looked at again.
- `@@{` is a literal `@{`; `--raw` turns everything off.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from tt_kernel.domain.errors import TTError, UsageProblem
from tt_kernel.ipython.values import Piece, piece_of

EXPRESSION_CHARS = 2_000
"""How far the end of an expression is looked for."""
ECHO_CHARS = 60


@dataclass(frozen=True)
class Interpolated:
    """`images` are encoded bytes in the order of their marks `[image 1]`, `[image 2]` … in the text."""

    text: str
    images: tuple[bytes, ...] = ()


def interpolate(prompt: str, namespace: Mapping[str, Any], base_dir: Path) -> Interpolated:
    """Put values into a prompt.

    Raises:
        UsageProblem: Names the expression that is no Python, fails, or gives what cannot be shown.
    """
    parts: list[str] = []
    images: list[bytes] = []
    for part in _parts(prompt):
        piece = Piece(part) if isinstance(part, str) else part.value(namespace, base_dir)
        if piece.image is None:
            parts.append(piece.text)
        else:
            images.append(piece.image)
            parts.append(f"[image {len(images)}]")
    return Interpolated("".join(parts), tuple(images))


@dataclass(frozen=True)
class _Expression:
    source: str
    code: CodeType

    def value(self, namespace: Mapping[str, Any], base_dir: Path) -> Piece:
        shown = f"@{{{_short(self.source)}}}"
        try:
            return piece_of(eval(self.code, dict(namespace)), base_dir)  # noqa: S307  the user's own cell
        except TTError as error:
            raise UsageProblem(message=f"{shown}: {error.message}") from error
        except Exception as error:
            raise UsageProblem(message=f"{shown} failed: {type(error).__name__}: {error}") from error


def _parts(prompt: str) -> Iterator[str | _Expression]:
    at = 0
    while (found := prompt.find("@{", at)) >= 0:
        if found > at and prompt[found - 1] == "@":
            yield prompt[at : found - 1] + "@{"
            at = found + 2
            continue
        yield prompt[at:found]
        expression = _expression(prompt, found + 2)
        yield expression
        at = found + 2 + len(expression.source) + 1
    yield prompt[at:]


def _expression(prompt: str, start: int) -> _Expression:
    problem = "there is no closing brace"
    end = prompt.find("}", start, start + EXPRESSION_CHARS)
    first = end
    while end >= 0:
        source = prompt[start:end]
        try:
            return _Expression(source, compile(source.strip(), "<@{…}>", "eval"))
        except (SyntaxError, ValueError) as error:
            problem = problem if end != first else getattr(error, "msg", None) or str(error)
        end = prompt.find("}", end + 1, start + EXPRESSION_CHARS)
    shown = prompt[start:first] if first >= 0 else prompt[start : start + ECHO_CHARS].partition("\n")[0]
    raise UsageProblem(
        message=f"@{{{_short(shown)}}} is not a Python expression: {problem}. For the characters themselves write @@{{, or use --raw."
    )


def _short(source: str) -> str:
    return source if len(source) <= ECHO_CHARS else source[: ECHO_CHARS - 1] + "…"
