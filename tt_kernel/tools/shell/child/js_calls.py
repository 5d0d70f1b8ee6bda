"""Calls whose result a module drops, `main()` or `(async () => { ... })()` at its top level.

A promise that such a call returns and that is rejected must not vanish: the engine tells nobody of unhandled rejections. So the
calls are found here and watched (`__watch__` of `js_prelude.js`, which returns what it is given).
"""

from tt_kernel.tools.shell.child.js_lexer import Token

_WORDS_THAT_START_OTHERS = """async await break case catch class const continue debugger default delete do else export finally
for function if import in instanceof let new return super switch throw try typeof var void while with yield"""
_NO_CALL = frozenset(_WORDS_THAT_START_OTHERS.split())
_ENDS_OPERAND = frozenset((")", "]", "}"))
_LINKS = frozenset((".", "?.", "(", ")", "[", "]"))


def dropped_calls(tokens: list[Token]) -> list[tuple[int, int]]:
    """Start and end (offsets in the source) of call expressions that are whole statements of the top level."""
    found: list[tuple[int, int]] = []
    index = 0
    while index < len(tokens):
        if tokens[index].depth == 0 and _starts_statement(tokens, index):
            end = _chain(tokens, index)
            if end is not None:
                found.append((tokens[index].start, tokens[end].end))
                index = end
        index += 1
    return found


def _starts_statement(tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    if token.kind == "name":
        if token.text in _NO_CALL:
            return False
    elif token.text != "(":
        return False
    if index == 0:
        return True
    before = tokens[index - 1]
    if before.text == ";" or (before.text == "}" and before.kind == "mark"):
        return True
    # A line that starts with a bracket goes on with the line before.
    operand = before.kind in ("name", "number", "string", "regex") or before.text in _ENDS_OPERAND
    return token.fresh and operand and token.text != "("


def _chain(tokens: list[Token], index: int) -> int | None:
    """The last token of `name.name(...)...` or `(...)(...)...` when it is a call and the statement ends with it."""
    at = index
    last_was_call = False
    while at < len(tokens):
        token = tokens[at]
        if token.depth == 0 and at > index:
            if _ends(tokens, at):
                break
            linked = token.text in _LINKS if token.kind == "mark" else _is_member(tokens, at)
            if not linked:
                return None
        if token.depth == 0:
            last_was_call = token.text == ")" and token.kind == "mark"
        at += 1
    return at - 1 if last_was_call and _calls(tokens, index, at) else None


def _calls(tokens: list[Token], start: int, end: int) -> bool:
    """Whether there is a call and not just an expression in brackets."""
    groups = sum(1 for token in tokens[start:end] if token.depth == 0 and token.text == "(" and token.kind == "mark")
    return groups > (1 if tokens[start].text == "(" else 0)


def _is_member(tokens: list[Token], at: int) -> bool:
    return tokens[at].kind == "name" and tokens[at - 1].text in (".", "?.")


def _ends(tokens: list[Token], at: int) -> bool:
    """Whether the statement is over before this token."""
    token = tokens[at]
    if token.text in (";", "}") and token.kind == "mark":
        return True
    return token.fresh and token.kind == "name" and token.text not in ("in", "instanceof")
