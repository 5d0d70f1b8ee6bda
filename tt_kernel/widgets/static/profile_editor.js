/**
 * The form of a profile (messages: tt_kernel/widgets/profile_editor.py). Plain ESM, the code of an anywidget.
 *
 * The draft is the kernel's: each change goes there, and what comes back says what is wrong, what has changed and which tools
 * the lists mean. Until the answer to the newest change is here, what was typed stands. Text reaches the page through
 * `textContent` and `value` only.
 */

import { clean, counted, diffLines, element } from "./run_view.js";
import { createField, same } from "./profile_fields.js";
import { MODEL_FIELDS, createModelChoice } from "./profile_model.js";
import { createToolPicker } from "./profile_tools.js";

const PAUSE_MS = 200;
/** So long the kernel may take to answer before the form says that it waits. */
const PATIENCE_MS = 4000;
const WAITING = "Waiting for the kernel: it is busy, or it was restarted (then run the cell again).";
const LISTS = new Set(["tools.allow", "tools.deny", "tools.externalResultInlineCharLimit", "tools.httpGetTestUrl"]);
let views = 0;

export default {
  render({ model, el }) {
    const view = createProfileEditor(el, (message) => {
      try {
        model.send(message);
      } catch {
        // The kernel is gone: no answer comes, and the form says so.
      }
    });
    const hear = (message) => view.received(message);
    model.on("msg:custom", hear);
    view.open();
    return () => {
      model.off("msg:custom", hear);
      view.dispose();
    };
  },
};

/**
 * @param {HTMLElement} root An element that the view owns from now on.
 * @param {(message: object) => void} send To the kernel.
 * @returns {{open(): void, received(message: object): void, dispose(): void}}
 */
export function createProfileEditor(root, send) {
  const me = `${Date.now().toString(36)}-${++views}`;
  const frame = element("section", "tt-edit");
  frame.dataset.lmSuppressShortcuts = "true"; // typing here is not for the notebook
  root.replaceChildren(frame);
  let page = null;
  let timer = 0;
  const post = (message) => {
    clearTimeout(timer);
    timer = setTimeout(() => (page ? page.wait(WAITING) : (frame.textContent = WAITING)), PATIENCE_MS);
    send(message);
  };
  const draft = createDraft(me, post, () => page?.refresh());
  const handlers = {
    form(message) {
      if (message.view !== me || page) return;
      draft.take(message);
      page = createPage(frame, message, draft, post);
      page.refresh();
    },
    state(message) {
      draft.take(message);
      page?.refresh();
    },
    preview: (message) => page?.preview(message),
    conflict: (message) => page?.conflict(message),
    merged: (message) => page?.merged(message.message),
    failed: (message) => page?.say(message.message, true),
    closed(message) {
      frame.replaceChildren(element("div", "tt-edit-closed", clean(message.message)));
      page = null;
    },
  };
  return {
    open: () => post({ type: "open", view: me }),
    received(message) {
      clearTimeout(timer);
      page?.wait("");
      handlers[message?.type]?.(message);
    },
    dispose() {
      draft.flush();
      clearTimeout(timer);
      frame.remove();
    },
  };
}

/** The draft as this view knows it, with what the kernel last said about it. */
function createDraft(me, send, changed) {
  let state = { document: {}, base: {}, problems: [], changed: [], changes: [], diff: "", canSave: false, toolStates: {} };
  const waiting = new Map(); // path as text -> [path, value], not sent yet
  const local = new Map(); // field -> what is wrong with text that cannot be sent
  let timer = 0;
  let sent = 0;
  const flush = () => {
    clearTimeout(timer);
    for (const [path, value] of waiting.values()) send({ type: "change", view: me, number: ++sent, path, value });
    waiting.clear();
  };
  const starts = (path, beginning) => beginning.every((name, place) => String(path[place]) === String(name));
  return {
    get: (path) => path.reduce((value, name) => value?.[name], state.document),
    base: (path) => path.reduce((value, name) => value?.[name], state.base),
    set(path, value) {
      state = { ...state, document: put(state.document, path, value) };
      waiting.set(path.join("."), [path, value ?? null]);
      clearTimeout(timer);
      timer = setTimeout(flush, PAUSE_MS);
    },
    flush,
    isChanged(path) {
      return !same(this.get(path), this.base(path));
    },
    problems(path, exactly = false) {
      const found = state.problems.filter((one) => starts(one.path, path) && (!exactly || one.path.length === path.length));
      const own = local.get(path.join("."));
      return own ? [...found, { path, message: own, blocks: true }] : found;
    },
    complain(name, text) {
      text ? local.set(name, text) : local.delete(name);
      changed();
    },
    toolState: (id) => (state.toolStates[id] ??= { allow: [], deny: [], described: null }),
    refresh: () => changed(),
    /** What an answer to an older change says is out of date, and the answer to the newest one says it all. */
    take(message) {
      const isNewest = waiting.size === 0 && (message.view !== me || message.number >= sent);
      if (isNewest) state = { ...state, ...message };
    },
    get state() {
      return state;
    },
    /** The number of the newest change. */
    get sent() {
      return sent;
    },
    get localProblems() {
      return [...local].map(([name, message]) => ({ path: name.split("."), message, blocks: true }));
    },
  };
}

function put(value, [name, ...rest], inner) {
  const copy = value && typeof value === "object" ? { ...value } : {};
  copy[name] = rest.length ? put(copy[name], rest, inner) : inner;
  return copy;
}

function createPage(frame, form, draft, send) {
  const id = `tt-edit-${++views}`;
  const head = element("header", "tt-edit-head");
  head.append(element("span", "tt-edit-word", "Profile"), element("code", "tt-edit-id", clean(form.title)), element("span", "tt-edit-target", targetOf(form)));
  frame.setAttribute("aria-label", `Profile ${clean(form.title)}`);
  const editor = { ...draft, isChanged: (path) => draft.isChanged(path), problems: draft.problems, suggestions: (name) => suggestions(name, form) };
  const groups = form.groups.map((group) => createGroup(group, form, editor, `${id}-${group.id}`));
  const preview = createPreview(() => send({ type: "preview" }));
  const tabs = createTabs([...groups, preview], id, () => bar.refresh());
  const review = createReview();
  const general = element("ul", "tt-edit-general");
  general.setAttribute("aria-live", "polite");
  const body = element("div", "tt-edit-body");
  body.append(tabs.node, review.node);
  const bar = createBar(form, draft, {
    isReview: () => !review.node.hidden,
    review(on) {
      draft.flush();
      review.node.hidden = !on;
      tabs.node.hidden = on;
      bar.refresh();
      if (on) review.node.focus();
      else tabs.focus();
    },
    send(type) {
      draft.flush();
      send({ type, view: form.view, number: draft.sent });
    },
    firstProblem() {
      const wrong = groups.find((group) => group.problems() > 0);
      if (!wrong) return;
      tabs.choose(groups.indexOf(wrong));
      const field = wrong.node.querySelector(".tt-wrong");
      (field?.querySelector("[aria-invalid], input, textarea, select") ?? field)?.focus();
    },
  });
  tabs.choose(0);
  frame.replaceChildren(head, general, body, bar.node);
  const known = form.groups.flatMap((group) => group.parts.flatMap((part) => part.fields.map((field) => field.path)));
  const isPlaced = ({ path }) => known.some((field) => field.every((name, place) => path[place] === name)) || path[0] === "model";
  return {
    refresh() {
      for (const group of groups) group.refresh();
      const state = draft.state;
      const loose = state.problems.filter((one) => !isPlaced(one));
      general.replaceChildren(...loose.map((one) => element("li", one.blocks ? "tt-field-problem" : "tt-field-problem tt-note", clean(one.message))));
      tabs.refresh();
      review.refresh(state);
      bar.refresh();
      if (tabs.chosen() === preview) preview.ask();
    },
    preview: (message) => preview.show(message),
    conflict: (message) => bar.conflict(message),
    merged: (message) => bar.merged(message),
    say: (message, isWrong) => bar.say(message, isWrong),
    wait: (text) => bar.wait(text),
  };
}

function targetOf(form) {
  return form.isCopy ? `shipped with tt_kernel; saving makes a copy, ${clean(form.target)}` : clean(form.target);
}

function suggestions(name, form) {
  if (name !== "permissions.rules.tool") return [];
  const groups = [...new Set(form.tools.map((tool) => `group:${tool.group}`))];
  return [...form.tools.map((tool) => tool.id), ...groups];
}

// ---- pages of the form

function createGroup(group, form, editor, id) {
  const node = element("div", "tt-edit-panel");
  const controls = [];
  const parts = group.parts.map((part) => {
    const fields = part.fields.filter((field) => !MODEL_FIELDS.includes(field.name) && !(group.id === "tools" && !LISTS.has(field.name)));
    const isList = group.id === "tools";
    const folded = part.folded || isList;
    const box = element(folded ? "details" : "div", "tt-part");
    const title = isList ? "Lists, as the document has them" : part.title;
    if (title) box.append(element(folded ? "summary" : "h4", "tt-part-title", title));
    const own = fields.map((field) => createField(field, editor));
    if (group.id === "model" && !part.title) {
      const model = createModelChoice(form.models, editor, id);
      controls.push(model);
      box.append(model.node);
    }
    box.append(...own.map((control) => control.node));
    controls.push(...own);
    return { box, own, folded, isList };
  });
  if (group.id === "tools") {
    const picker = createToolPicker(form.tools, editor, id);
    const words = element("div", "tt-field-problem");
    words.setAttribute("aria-live", "polite");
    controls.push({ path: ["tools", "toolDescriptions"], refresh: () => (picker.refresh(), tellOf(words, editor.problems(["tools", "toolDescriptions"]))) });
    node.append(picker.node, words);
  }
  node.append(...parts.map((part) => part.box));
  const paths = [...controls.map((control) => control.path)];
  return {
    node,
    title: group.title,
    id,
    refresh() {
      for (const control of controls) control.refresh();
      for (const { box, own, folded, isList } of parts) {
        const isWrong = (control) => editor.problems(control.path).some((one) => one.blocks);
        const needed = own.some((control) => isWrong(control) || (!isList && editor.isChanged(control.path)));
        if (folded && needed && !box.dataset.opened) {
          box.open = true;
          box.dataset.opened = "once"; // a person may close it again
        }
      }
    },
    problems: () => paths.reduce((sum, path) => sum + editor.problems(path).filter((one) => one.blocks).length, 0),
    isChanged: () => paths.some((path) => editor.isChanged(path)),
  };
}

function tellOf(place, problems) {
  place.textContent = problems.map((one) => clean(one.message)).join("\n");
  place.classList.toggle("tt-note", problems.length > 0 && !problems.some((one) => one.blocks));
}

/** Vertical tabs by the pattern of WAI-ARIA: arrows choose, Tab goes on into the page. */
function createTabs(pages, id, moved) {
  const node = element("div", "tt-edit-tabs");
  const list = element("div", "tt-edit-list");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", "Parts of the profile");
  let at = 0;
  const buttons = pages.map((page, place) => {
    const tab = element("button", "tt-edit-tab");
    const badge = element("span", "tt-edit-badge");
    tab.type = "button";
    tab.id = `${id}-tab-${place}`;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", `${id}-panel-${place}`);
    tab.append(element("span", "", page.title), badge);
    tab.addEventListener("click", () => choose(place));
    Object.assign(page.node, { id: `${id}-panel-${place}`, tabIndex: -1 });
    page.node.setAttribute("role", "tabpanel");
    page.node.setAttribute("aria-labelledby", tab.id);
    list.append(tab);
    return tab;
  });
  const choose = (place) => {
    at = (place + pages.length) % pages.length;
    buttons.forEach((tab, n) => {
      tab.setAttribute("aria-selected", String(n === at));
      tab.tabIndex = n === at ? 0 : -1;
      pages[n].node.hidden = n !== at;
    });
    pages[at].shown?.();
    moved();
  };
  const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
  list.addEventListener("keydown", (event) => {
    const to = event.key in steps ? at + steps[event.key] : event.key === "Home" ? 0 : event.key === "End" ? pages.length - 1 : null;
    if (to === null) return;
    event.preventDefault();
    choose(to);
    buttons[at].focus();
  });
  node.append(list, ...pages.map((page) => page.node));
  return {
    node,
    choose,
    chosen: () => pages[at],
    focus: () => buttons[at].focus(),
    refresh() {
      pages.forEach((page, place) => {
        const wrong = page.problems?.() ?? 0;
        const badge = buttons[place].lastChild;
        const isChanged = page.isChanged?.() ?? false;
        badge.textContent = wrong ? String(wrong) : isChanged ? "●" : "";
        badge.dataset.kind = wrong ? "wrong" : "changed";
        const said = wrong ? counted(wrong, "problem") : isChanged ? "changed" : "";
        said ? badge.setAttribute("aria-label", said) : badge.removeAttribute("aria-label");
        if (said) badge.setAttribute("role", "img");
      });
    },
  };
}

function createPreview(ask) {
  const node = element("div", "tt-edit-panel tt-edit-preview");
  const title = element("div", "tt-preview-title", "…");
  title.setAttribute("role", "status");
  const sections = element("div", "");
  const notes = element("div", "");
  node.append(title, sections, notes);
  const open = new Map();
  return {
    node,
    title: "Preview",
    ask,
    shown: ask,
    show(message) {
      title.textContent = clean(message.problem ?? message.title);
      title.classList.toggle("tt-field-problem", !!message.problem);
      sections.hidden = notes.hidden = !!message.problem;
      if (message.problem) return;
      sections.replaceChildren(
        ...message.sections.map((section) => {
          const box = element("details", "tt-part");
          const name = section.title.replace(/ \([^(]*\)$/, "");
          box.open = open.get(name) ?? section.isOpen;
          box.addEventListener("toggle", () => open.set(name, box.open));
          const text = element("pre", "tt-preview-text", clean(section.body));
          text.tabIndex = 0;
          box.append(element("summary", "tt-part-title", clean(section.title)), text);
          return box;
        }),
      );
      notes.replaceChildren(...message.notes.map((note) => element("div", "tt-field-help", clean(note))));
    },
  };
}

// ---- what would change

function createReview() {
  const node = element("div", "tt-edit-review");
  node.hidden = true;
  node.tabIndex = -1;
  node.setAttribute("role", "region");
  node.setAttribute("aria-label", "What saving changes");
  return {
    node,
    refresh(state) {
      const file = element("details", "tt-part");
      file.open = node.querySelector("details")?.open ?? false;
      file.append(element("summary", "tt-part-title", "In the file"), unified(state.diff));
      const none = element("div", "tt-field-help", "Nothing is changed.");
      node.replaceChildren(...(state.changes.length ? [changeList(state.changes), file] : [none]));
    },
  };
}

function changeList(changes) {
  const list = element("dl", "tt-changes");
  for (const [field, before, after] of changes) {
    const name = element("dt", "");
    name.append(element("code", "", clean(field)));
    const told = element("dd", "");
    const isLong = [before, after].some((text) => text.includes("\n") || text.length > 90);
    if (isLong) told.append(textDiff(before, after));
    else {
      const arrow = element("span", "tt-arrow", "→");
      arrow.setAttribute("aria-hidden", "true");
      told.append(sided("tt-before", before, "before"), arrow, sided("tt-after", after, "after"));
    }
    list.append(name, told);
  }
  return list;
}

function sided(className, text, what) {
  const side = element("span", className);
  side.append(element("span", "tt-edit-hidden", `${what}: `), clean(text) || "(nothing)");
  return side;
}

function textDiff(before, after) {
  return diffBlock(diffLines(before, after).map(([sign, line]) => [sign, `${sign} ${line}`]));
}

function unified(diff) {
  return diffBlock(diff.split("\n").filter(Boolean).slice(2).map((line) => [line[0], line]));
}

function diffBlock(lines) {
  const words = { "+": "added", "-": "removed", "@": "place" };
  const block = element("pre", "tt-diff-block");
  block.tabIndex = 0;
  for (const [sign, line] of lines) block.append(element("span", `tt-line-${words[sign] ?? "same"}`, `${clean(line)}\n`));
  return block;
}

// ---- the bar at the bottom

function createBar(form, draft, acts) {
  const node = element("footer", "tt-edit-bar");
  const notice = element("div", "tt-edit-notice");
  notice.setAttribute("role", "alert");
  notice.hidden = true;
  const status = element("button", "tt-edit-link tt-edit-status");
  status.type = "button";
  status.addEventListener("click", () => acts.firstProblem());
  const said = element("span", "tt-edit-said");
  said.setAttribute("role", "status");
  const close = action("Close", () => (draft.state.changed.length ? ask() : acts.send("close")));
  const back = action("Back to the form", () => acts.review(false));
  const look = action("Review changes", () => acts.review(true), true);
  const save = action("Save", () => acts.send("save"), true);
  const row = element("div", "tt-edit-row");
  row.append(status, said, close, back, look, save);
  node.append(notice, row);
  const tell = (text, isWrong, ...buttons) => {
    notice.hidden = !text;
    notice.classList.toggle("tt-wrong", !!isWrong);
    notice.replaceChildren(element("div", "", clean(text)), ...buttons);
  };
  const ask = () => {
    const lost = `Close without saving? ${counted(draft.state.changes.length || draft.state.changed.length, "changed field")} would be lost.`;
    const keep = action("Keep editing", () => (tell(""), close.focus()));
    tell(lost, false, choices(action("Close without saving", () => acts.send("close")), keep));
    keep.focus();
  };
  let waiting = "";
  const refresh = () => {
    const { state } = draft;
    const wrong = [...state.problems, ...draft.localProblems].filter((one) => one.blocks).length;
    const isReview = acts.isReview();
    const changes = state.changed.length ? state.changes.length || state.changed.length : 0;
    status.hidden = !wrong;
    status.textContent = wrong ? `${counted(wrong, "problem")} to mend` : "";
    said.textContent = waiting || (changes ? `${counted(changes, "field")} changed` : "No changes");
    const canSave = state.canSave && draft.localProblems.length === 0;
    look.hidden = back.hidden = save.hidden = true;
    for (const shown of isReview ? [back, save] : [look]) shown.hidden = false;
    look.disabled = changes === 0;
    save.disabled = !canSave;
    close.hidden = isReview;
  };
  return {
    node,
    refresh,
    wait(text) {
      waiting = text;
      refresh();
    },
    say: (text, isWrong) => tell(text, isWrong, choices(action("Dismiss", () => tell("")))),
    merged(text) {
      tell(text, false, choices(action("Dismiss", () => tell(""))));
      acts.review(true);
    },
    conflict(message) {
      const both = action("Take both sides' changes", () => acts.send("take_both"), true);
      const theirs = action("Discard mine", () => acts.send("take_theirs"));
      const what = message.changes.length ? changeList(message.changes) : element("span", "");
      tell(message.message, true, what, choices(both, theirs));
      both.focus();
    },
  };
}

function choices(...buttons) {
  const row = element("div", "tt-edit-choices");
  row.append(...buttons);
  return row;
}

function action(text, act, isMain = false) {
  const button = element("button", `tt-edit-button${isMain ? " tt-main" : ""}`, text);
  button.type = "button";
  button.addEventListener("click", act);
  return button;
}
