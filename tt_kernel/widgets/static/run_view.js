/**
 * Draws a run (`RunView` and `ViewMeta` of tt_kernel/domain/views.py) into an element and keeps it up to date in place.
 *
 * Plain ESM without imports: the same file serves JupyterLab's MIME renderer, anywidgets and the tests. What models and
 * tools wrote is data: it reaches the page through `textContent` only, never as markup, because outputs of untrusted
 * notebooks are drawn too. Nodes are kept from one update to the next, so that folds stay open and the page does not jump.
 */

export const STATES = ["requested", "running", "done", "error", "cancelled"];
export const DRAWN_CALLS = 400;
/** Characters of one text put into the page at once; the rest comes with a button. */
export const DRAWN_CHARS = 20000;
const DIFF_LINES = 600;
const MAIN_ARGUMENTS = ["command", "path", "file_path", "query", "pattern", "url", "title", "name", "prompt", "task"];
const TEXT_ARGUMENTS = new Set(["old_string", "new_string", "content"]);
const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
export const MARKS = { done: "✓", running: "●", partial: "◐", interrupted: "■" };
const STATUS_WORDS = { completed: "done", partial_success: "partial", cancelled: "interrupted" };
const STATE_WORDS = { requested: "waiting", running: "running", cancelled: "cancelled" };

/** Paths of 16 x 16 line icons, one a tool group (`ToolSpec.group`). */
export const ICONS = {
  workspace: "M2 4.5h4l1.5 2H14v6.5H2z",
  files: "M4 1.8h5l3.2 3.2v9.2H4zM9 1.8V5h3.2M6 8h4.4M6 10.8h4.4",
  shell: "M1.8 2.8h12.4v10.4H1.8zM4.2 5.8l2.2 2.2-2.2 2.2M8.2 10.4h3.4",
  dice: "M2.8 2.8h10.4v10.4H2.8zM5.6 5.6v.1M10.4 5.6v.1M8 8v.1M5.6 10.4v.1M10.4 10.4v.1",
  chat: "M2 3h12v8H7.5L4.5 13.8V11H2z",
  worldinfo: "M8 4C6.5 2.8 4.5 2.6 2 2.8v10c2.5-.2 4.5 0 6 1.2 1.5-1.2 3.5-1.4 6-1.2v-10C11.5 2.6 9.5 2.8 8 4zv10",
  notebook: "M11.2 3.2c-2.2-1-3.2.2-3.4 2L6.8 11c-.3 1.8-1.2 2.7-2.8 2M4.8 6.8h5.6",
  agent: "M8 1.8v2.2M3 4h10v8H3zM6 7.4v1M10 7.4v1M5.5 14.2h5",
  tasks: "M3 2.5h10v11H3zM5.4 8l1.8 1.8L10.8 6",
  web: "M8 1.8a6.2 6.2 0 1 0 .01 0zM2 8h12M8 1.8c-3.8 4-3.8 8.4 0 12.4M8 1.8c3.8 4 3.8 8.4 0 12.4",
  mcp: "M5.5 1.8v3.4M10.5 1.8v3.4M3.5 5.2h9v2.6a4.5 4.5 0 0 1-9 0zM8 12.3v2",
  memory: "M8 1.8a6.2 6.2 0 1 0 .01 0zM8 4.4V8l2.6 1.8",
  skills: "M8 1.8l1.9 4 4.3.5-3.2 3 .9 4.3L8 11.5l-3.9 2.1.9-4.3-3.2-3 4.3-.5z",
  question: "M8 1.8a6.2 6.2 0 1 0 .01 0zM6 6.2c.4-2.4 4.2-2 4 .2-.2 1.5-2 1.5-2 3.2M8 11.8v.1",
  plan: "M3 2.5h10v11H3zM5.5 5.5h5M5.5 8h5M5.5 10.5h3",
  system: "M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7M10.5 3v3M5.5 10v3",
  image: "M2 3h12v10H2zM2 11l3.5-3.5L9 11l2-2 3 3M10.8 5.8v.1",
  other: "M8 5.4a2.6 2.6 0 1 0 .01 0zM8 1.8v1.6M8 12.6v1.6M1.8 8h1.6M12.6 8h1.6M3.6 3.6l1.2 1.2M11.2 11.2l1.2 1.2M3.6 12.4l1.2-1.2M11.2 4.8l1.2-1.2",
};
export const UI_ICONS = {
  chevron: "M6 3.5L10.5 8 6 12.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  folder: ICONS.workspace,
};

/**
 * @param {HTMLElement} root An empty element that the view owns from now on.
 * @param {object} [host] What the surroundings can do; every part may be missing:
 *   `renderText(element, text)` draws Markdown into an element (may be async), `openFile(anchor, path)` makes a link open a
 *   file, `fileUrl(path)` resolves to the address of a file's bytes, `interrupt()` stops the run, `isBusy()` tells whether
 *   the kernel still works (undefined: unknown), `guide(text)` sends guidance to the running agent.
 * @returns {{update(view: object, meta?: object): void, refresh(): void, dispose(): void}}
 */
export function createRunView(root, host = {}) {
  const parts = {
    header: element("div", "tt-run-header"),
    alert: element("div", "tt-run-alert"),
    story: element("div", "tt-run-story"),
    ask: element("div", "tt-run-ask"),
    answer: element("div", "tt-run-answer"),
    problem: element("div", "tt-run-problem"),
    guidance: element("form", "tt-run-guidance"),
    footer: element("div", "tt-run-footer"),
    announcement: element("div", "tt-run-hidden"),
  };
  parts.announcement.setAttribute("role", "status");
  root.classList.add("tt-run");
  root.replaceChildren(...Object.values(parts));
  watchFocus(root);
  const shown = { items: new Map(), texts: new WeakMap(), extra: 0, key: {}, timer: null };
  const state = { view: null, meta: {}, received: 0 };

  function draw() {
    const { view } = state;
    if (!view) return;
    const meta = { ...state.meta, live: isLive() };
    root.dataset.status = statusWord(view);
    root.dataset.run = clean(view.id);
    if (changed("header", [headerFacts(view, meta), meta.live, Boolean(host.interrupt)])) drawHeader(parts.header, view, meta, host, root);
    if (changed("alert", meta.drift ?? [])) drawAlert(parts.alert, meta.drift ?? []);
    drawStory(view);
    if (changed("answer", [view.text, view.textTruncated, meta.live])) drawAnswer(view, meta);
    if (changed("problem", [view.problem, view.problemCode, view.status])) drawProblem(parts.problem, view);
    if (changed("guidance", [meta.live && Boolean(host.guide)])) drawGuidance(parts.guidance, meta, host);
    if (changed("footer", [view.folder, view.files, view.status === "running"])) drawFooter(parts.footer, view, host);
    if (changed("announcement", [view.status])) parts.announcement.textContent = `${view.profile}: ${statusWord(view)}`;
    tick();
  }

  function isLive() {
    return Boolean(state.meta.live) && statusWord(state.view) === "running" && host.isBusy?.() !== false;
  }

  function changed(part, facts) {
    const key = JSON.stringify(facts);
    if (shown.key[part] === key) return false;
    shown.key[part] = key;
    return true;
  }

  function drawStory(view) {
    const wanted = storyItems(view, shown.extra);
    const used = new Set();
    let place = parts.story.firstChild;
    for (const item of wanted) {
      const key = JSON.stringify(item);
      let entry = shown.items.get(item.id);
      if (!entry) {
        entry = { node: makeItem(item), key: null };
        shown.items.set(item.id, entry);
      }
      if (entry.key !== key) {
        entry.key = key;
        entry.node.ttUpdate(item, view);
      }
      used.add(item.id);
      if (entry.node === place) place = place.nextSibling;
      else parts.story.insertBefore(entry.node, place);
    }
    for (const [id, entry] of shown.items) {
      if (used.has(id)) continue;
      entry.node.remove();
      shown.items.delete(id);
    }
  }

  function makeItem(item) {
    if (item.kind === "call") return callCard(host);
    if (item.kind === "note") return noteNode((node, text) => showText(node, text, false));
    return gapNode(() => {
      shown.extra += DRAWN_CALLS;
      draw();
    });
  }

  function drawAnswer(view, meta) {
    showText(parts.answer, view.text, meta.live);
    parts.answer.classList.toggle("tt-run-streaming", meta.live && Boolean(view.text));
    if (view.textTruncated) parts.answer.append(element("div", "tt-run-label", "Cut here. The whole answer is in the run's folder."));
  }

  /** Markdown where the host can draw it; a long text that still grows stays plain, because drawing it again costs too much. */
  function showText(node, text, growing) {
    const value = clean(text ?? "");
    const plain = () => node.replaceChildren(element("div", "tt-run-plain", value.slice(0, 200000)));
    if (!value.trim()) return node.replaceChildren();
    if (!host.renderText || (growing && value.length > 8000)) return plain();
    const version = (shown.texts.get(node) ?? 0) + 1;
    shown.texts.set(node, version);
    const draft = element("div", "tt-run-prose");
    Promise.resolve()
      .then(() => host.renderText(draft, value))
      .then(
        () => {
          if (shown.texts.get(node) !== version) return;
          draft.querySelectorAll("pre").forEach(addCopyButton);
          const old = node.querySelector(":scope > .tt-run-prose, :scope > .tt-run-plain");
          old ? old.replaceWith(draft) : node.prepend(draft);
        },
        () => shown.texts.get(node) === version && plain(),
      );
    if (!node.firstChild) plain();
    return undefined;
  }

  function tick() {
    const live = isLive();
    const clock = parts.header.querySelector(".tt-run-elapsed");
    if (live && clock) {
      const since = (performance.now() - state.received) / 1000;
      clock.textContent = duration((state.meta.elapsedSeconds ?? 0) + since, true);
    }
    if (live && shown.timer === null) shown.timer = setInterval(() => (root.isConnected ? tick() : stopClock()), 1000);
    if (!live) stopClock();
  }

  function stopClock() {
    clearInterval(shown.timer);
    shown.timer = null;
  }

  return {
    update(view, meta = {}) {
      state.view = wellFormed(view);
      state.meta = meta ?? {};
      state.received = performance.now();
      draw();
    },
    refresh: draw,
    dispose() {
      stopClock();
      root.replaceChildren();
    },
  };
}

// ---- what is shown, in words

export function statusWord(view) {
  const status = String(view?.status ?? "");
  return STATUS_WORDS[status] ?? (status.replace(/[^a-z_]/g, "").slice(0, 20) || "unknown");
}

export function callSummary(call) {
  if (STATE_WORDS[call.state]) return STATE_WORDS[call.state];
  const rows = String(call.summary ?? "").startsWith("[{") ? tabular(call.content) : null;
  return rows ? counted(rows.length, "row") : oneLine(call.summary, 200) || (call.errorCode ? "" : "done");
}

/** What a call is about: the value of the argument that names its object, then the other short ones by name. */
export function argumentsLine(call) {
  if (call.rawArguments != null) return oneLine(call.rawArguments, 200);
  const all = sortedArguments(call.arguments);
  const spelled = (value) => oneLine(typeof value === "string" ? value : JSON.stringify(value), 160);
  if (all.length === 1) return spelled(all[0][1]);
  const main = MAIN_ARGUMENTS.find((name) => typeof call.arguments?.[name] === "string");
  const isLong = ([name, value]) => TEXT_ARGUMENTS.has(name) || spelled(value).length > 40;
  const rest = all.filter((pair) => pair[0] !== main && !(main && isLong(pair)));
  const pairs = rest.map(([name, value]) => `${clean(name)}=${spelled(value)}`);
  return oneLine([...(main ? [spelled(call.arguments[main])] : []), ...pairs].join("  "), 240);
}

function headerFacts(view, meta) {
  const facts = [[view.turns, "turn"], [view.callCount, "call"], [view.tokens, "token"]].filter(([n]) => n).map(([n, word]) => counted(n, word));
  if (view.continues) facts.push(`continues ${clean(view.continues)}`);
  if (!meta.live && meta.elapsedSeconds != null && meta.replayed !== true) facts.push(duration(meta.elapsedSeconds));
  if (meta.costUsd) facts.push(`$${meta.costUsd < 0.01 ? meta.costUsd.toPrecision(1) : meta.costUsd.toFixed(2)}`);
  return [statusWord(view), clean(view.profile), clean(view.model), meta.replayed ?? null, ...facts];
}

export function counted(count, noun) {
  return `${Number(count).toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

export function duration(seconds, whole = false) {
  if (seconds < 60) return whole ? `${Math.floor(seconds)} s` : `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  const rest = String(Math.floor(seconds % 60)).padStart(2, "0");
  return minutes < 60 ? `${minutes}:${rest} min` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest} h`;
}

/** Without control characters and overrides of the text direction. */
export function clean(text) {
  return String(text ?? "").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/g, "");
}

export function oneLine(text, limit) {
  const line = clean(String(text ?? "").slice(0, 4 * limit).replace(/\s+/g, " ")).trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`;
}

/** A path beside the notebook, as parts of an address; null for anything else (a scheme, an absolute path, a way up). */
export function localPath(path) {
  const text = clean(path).replace(/\\/g, "/");
  if (!text || /^[a-z][a-z0-9+.-]*:/i.test(text) || text.startsWith("/") || text.split("/").includes("..")) return null;
  return text.split("/").map(encodeURIComponent).join("/");
}

/** Calls, notes and gaps in the order in which they happened. */
export function storyItems(view, extra = 0) {
  const items = [];
  const notes = [...view.notes].sort((a, b) => a.after - b.after).map((note, n) => ({ kind: "note", id: `note-${note.after}-${n}`, note }));
  const room = DRAWN_CALLS + extra;
  const first = view.calls.length > room ? Math.ceil(room / 2) : view.calls.length;
  const last = view.calls.length - (room - first);
  let previous = 0;
  view.calls.forEach((call, n) => {
    if (n >= first && n < last) return;
    while (notes.length && notes[0].note.after < call.index) items.push(notes.shift());
    const missing = call.index - previous - 1;
    const kept = n === last && n > first ? last - first : 0;
    if (missing > 0) items.push({ kind: "gap", id: "gap-" + previous, missing, kept });
    previous = call.index;
    items.push({ kind: "call", id: `call-${call.index}`, call });
  });
  const rest = view.callCount - previous;
  if (rest > 0 && view.calls.length) items.push({ kind: "gap", id: "gap-" + previous, missing: rest, kept: 0 });
  return [...items, ...notes];
}

function wellFormed(view) {
  return { calls: [], notes: [], files: [], ...(view && typeof view === "object" ? view : {}) };
}

function sortedArguments(values) {
  const size = (value) => (typeof value === "string" ? value : JSON.stringify(value) ?? "").length;
  return Object.entries(values ?? {}).sort(([a, x], [b, y]) => (size(x) > 60) - (size(y) > 60) || (a < b ? -1 : 1));
}

// ---- the parts

function drawHeader(node, view, meta, host, root) {
  const [status, profile, model, replayed, ...facts] = headerFacts(view, meta);
  const mark = element("span", "tt-run-mark", MARKS[status] ?? "✗");
  mark.setAttribute("aria-hidden", "true");
  const main = element("span", "tt-run-state");
  main.append(mark, element("span", "tt-run-profile", profile));
  if (status !== "done" || meta.live) main.append(element("span", "tt-run-status", status === "running" && !meta.live ? "not finished" : status));
  const list = element("span", "tt-run-facts");
  for (const fact of [model, ...facts].filter(Boolean)) list.append(element("span", "tt-run-fact", fact));
  if (meta.live) list.append(element("span", "tt-run-fact tt-run-elapsed"));
  const side = element("span", "tt-run-side");
  if (replayed === true) side.append(badge("replayed", "Taken from the recording: no model was asked."));
  if (meta.live && host.interrupt) side.append(stopButton(host));
  else if (view.calls.length > 1) side.append(foldButton(root));
  node.replaceChildren(main, list, side);
}

function stopButton(host) {
  const stop = button("tt-run-stop", "Stop", "Stop this run; what it has is kept");
  stop.addEventListener("click", () => {
    stop.disabled = true;
    stop.textContent = "Stopping";
    host.interrupt();
  });
  return stop;
}

function foldButton(root) {
  const fold = button("tt-run-fold", "Open all");
  const cards = () => [...root.querySelectorAll("details.tt-card")];
  fold.addEventListener("click", () => {
    const open = cards().some((card) => !card.open);
    for (const card of cards()) card.open = open;
    fold.textContent = open ? "Close all" : "Open all";
  });
  return fold;
}

export function badge(text, title) {
  const node = element("span", `tt-run-badge tt-run-badge-${text}`, text);
  node.title = title;
  return node;
}

function drawAlert(node, drift) {
  const lines = drift.slice(0, 5).map((text) => element("div", "", oneLine(text, 500)));
  node.replaceChildren();
  if (lines.length) node.append(element("div", "tt-run-alert-title", "Differs from the recording"), ...lines);
  if (drift.length > 5) node.append(element("div", "", `and ${counted(drift.length - 5, "more difference")}`));
}

function drawProblem(node, view) {
  node.replaceChildren();
  if (!view.problem && !view.problemCode) return;
  node.classList.toggle("tt-run-quiet", statusWord(view) === "interrupted");
  if (view.problemCode) node.append(element("code", "tt-run-code", clean(view.problemCode)));
  node.append(element("span", "", clean(view.problem)));
}

function drawGuidance(form, meta, host) {
  form.replaceChildren();
  if (!meta.live || !host.guide) return;
  const input = element("input", "tt-run-guide");
  input.placeholder = "Say something to the agent; it reads it before its next turn";
  input.setAttribute("aria-label", "Guidance for the running agent");
  const send = button("tt-run-send", "Send");
  send.type = "submit";
  const outcome = element("span", "tt-run-label");
  outcome.setAttribute("role", "status");
  form.append(input, send, outcome);
  form.dataset.lmSuppressShortcuts = "true";
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault(); // JupyterLab takes the key's own action away
    form.requestSubmit();
  });
  form.onsubmit = (event) => {
    event.preventDefault();
    if (!input.value.trim()) return;
    Promise.resolve(host.guide(input.value)).then((text) => (outcome.textContent = clean(text)));
    input.value = "";
  };
}

function drawFooter(node, view, host) {
  node.replaceChildren();
  if (!view.folder) return;
  node.append(icon(UI_ICONS.folder));
  const folder = element("span", "tt-run-path", clean(view.folder));
  folder.title = "Everything this run saw, said and did is in this folder beside the notebook";
  node.append(view.status === "running" ? folder : fileLink(host, `${view.folder}/run.json`, clean(view.folder)));
  for (const path of view.files) node.append(fileLink(host, `${view.folder}/${path}`, clean(path)));
}

export function fileLink(host, path, label) {
  const address = localPath(path);
  if (!address || !host.openFile) return element("span", "tt-run-path", label);
  const link = element("a", "tt-run-path", label);
  host.openFile(link, address);
  return link;
}

function noteNode(showText) {
  const node = element("div", "tt-run-note");
  node.ttUpdate = (item) => {
    showText(node, item.note.text);
    if (item.note.truncated) node.append(element("div", "tt-run-label", "Cut here."));
  };
  return node;
}

function gapNode(more) {
  const node = element("div", "tt-run-gap");
  node.ttUpdate = (item) => {
    const text = `${counted(item.missing, "call")} not shown`;
    if (!item.kept) return node.replaceChildren(element("span", "", `${text}; the record in the run's folder has them`));
    const show = button("tt-run-fold", `Show ${Math.min(item.kept, DRAWN_CALLS)} more`);
    show.addEventListener("click", more);
    return node.replaceChildren(element("span", "", text), show);
  };
  return node;
}

// ---- one tool call

function callCard(host) {
  const card = element("div", "tt-call");
  const details = element("details", "tt-card");
  const summary = element("summary", "tt-card-line");
  const error = element("div", "tt-card-error");
  const body = element("div", "tt-card-body");
  const pictures = element("div", "tt-gallery");
  details.append(summary, body);
  card.append(details, error, pictures);
  let latest = null;
  let drawn = null;
  const drawBody = () => {
    if (!details.open || drawn === latest) return;
    const scrolled = [...body.querySelectorAll("pre")].map((pre) => pre.scrollTop);
    drawn = latest;
    body.replaceChildren(...callBody(latest.call, latest.view, host));
    body.querySelectorAll("pre").forEach((pre, n) => (pre.scrollTop = scrolled[n] ?? 0));
  };
  details.addEventListener("toggle", drawBody);
  card.ttUpdate = ({ call }, view) => {
    latest = { call, view };
    card.dataset.state = STATES.includes(call.state) ? call.state : "done";
    summary.replaceChildren(...summaryParts(call));
    error.replaceChildren(...errorParts(call));
    pictures.replaceChildren(...(call.images ?? []).map((image) => picture(image, host)));
    drawBody();
  };
  return card;
}

export function summaryParts(call) {
  const parts = [icon(UI_ICONS.chevron, "tt-chevron"), icon(ICONS[call.group] ?? ICONS.other, "tt-group-icon")];
  parts[1].setAttribute("data-group", clean(call.group));
  parts.push(element("span", "tt-card-name", oneLine(call.name, 80)));
  parts.push(element("span", "tt-card-arguments", argumentsLine(call)));
  const outcome = call.state === "error" ? "error" : callSummary(call);
  parts.push(element("span", "tt-card-outcome", outcome));
  return parts;
}

export function errorParts(call) {
  if (call.state !== "error") return [];
  const parts = [element("span", "", oneLine(call.summary, 400))];
  if (call.errorCode) parts.unshift(element("code", "tt-run-code", clean(call.errorCode)));
  return parts;
}

export function callBody(call, view, host) {
  if (call.group === "shell" && typeof call.arguments?.command === "string" && call.rawArguments == null) {
    const { command, ...rest } = call.arguments;
    return [...argumentsTable(rest), terminal(command, call), ...endNotes(call, view, host)];
  }
  const parts = call.rawArguments != null ? rawArguments(call) : argumentParts(call.arguments ?? {});
  if (call.content) parts.push(section(call.state === "error" ? `Error ${clean(call.errorCode)}` : "Result", ...resultParts(call.content)));
  return [...parts, ...endNotes(call, view, host)];
}

/** What a call would do, in full: a terminal, a diff, or the table of its arguments. */
export function proposal(call) {
  if (call.diff) return [unifiedDiff(call.diff)];
  if (call.rawArguments != null) return rawArguments(call);
  if (call.group === "shell" && typeof call.arguments?.command === "string") {
    const { command, ...rest } = call.arguments;
    return [terminal(command, {}), ...argumentsTable(rest)];
  }
  return argumentParts(call.arguments ?? {});
}

export function unifiedDiff(text) {
  const pre = element("pre", "tt-diff");
  pre.tabIndex = 0;
  const kinds = { "+": "tt-diff-added", "-": "tt-diff-removed", "@": "tt-diff-place" };
  for (const line of clean(text).replace(/\n$/, "").split("\n")) {
    const isName = line.startsWith("+++") || line.startsWith("---");
    pre.append(element("span", isName ? "tt-diff-place" : kinds[line[0]] ?? "", `${line}\n`));
  }
  return withCopy(pre, text);
}

function rawArguments(call) {
  return [section("Arguments that were no JSON object, as the model wrote them", textBlock(call.rawArguments))];
}

function argumentParts(values) {
  const { old_string: before, new_string: after, ...rest } = values;
  if (typeof before !== "string" || typeof after !== "string") return argumentsTable(values);
  return [...argumentsTable(rest), section("Edit", diffBlock(before, after))];
}

function argumentsTable(values) {
  const entries = sortedArguments(values);
  if (!entries.length) return [];
  const table = element("table", "tt-arguments");
  for (const [name, value] of entries) {
    const row = element("tr", "");
    const head = element("th", "", clean(name));
    head.scope = "row";
    const cell = element("td", "");
    if (typeof value === "string" && (value.length > 120 || value.includes("\n"))) cell.append(textBlock(value));
    else cell.textContent = typeof value === "string" ? clean(value) : clean(JSON.stringify(value, null, 1));
    row.append(head, cell);
    table.append(row);
  }
  const node = section("Arguments", table);
  const raw = button("tt-run-raw", "JSON", "Show the arguments as JSON");
  const json = textBlock(JSON.stringify(values, null, 2));
  raw.setAttribute("aria-pressed", "false");
  raw.addEventListener("click", () => {
    const isRaw = table.isConnected;
    (isRaw ? table : json).replaceWith(isRaw ? json : table);
    raw.setAttribute("aria-pressed", String(isRaw));
  });
  node.firstChild.append(raw);
  return [node];
}

function resultParts(content) {
  const rows = tabular(content);
  return [rows ? resultTable(rows) : textBlock(content)];
}

/** Rows of a JSON array of flat objects with the same names; null for any other text. */
export function tabular(content) {
  if (!/^\s*\[\s*\{/.test(content)) return null;
  let rows;
  try {
    rows = JSON.parse(content);
  } catch {
    return null;
  }
  const names = Object.keys(rows[0]);
  const isFlat = (row) => row && typeof row === "object" && Object.keys(row).join() === names.join() && Object.values(row).every((v) => v === null || typeof v !== "object");
  return names.length && names.length <= 20 && rows.every(isFlat) ? rows : null;
}

function resultTable(rows) {
  const table = element("table", "tt-table");
  const names = Object.keys(rows[0]);
  const head = element("tr", "");
  for (const name of names) head.append(element("th", "", clean(name)));
  table.append(head);
  for (const row of rows.slice(0, 200)) {
    const line = element("tr", "");
    for (const name of names) {
      const cell = element("td", typeof row[name] === "number" ? "tt-number" : "", clean(row[name] === null ? "" : String(row[name])));
      line.append(cell);
    }
    table.append(line);
  }
  const box = element("div", "tt-table-box");
  box.append(table, element("div", "tt-run-label", `${counted(rows.length, "row")} x ${counted(names.length, "column")}`));
  return box;
}

function terminal(command, call) {
  const screen = element("pre", "tt-terminal");
  screen.tabIndex = 0;
  screen.append(element("span", "tt-terminal-command", clean(command).replace(/\s+$/, "")));
  if (call.content) screen.append(element("span", "tt-terminal-output", `\n${clean(call.content)}`));
  return withCopy(screen, command);
}

function endNotes(call, view, host) {
  if (!call.contentTruncated) return [];
  const note = element("div", "tt-run-label", "Cut here; the whole result is in ");
  note.append(view.folder ? fileLink(host, `${view.folder}/events.jsonl`, clean(view.folder)) : "the run's folder");
  return [note];
}

/** Monospaced text with its line breaks and a copy button; a very long one in pieces. */
export function textBlock(text) {
  const value = clean(text);
  const pre = element("pre", "tt-text", value.slice(0, DRAWN_CHARS));
  pre.tabIndex = 0;
  if (value.length > DRAWN_CHARS) {
    const more = button("tt-run-fold", "Show more");
    let shown = DRAWN_CHARS;
    more.addEventListener("click", () => {
      pre.insertBefore(document.createTextNode(value.slice(shown, shown + DRAWN_CHARS)), more);
      shown += DRAWN_CHARS;
      if (shown >= value.length) more.remove();
    });
    pre.append(more);
  }
  return withCopy(pre, text);
}

function diffBlock(before, after) {
  const pre = element("pre", "tt-diff");
  pre.tabIndex = 0;
  const words = { "+": "added", "-": "removed", " ": "same" };
  for (const [sign, line] of diffLines(before, after)) {
    const row = element("span", `tt-diff-${words[sign]}`);
    row.append(element("span", "tt-diff-sign", sign), document.createTextNode(`${clean(line)}\n`));
    pre.append(row);
  }
  return withCopy(pre, after);
}

/** Lines of two texts as ["-" | "+" | " ", line], by their longest common subsequence. */
export function diffLines(before, after) {
  const a = before === "" ? [] : before.replace(/\n$/, "").split("\n");
  const b = after === "" ? [] : after.replace(/\n$/, "").split("\n");
  if (a.length > DIFF_LINES || b.length > DIFF_LINES) return [...a.map((line) => ["-", line]), ...b.map((line) => ["+", line])];
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const lines = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) lines.push([" ", a[i++], j++].slice(0, 2));
    else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) lines.push(["-", a[i++]]);
    else lines.push(["+", b[j++]]);
  }
  return lines;
}

// ---- images

export function picture(image, host) {
  const size = image.width && image.height ? ` (${image.width} x ${image.height})` : "";
  const name = clean(image.path).split("/").pop() + size;
  const source = imageSource(image);
  if (!source) return element("span", "tt-run-label", `image ${clean(image.path)}${size}`);
  const open = button("tt-thumbnail", "", `Enlarge ${name}`);
  const img = element("img", "");
  img.src = source;
  img.alt = name;
  open.append(img);
  open.addEventListener("click", () => zoom(image, source, name, host));
  return open;
}

export function imageSource(image) {
  const type = image.dataMimeType ?? image.mimeType;
  return image.data && IMAGE_TYPES.has(type) && /^[A-Za-z0-9+/=\s]+$/.test(image.data) ? `data:${type};base64,${image.data}` : null;
}

function zoom(image, source, name, host) {
  const dialog = element("dialog", "tt-zoom");
  const img = element("img", "");
  img.src = source;
  img.alt = name;
  const caption = element("div", "tt-zoom-caption", clean(image.path));
  const close = button("tt-run-fold", "Close");
  caption.append(close);
  dialog.append(img, caption);
  dialog.setAttribute("aria-label", name);
  dialog.dataset.lmSuppressShortcuts = "true";
  for (const node of [close, dialog, img]) node.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  const address = localPath(image.path);
  if (address && host.fileUrl) {
    Promise.resolve(host.fileUrl(address)).then(
      (url) => {
        const full = new Image();
        full.onload = () => dialog.isConnected && (img.src = url);
        full.src = url;
      },
      () => {}, // the picture may have been deleted: the small one stays
    );
  }
}

// ---- elements

export function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

export function button(className, text, title) {
  const node = element("button", `tt-button ${className}`, text);
  node.type = "button";
  if (title) node.title = title;
  if (!text && title) node.setAttribute("aria-label", title);
  return node;
}

const SVG = "http://www.w3.org/2000/svg";

export function icon(path, className = "") {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `tt-icon ${className}`);
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

export function section(title, ...nodes) {
  const node = element("div", "tt-section");
  node.append(element("div", "tt-section-title", title), ...nodes);
  return node;
}

function withCopy(pre, text) {
  const box = element("div", "tt-copy-box");
  const copy = button("tt-copy", "", "Copy");
  copy.append(icon(UI_ICONS.copy));
  copy.addEventListener("click", () => copyText(copy, text));
  box.append(pre, copy);
  return box;
}

function addCopyButton(pre) {
  const box = element("div", "tt-copy-box");
  pre.replaceWith(box);
  const copy = button("tt-copy", "", "Copy");
  copy.append(icon(UI_ICONS.copy));
  copy.addEventListener("click", () => copyText(copy, pre.textContent));
  box.append(pre, copy);
}

function copyText(copy, text) {
  const done = (word) => {
    copy.dataset.done = word;
    setTimeout(() => delete copy.dataset.done, 1500);
  };
  (navigator.clipboard?.writeText(String(text)) ?? Promise.reject(new Error("no clipboard"))).then(
    () => done("copied"),
    () => done("not allowed here"),
  );
}

/** While something inside has the keyboard's focus, JupyterLab's one-key commands (dd, Enter, Space) must not act on the cell. */
export function watchFocus(root) {
  root.addEventListener("focusin", ({ target }) => {
    if (target.matches(":focus-visible")) target.setAttribute("data-lm-suppress-shortcuts", "true");
  });
  root.addEventListener("focusout", ({ target }) => target.removeAttribute("data-lm-suppress-shortcuts"));
}
