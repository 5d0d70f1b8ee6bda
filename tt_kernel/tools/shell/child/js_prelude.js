// What every script of the shell finds in its engine: console, process, a clock that comes from the run, and a module
// linker for the records of js_module.py. Evaluated before the script; its value is called with the setup.
(function (setupText) {
  "use strict";
  const host = globalThis.__host__;
  delete globalThis.__host__;
  const setup = JSON.parse(setupText);
  const indirectEval = eval;
  const EXIT = { toString: () => "process.exit" };
  let exited = false;

  const wellFormed = (_, value) => (typeof value === "string" ? value.toWellFormed() : value);

  // The host function takes and gives text, and says in words what went wrong.
  function ask(operation, value) {
    const answer = JSON.parse(host(operation, JSON.stringify(value ?? null, wellFormed)));
    if (answer.error === undefined) return answer.value;
    const kinds = { SyntaxError, TypeError, RangeError };
    const error = new (kinds[answer.error.name] ?? Error)(answer.error.message);
    if (answer.error.code) error.code = answer.error.code;
    throw error;
  }

  function hidden(target, name, value) {
    Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });
  }

  // Functions, not arrows: some are called with new.
  const absent = (name, instead) =>
    function () {
      throw new Error(`${name} is not available: ${instead}`);
    };

  // ---- clock and chance

  const RealDate = Date;
  let ticks = 0;
  const now = () => setup.epochMs + ticks++;

  function RunDate(...given) {
    if (!new.target) return new RealDate(now()).toString();
    return Reflect.construct(RealDate, given.length ? given : [now()], new.target);
  }
  Object.defineProperty(RunDate, "prototype", { value: RealDate.prototype, writable: false });
  Object.defineProperty(RunDate, "name", { value: "Date" });
  Object.defineProperty(RunDate, "length", { value: 7 });
  hidden(RunDate, "now", now);
  hidden(RunDate, "parse", RealDate.parse);
  hidden(RunDate, "UTC", RealDate.UTC);
  hidden(RealDate.prototype, "constructor", RunDate);
  hidden(globalThis, "Date", RunDate);
  hidden(globalThis, "performance", { now: () => ticks++, timeOrigin: setup.epochMs });

  // sfc32
  let [a, b, c, d] = setup.seed;
  function draw() {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return t >>> 0;
  }
  hidden(Math, "random", () => ((draw() >>> 5) * 67108864 + (draw() >>> 6)) / 9007199254740992);

  // ---- showing values

  const spaces = new WeakSet();

  const PLAIN_KEY = /^[A-Za-z_$][\w$]*$/;
  const quote = (text) => {
    const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes("`") ? "`" : "'";
    const body = text
      .replaceAll("\\", "\\\\")
      .replaceAll(mark, "\\" + mark)
      .replace(/[\x00-\x1f\x7f]/g, (found) => {
        const short = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v" }[found];
        return short ?? "\\x" + found.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0");
      });
    return mark + body + mark;
  };

  function primitive(value) {
    if (typeof value === "string") return quote(value);
    if (typeof value === "bigint") return `${value}n`;
    if (Object.is(value, -0)) return "-0";
    return String(value);
  }

  function describeFunction(value) {
    if (/^class\b/.test(Function.prototype.toString.call(value))) return `[class ${value.name || "(anonymous)"}]`;
    const kind = Object.getPrototypeOf(value)?.constructor?.name ?? "Function";
    return value.name ? `[${kind}: ${value.name}]` : `[${kind} (anonymous)]`;
  }

  function className(value) {
    const proto = Object.getPrototypeOf(value);
    if (proto === null) return "[Object: null prototype]";
    const maker = proto.constructor;
    return typeof maker === "function" && maker.name ? maker.name : "Object";
  }

  function show(value, level = 0, seen = [], depth = 2) {
    if (typeof value === "function") {
      const own = properties(value, level, seen, depth, Object.keys(value));
      return own.length ? wrap(describeFunction(value) + " ", "{", own, "}", level) : describeFunction(value);
    }
    if (value === null || typeof value !== "object") return primitive(value);
    if (seen.includes(value)) return "[Circular]";
    const name = className(value);
    if (level > depth) return Array.isArray(value) ? "[Array]" : `[${name.startsWith("[") ? "Object" : name}]`;
    return showObject(value, name, level, [...seen, value], depth);
  }

  function showObject(value, name, level, seen, depth) {
    const next = (item) => show(item, level + 1, seen, depth);
    if (Array.isArray(value)) {
      const prefix = name === "Array" ? "" : `${name}(${value.length}) `;
      return wrap(prefix, "[", [...items(value, next), ...properties(value, level, seen, depth, extraKeys(value))], "]", level);
    }
    if (ArrayBuffer.isView(value) && !(value instanceof DataView))
      return wrap(`${name}(${value.length}) `, "[", items(Array.from(value), next), "]", level);
    if (value instanceof Map)
      return wrap(`${name}(${value.size}) `, "{", limit([...value].map(([key, item]) => `${next(key)} => ${next(item)}`)), "}", level);
    if (value instanceof Set) return wrap(`${name}(${value.size}) `, "{", items([...value], next), "}", level);
    if (spaces.has(value))
      return wrap("[Module: null prototype] ", "{", Object.keys(value).map((key) => `${shownKey(key)}: ${next(value[key])}`), "}", level);
    const own = properties(value, level, seen, depth, Object.keys(value));
    if (value instanceof RealDate) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    if (value instanceof RegExp) return String(value);
    if (value instanceof Error) return showError(value, own, level, next);
    if (value instanceof Promise) return wrap("Promise ", "{", ["<state unknown>"], "}", level);
    for (const Box of [String, Number, Boolean, Symbol, BigInt])
      if (value instanceof Box) return `[${Box.name}: ${primitive(value.valueOf())}]`;
    const tag = value[Symbol.toStringTag];
    const shown = name === "Object" ? "" : `${name} `;
    return wrap(typeof tag === "string" && tag !== name ? `${shown || "Object "}[${tag}] ` : shown, "{", own, "}", level);
  }

  function showError(error, own, level, next) {
    const head = String(error);
    const stack = typeof error.stack === "string" ? error.stack.trimEnd() : "";
    let text = stack ? `${head}\n${stack}` : head;
    if (level > 0 && !stack) text = `[${text}]`;
    if (Object.hasOwn(error, "cause")) own = [...own, `[cause]: ${next(error.cause)}`];
    if (error instanceof AggregateError) own = [...own, `[errors]: ${next(error.errors)}`];
    return own.length ? `${text} ${wrap("", "{", own, "}", level)}` : text;
  }

  const shownKey = (key) => (typeof key === "symbol" ? `[${String(key)}]` : PLAIN_KEY.test(key) ? key : quote(key));
  const extraKeys = (array) => Object.keys(array).filter((key) => !/^\d+$/.test(key));
  const limit = (parts, total = parts.length) =>
    total > 100 ? [...parts.slice(0, 100), `... ${total - 100} more item${total > 101 ? "s" : ""}`] : parts;

  function items(array, next) {
    const shown = [];
    for (let index = 0; index < Math.min(array.length, 100); index++) {
      if (index in array) {
        shown.push(next(array[index]));
        continue;
      }
      let empty = index;
      while (empty < array.length && !(empty in array)) empty++;
      shown.push(`<${empty - index} empty item${empty - index > 1 ? "s" : ""}>`);
      index = empty - 1;
    }
    if (array.length > 100) shown.push(`... ${array.length - 100} more item${array.length > 101 ? "s" : ""}`);
    return shown;
  }

  function properties(value, level, seen, depth, keys) {
    const symbols = Object.getOwnPropertySymbols(value).filter((key) => Object.getOwnPropertyDescriptor(value, key).enumerable);
    return [...keys, ...symbols].map((key) => {
      const name = shownKey(key);
      const found = Object.getOwnPropertyDescriptor(value, key) ?? {};
      if (found.get || found.set) return `${name}: [${[found.get && "Getter", found.set && "Setter"].filter(Boolean).join("/")}]`;
      return `${name}: ${show(found.value, level + 1, seen, depth)}`;
    });
  }

  function wrap(prefix, open, parts, close, level) {
    if (!parts.length) return prefix + open + close;
    const line = `${prefix}${open} ${parts.join(", ")} ${close}`;
    if (line.length + 2 * level <= 76 && !line.includes("\n")) return line;
    const indent = "  ".repeat(level + 1);
    return `${prefix}${open}\n${parts.map((part) => indent + part).join(",\n")}\n${"  ".repeat(level)}${close}`;
  }

  function format(values) {
    const rest = [...values];
    let text = "";
    if (typeof rest[0] === "string" && rest.length > 1 && rest[0].includes("%")) {
      text = rest.shift().replace(/%([sdifjoOc%])/g, (found, kind) => {
        if (kind === "%") return "%";
        if (!rest.length) return found;
        return formatOne(kind, rest.shift());
      });
      if (!rest.length) return text;
      text += " ";
    }
    return text + rest.map((value) => (typeof value === "string" ? value : show(value))).join(" ");
  }

  function formatOne(kind, value) {
    if (kind === "c") return "";
    if (kind === "j") return JSON.stringify(value);
    if (kind === "s") return typeof value === "object" && value !== null ? show(value, 0, [], 0) : typeof value === "bigint" ? `${value}n` : String(value);
    if (kind === "o" || kind === "O") return show(value, 0, [], 4);
    if (typeof value === "bigint") return `${value}n`;
    if (typeof value === "object" || typeof value === "symbol") return "NaN";
    return String(kind === "i" ? Number.parseInt(value, 10) : kind === "f" ? Number.parseFloat(value) : Number(value));
  }

  // ---- console and process

  function write(stream, text) {
    if (exited || !ask("write", [stream, String(text)])) {
      exited = true;
      throw EXIT;
    }
    return true;
  }

  let indent = "";
  const counts = new Map();
  const say = (stream, values) => {
    const text = format(values);
    write(stream, (indent ? indent + text.replaceAll("\n", "\n" + indent) : text) + "\n");
  };
  const out = (...values) => say(1, values);
  const err = (...values) => say(2, values);
  globalThis.console = {
    log: out,
    info: out,
    debug: out,
    error: err,
    warn: err,
    trace: (...values) => say(2, [`Trace${values.length ? ": " + format(values) : ""}\n${new Error().stack.trimEnd()}`]),
    dir: (value, options) => say(1, [show(value, 0, [], options?.depth === null ? Infinity : (options?.depth ?? 2))]),
    table: (value) => out(value),
    assert: (fine, ...values) => {
      if (!fine) err(...(values.length ? ["Assertion failed:", ...values] : ["Assertion failed"]));
    },
    count: (label = "default") => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      out(`${label}: ${counts.get(label)}`);
    },
    countReset: (label = "default") => void counts.delete(label),
    group: (...values) => {
      if (values.length) out(...values);
      indent += "  ";
    },
    groupEnd: () => void (indent = indent.slice(2)),
    time: () => undefined,
    timeLog: (label = "default", ...values) => out(`${label}: 0ms`, ...values),
    timeEnd: (label = "default") => out(`${label}: 0ms`),
  };

  let exitCode;
  function checkedCode(value) {
    if (value === undefined || value === null) return undefined;
    const code = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
    if (!Number.isInteger(code) || code < 0 || code > 255)
      throw new RangeError(`process.exitCode is an integer from 0 to 255, not ${show(value)}`);
    return code;
  }
  globalThis.process = {
    argv: setup.argv,
    env: setup.env,
    cwd: () => setup.cwd,
    exit: (code) => {
      if (code !== undefined) exitCode = checkedCode(code);
      exited = true;
      throw EXIT;
    },
    get exitCode() {
      return exitCode;
    },
    set exitCode(value) {
      exitCode = checkedCode(value);
    },
    get stdin() {
      return absent("process.stdin", "read it with workspace.readText('/dev/stdin') from '@tauritavern/runtime'")();
    },
    stdout: { write: (text) => write(1, text) },
    stderr: { write: (text) => write(2, text) },
  };

  // ---- what is not here says so

  const noTimers = "there are no timers, work runs to its end";
  const noNetwork = "there is no network";
  const files = "files are read and written with workspace from '@tauritavern/runtime'";
  for (const name of ["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval"])
    hidden(globalThis, name, absent(name, noTimers));
  for (const name of ["fetch", "XMLHttpRequest", "WebSocket"]) hidden(globalThis, name, absent(name, noNetwork));
  hidden(globalThis, "require", (name) => {
    throw new Error(`require(${show(name)}) is not available: scripts are ES modules, use import; no Node built-ins, ${files}`);
  });
  for (const name of ["Deno", "Bun"])
    hidden(globalThis, name, new Proxy({}, { get: (_, key) => absent(`${name}.${String(key)}`, `${files}; arguments are in process.argv`)() }));

  // ---- the runtime module

  const log = (...values) => err(...values);
  for (const level of ["debug", "info", "warn", "error"]) log[level] = (...values) => err(`${level}:`, ...values);
  const later = (name) =>
    new Proxy({}, { get: (_, key) => absent(`${name}.${String(key)}`, "this version has workspace and log")() });
  const runtime = {
    workspace: Object.freeze({
      readText: (path) => ask("readText", path),
      writeText: (path, text) => void ask("writeText", [path, String(text)]),
      exists: (path) => ask("exists", path),
      listFiles: (path = ".", options = {}) => ask("listFiles", [path, options.recursive !== false]),
    }),
    log,
    context: later("context"),
    macros: later("macros"),
  };

  // ---- modules

  const modules = new Map();
  const native = (id, exported) => {
    const getters = new Map(Object.entries(exported).map(([name, value]) => [name, () => value]));
    return { id, record: { imports: [], reexports: [], stars: [], requests: [] }, exports: getters, links: new Map(), done: Promise.resolve() };
  };
  modules.set("@tauritavern/runtime", native("@tauritavern/runtime", runtime));

  function load(id, fresh) {
    const known = modules.get(id);
    if (known) return known;
    const record = ask("load", id);
    const module = { id, record, exports: new Map(), links: new Map(), scope: Object.create(null), done: null };
    module.make = indirectEval(record.code);
    modules.set(id, module);
    fresh.push(module);
    for (const request of record.requests) module.links.set(request, load(ask("resolve", [request, id]), fresh));
    return module;
  }

  function findExport(module, name, seen = new Set()) {
    const key = `${module.id}\0${name}`;
    if (seen.has(key)) return undefined;
    seen.add(key);
    if (module.exports.has(name)) return module.exports.get(name);
    for (const [request, imported, exported] of module.record.reexports) {
      if (exported !== name) continue;
      const from = module.links.get(request);
      return imported === "*" ? () => namespace(from) : findExport(from, imported, seen);
    }
    if (name === "default") return undefined;
    for (const request of module.record.stars) {
      const found = findExport(module.links.get(request), name, seen);
      if (found) return found;
    }
    return undefined;
  }

  function exportNames(module, seen = new Set()) {
    if (seen.has(module)) return [];
    seen.add(module);
    const names = [...module.exports.keys(), ...module.record.reexports.map((entry) => entry[2])];
    for (const request of module.record.stars)
      names.push(...exportNames(module.links.get(request), seen).filter((name) => name !== "default"));
    return names;
  }

  function namespace(module) {
    if (module.namespace) return module.namespace;
    const made = Object.create(null);
    module.namespace = made;
    spaces.add(made);
    for (const name of [...new Set(exportNames(module))].sort()) {
      const get = findExport(module, name);
      if (get) Object.defineProperty(made, name, { get, enumerable: true });
    }
    Object.defineProperty(made, Symbol.toStringTag, { value: "Module" });
    return Object.preventExtensions(made);
  }

  function bind(module) {
    for (const [request, imported, local] of module.record.imports) {
      const from = module.links.get(request);
      const get = imported === "*" ? () => namespace(from) : findExport(from, imported);
      if (!get) {
        const offered = exportNames(from).join(", ") || "nothing";
        throw new SyntaxError(`'${request}' has no export named '${imported}' (it exports ${offered}), imported by ${module.id}`);
      }
      const set = () => {
        throw new TypeError(`${local} is an import and cannot be assigned`);
      };
      Object.defineProperty(module.scope, local, { get, set, enumerable: true });
    }
  }

  function watch(value) {
    if (value instanceof Promise) Promise.prototype.then.call(value, undefined, fail);
    return value;
  }

  function start(module) {
    const meta = { url: `file://${module.id}`, filename: module.id, main: module.id === setup.main };
    const share = (getters) => {
      for (const [name, get] of Object.entries(getters)) module.exports.set(name, get);
    };
    const visit = async (request) => namespace(await evaluate(ask("resolve", [String(request), module.id])));
    module.body = module.make(module.scope, share, meta, visit, watch)();
    // Runs as far as the registration of the exports.
    module.body.next();
  }

  async function evaluate(id) {
    const fresh = [];
    let module;
    try {
      module = load(id, fresh);
      fresh.forEach(start);
      fresh.forEach(bind);
    } catch (error) {
      for (const { id: broken } of fresh) modules.delete(broken);
      throw error;
    }
    const order = [];
    const visited = new Set();
    const visit = (each) => {
      if (visited.has(each)) return;
      visited.add(each);
      each.links.forEach(visit);
      order.push(each);
    };
    visit(module);
    for (const each of order) await (each.done ??= each.body.next());
    return module;
  }

  // ---- running

  const state = { settled: false };
  const fail = (error) => {
    state.settled = true;
    if (error === EXIT) return;
    exitCode = 1;
    exited = false;
    try {
      // The engine throws null when there is no room for an exception.
      write(2, `Uncaught ${show(error)}${error === null ? " (out of memory: the heap is limited to 32 MiB)" : ""}\n`);
    } catch {}
  };
  const main = setup.main !== null
    ? () => evaluate(setup.main)
    : async () => out(await indirectEval(ask("load", null).code));
  main().then(() => void (state.settled = true), fail);

  return () => JSON.stringify({ settled: state.settled || exited, code: exitCode ?? 0 });
});
