"""JavaScript modules taken apart: tokens, import and export statements, dropped calls."""

import pytest
import quickjs
from hypothesis import given
from hypothesis import strategies as st

from tt_kernel.tools.shell.child.js_calls import dropped_calls
from tt_kernel.tools.shell.child.js_lexer import JsSyntaxError, tokens
from tt_kernel.tools.shell.child.js_module import json_module, read_module


def kinds(source: str) -> list[tuple[str, str]]:
    return [(token.kind, token.text) for token in tokens(source)]


@pytest.mark.parametrize(
    ("source", "regexes"),
    [
        ("a = b / c / d", []),
        ("a = /x/g.test(b)", ["/x/g"]),
        ("return /x/", ["/x/"]),
        ("x = a[0] / 2 / 1", []),
        ("f(a) / 2 / 1", []),
        ("if (a) /x/.test(b)", ["/x/"]),
        ("while (a) /x/.test(b)", ["/x/"]),
        ("{} /x/.test(b)", ["/x/"]),
        ("x = {} / 2 / 1", []),
        ("a++ / 2 / 1", []),
        ("x = /[/]/", ["/[/]/"]),
        ("x = /\\//", ["/\\//"]),
        ("x = a ? /b/ : /c/", ["/b/", "/c/"]),
        ("() => /x/", ["/x/"]),
        ("`${a / b / c}` / 2 / 1", []),
        ("`${/x}/.test(y)}`", ["/x}/"]),
        ("a.return / 2 / 1", []),
        ("typeof /x/", ["/x/"]),
        ("x = 1 / 2 // /no/\n", []),
        ("x /* /no/ */ = /y/u", ["/y/u"]),
    ],
)
def test_division_and_regular_expressions(source, regexes):
    assert [text for kind, text in kinds(source) if kind == "regex"] == regexes


def test_templates_nest():
    source = "`a${ `b${c}` + {d: `}`}.d }e` + 1"
    assert [text for _, text in kinds(source)] == [
        "`a${",
        "`b${",
        "c",
        "}`",
        "+",
        "{",
        "d",
        ":",
        "`}`",
        "}",
        ".",
        "d",
        "}e`",
        "+",
        "1",
    ]


def test_depth_and_line_breaks():
    found = {token.text: token for token in tokens("a(b[c])\nd")}
    assert {name: found[name].depth for name in "a(b[cd"} == {"a": 0, "(": 0, "b": 1, "[": 1, "c": 2, "d": 0}
    assert found["d"].fresh
    assert not found["b"].fresh


@pytest.mark.parametrize("source", ["'abc", '"abc\n"', "`abc", "`${", "(", "[1, 2", "{", ")", "]", "}", "(]", "a = /x"])
def test_what_is_no_javascript(source):
    with pytest.raises(JsSyntaxError) as caught:
        tokens(source)
    assert caught.value.line >= 1


@given(st.text(alphabet=st.sampled_from("ab1 \n'\"`/\\${}[]().,;=+-*x#"), max_size=40))
def test_tokens_cover_the_text_or_it_is_refused(source):
    try:
        found = tokens(source)
    except JsSyntaxError:
        return
    position = 0
    for token in found:
        assert token.start >= position
        assert source[token.start : token.end] == token.text
        position = token.end


@pytest.mark.parametrize(
    ("source", "imports", "requests"),
    [
        ("import './a.js'", [], ["./a.js"]),
        ("import d from './a.js'", [("./a.js", "default", "d")], ["./a.js"]),
        ('import * as ns from "./a.js";', [("./a.js", "*", "ns")], ["./a.js"]),
        (
            "import { a, b as c, default as d, 'x y' as e, } from './a.js'",
            [("./a.js", "a", "a"), ("./a.js", "b", "c"), ("./a.js", "default", "d"), ("./a.js", "x y", "e")],
            ["./a.js"],
        ),
        ("import d, { a } from './a.js'", [("./a.js", "default", "d"), ("./a.js", "a", "a")], ["./a.js"]),
        ("import d, * as ns from './a.js'", [("./a.js", "default", "d"), ("./a.js", "*", "ns")], ["./a.js"]),
        ("import j from './a.json' with { type: 'json' }\nx", [("./a.json", "default", "j")], ["./a.json"]),
        ("import j from './a.json' assert { type: 'json' }", [("./a.json", "default", "j")], ["./a.json"]),
        ("import\n{\na\n}\nfrom\n'./a.js'", [("./a.js", "a", "a")], ["./a.js"]),
        ("// import a from 'no'\n/* import b from 'no' */ const s = \"import c from 'no'\"", [], []),
        ("const t = `import d from 'no' ${import.meta.url}`", [], []),
        ("const o = { import: 1, export: 2 }; o.import; o.export", [], []),
        ("import { from } from './a.js'", [("./a.js", "from", "from")], ["./a.js"]),
        ("import { as as as } from './a.js'", [("./a.js", "as", "as")], ["./a.js"]),
    ],
)
def test_imports(source, imports, requests):
    module = read_module(source)
    assert (module.imports, module.requests) == (imports, requests)
    assert module.code.count("\n") == source.count("\n") + 1, "every token stays on its line"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("export const a = 1", "a"),
        ("export let a = 1, b, c = f(1, 2), d", "a b c d"),
        ("export const { a, b: c, d = 5, e: [f, ...g], ...h } = o", "a c d f g h"),
        ("export const [a, , [b = { x: 1 }], ...c] = o, d = 1", "a b c d"),
        ("export const a = 1\nfoo, bar", "a"),
        ("export const a = x ? y : z,\n  b = (1, 2)\n  , c = 3", "a b c"),
        ("export const f = (x, y) => {\n return x, y }\nlet z = 1, w = 2", "f"),
        ("export const t = `${1, 2}`, u = /,/", "t u"),
        ("export function f() {}", "f"),
        ("export async function f() {}", "f"),
        ("export function* g() {}", "g"),
        ("export class A extends B {}", "A"),
        ("const a = 1; export { a, a as b, a as default, a as 'x y' }", "a b default x y"),
        ("export default 5", "default"),
        ("export default function () {}", "default"),
        ("export default function named() {}", "default"),
        ("export default class {}", "default"),
        ("export default class extends B {}", "default"),
        ("export default async () => {}", "default"),
        ("export default async function () {}", "default"),
        ("export default function* () {}", "default"),
        ("export default [1, 2]", "default"),
        ("export {}", ""),
    ],
)
def test_exports(source, names):
    module = read_module(source)
    getters = module.code[module.code.index("__export__({") + len("__export__({") : module.code.index("});yield;")]
    found = [part.partition(":()=>")[0].strip('"') for part in getters.split(",") if part]
    assert found == [name for name in names.replace("x y", "x~y").split() for name in [name.replace("~", " ")]]
    quickjs.Context().eval("class B {}; let o = {e: []}; let f = () => 1, x, y, z;")
    quickjs.Context().eval(module.code)  # it is a function, and parses


def test_re_exports():
    module = read_module(
        "export * from './a.js'; export * as ns from './b.js'; export { x, y as z, default } from './c.js'"
    )
    assert module.stars == ["./a.js"]
    assert module.reexports == [
        ("./b.js", "*", "ns"),
        ("./c.js", "x", "x"),
        ("./c.js", "y", "z"),
        ("./c.js", "default", "default"),
    ]
    assert module.requests == ["./a.js", "./b.js", "./c.js"]


def test_dynamic_import_and_meta():
    code = read_module(
        "import.meta.url; import('./a.js').then(() => import(`./${x}`)); o.import(1); f(import('./b.js'))"
    ).code
    assert code.count("__import__(") == 3
    assert "__meta__.url" in code
    assert "o.import(1)" in code


@pytest.mark.parametrize(
    "source",
    [
        "import { a",
        "import { a } './a.js'",
        "import a from b",
        "export",
        "export 5",
        "export const",
        "export { a as }",
        "import a, from 'x'",
        "export * as from './a.js'",
    ],
)
def test_malformed_statements(source):
    if source in ("export", "export const"):
        read_module(source)  # the engine refuses these
        return
    with pytest.raises(JsSyntaxError):
        read_module(source)


def test_a_hashbang_stays_a_comment():
    assert "//#!/usr/bin/env node\n" in read_module("#!/usr/bin/env node\nexport const a = 1").code


def test_json_module():
    code = json_module('{"a": "\u2028</script>"}').code
    assert quickjs.Context().eval(code) is not None


@pytest.mark.parametrize(
    ("source", "watched"),
    [
        ("main()", ["main()"]),
        ("main();", ["main();"[:-1]]),
        ("a.b.c(1)(2).d()", ["a.b.c(1)(2).d()"]),
        ("(async () => { await x() })()", ["(async () => { await x() })()"]),
        ("(async () => {})();\nmain()", ["(async () => {})()", "main()"]),
        ("async function f() {}\nf()", ["f()"]),
        ("if (x)\n  foo()\nelse\n  bar()", ["foo()", "bar()"]),
        ("foo().then(x => x)", ["foo().then(x => x)"]),
        ("foo?.(1)", ["foo?.(1)"]),
        ("main() || other()", []),
        ("x = main()", []),
        ("const p = main()", []),
        ("await main()", []),
        ("void main()", []),
        ("(a)", []),
        ("(a, b)", []),
        ("foo", []),
        ("foo\n.bar()", ["foo\n.bar()"]),
        ("while (x)\nfoo()", ["foo()"]),
        ("for (const a of b) c(a)", []),
        ("switch (x) { case 1: foo() }", []),
        ("function f() { g() }", []),
        ("const f = function () {}\nmain()", ["main()"]),
        ("let a = b\n(async () => {})()", []),
        ("new Foo()", []),
        ("foo`x`", []),
        ("export default main()", []),
        ("foo() ? a() : b()", []),
        ("foo()\n[1].map(x)", ["foo()\n[1].map(x)"]),
        ("catch_()\nin_()", ["catch_()", "in_()"]),
    ],
)
def test_calls_whose_result_is_dropped(source, watched):
    assert [source[start:end] for start, end in dropped_calls(tokens(source))] == watched
