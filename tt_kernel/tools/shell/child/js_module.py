"""ES modules for an engine that has no module loader: import and export statements become a record, the rest a function.

The body of a module is wrapped in an async generator. Its first step registers getters for the exports, its second step runs
the module, so that modules that import each other see each other's functions before either has run. Imported names are looked
up through `with`, which gives live bindings without renaming anything, and cannot be assigned to. Every token of the body
stays on its line.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from tt_kernel.tools.shell.child.js_calls import dropped_calls
from tt_kernel.tools.shell.child.js_lexer import JsSyntaxError, Token, tokens

DEFAULT = "__default__"
_HEAD = (
    "(function(__scope__,__export__,__meta__,__import__,__watch__){{with(__scope__){{return (async function*(){{"
    '"use strict";__export__({exports});yield;'
)
_TAIL = "\n})}})"


@dataclass
class Module:
    """One module, ready for the linker in `js_prelude.js`.

    Attributes:
        imports: [specifier, imported name (`*` for the namespace), local name].
        reexports: [specifier, imported name (`*` for the namespace), exported name].
        stars: Specifiers of `export * from`.
        requests: All specifiers, in order of appearance.
        code: An expression whose value is the module's function.
    """

    imports: list[tuple[str, str, str]] = field(default_factory=list)
    reexports: list[tuple[str, str, str]] = field(default_factory=list)
    stars: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    code: str = ""

    def record(self) -> dict[str, Any]:
        return {
            "imports": self.imports,
            "reexports": self.reexports,
            "stars": self.stars,
            "requests": list(dict.fromkeys(self.requests)),
            "code": self.code,
        }


def read_module(source: str) -> Module:
    """Take a module apart. Raises JsSyntaxError where an import or export statement is malformed."""
    return _Reader(source).read()


def json_module(text: str) -> Module:
    """A module whose default export is JSON."""
    return Module(
        code=_HEAD.format(exports="{default:()=>__default__}")
        + f"const {DEFAULT}=JSON.parse({json.dumps(text)});"
        + _TAIL
    )


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = tokens(source)
        self.module = Module()
        self.exports: dict[str, str] = {}
        self.edits: list[tuple[int, int, str]] = []
        self.index = 0

    def read(self) -> Module:
        while self.index < len(self.tokens):
            token = self.tokens[self.index]
            if token.kind == "name" and token.text in ("import", "export") and not self._is_member():
                self._statement(token)
            else:
                self.index += 1
        for start, end in dropped_calls(self.tokens):
            self._edit(start, start, "__watch__(")
            self._edit(end, end, ")")
        getters = ",".join(f"{json.dumps(name)}:()=>{local}" for name, local in self.exports.items())
        self.module.code = _HEAD.format(exports="{" + getters + "}") + self._body() + _TAIL
        return self.module

    def _statement(self, token: Token) -> None:
        following = self._peek(1)
        if token.text == "export":
            if token.depth == 0 and following is not None:
                self._export()
            else:
                self.index += 1
        elif following is not None and following.text == "(":
            self._edit(token.start, token.end, "__import__")
            self.index += 1
        elif following is not None and following.text == ".":
            meta = self._peek(2)
            self._edit(token.start, meta.end if meta else following.end, "__meta__")
            self.index += 3
        elif token.depth == 0:
            self._import()
        else:
            self.index += 1

    # import

    def _import(self) -> None:
        start = self._take().start
        bindings: list[tuple[str, str]] = []
        if self._now().kind != "string":
            bindings = self._import_clause()
            self._expect("from")
        specifier = self._specifier()
        self.module.imports += [(specifier, imported, local) for imported, local in bindings]
        self._blank(start)

    def _import_clause(self) -> list[tuple[str, str]]:
        bindings: list[tuple[str, str]] = []
        if self._now().kind == "name":
            bindings.append(("default", self._take().text))
            if self._now().text != ",":
                return bindings
            self._take()
        if self._now().text == "*":
            self._take()
            self._expect("as")
            bindings.append(("*", self._take().text))
            return bindings
        return bindings + self._names()

    def _names(self) -> list[tuple[str, str]]:
        """`{a, b as c, "d" as e}` as pairs of the names before and after `as`."""
        self._expect("{")
        pairs: list[tuple[str, str]] = []
        while self._now().text != "}":
            first = self._name_or_string()
            second = first
            if self._now().text == "as":
                self._take()
                second = self._name_or_string()
            pairs.append((first, second))
            if self._now().text != "}":
                self._expect(",")
        self._take()
        return pairs

    def _specifier(self) -> str:
        """The module named, with import attributes read past: the file's ending says enough."""
        if self._now().kind != "string":
            raise self._error("a module name is expected")
        specifier = self._name_or_string()
        self.module.requests.append(specifier)
        if self._has() and self._now().text in ("with", "assert") and self._peek_text(1) == "{":
            self._take()
            depth = self._take().depth
            while not (self._now().text == "}" and self._now().depth == depth):
                self._take()
            self._take()
        return specifier

    # export

    def _export(self) -> None:
        start = self._take().start
        token = self._now()
        if token.text == "default":
            self._export_default(start)
        elif token.text == "{":
            self._export_names(start)
        elif token.text == "*":
            self._export_all(start)
        elif token.text in ("const", "let", "var"):
            self._edit(start, token.start, "")
            self._take()
            for name in _Bindings(self.tokens, self.index).names():
                self.exports[name] = name
        elif token.text in ("function", "class", "async"):
            self._edit(start, token.start, "")
            declared = self._declared_name(self.index)
            if declared is None:
                raise self._error("an exported declaration needs a name")
            self.exports[declared.text] = declared.text
        else:
            raise self._error(f"unexpected '{token.text}' after export")

    def _export_default(self, start: int) -> None:
        default = self._take()
        token = self._now()
        is_declaration = token.text in ("function", "class") or (
            token.text == "async" and self._peek_text(1) == "function" and not self.tokens[self.index + 1].fresh
        )
        if not is_declaration:
            self._edit(start, default.end, f"const {DEFAULT}=")
            self.exports["default"] = DEFAULT
            return
        self._edit(start, token.start, "")
        name = self._declared_name(self.index)
        self.exports["default"] = name.text if name else DEFAULT
        if name is None:
            at = self._before_name(self.index)
            self._edit(at, at, f" {DEFAULT} ")

    def _export_names(self, start: int) -> None:
        pairs = self._names()
        if self._has() and self._now().text == "from":
            self._take()
            specifier = self._specifier()
            self.module.reexports += [(specifier, imported, exported) for imported, exported in pairs]
        else:
            self.exports.update({exported: local for local, exported in pairs})
        self._blank(start)

    def _export_all(self, start: int) -> None:
        self._take()
        exported = None
        if self._now().text == "as":
            self._take()
            exported = self._name_or_string()
        self._expect("from")
        specifier = self._specifier()
        if exported is None:
            self.module.stars.append(specifier)
        else:
            self.module.reexports.append((specifier, "*", exported))
        self._blank(start)

    def _keywords(self, index: int) -> int:
        """Past `async`, `function`, `class` and the `*` of a generator."""
        while index < len(self.tokens) and self.tokens[index].text in ("async", "function", "class", "*"):
            index += 1
        return index

    def _declared_name(self, index: int) -> Token | None:
        index = self._keywords(index)
        if index >= len(self.tokens):
            return None
        token = self.tokens[index]
        return token if token.kind == "name" and token.text != "extends" else None

    def _before_name(self, index: int) -> int:
        return self.tokens[self._keywords(index) - 1].end

    # tokens

    def _is_member(self) -> bool:
        return self.index > 0 and self.tokens[self.index - 1].text in (".", "?.")

    def _has(self) -> bool:
        return self.index < len(self.tokens)

    def _now(self) -> Token:
        if not self._has():
            raise self._error("unexpected end of an import or export statement")
        return self.tokens[self.index]

    def _take(self) -> Token:
        token = self._now()
        self.index += 1
        return token

    def _peek(self, ahead: int) -> Token | None:
        at = self.index + ahead
        return self.tokens[at] if at < len(self.tokens) else None

    def _peek_text(self, ahead: int) -> str:
        token = self._peek(ahead)
        return token.text if token else ""

    def _expect(self, text: str) -> None:
        if self._now().text != text:
            raise self._error(f"'{text}' is expected, not '{self._now().text}'")
        self._take()

    def _name_or_string(self) -> str:
        token = self._take()
        if token.kind == "name":
            return token.text
        if token.kind == "string" and "\\" not in token.text:
            return token.text[1:-1]
        raise self._error(f"a name is expected, not {token.text}")

    def _error(self, message: str) -> JsSyntaxError:
        at = self.tokens[min(self.index, len(self.tokens) - 1)].start if self.tokens else 0
        return JsSyntaxError(message, self.source.count("\n", 0, at) + 1)

    # text

    def _edit(self, start: int, end: int, text: str) -> None:
        self.edits.append((start, end, text))

    def _blank(self, start: int) -> None:
        """Remove the statement from `start` to the token before this one, and its semicolon; keep its line breaks."""
        if self._has() and self._now().text == ";":
            self._take()
        end = self.tokens[self.index - 1].end
        self._edit(start, end, ";" + "\n" * self.source.count("\n", start, end))

    def _body(self) -> str:
        parts: list[str] = []
        position = 0
        for start, end, text in sorted(self.edits):
            parts += [self.source[position:start], text]
            position = end
        body = "".join([*parts, self.source[position:]])
        return "//" + body if body.startswith("#!") else body


_MARKS_THAT_CONTINUE = "= , . ?. ( [ + - * / % & | ^ < > ? : => ++ -- { } instanceof in of"


class _Bindings:
    """The names that `const`, `let` or `var` declares: patterns, defaults, several at once."""

    _ENDS_OPERAND = frozenset((")", "]", "}"))
    _CONTINUES = frozenset(_MARKS_THAT_CONTINUE.split())

    def __init__(self, found: list[Token], index: int) -> None:
        self.tokens = found
        self.index = index

    def names(self) -> list[str]:
        """Of the declaration whose first binding is at the index."""
        if self.index >= len(self.tokens):
            return []
        depth = self.tokens[self.index].depth
        names = self._target()
        while self._skip_value(depth):
            names += self._target()
        return names

    def _target(self) -> list[str]:
        """A name or a pattern, from the index to past its end."""
        if self.index >= len(self.tokens):
            return []
        token = self.tokens[self.index]
        self.index += 1
        if token.text not in ("{", "["):
            return [token.text]
        closer = "}" if token.text == "{" else "]"
        names: list[str] = []
        while self.index < len(self.tokens):
            here = self.tokens[self.index]
            if here.text == closer and here.depth == token.depth:
                self.index += 1
                break
            names += self._element(token)
        return names

    def _element(self, pattern: Token) -> list[str]:
        """One element of a pattern, with its comma."""
        inner = pattern.depth + 1
        if self.tokens[self.index].text == "...":
            self.index += 1
        elif pattern.text == "{":
            key = self.index
            self._skip_to((":", ",", "=", "}"), inner)
            if self.index < len(self.tokens) and self.tokens[self.index].text == ":":
                self.index += 1
            else:
                self.index = key
        names = [] if self.tokens[self.index].text == "," else self._target()
        self._skip_to((",",), inner)
        if self.index < len(self.tokens) and self.tokens[self.index].text == ",":
            self.index += 1
        return names

    def _skip_to(self, marks: tuple[str, ...], depth: int) -> None:
        """To one of the marks on this level, or to the bracket that ends the level."""
        while self.index < len(self.tokens):
            token = self.tokens[self.index]
            if token.depth < depth or (token.depth == depth and token.kind == "mark" and token.text in marks):
                return
            self.index += 1

    def _skip_value(self, depth: int) -> bool:
        """Past the initial value. True when a comma, and so another binding, follows."""
        before = self.tokens[self.index - 1]
        while self.index < len(self.tokens):
            token = self.tokens[self.index]
            if token.depth == depth:
                if token.text == ",":
                    self.index += 1
                    return True
                if token.text == ";" or (token.fresh and self._ends(before, token)):
                    return False
            before = token
            self.index += 1
        return False

    def _ends(self, before: Token, token: Token) -> bool:
        """Whether the line break between the two ends the statement."""
        operand = before.kind != "mark" or before.text in self._ENDS_OPERAND
        return operand and token.text not in self._CONTINUES and token.kind != "template"
