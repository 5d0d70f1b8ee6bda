/**
 * The tools of a profile: search, check, describe in other words. Plain ESM.
 *
 * What is allowed is a list of ids and globs, and a denial wins. Unchecking takes the id off the list; where a glob allows the tool,
 * it is denied instead. Which entries mean a tool is the kernel's word (`toolStates`).
 */

import { ICONS, clean, counted, element } from "./run_view.js";

const PLACES = {
  workspace: "files of the run",
  project: "files of the project",
  host: "this computer",
  external: "outside service",
};
/** The functions of this notebook come first. */
const OWN = "this notebook";
const ALLOW = ["tools", "allow"];
const DENY = ["tools", "deny"];
const isGlob = (pattern) => /[*?[]/.test(pattern);

/**
 * @param {object[]} tools What `tool_choices` gives.
 * @param {object} editor As of `createField`, and `toolState(id)`.
 * @returns {{node: HTMLElement, refresh(): void}}
 */
export function createToolPicker(tools, editor, id) {
  const node = element("div", "tt-tools");
  const search = element("input", "tt-input tt-tools-search");
  search.type = "search";
  search.placeholder = "Search tools";
  search.setAttribute("aria-label", "Search tools by name, id or description");
  const only = element("select", "tt-input");
  only.setAttribute("aria-label", "Which tools are listed");
  for (const [value, text] of [["all", "all tools"], ["on", "checked"], ["off", "not checked"]]) {
    only.append(Object.assign(element("option", "", text), { value }));
  }
  const count = element("span", "tt-tools-count");
  count.setAttribute("role", "status");
  const bar = element("div", "tt-tools-bar");
  bar.append(search, only, count);
  const none = element("div", "tt-field-help", "No tool matches.");
  const list = element("div", "tt-tools-list");
  const groups = grouped(tools).map(([group, members]) => toolGroup(group, members, editor, id));
  list.append(...groups.map((group) => group.node), none);
  const absent = element("div", "tt-tools-absent");
  node.append(bar, list, absent);

  const refresh = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const isShown = (tool) =>
      words.every((word) => tool.words.includes(word)) && (only.value === "all" || (only.value === "on") === isOn(editor, tool));
    const shown = groups.reduce((sum, group) => sum + group.refresh(isShown, words.length > 0), 0);
    none.hidden = shown > 0;
    const on = tools.filter((tool) => isOn(editor, tool));
    const tokens = on.reduce((sum, tool) => sum + tool.tokens, 0);
    count.textContent = `${on.length} of ${counted(tools.length, "tool")}, about ${counted(tokens, "token")} in every request`;
    drawAbsent(absent, tools, editor);
  };
  search.addEventListener("input", refresh);
  only.addEventListener("change", refresh);
  return { node, refresh };
}

function grouped(tools) {
  const groups = new Map();
  for (const tool of tools) {
    tool.words = [tool.id, tool.name, tool.group, tool.source, tool.effect, tool.description].join(" ").toLowerCase();
    const name = tool.source === "built in" ? tool.group : tool.source;
    groups.set(name, [...(groups.get(name) ?? []), tool]);
  }
  return [...groups].sort(([one], [other]) => (other === OWN) - (one === OWN) || one.localeCompare(other));
}

function isOn(editor, tool) {
  const state = editor.toolState(tool.id);
  return state.allow.length > 0 && state.deny.length === 0;
}

function without(list, patterns) {
  return list.filter((one) => isGlob(one) || !patterns.includes(one));
}

function setTool(editor, tool, on) {
  const state = editor.toolState(tool.id);
  const allow = editor.get(ALLOW) ?? [];
  const deny = editor.get(DENY) ?? [];
  if (on) {
    if (state.deny.length) editor.set(DENY, without(deny, state.deny));
    if (!state.allow.length) editor.set(ALLOW, [...allow, tool.id]);
    Object.assign(state, { deny: state.deny.filter(isGlob), allow: state.allow.length ? state.allow : [tool.id] });
    return;
  }
  const globs = state.allow.filter(isGlob);
  editor.set(ALLOW, without(allow, state.allow));
  if (globs.length) editor.set(DENY, [...deny, tool.id]);
  Object.assign(state, { allow: globs, deny: globs.length ? [...state.deny, tool.id] : state.deny });
}

function toolGroup(name, members, editor, id) {
  const node = element("fieldset", "tt-tools-group");
  const legend = element("legend", "tt-tools-head");
  const label = element("label", "tt-tools-name");
  const all = element("input", "tt-check");
  all.type = "checkbox";
  const count = element("span", "tt-tools-count");
  label.append(all, icon(ICONS[members[0].group] ?? ICONS.other), element("span", "", clean(name)), count);
  legend.append(label);
  node.append(legend);
  const rows = members.map((tool, place) => toolRow(tool, editor, `${id}-${name.replace(/\W/g, "_")}-${place}`));
  node.append(...rows.map((row) => row.node));
  let visible = members;
  all.addEventListener("change", () => {
    const on = all.checked;
    for (const tool of visible) {
      const blocked = editor.toolState(tool.id).deny.some(isGlob);
      if (!blocked && isOn(editor, tool) !== on) setTool(editor, tool, on);
    }
    editor.flush();
    editor.refresh();
  });
  return {
    node,
    refresh(isShown) {
      visible = members.filter(isShown);
      rows.forEach((row) => (row.node.hidden = !visible.includes(row.tool)));
      rows.forEach((row) => row.refresh());
      node.hidden = visible.length === 0;
      const on = visible.filter((tool) => isOn(editor, tool)).length;
      all.checked = on > 0 && on === visible.length;
      all.indeterminate = on > 0 && on < visible.length;
      all.setAttribute("aria-label", `All ${visible.length} tools of ${clean(name)}`);
      count.textContent = `${on} of ${visible.length}`;
      return visible.length;
    },
  };
}

function toolRow(tool, editor, id) {
  const node = element("div", "tt-tool");
  node.dataset.tool = tool.id;
  const input = element("input", "tt-check");
  input.type = "checkbox";
  input.id = id;
  const label = element("label", "tt-tool-label");
  label.htmlFor = id;
  const name = element("code", "tt-tool-name", clean(tool.name));
  const first = clean(tool.description).trim().split("\n")[0];
  label.append(name, ...badges(tool), element("span", "tt-tool-id", clean(tool.id)), element("span", "tt-tool-told", first));
  const why = element("div", "tt-field-help tt-tool-why");
  why.id = `${id}-why`;
  input.setAttribute("aria-describedby", why.id);
  const fold = element("button", "tt-edit-link tt-tool-fold", "describe");
  fold.type = "button";
  fold.setAttribute("aria-expanded", "false");
  fold.setAttribute("aria-label", `Describe ${clean(tool.name)} in your own words`);
  const words = element("div", "tt-tool-words");
  words.hidden = true;
  let texts = null;
  fold.addEventListener("click", () => {
    texts ??= ownWords(tool, editor, words, id);
    words.hidden = !words.hidden;
    fold.setAttribute("aria-expanded", String(!words.hidden));
    texts.refresh();
    if (!words.hidden) words.querySelector("textarea").focus();
  });
  input.addEventListener("change", () => {
    setTool(editor, tool, input.checked);
    editor.flush();
    editor.refresh();
  });
  node.append(input, label, fold, why, words);
  return {
    node,
    tool,
    refresh() {
      const state = editor.toolState(tool.id);
      const blocking = state.deny.filter(isGlob);
      input.checked = isOn(editor, tool);
      input.disabled = blocking.length > 0;
      const globs = state.allow.filter(isGlob);
      why.textContent = blocking.length ? `Denied by ${blocking.join(", ")}.` : input.checked && globs.length ? `Allowed by ${globs.join(", ")}.` : "";
      const own = (editor.get(["tools", "toolDescriptions"]) ?? {})[state.described ?? tool.id];
      const isOwn = !!own && (own.description !== null || Object.keys(own.properties ?? {}).length > 0);
      fold.textContent = isOwn ? "own words" : "describe";
      fold.classList.toggle("tt-on", isOwn);
      texts?.refresh();
    },
  };
}

function badges(tool) {
  const [text, colour] = effectOf(tool);
  const badge = element("span", "tt-badge", text);
  badge.dataset.effect = colour;
  const cost = element("span", "tt-tool-tokens", `${tool.tokens} tok`);
  cost.title = "Estimated tokens in every request";
  return [badge, cost];
}

/** What a call can touch, in words, and the effect whose colour it has. */
function effectOf(tool) {
  if (tool.effect === "none") return ["changes nothing", "none"];
  if (tool.source === OWN && tool.effect === "external") return ["runs · this notebook", "project"];
  const verb = tool.readOnly ? "reads" : tool.effect === "host" ? "runs" : "changes";
  return [`${verb} · ${PLACES[tool.effect] ?? clean(tool.effect)}`, tool.readOnly ? "reads" : tool.effect];
}

/** What the model reads about a tool and its parameters, where the profile says it in other words. */
function ownWords(tool, editor, place, id) {
  const inputs = [];
  const key = () => editor.toolState(tool.id).described ?? tool.id;
  const all = () => editor.get(["tools", "toolDescriptions"]) ?? {};
  const tell = () => {
    const properties = Object.fromEntries(inputs.filter((one) => one.name !== null && one.area.value.trim()).map((one) => [one.name, one.area.value]));
    const text = inputs[0].area.value;
    const own = { description: text.trim() ? text : null, properties };
    const { [key()]: _, ...others } = all();
    const isEmpty = own.description === null && !Object.keys(properties).length;
    editor.set(["tools", "toolDescriptions"], isEmpty ? others : { ...others, [key()]: own });
  };
  const add = (name, standard) => {
    const area = element("textarea", "tt-input");
    area.id = `${id}-words-${inputs.length}`;
    area.placeholder = clean(standard) || "no description";
    area.rows = Math.min(10, Math.max(name === null ? 2 : 1, standard.split("\n").length, Math.ceil(standard.length / 75)));
    area.addEventListener("input", tell);
    area.addEventListener("change", () => editor.flush());
    const label = element("label", "tt-field-label");
    label.htmlFor = area.id;
    label.append(name === null ? "What the model reads" : element("code", "", clean(name)));
    const row = element("div", "tt-field");
    row.append(label, area);
    place.append(row);
    inputs.push({ name, area });
  };
  add(null, tool.description);
  for (const [name, standard] of Object.entries(tool.properties)) add(name, standard);
  return {
    refresh() {
      const own = all()[key()] ?? {};
      for (const { name, area } of inputs) {
        const value = (name === null ? own.description : own.properties?.[name]) ?? "";
        if (area.value !== value && !(area.value.trim() === "" && value === "")) area.value = value;
      }
    },
  };
}

/** Descriptions of tools that are not here now (another notebook's functions, a server that is off). */
function drawAbsent(place, tools, editor) {
  const descriptions = editor.get(["tools", "toolDescriptions"]) ?? {};
  const known = new Set(tools.map((tool) => editor.toolState(tool.id).described ?? tool.id));
  const left = Object.keys(descriptions).filter((name) => !known.has(name));
  if (place.dataset.names === left.join("\n")) return;
  place.dataset.names = left.join("\n");
  place.replaceChildren(
    ...left.map((name) => {
      const row = element("div", "tt-field-help", `Own words for ${clean(name)}, which is not here now. `);
      const remove = element("button", "tt-edit-link", "remove");
      remove.type = "button";
      remove.addEventListener("click", () => {
        const { [name]: _, ...others } = editor.get(["tools", "toolDescriptions"]) ?? {};
        editor.set(["tools", "toolDescriptions"], others);
        editor.flush();
        editor.refresh();
      });
      row.append(remove);
      return row;
    }),
  );
}

function icon(path) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "tt-icon");
  svg.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return svg;
}
