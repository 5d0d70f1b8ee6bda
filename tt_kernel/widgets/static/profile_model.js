/** Which model, and how it is reached: one choice in place of the three fields that a profile keeps it in. Plain ESM. */

import { clean, element } from "./run_view.js";
import { select, showProblems } from "./profile_fields.js";

const DIRECT = "";
const LATER = "?";
export const MODEL_FIELDS = ["model.mode", "model.connectionRef", "model.modelId"];

/**
 * @param {object} models What `model_choices` gives.
 * @param {object} editor As of `createField`.
 * @returns {{node: HTMLElement, path: string[], refresh(): void}}
 */
export function createModelChoice(models, editor, id) {
  const node = element("div", "tt-model");
  const reach = select(reaches(models), `${id}-reach`);
  const name = element("input", "tt-input");
  name.type = "text";
  name.id = `${id}-name`;
  name.spellcheck = false;
  name.autocomplete = "off";
  const offers = element("datalist", "");
  offers.id = `${id}-offers`;
  name.setAttribute("list", offers.id);
  const problem = element("div", "tt-field-problem");
  problem.id = `${id}-problem`;
  problem.setAttribute("aria-live", "polite");
  const help = element("div", "tt-field-help");
  help.id = `${id}-help`;
  name.setAttribute("aria-describedby", `${problem.id} ${help.id}`);
  const reachHelp = element("div", "tt-field-help");
  const nameField = row(name, "Model", [offers, problem, help]);
  node.append(row(reach, "Reached by", [reachHelp]), nameField);

  const put = (field, value) => editor.set(["model", field], value);
  reach.addEventListener("change", () => {
    const chosen = reach.value;
    const mode = chosen === DIRECT ? "currentPromptSnapshot" : chosen === LATER ? "requiresConfiguration" : "connectionRef";
    put("mode", mode);
    put("connectionRef", mode === "connectionRef" ? chosen : null);
    put("modelId", null);
    editor.flush();
  });
  name.addEventListener("input", () => put("modelId", name.value.trim() || null));
  name.addEventListener("change", () => editor.flush());

  return {
    node,
    path: ["model"],
    refresh() {
      const mode = editor.get(["model", "mode"]);
      const reference = editor.get(["model", "connectionRef"]);
      const chosen = mode === "connectionRef" ? reference ?? "" : mode === "requiresConfiguration" ? LATER : DIRECT;
      if (![...reach.options].some((option) => option.value === chosen)) {
        const unknown = element("option", "", `connection ${clean(chosen)} (you have none of this name)`);
        unknown.value = chosen;
        reach.append(unknown);
      }
      reach.value = chosen;
      const connection = models.connections.find((one) => one.name === chosen);
      const names = chosen === DIRECT ? models.models : connection?.models ?? [];
      offers.replaceChildren(...names.map((text) => Object.assign(element("option", ""), { value: text })));
      const value = editor.get(["model", "modelId"]) ?? "";
      if (name.value.trim() !== value) name.value = value;
      name.placeholder = placeholder(chosen, connection, models.default);
      nameField.hidden = chosen === LATER && !value;
      reachHelp.textContent = told(chosen, connection, models);
      help.textContent = chosen === DIRECT ? "provider:model; any name will do, the list only helps. Empty: the notebook's default." : "Empty: the connection's own model.";
      const changed = ["mode", "connectionRef", "modelId"].some((field) => editor.isChanged(["model", field]));
      node.classList.toggle("tt-changed", changed);
      const found = [["model"], ...MODEL_FIELDS.map((field) => field.split("."))].flatMap((path) => editor.problems(path, path.length === 1));
      showProblems(problem, found, node, name);
      nameField.hidden &&= found.length === 0;
    },
  };
}

function row(input, text, more) {
  const node = element("div", "tt-field");
  const label = element("label", "tt-field-label", text);
  label.htmlFor = input.id;
  const body = element("div", "tt-field-body");
  body.append(input, ...more);
  node.append(label, body);
  return node;
}

function reaches(models) {
  const own = models.connections.map((one) => [one.name, `connection ${clean(one.name)} (${clean(one.provider)})`]);
  return [[DIRECT, "its own name"], ...own, [LATER, "to be chosen by whoever uses the profile"]];
}

function placeholder(chosen, connection, standard) {
  if (chosen === DIRECT) return standard ? `${standard} (the notebook's default)` : "the notebook's default";
  return connection?.model ? `${connection.model} (the connection's)` : "model";
}

function told(chosen, connection, models) {
  if (connection) return `${connection.description ? `${clean(connection.description)} ` : ""}Its key stays on this machine; the profile holds the connection's name only.`;
  if (chosen === DIRECT) return models.connections.length ? "" : "Connections (a service's address and the name of its key) would be listed here; you have none yet.";
  return "";
}
