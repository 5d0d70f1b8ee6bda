"""What differs between two texts, word by word and line by line; as text, markdown and html. No colour carries meaning alone."""

import difflib
import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Literal, NamedTuple

from tt_kernel.widgets import styles
from tt_kernel.widgets.cards import span
from tt_kernel.widgets.wording import clean

MOST_WORDS = 4_000
"""Two texts with more words than this together are compared by their lines: comparing words would take seconds."""
CONTEXT_WORDS = 12
"""Of what is the same, in a short form, on each side of a change."""

_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class Piece(NamedTuple):
    """A stretch of text: in both, only in the old one, or only in the new one."""

    kind: Literal["same", "old", "new"]
    text: str


def word_diff(old: str, new: str) -> list[Piece]:
    """The old and the new text as pieces, in order. Those that are not `new` joined are the old text, and so on."""
    split = _WORDS.findall
    one, other = split(old), split(new)
    if len(one) + len(other) > MOST_WORDS:
        one, other = _LINES.findall(old), _LINES.findall(new)
    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return list(_pieces(matcher, one, other))


def _pieces(matcher: "difflib.SequenceMatcher[str]", one: Sequence[str], other: Sequence[str]) -> Iterator[Piece]:
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag == "equal":
            yield Piece("same", "".join(one[i:j]))
            continue
        if i < j:
            yield Piece("old", "".join(one[i:j]))
        if k < m:
            yield Piece("new", "".join(other[k:m]))


def shortened(pieces: Sequence[Piece]) -> list[Piece]:
    """Without what is far from any change."""
    last = len(pieces) - 1
    return [
        piece._replace(text=_middle_cut(piece.text, first=n == 0, last=n == last)) if piece.kind == "same" else piece
        for n, piece in enumerate(pieces)
    ]


def _middle_cut(text: str, *, first: bool, last: bool) -> str:
    words = _WORDS.findall(text)
    if len(words) <= 2 * CONTEXT_WORDS:
        return text
    head = "" if first else "".join(words[:CONTEXT_WORDS])
    tail = "" if last else "".join(words[-CONTEXT_WORDS:])
    return f"{head} … {tail}"


def pieces_text(pieces: Sequence[Piece]) -> str:
    """`[-old-]{+new+}`, as `git diff --word-diff` writes it."""
    signs = {"same": ("", ""), "old": ("[-", "-]"), "new": ("{+", "+}")}
    return "".join(f"{signs[kind][0]}{clean(text)}{signs[kind][1]}" for kind, text in pieces)


def pieces_html(pieces: Sequence[Piece]) -> str:
    """Struck through and underlined, as `del` and `ins`, which screen readers announce."""
    return f'<div style="{styles.PRE}">{"".join(map(_piece_html, pieces))}</div>'


def _piece_html(piece: Piece) -> str:
    text = escape(clean(piece.text))
    if piece.kind == "old":
        return f'<del style="{styles.GONE}">{text}</del>'
    return f'<ins style="{styles.ADDED}">{text}</ins>' if piece.kind == "new" else text


def unified(old: str, new: str, names: tuple[str, str] = ("before", "after")) -> str:
    """A unified diff of lines; empty where the texts are equal."""
    one, other = old.splitlines(), new.splitlines()
    lines = list(difflib.unified_diff(one, other, *names, lineterm=""))
    if not lines and old != new:
        return f"--- {names[0]}\n+++ {names[1]}\n (only white space at the end of lines differs)"
    return "\n".join(lines)


def unified_html(diff: str) -> str:
    """A unified diff with its lines marked."""
    marks = {"-": styles.GONE_LINE, "+": styles.ADDED}
    lines = [
        span(marks.get(line[:1], ""), escape(clean(line))) if line[:1] in marks else escape(clean(line))
        for line in diff.splitlines()
    ]
    return f'<pre style="{styles.PRE}">{chr(10).join(lines)}</pre>'
