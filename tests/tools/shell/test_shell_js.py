"""JavaScript in the shell: QuickJS with ES modules over the shell's files (spec tauritavern §6)."""

import asyncio
import json

import pytest


async def test_ways_to_run(bench):
    bench.put("output/a.js", "console.log(process.argv)")
    assert await bench.out("js /output/a.js x 'y z'") == "[ 'js', '/output/a.js', 'x', 'y z' ]"
    assert await bench.out("cd /output; node a.js -- -x") == "[ 'node', '/output/a.js', '-x' ]"
    assert await bench.out("js -e 'console.log(process.argv)' a") == "[ 'js', 'a' ]"
    assert await bench.out("echo 'console.log(process.argv)' | js - a; js <<< 'console.log(2)'") == "[ 'js', 'a' ]\n2"
    assert await bench.out("node -p '1 + 1'; js --print '[1, 2].map(x => x * 2)'") == "2\n[ 2, 4 ]"
    assert await bench.out("deno run --allow-read /output/a.js q; deno eval 'console.log(3)'; deno eval -p 4") == (
        "[ 'deno', '/output/a.js', 'q' ]\n3\n4"
    )
    assert await bench.out("node --no-warnings --input-type=module -e 'console.log(5)'") == "5"
    assert await bench.out("js /output/a.js | tr -d '\\n'; find /output -name '*.js' | xargs -n1 js") != ""


async def test_skill_scripts_are_run_by_path(bench):
    bench.put("skills/s/scripts/x.js", "import { f } from '../lib/f.js'; console.log(f(process.argv[2]))")
    bench.put("skills/s/lib/f.js", "export const f = (text) => text.toUpperCase()")
    assert await bench.out("js /skills/s/scripts/x.js abc") == "ABC"


# ---- modules


async def test_modules(bench):
    bench.put(
        "output/main.js",
        """#!/usr/bin/env node
import def, { one, increment as inc, counter } from './lib/index.js';
import * as ns from "./lib/index.js";
import data from './data.json' with { type: 'json' };
import './side.js';
console.log(def(2), one, counter);
inc(); inc();
console.log(counter, ns.counter, ns.default === def, Object.keys(ns));
console.log(data.list, import.meta.url, import.meta.filename, import.meta.main);
const late = await import('./late.mjs');
console.log(late.default, late.name, late === await import('./late.mjs'));
try { counter = 9 } catch (error) { console.log(error.name) }
console.log(typeof ns.missing, ns[Symbol.toStringTag], this);
""",
    )
    bench.put(
        "output/lib/index.js",
        "export * from './more.js'; export { two as deux } from './more.js'; export * as all from './more.js';\n"
        "export let counter = 0; export function increment() { counter++ }\nexport default (x) => x * 10;\n",
    )
    bench.put("output/lib/more.js", "export const one = 1, two = 2; export default 'not exported by star'")
    bench.put("output/data.json", '{"list": [1, {"a": null}]}')
    bench.put("output/side.js", "console.log('side effect first')")
    bench.put("output/late.mjs", "export default class Late {}\nexport const name = `late`")
    assert (await bench.out("js /output/main.js")).splitlines() == [
        "side effect first",
        "20 1 0",
        "2 2 true [ 'all', 'counter', 'default', 'deux', 'increment', 'one', 'two' ]",
        "[ 1, { a: null } ] file:///output/main.js /output/main.js true",
        "[class Late] late true",
        "TypeError",
        "undefined Module undefined",
    ]


async def test_modules_that_import_each_other(bench):
    bench.put(
        "output/a.js",
        "import { b, callA } from './b.js';\nexport function a() { return 'a+' + b() }\nexport const late = 'late';\nconsole.log(a(), callA());",
    )
    bench.put(
        "output/b.js",
        "import { a, late } from './a.js';\nexport function b() { return 'b' }\nexport const callA = () => a() + late;\nconsole.log('b first', typeof a, a());\ntry { late } catch (error) { console.log(error.name) }",
    )
    assert await bench.out("js /output/a.js") == "b first function a+b\nReferenceError\na+b a+blate"


async def test_a_module_runs_once_and_in_order(bench):
    for name, imports in (
        ("d", ""),
        ("c", "import './d.js';"),
        ("b", "import './d.js';"),
        ("a", "import './b.js'; import './c.js'; import './b.js';"),
    ):
        bench.put(f"output/{name}.js", f"{imports} console.log('{name}'); await null; console.log('{name} end')")
    assert (await bench.out("js /output/a.js")).split("\n") == ["d", "d end", "b", "b end", "c", "c end", "a", "a end"]


async def test_imports_without_ending_and_of_folders(bench):
    bench.put("output/lib/index.js", "export const a = 1")
    bench.put("output/util.mjs", "export const b = 2")
    bench.put("output/d.json", "[3]")
    out = await bench.out(
        "cd /output; js -e \"import { a } from './lib'; import { b } from './util'; import d from './d'; import { b as c } from 'file:///output/util.mjs'; console.log(a, b, d, c)\""
    )
    assert out == "1 2 [ 3 ] 2"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "import { nope } from './lib.js'",
            "'./lib.js' has no export named 'nope' (it exports yes), imported by [script]",
        ),
        ("import d from './lib.js'", "has no export named 'default'"),
        (
            "import './missing.js'",
            "Cannot find module './missing.js' imported by [script]: there is no file /output/missing.js",
        ),
        (
            "import fs from 'fs'",
            "no Node built-ins and no packages: import files ('./lib.js') or '@tauritavern/runtime'",
        ),
        ("import fs from 'node:fs'", "no Node built-ins"),
        ("import x from 'https://esm.sh/x'", "There is no network"),
        ("import x from '@tauritavern/kit/dayjs'", "The kits are not in this version"),
        ("import { context } from '@tauritavern/runtime'; context.macro('x')", "context.macro is not available"),
        ("import { macros } from '@tauritavern/runtime'; macros.render('x')", "macros.render is not available"),
        ("import './broken.js'", "SyntaxError: '(' is never closed (/output/broken.js:2)"),
        ("import './bad.json'", "SyntaxError"),
        ("import './x.ts'", "only JavaScript runs here"),
        ("await import('./missing.js')", "Cannot find module './missing.js'"),
        ("import { a } './x'", "'from' is expected"),
        ("require('fs')", "scripts are ES modules, use import"),
        ("setTimeout(() => 1, 10)", "setTimeout is not available: there are no timers"),
        (
            "process.stdin.on('data', () => 1)",
            "process.stdin is not available: read it with workspace.readText('/dev/stdin')",
        ),
        ("fetch('http://x')", "fetch is not available: there is no network"),
        ("Deno.readTextFileSync('/x')", "Deno.readTextFileSync is not available"),
        ("new WebSocket('ws://x')", "WebSocket is not available: there is no network"),
    ],
)
async def test_what_is_not_there_says_what_is(bench, code, message):
    bench.put("output/lib.js", "export const yes = 1")
    bench.put("output/broken.js", "let a = 1;\nf(")
    bench.put("output/bad.json", "{")
    bench.put("output/x.ts", "let a: number = 1")
    bench.put("output/main.js", code)
    result = await bench.run('cd /output; js -e "$(cat main.js)"')
    assert (result.error_code, result.structured["exitCode"]) == ("workspace.shell_exit", 1)
    assert message in result.content


async def test_a_failed_dynamic_import_can_be_caught_and_repeated(bench):
    code = "for (const n of [1, 2]) try { await import('./bad.js') } catch (error) { console.log(n, error.message) }"
    bench.put("output/bad.js", "import './none.js'")
    out = await bench.out(f'cd /output; js -e "{code}"')
    assert out.count("Cannot find module './none.js'") == 2


# ---- the runtime module


async def test_workspace(bench):
    bench.put("output/in.txt", "zeile ü\n")
    bench.put("output/d/x.txt", "x")
    bench.put("output/bin", b"\xff\xfe")
    bench.put(
        "output/main.js",
        """
import { workspace, log } from '@tauritavern/runtime';
console.log(workspace.readText('in.txt') + (await workspace.readText('/output/in.txt')));
workspace.writeText('/output/out.txt', 'é😀'); workspace.writeText('n.txt', 5);
console.log(workspace.exists('out.txt'), workspace.exists('/nope'), workspace.exists('/output/d'));
console.log(workspace.listFiles('/output'), workspace.listFiles('/output', { recursive: false }), workspace.listFiles('d'));
for (const act of [
  () => workspace.readText('/output/none'), () => workspace.writeText('/skills/x', ''), () => workspace.writeText('/x', ''),
  () => workspace.readText('/output'), () => workspace.readText('/output/bin'), () => workspace.readText(), () => workspace.listFiles('/none'),
]) try { act(); console.log('no error') } catch (error) { console.log(error.code, error.message) }
log('logged', { a: 1 }); log.warn('careful');
""",
    )
    result = await bench.run("cd /output; js main.js")
    assert result.content.split("\n") == [
        "exit code 0",
        "zeile ü",
        "zeile ü",
        "",
        "true false true",
        "[",
        "  '/output/bin',",
        "  '/output/d/x.txt',",
        "  '/output/in.txt',",
        "  '/output/main.js',",
        "  '/output/n.txt',",
        "  '/output/out.txt'",
        "] [",
        "  '/output/bin',",
        "  '/output/in.txt',",
        "  '/output/main.js',",
        "  '/output/n.txt',",
        "  '/output/out.txt'",
        "] [ '/output/d/x.txt' ]",
        "ENOENT No such file or directory: /output/none",
        "EROFS Read-only file system: /skills/x",
        "EROFS Read-only file system: /x",
        "EISDIR Is a directory: /output",
        "undefined /output/bin is not UTF-8 text",
        "undefined a path is a non-empty text, not null",
        "ENOENT No such file or directory: /none",
        "[stderr]",
        "logged { a: 1 }",
        "warn: careful",
    ]
    assert (bench.folder / "output/out.txt").read_text() == "é😀"
    assert (bench.folder / "output/n.txt").read_text() == "5"


async def test_standard_input_as_data(bench):
    out = await bench.out(
        "echo abc | js -e \"import { workspace } from '@tauritavern/runtime'; console.log(workspace.readText('/dev/stdin').length)\""
    )
    assert out == "4"


# ---- process


@pytest.mark.parametrize(
    ("code", "exit_code", "shown"),
    [
        ("process.exitCode = 3", 3, ""),
        ("process.exitCode = 255", 255, ""),
        ("process.exitCode = '7'", 7, ""),
        ("process.exitCode = undefined", 0, ""),
        ("process.exit(4); console.log('no')", 4, ""),
        ("process.exitCode = 5; process.exit()", 5, ""),
        ("try { process.exit(6) } finally { console.log('muted') }", 6, ""),
        ("(async () => process.exit(7))()", 7, ""),
        ("process.exitCode = 256", 1, "from 0 to 255, not 256"),
        ("process.exitCode = -1", 1, "from 0 to 255"),
        ("process.exitCode = 1.5", 1, "from 0 to 255"),
        ("throw new TypeError('bad')", 1, "Uncaught TypeError: bad"),
        ("throw { a: 1 }", 1, "Uncaught { a: 1 }"),
        ("await Promise.reject(new Error('rejected'))", 1, "Uncaught Error: rejected"),
        ("async function main() { throw new Error('lost') }\nmain()", 1, "Uncaught Error: lost"),
        ("(async () => { throw new Error('lost') })()", 1, "Uncaught Error: lost"),
        ("async function f() { throw 1 }\nf().catch(() => console.log('caught'))", 0, "caught"),
        ("await new Promise(() => {})", 13, "an await never ended"),
        ("let x = ;", 1, "SyntaxError"),
    ],
)
async def test_exit_codes(bench, code, exit_code, shown):
    bench.put("output/main.js", code)
    result = await bench.run("js /output/main.js")
    assert result.structured["exitCode"] == exit_code
    assert shown in result.content
    assert "muted" not in result.content


async def test_errors_name_file_and_line(bench):
    bench.put("output/lib.js", "// a comment\nexport function f() {\n  const x = null;\n  return x.y;\n}\n")
    bench.put("output/main.js", "import { f } from './lib.js';\n\nfunction g() {\n  f();\n}\n\nawait g();\n")
    result = await bench.run("js /output/main.js")
    assert result.content.split("\n")[1:] == [
        "[stderr]",
        "Uncaught TypeError: cannot read property 'y' of null",
        "    at f (/output/lib.js:4:10)",
        "    at g (/output/main.js:4:3)",
        "    at <anonymous> (/output/main.js:7:7)",
    ]
    bench.put("output/syntax.js", "const a = 1;\n\nconst b = a b;\n")
    assert "/output/syntax.js:3" in (await bench.run("js /output/syntax.js")).content


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("js /nope.js", "js: there is no file /nope.js"),
        ("js /output", "js: /output is a folder"),
        ("js -e", "js: -e needs code"),
        ("node --bogus", "node: unknown option --bogus"),
        ("deno test", "only `deno run FILE` and `deno eval CODE`"),
        ("printf '\\xff' | js -", "not UTF-8"),
    ],
)
async def test_usage(bench, command, message):
    result = await bench.run(command)
    assert (result.structured["exitCode"], message in result.content) == (2, True)


async def test_environment(bench):
    assert (
        await bench.out(
            "export A=1; B=2 js -e 'console.log(process.env.A, process.env.B, process.env.HOME, process.cwd())'"
        )
        == "1 2 / /"
    )
    assert await bench.out('js -e \'process.stdout.write("a"); process.stdout.write("b\\n")\'') == "ab"


# ---- showing values


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("1, 'a', null, undefined, true, 10n, -0, NaN", "1 a null undefined true 10n -0 NaN"),
        ("[1, 'a', [2, [3, [4]]]]", "[ 1, 'a', [ 2, [ 3, [Array] ] ] ]"),
        ("{a: 1, 'b c': 'x', [Symbol('s')]: 2}", "{ a: 1, 'b c': 'x', [Symbol(s)]: 2 }"),
        ("{a: {b: {c: {d: 1}}}}", "{ a: { b: { c: [Object] } } }"),
        ("[], {}, [,1,,], new Array(3)", "[] {} [ <1 empty item>, 1, <1 empty item> ] [ <3 empty items> ]"),
        (
            "new Map([['a', {b: 1}]]), new Set([1, 'x']), new Map()",
            "Map(1) { 'a' => { b: 1 } } Set(2) { 1, 'x' } Map(0) {}",
        ),
        (
            "function f() {}, () => 1, class A {}, class extends Array {}, Math.max",
            "[Function: f] [Function (anonymous)] [class A] [class (anonymous)] [Function: max]",
        ),
        (
            "async () => 1, async function g() {}, function* h() {}",
            "[AsyncFunction (anonymous)] [AsyncFunction: g] [GeneratorFunction: h]",
        ),
        ("new Date(0), /a/gi, Symbol('x')", "1970-01-01T00:00:00.000Z /a/gi Symbol(x)"),
        (
            "new (class Foo { constructor() { this.a = 1 } })(), Object.create(null)",
            "Foo { a: 1 } [Object: null prototype] {}",
        ),
        ("new Uint8Array([1, 2]), new String('s'), Object(1)", "Uint8Array(2) [ 1, 2 ] [String: 's'] [Number: 1]"),
        ("{get a() { return 1 }, set b(v) {}}", "{ a: [Getter], b: [Setter] }"),
        ("(o => (o.self = o, o))({})", "{ self: [Circular] }"),
        ("\"it's\", [\"it's\", 'a\\nb', 'q\"']", "it's [ \"it's\", 'a\\nb', 'q\"' ]"),
        (
            "'%s is %d years and %i, %f, %j %o %%', 'Bob', 42.5, 42.9, '1.5', {a: 1}, [1], 'rest'",
            'Bob is 42.5 years and 42, 1.5, {"a":1} [ 1 ] % rest',
        ),
        ("'100%', 5, '%s'", "100% 5 %s"),
        ("Math, JSON, globalThis === this", "Object [Math] {} Object [JSON] {} false"),
        ("Promise.resolve(1)", "Promise { <state unknown> }"),
    ],
)
async def test_console_log(bench, expression, shown):
    bench.put("output/main.js", f"console.log({expression})")
    assert await bench.out("js /output/main.js") == shown


async def test_long_values_are_broken_into_lines(bench):
    bench.put(
        "output/main.js",
        "console.log({ a: 'x'.repeat(40), b: ['y'.repeat(40)] });"
        "console.log(Array.from({ length: 103 }, (_, i) => i));",
    )
    lines = (await bench.out("js /output/main.js")).split("\n")
    assert lines[:4] == ["{", "  a: '" + "x" * 40 + "',", "  b: [ '" + "y" * 40 + "' ]", "}"]
    assert lines[-3:] == ["  99,", "  ... 3 more items", "]"]


async def test_other_console_methods(bench):
    code = "console.info(1); console.debug(2); console.error(3); console.warn(4); console.assert(1 > 2, 'no'); console.group('g'); console.log('in\\nner'); console.groupEnd(); console.count(); console.count(); console.time(); console.timeEnd(); console.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 }); console.table([1])"
    bench.put("output/main.js", code)
    result = await bench.run("js /output/main.js")
    assert (
        result.content
        == "exit code 0\n1\n2\ng\n  in\n  ner\ndefault: 1\ndefault: 2\ndefault: 0ms\n{ a: [Object] }\n[ 1 ]\n[stderr]\n3\n4\nAssertion failed: no"
    )


async def test_lone_surrogates_and_unicode(bench):
    bench.put(
        "output/main.js", "console.log('\\ud800', 'é😀', '\\u0000'.length); console.log(JSON.stringify('\\udc00'))"
    )
    assert await bench.out("js /output/main.js") == '\ufffd é😀 1\n"\\udc00"'


# ---- limits


async def test_the_heap_is_limited_to_32_mib(bench):
    assert (
        await bench.out(
            "js -e 'const a = []; for (let i = 0; i < 20; i++) a.push(new Uint8Array(1 << 20)); console.log(a.length)'"
        )
        == "20"
    )
    result = await bench.run(
        "js -e 'const a = []; for (let i = 0; i < 40; i++) a.push(new Uint8Array(1 << 20)); console.log(a.length)'"
    )
    assert (result.structured["exitCode"], "out of memory" in result.content) == (1, True)


async def test_the_stack_is_limited(bench):
    result = await bench.run("js -e 'function f() { return f() + 1 }; f()'")
    assert (result.structured["exitCode"], "Maximum call stack size exceeded" in result.content) == (1, True)
    assert await bench.out("js -e 'function f(n) { return n ? f(n - 1) : 0 }; console.log(f(100))'") == "0"


async def test_at_most_two_engines_at_a_time_and_a_pipeline_of_more_still_ends(bench):
    read = "js -e \"import { workspace } from '@tauritavern/runtime'; console.log(workspace.readText('/dev/stdin').length)\""
    script = f"js -e 'for (let i = 0; i < 20000; i++) console.log(i)' | {read} | {read} | {read}"
    assert await asyncio.wait_for(bench.out(script), 10) == "2"


async def test_output_of_a_script_that_does_not_end(bench):
    ending, printed = await bench.raw("js -e 'for (let i = 0; i < 3; i++) console.log(i); for (;;);'", timeout=0.7)
    assert (ending.reason, bytes(printed.stdout)) == ("timeout", b"0\n1\n2\n")


async def test_a_closed_pipe_ends_the_script(bench):
    result = await bench.run("js -e 'for (let i = 0;; i++) console.log(i)' | head -2; echo ${PIPESTATUS[0]}")
    assert result.content == "exit code 0\n0\n1\n141"


async def test_timeout_of_the_shell_stops_a_script(bench):
    result = await asyncio.wait_for(bench.run("timeout 0.3 js -e 'for (;;);'; echo $?"), 15)
    assert result.content == "exit code 0\n124"
    assert await bench.out("js -p 1") == "1"


async def test_large_data(bench):
    rows = [{"id": n, "name": f"näme {n}"} for n in range(2000)]
    bench.put("output/rows.json", json.dumps(rows, ensure_ascii=False))
    code = "import rows from '/output/rows.json'; import { workspace } from '@tauritavern/runtime'; workspace.writeText('/output/n.json', JSON.stringify(rows.map(r => r.name))); console.log(rows.length)"
    assert await bench.out(f'js -e "{code}"') == "2000"
    assert json.loads((bench.folder / "output/n.json").read_text()) == [row["name"] for row in rows]
