/**
 * The controls of a form, one a field of the profile's schema (tt_kernel/session/profile_form.py). Plain ESM.
 *
 * A control shows a value of the draft and tells a new one through `editor.set(path, value)`; it decides nothing. What is typed
 * and is no number goes to the kernel as text, so that every message about it is the kernel's own. A control that already means
 * the value of the draft is left as it is, so nothing is rewritten under the hands of the one who types.
 */

import { clean, element } from "./run_view.js";

let counter = 0;

/**
 * @param {object} field A field of the form.
 * @param {object} editor `get(path)`, `set(path, value)`, `flush()`, `base(path)`, `isChanged(path)`, `problems(path)`,
 *   `complain(name, text)`, `suggestions(name)`.
 * @returns {{node: HTMLElement, path: string[], refresh(): void}}
 */
export function createField(field, editor) {
  const id = `tt-field-${++counter}`;
  const control = CONTROLS[field.kind === "boolean" && field.nullable ? "maybe" : field.kind](field, editor, id);
  const isGroup = !!control.group;
  const node = element(isGroup ? "fieldset" : "div", "tt-field");
  node.dataset.name = field.name;
  node.dataset.kind = field.kind === "boolean" && field.nullable ? "maybe" : field.kind;
  const label = element(isGroup ? "legend" : "label", "tt-field-label", field.label);
  if (!isGroup) label.htmlFor = id;
  const undo = element("button", "tt-edit-link tt-field-undo", "undo");
  undo.type = "button";
  undo.setAttribute("aria-label", `Undo the change of ${field.label}`);
  undo.addEventListener("click", () => {
    editor.complain(field.name, "");
    editor.set(field.path, editor.base(field.path));
    editor.flush();
    control.show(editor.base(field.path));
    control.input?.focus();
  });
  const help = element("div", "tt-field-help", field.help);
  help.id = `${id}-help`;
  const problem = element("div", "tt-field-problem");
  problem.id = `${id}-problem`;
  problem.setAttribute("aria-live", "polite");
  const body = element("div", "tt-field-body");
  body.append(control.node, problem, help);
  node.append(label, body, undo);
  const described = control.input ?? node;
  described.setAttribute("aria-describedby", `${problem.id} ${help.id}`);
  return {
    node,
    path: field.path,
    refresh() {
      const value = editor.get(field.path);
      if (!same(control.read(), value)) control.show(value);
      node.classList.toggle("tt-changed", editor.isChanged(field.path));
      undo.hidden = field.fixed || !editor.isChanged(field.path);
      const deepest = field.kind === "rows" ? field.path.length + 1 : Infinity; // what is wrong in a row is told there
      const problems = editor.problems(field.path).filter((one) => one.path.length <= deepest);
      showProblems(problem, problems, node, control.input);
    },
  };
}

export function showProblems(place, problems, node, input) {
  const text = problems.map((one) => clean(one.message)).join("\n");
  if (place.textContent !== text) place.textContent = text;
  const blocks = problems.some((one) => one.blocks);
  node.classList.toggle("tt-wrong", blocks);
  place.classList.toggle("tt-note", problems.length > 0 && !blocks);
  if (input) blocks ? input.setAttribute("aria-invalid", "true") : input.removeAttribute("aria-invalid");
}

export function same(one, other) {
  return canonical(one) === canonical(other);
}

/** JSON in which the order of names does not matter. */
function canonical(value) {
  const sorted = (_, inner) =>
    inner && typeof inner === "object" && !Array.isArray(inner) ? Object.fromEntries(Object.entries(inner).sort()) : inner;
  return JSON.stringify(value ?? null, sorted);
}

/** A control of one input: `write` makes its text of a value, `parse` the value of its text. */
function plain(input, field, editor, write, parse) {
  const told = () => editor.set(field.path, parse(input.value));
  input.addEventListener("input", told);
  input.addEventListener("change", () => editor.flush());
  input.disabled = !!field.fixed;
  input.placeholder = field.empty || (field.nullable ? "none" : "");
  return { node: input, input, show: (value) => (input.value = write(value)), read: () => parse(input.value) };
}

function textInput(field, editor, id, write, parse) {
  const input = element("input", "tt-input");
  input.id = id;
  input.type = "text";
  input.spellcheck = false;
  input.autocomplete = "off";
  const options = editor.suggestions?.(field.name) ?? [];
  const control = plain(input, field, editor, write, parse);
  if (!options.length) return control;
  const list = element("datalist", "");
  list.id = `${id}-list`;
  for (const text of options) {
    const option = element("option", "");
    option.value = text;
    list.append(option);
  }
  input.setAttribute("list", list.id);
  const holder = element("div", "tt-input-holder");
  holder.append(input, list);
  return { ...control, node: holder };
}

function area(field, editor, id, write, parse, rows = 2) {
  const input = element("textarea", "tt-input");
  input.id = id;
  const fit = () => (input.rows = Math.max(rows, Math.min(24, input.value.split("\n").length + 1)));
  input.addEventListener("input", fit);
  const control = plain(input, field, editor, write, parse);
  return {
    ...control,
    show(value) {
      control.show(value);
      fit();
    },
  };
}

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);
const textOf = (value) => (value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value));

function numeric(field, editor, id) {
  const pattern = field.kind === "integer" ? /^[+-]?\d+$/ : /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const parse = (text) => {
    const word = text.trim();
    if (!word && field.nullable) return null;
    return pattern.test(word) && Number.isSafeInteger(Math.trunc(Number(word))) ? Number(word) : word;
  };
  const control = textInput(field, editor, id, textOf, parse);
  control.input.inputMode = field.kind === "integer" ? "numeric" : "decimal";
  control.input.classList.add("tt-input-number");
  return control;
}

function json(field, editor, id) {
  let wrong = false;
  const parse = (text) => {
    try {
      const value = text.trim() ? JSON.parse(text) : field.nullable ? null : {};
      wrong = false;
      return value;
    } catch {
      wrong = true;
      return undefined;
    }
  };
  const write = (value) => (value === null || value === undefined ? "" : JSON.stringify(value, null, 2));
  const guarded = {
    ...editor,
    set(path, value) {
      editor.complain(field.name, wrong ? `${field.name} is no JSON yet.` : "");
      if (!wrong) editor.set(path, value);
    },
  };
  const control = area(field, guarded, id, write, parse);
  control.input.spellcheck = false;
  control.input.classList.add("tt-input-code");
  return { ...control, read: () => (parse(control.input.value), wrong ? editor.get(field.path) : parse(control.input.value)) };
}

function checkbox(field, editor, id) {
  const input = element("input", "tt-check");
  input.type = "checkbox";
  input.id = id;
  input.disabled = !!field.fixed;
  input.addEventListener("change", () => {
    editor.set(field.path, input.checked);
    editor.flush();
  });
  return { node: input, input, show: (value) => (input.checked = value === true), read: () => input.checked };
}

export function select(options, id) {
  const input = element("select", "tt-input");
  input.id = id;
  for (const [value, text] of options) {
    const option = element("option", "", text);
    option.value = value;
    input.append(option);
  }
  return input;
}

function choice(field, editor, id, options = field.options.map((value) => [value, value]), values = (text) => text) {
  const input = select(options, id);
  input.disabled = !!field.fixed;
  input.addEventListener("change", () => {
    editor.set(field.path, values(input.value));
    editor.flush();
  });
  return { node: input, input, show: (value) => (input.value = String(value)), read: () => values(input.value) };
}

function choices(field, editor, id) {
  const node = element("div", "tt-choices");
  const inputs = field.options.map((option) => {
    const label = element("label", "tt-choice");
    const input = element("input", "tt-check");
    input.type = "checkbox";
    input.value = option;
    input.addEventListener("change", () => {
      editor.set(field.path, read());
      editor.flush();
    });
    label.append(input, element("span", "", option));
    node.append(label);
    return input;
  });
  let order = [];
  const read = () => {
    const on = inputs.filter((input) => input.checked).map((input) => input.value);
    return [...order.filter((one) => on.includes(one)), ...on.filter((one) => !order.includes(one))];
  };
  const show = (value) => {
    order = Array.isArray(value) ? value : [];
    for (const input of inputs) input.checked = order.includes(input.value);
  };
  return { node, group: true, show, read };
}

function map(field, editor, id) {
  const write = (value) => Object.entries(value ?? {}).map(([name, text]) => `${name} = ${text}`).join("\n");
  const parse = (text) =>
    Object.fromEntries(
      lines(text).map((line) => {
        const [name, ...rest] = line.split("=");
        return [name.trim(), rest.join("=").trim()];
      }),
    );
  const control = area(field, editor, id, write, parse, 1);
  control.input.placeholder = "name = pattern";
  control.input.spellcheck = false;
  control.input.classList.add("tt-input-code");
  return control;
}

/** A list of objects: each a small form of its own. */
function rows(field, editor) {
  const node = element("div", "tt-rows");
  const list = element("ol", "tt-rows-list");
  const add = element("button", "tt-edit-button", `Add`);
  add.type = "button";
  add.setAttribute("aria-label", `Add to ${field.label}`);
  node.append(list, add);
  let values = [];
  let drawn = [];
  const tell = (now = true) => {
    editor.set(field.path, values);
    if (now) editor.flush();
  };
  const draw = () => {
    drawn = [];
    list.replaceChildren(
      ...values.map((_, place) => {
        const row = element("li", "tt-row");
        const inner = {
          get: ([name]) => values[place]?.[name],
          set: ([name], value) => {
            values = values.map((one, n) => (n === place ? { ...one, [name]: value } : one));
            tell(false);
          },
          flush: () => editor.flush(),
          base: () => undefined,
          isChanged: () => false,
          problems: (path) => editor.problems([...field.path, place, ...path]),
          complain: (name, text) => editor.complain(name, text),
          suggestions: editor.suggestions,
        };
        for (const item of field.items) {
          const control = createField(item, inner);
          control.refresh();
          drawn.push(control);
          row.append(control.node);
        }
        row.append(rowButtons(place));
        return row;
      }),
    );
  };
  const rowButtons = (place) => {
    const tools = element("div", "tt-row-tools");
    const up = element("button", "tt-edit-button", "↑");
    up.setAttribute("aria-label", `Move number ${place + 1} up`);
    up.disabled = place === 0;
    up.addEventListener("click", () => {
      values = values.map((one, n) => (n === place - 1 ? values[place] : n === place ? values[place - 1] : one));
      change(place - 1);
    });
    const remove = element("button", "tt-edit-button", "Remove");
    remove.setAttribute("aria-label", `Remove number ${place + 1}`);
    remove.addEventListener("click", () => {
      values = values.filter((_, n) => n !== place);
      change(-1);
    });
    for (const one of [up, remove]) one.type = "button";
    tools.append(up, remove);
    return tools;
  };
  const change = (focus) => {
    draw();
    tell();
    (list.children[focus]?.querySelector("input, select") ?? add).focus();
  };
  add.addEventListener("click", () => {
    const fresh = field.items.map((item) => [item.path[0], item.default ?? EMPTY[item.kind] ?? safest(item.options)]);
    values = [...values, Object.fromEntries(fresh)];
    change(values.length - 1);
  });
  return {
    node,
    group: true,
    show(value) {
      values = Array.isArray(value) ? value : [];
      draw();
    },
    read() {
      for (const control of drawn) control.refresh();
      return values;
    },
  };
}

const safest = (options = []) => (options.includes("ask") ? "ask" : options[0] ?? null);
const EMPTY = { text: "", long: "", integer: 0, number: 0, boolean: false, list: [], map: {}, json: {} };
const MAYBE = [["null", "the provider's default"], ["true", "yes"], ["false", "no"]];

const CONTROLS = {
  text: (field, editor, id) => textInput(field, editor, id, textOf, (text) => (text === "" && field.nullable ? null : text)),
  long: (field, editor, id) => area(field, editor, id, textOf, (text) => (text === "" && field.nullable ? null : text), 3),
  integer: numeric,
  number: numeric,
  boolean: checkbox,
  maybe: (field, editor, id) => choice(field, editor, id, MAYBE, (text) => JSON.parse(text || "null")),
  choice: (field, editor, id) => choice(field, editor, id),
  choices,
  list: (field, editor, id) => {
    const control = area(field, editor, id, (value) => (Array.isArray(value) ? value.join("\n") : ""), lines, 1);
    control.input.spellcheck = false;
    control.input.classList.add("tt-input-code");
    return control;
  },
  map,
  rows,
  json,
};
