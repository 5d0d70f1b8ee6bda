"""JavaScript as tokens: enough to find the import and export statements of a module without being misled.

Not a parser. Strings, templates, comments and regular expressions are told apart, brackets are counted. Whether `/` divides
or starts a regular expression is decided from the token before it, for `)` and `}` from what opened them.
"""

import re
from dataclasses import dataclass


class JsSyntaxError(Exception):
    """`line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Token:
    """`kind`: name, number, string, template, regex or mark. `depth` counts open brackets around it.

    `fresh` tells that a line break is between it and the token before.
    """

    kind: str
    text: str
    start: int
    end: int
    depth: int
    fresh: bool


_BLANK = re.compile(r"(?:\s|\ufeff|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NUMBER = re.compile(
    r"0[xX][\da-fA-F_]+n?|0[bBoO][\d_]+n?|(?:\d[\d_]*(?:\.[\d_]*)?|\.\d[\d_]*)(?:[eE][+-]?\d[\d_]*)?n?"
)
_NAME = re.compile(r"#?(?:[\w$\u200c\u200d]|\\u\{[\da-fA-F]+\}|\\u[\da-fA-F]{4})+")
_STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)", re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_MARK = re.compile(r"=>|\+\+|--|\.\.\.|\?\.|[^\s\w]")

_WORDS_BEFORE_REGEX = "return typeof instanceof in of new delete void throw case do else await yield default extends"
_BEFORE_REGEX = frozenset(_WORDS_BEFORE_REGEX.split())
_HEADS = frozenset(("if", "while", "for", "with"))
_BLOCK_AFTER = frozenset(("else", "do", "try", "finally"))
_CLOSES = {")": "(", "]": "[", "}": "{"}


@dataclass
class _Open:
    mark: str
    start: int
    regex_after: bool


def tokens(source: str) -> list[Token]:
    """All tokens of `source`. Raises JsSyntaxError for text that is no JavaScript on this level."""
    return _Lexer(source).run()


class _Lexer:
    def __init__(self, source: str) -> None:
        self.source = source
        self.found: list[Token] = []
        self.opened: list[_Open] = []
        self.regex_next = True
        self.position = source.find("\n") if source.startswith("#!") else 0
        self.position = len(source) if self.position < 0 else self.position

    def run(self) -> list[Token]:
        fresh = True
        while True:
            blank = _BLANK.match(self.source, self.position)
            if blank:
                self.position = blank.end()
                fresh = fresh or "\n" in blank[0]
            if self.position >= len(self.source):
                break
            self._next(self.source[self.position], fresh)
            fresh = False
        if self.opened:
            left = self.opened[-1]
            raise self._error(f"'{left.mark}' is never closed", left.start)
        return self.found

    def _next(self, first: str, fresh: bool) -> None:
        if first in "'\"":
            self._add("string", _STRING, fresh, "unterminated string")
        elif first == "`":
            self._template(fresh)
        elif first == "}" and self.opened and self.opened[-1].mark == "${":
            self.opened.pop()
            self._template(fresh)
        elif first == "/" and self.regex_next:
            self._add("regex", _REGEX, fresh, "unterminated regular expression")
        elif first.isdigit() or (first == "." and self.source[self.position + 1 : self.position + 2].isdigit()):
            self._add("number", _NUMBER, fresh, "malformed number")
        elif _NAME.match(self.source, self.position):
            self._name(fresh)
        else:
            self._mark(fresh)

    def _add(self, kind: str, pattern: re.Pattern[str], fresh: bool, problem: str, regex_next: bool = False) -> Token:
        found = pattern.match(self.source, self.position)
        if not found:
            raise self._error(problem, self.position)
        token = Token(kind, found[0], found.start(), found.end(), len(self.opened), fresh)
        self.found.append(token)
        self.position = found.end()
        self.regex_next = regex_next
        return token

    def _template(self, fresh: bool) -> None:
        """A piece of a template, from its backtick or from the end of a `${}` to the next `${` or its end."""
        start = self.position
        found = _TEMPLATE.match(self.source, start + 1)
        if not found:
            raise self._error("unterminated template", start)
        self.found.append(
            Token("template", self.source[start : found.end()], start, found.end(), len(self.opened), fresh)
        )
        self.position = found.end()
        self.regex_next = found[0].endswith("${")
        if self.regex_next:
            self.opened.append(_Open("${", start, False))

    def _name(self, fresh: bool) -> None:
        member = bool(self.found) and self.found[-1].text in (".", "?.")
        token = self._add("name", _NAME, fresh, "malformed name")
        self.regex_next = token.text in _BEFORE_REGEX and not member

    def _mark(self, fresh: bool) -> None:
        before = self.found[-1] if self.found else None
        expression = self._expression_expected(before)
        token = self._add("mark", _MARK, fresh, "unexpected character", regex_next=True)
        if token.text in "([{":
            regex_after = token.text == "(" and before is not None and before.text in _HEADS
            if token.text == "{":
                regex_after = not expression
            self.opened.append(_Open(token.text, token.start, regex_after))
        elif token.text in _CLOSES:
            self._close(token)
        else:
            self.regex_next = token.text not in ("++", "--")

    def _close(self, token: Token) -> None:
        if not self.opened or self.opened[-1].mark != _CLOSES[token.text]:
            raise self._error(f"unexpected '{token.text}'", token.start)
        opened = self.opened.pop()
        self.found[-1] = Token("mark", token.text, token.start, token.end, len(self.opened), token.fresh)
        self.regex_next = opened.regex_after

    @staticmethod
    def _expression_expected(before: Token | None) -> bool:
        """Whether a `{` here would be an object, not a block."""
        if before is None or before.kind in ("number", "string", "regex"):
            return False
        if before.kind == "name":
            return before.text in _BEFORE_REGEX and before.text not in _BLOCK_AFTER
        if before.kind == "template":
            return before.text.endswith("${")
        return before.text not in (";", "{", "}", ")", "=>", "]")

    def _error(self, message: str, position: int) -> JsSyntaxError:
        return JsSyntaxError(message, self.source.count("\n", 0, position) + 1)
