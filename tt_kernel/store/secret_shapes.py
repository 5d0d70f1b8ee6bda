r"""How a secret is recognised in text: the shapes of well-known keys, and the spellings of a known value.

- A value is found however often it was encoded as a JSON string inside JSON strings: quotes and backslashes may carry any
  number of backslashes, other characters may be `\uXXXX`.
- A masked or cut copy (`sk-abcd****wxyz`) is found by the head or the tail of the value, where these are so improbable
  that they cannot be anything else.
"""

import math
import re

PRECISE = r"""
  (?<![A-Za-z0-9])(?:
    sk-(?!container-id-)(?=[A-Za-z_-]{0,80}[0-9][A-Za-z_-]{0,80}[0-9])[A-Za-z0-9_-]{16,}
  | sk-[A-Za-z0-9_-]{3,80}(?:\*{3,}|\u2022{3,}|\u2026|\.{3})[A-Za-z0-9_-]*
  | gh[pousr]_[A-Za-z0-9]{16,}
  | github_pat_[A-Za-z0-9_]{20,}
  | glpat-[A-Za-z0-9_-]{16,}
  | hf_[A-Za-z0-9]{30,}
  | xox[a-z]-[A-Za-z0-9-]{10,}
  | [rs]k_(?:live|test)_[A-Za-z0-9]{16,}
  | A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])
  | AIza[A-Za-z0-9_-]{30,}
  | eyJ[A-Za-z0-9_-]{8,1000}\.eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]+
  | (?P<bearer>[Bb]earer[ \t]+)(?=[A-Za-z._~+/=-]{0,200}[0-9])[A-Za-z0-9._~+/=-]{8,}
  )
| -----BEGIN[ ](?:[A-Z0-9]+[ ])*PRIVATE[ ]KEY(?:[ ]BLOCK)?-----
  [^"]*?
  (?:-----END[ ](?:[A-Z0-9]+[ ])*PRIVATE[ ]KEY(?:[ ]BLOCK)?-----|(?<!\\)(?=\\*")|\Z)
"""
"""Verbose regular expression of values that look like keys; no part of it reads far for nothing. `sk-container-id-…` is a class name of scikit-learn's HTML."""

HINTS = (
    r"sk-(?:[A-Za-z0-9_-]{16}|[A-Za-z0-9_-]{3,}[*.\u2022\u2026])",
    r"gh[pousr]_",
    r"github_pat_",
    r"glpat-",
    r"hf_[A-Za-z0-9]{30}",
    r"xox[a-z]-",
    r"k_(?:live|test)_",
    r"bearer[ \t]",
)
"""Quick necessary conditions of PRECISE, each beginning with a literal: such a search costs about 0.4 µs a kilobyte."""

CAPITAL_HINTS = (r"A(?:KIA|SIA|Iza)", r"Bearer[ \t]", r"BEGIN ", r"J[A-Za-z0-9_-]{8}", r"\\u00[2-7]")
"""The others begin with a rare character, so that one search for all of them stays quick."""

ASCII_ESCAPE = re.compile(r"\\+u00([2-7][0-9a-fA-F])")
"""A printable ASCII character that some encoder wrote as an escape."""

KEY_CHARS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-*\u2022\u2026."
"""What belongs to a key, and to the masks that people put into one."""

_NAMED_CONTROLS = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f"}
_UNIT = re.compile(r"\\+|[^\\]", re.DOTALL)
_PLAIN_RUN = re.compile(r"[A-Za-z0-9_.\-+=:@!#$%^*()~,;?|{}\[\]]+")
_PUBLIC_PREFIX = re.compile(r"(?:[a-z]{1,10}\d{0,2}[-_])*(?:AKIA|ASIA|AIza)?")
_PIECE = re.compile(r"[A-Za-z0-9_-]+")
_PIECE_BITS = 35.0
_SHORTEST_PIECE = 6
_SHORTEST_PIECED_SECRET = 16
_SHORTEST_NEEDLE = 3


def spelling(secret: str) -> str:
    """A regular expression of the secret in all its JSON encodings."""
    parts = []
    after_backslashes = False
    for unit in _UNIT.findall(secret):
        if unit.startswith("\\"):
            parts.append(rf"(?:\\|\\u005[cC]){{{len(unit)},}}")
            after_backslashes = True
            continue
        parts.append(_character(unit, after_backslashes=after_backslashes))
        after_backslashes = False
    # A search that may start anywhere in a long run of backslashes would be quadratic.
    return (r"(?<!\\)" if secret[0] in "\\\"'/" else "") + "".join(parts)


def _character(char: str, *, after_backslashes: bool) -> str:
    """A run of backslashes before the character has taken those of its escape too."""
    escape = "" if after_backslashes else r"\\+"
    code = f"{ord(char):04x}"
    if char in "\"'/":
        return ("" if after_backslashes else r"\\*") + f"(?:{re.escape(char)}|u{code})"
    if char in _NAMED_CONTROLS:
        return f"(?:{re.escape(char)}|{escape}{_NAMED_CONTROLS[char]}|(?i:{escape}u{code}))"
    if " " <= char <= "~":
        return re.escape(char)
    units = char.encode("utf-16-be", "surrogatepass").hex()
    rest = "".join(rf"\\+u{units[start : start + 4]}" for start in range(4, len(units), 4))
    return f"(?:{re.escape(char)}|(?i:{escape}u{units[:4]}{rest}))"


def pieces(secret: str) -> tuple[str, ...]:
    """The head and the tail of a random-looking key that betray a masked or cut copy of it; () where none would.

    Both carry at least 35 bits and 6 characters beyond the public prefix (`sk-proj-`, `github_pat_`, ...).
    """
    if len(secret) < _SHORTEST_PIECED_SECRET or not _PIECE.fullmatch(secret) or not re.search(r"\d", secret):
        return ()
    prefix = _PUBLIC_PREFIX.match(secret)
    public = prefix.end() if prefix else 0
    length = max(_SHORTEST_PIECE, math.ceil(_PIECE_BITS / math.log2(_alphabet(secret[public:]))))
    if len(secret) < public + 2 * length:
        return ()
    found = (secret[: public + length], secret[-length:])
    return tuple(piece for piece in found if not _is_a_word(piece[-length:]))


def needle(secret: str) -> str | None:
    """The longest part of the secret that no JSON encoder changes; None when it is too short to search for."""
    runs: list[str] = _PLAIN_RUN.findall(secret)
    longest = max(runs, key=len, default="")
    return longest if len(longest) >= _SHORTEST_NEEDLE else None


def capital_end(text: str) -> str | None:
    """The longest end of `text` that begins with a capital letter and is still worth a search; None without one."""
    found = re.search(rf"[A-Z].{{{_SHORTEST_NEEDLE - 1},}}", text, re.DOTALL)
    return found.group() if found else None


def _alphabet(text: str) -> int:
    """How many different characters such a text draws from, at least 2."""
    if re.fullmatch(r"[0-9a-f-]*|[0-9A-F-]*", text):
        return 16
    classes = ((r"[a-z]", 26), (r"[A-Z]", 26), (r"[0-9]", 10))
    return max(2, sum(size for pattern, size in classes if re.search(pattern, text)))


def _is_a_word(text: str) -> bool:
    """Letters of one case, or a capitalised word: not improbable enough."""
    return re.fullmatch(r"[A-Z]?[a-z_-]*|[A-Z_-]*", text) is not None
