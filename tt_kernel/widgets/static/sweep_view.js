/**
 * Draws a sweep (`SweepView` of tt_kernel/domain/views.py) as a table to sort and open. Plain ESM; text reaches the page through
 * `textContent` only. What is open, and the order, stay from one update to the next.
 */

import {
  MARKS, UI_ICONS, button, clean, counted, element, fileLink, icon, oneLine, picture, statusWord, watchFocus,
} from "./run_view.js";

/** Points put into the page at once; the rest comes with a button. */
export const DRAWN_POINTS = 200;
/** Runs of one open point put into the page at once. */
export const DRAWN_RUNS = 50;

/**
 * @param {HTMLElement} root An empty element that the view owns from now on.
 * @param {object} [host] As for `createRunView`: `openFile`, `fileUrl`.
 * @returns {{update(view: object): void, dispose(): void}}
 */
export function createSweepView(root, host = {}) {
  root.classList.add("tt-run", "tt-sweep");
  watchFocus(root);
  const state = { view: wellFormed(null), sort: null, open: new Set(), room: DRAWN_POINTS };

  function draw() {
    const { view } = state;
    root.replaceChildren(header(view), ...notes(view), table());
  }

  function table() {
    const { view } = state;
    const box = element("div", "tt-sweep-box");
    const node = element("table", "tt-sweep-table");
    const scales = view.columns.map((column, n) => scale(column, view.points.map((point) => point.cells[n])));
    const hasImages = view.points.some((point) => point.runs.some((run) => run.images?.length));
    node.append(head(hasImages));
    const body = element("tbody", "");
    const order = sortedPoints(view, state.sort);
    for (const { point, key } of order.slice(0, state.room)) body.append(...row(point, key, scales, hasImages));
    node.append(body);
    box.append(node);
    if (order.length > state.room) {
      const more = button("tt-run-fold", `Show ${counted(Math.min(order.length - state.room, DRAWN_POINTS), "more point")}`);
      more.addEventListener("click", () => {
        state.room += DRAWN_POINTS;
        draw();
      });
      box.append(more);
    }
    return box;
  }

  function head(hasImages) {
    const line = element("tr", "");
    line.append(element("th", "tt-sweep-fold"));
    state.view.columns.forEach((column, n) => {
      const cell = element("th", column.kind === "varied" ? "" : "tt-number");
      const direction = state.sort?.column === n ? state.sort.direction : 0;
      cell.setAttribute("aria-sort", direction ? (direction > 0 ? "ascending" : "descending") : "none");
      cell.scope = "col";
      const sort = button("tt-sweep-sort", "", `Sort by ${clean(column.name)}`);
      sort.append(element("span", "", oneLine(column.name, 60)), element("span", "tt-sweep-arrow", direction ? (direction > 0 ? "▲" : "▼") : ""));
      sort.addEventListener("click", () => {
        state.sort = nextSort(state.sort, n, column.kind === "varied" ? 1 : -1);
        draw();
        root.querySelectorAll(".tt-sweep-sort")[n]?.focus();
      });
      cell.append(sort);
      line.append(cell);
    });
    if (hasImages) line.append(element("th", "", "images"));
    const top = element("thead", "");
    top.append(line);
    return top;
  }

  function row(point, key, scales, hasImages) {
    const line = element("tr", "tt-sweep-point");
    const toggle = button("tt-sweep-toggle", "", "Show the runs of this point");
    toggle.append(icon(UI_ICONS.chevron, "tt-chevron"));
    const first = element("td", "tt-sweep-fold");
    first.append(toggle);
    line.append(first, ...point.cells.map((cell, n) => valueCell(cell, state.view.columns[n], scales[n])));
    if (hasImages) line.append(thumbnails(point));
    const detail = element("tr", "tt-sweep-detail");
    const inside = element("td", "");
    inside.colSpan = state.view.columns.length + 1 + Number(hasImages);
    detail.append(inside);
    const show = () => {
      const open = state.open.has(key);
      toggle.setAttribute("aria-expanded", String(open));
      line.classList.toggle("tt-sweep-open", open);
      detail.hidden = !open;
      if (open && !inside.firstChild) inside.append(runs(point));
    };
    const flip = () => {
      state.open.has(key) ? state.open.delete(key) : state.open.add(key);
      show();
    };
    line.addEventListener("click", (event) => {
      const isControl = event.target.closest("button, a") && !event.target.closest(".tt-sweep-toggle");
      if (!isControl && !String(window.getSelection?.() ?? "")) flip();
    });
    show();
    return [line, detail];
  }

  function thumbnails(point) {
    const cell = element("td", "tt-sweep-images");
    const images = point.runs.flatMap((run) => run.images ?? []);
    cell.append(...images.filter((image) => image.data).slice(0, 3).map((image) => picture(image, host)));
    const left = images.length - cell.childElementCount;
    if (left > 0) cell.append(element("span", "tt-sweep-more", cell.childElementCount ? `+${left}` : counted(left, "image")));
    return cell;
  }

  function runs(point) {
    const list = element("div", "tt-sweep-runs");
    list.append(...point.runs.slice(0, DRAWN_RUNS).map((run) => oneRun(run, state.view.checks, host)));
    if (!point.runs.length) list.append(element("div", "tt-run-label", "The runs are in .rows and .df of the sweep."));
    if (point.runs.length > DRAWN_RUNS) {
      const more = button("tt-run-fold", `Show ${counted(point.runs.length - DRAWN_RUNS, "more run")}`);
      more.addEventListener("click", () => more.replaceWith(...point.runs.slice(DRAWN_RUNS).map((run) => oneRun(run, state.view.checks, host))));
      list.append(more);
    }
    return list;
  }

  return {
    update(view) {
      state.view = wellFormed(view);
      draw();
    },
    dispose: () => root.replaceChildren(),
  };
}

function wellFormed(view) {
  const given = view && typeof view === "object" ? view : {};
  const all = { columns: [], checks: [], points: [], hiddenRuns: 0, stopped: "", ...given };
  return { ...all, points: all.points.map((point) => ({ cells: [], runs: [], ...point })) };
}

// ---- order and colours

/** A click: in the column's own direction, then the other, then the order in which the sweep ran. */
export function nextSort(sort, column, first) {
  if (!sort || sort.column !== column) return { column, direction: first };
  return sort.direction === first ? { column, direction: -first } : null;
}

/** The points with their keys, in order; what has no value comes last. Equal ones stay in the order of the sweep. */
export function sortedPoints(view, sort) {
  const points = view.points.map((point, n) => ({ point, key: n }));
  if (!sort) return points;
  const cell = ({ point }) => point.cells[sort.column] ?? { shown: "", value: null };
  const isMissing = (one) => cell(one).value == null && ["", "?"].includes(cell(one).shown);
  const compare = (a, b) => {
    const [x, y] = [cell(a), cell(b)];
    if (x.value != null && y.value != null) return x.value - y.value;
    return String(x.shown).localeCompare(String(y.shown), "en", { numeric: true });
  };
  return points.sort((a, b) => isMissing(a) - isMissing(b) || sort.direction * compare(a, b) || a.key - b.key);
}

/** Where a value lies between the ends of its column, 0 to 1; null where a colour would say nothing. */
export function scale(column, cells) {
  if (column.kind === "varied") return () => null;
  if (column.kind === "rate") return (value) => (value == null ? null : Math.min(1, Math.max(0, value)));
  const values = cells.map((cell) => cell?.value).filter((value) => value != null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return (value) => (value == null || !(high > low) ? null : (value - low) / (high - low));
}

function valueCell(cell, column, place) {
  const kind = column?.kind ?? "varied";
  const node = element("td", kind === "varied" ? "tt-sweep-varied" : "tt-number tt-sweep-value");
  const at = place?.(cell.value) ?? null;
  if (at !== null && kind !== "varied") {
    node.dataset.heat = kind;
    node.style.setProperty("--tt-heat", at.toFixed(3));
  }
  node.append(element("span", "", kind === "varied" ? oneLine(cell.shown, 400) : clean(cell.shown)));
  if (cell.low != null && cell.high != null) node.append(interval(cell));
  return node;
}

/** The interval of a rate as a line under it. */
function interval(cell) {
  const percent = (value) => `${Math.round(100 * value)}%`;
  const track = element("span", "tt-sweep-interval");
  track.title = `${percent(cell.value)}, with 95% confidence between ${percent(cell.low)} and ${percent(cell.high)}`;
  track.setAttribute("role", "img");
  track.setAttribute("aria-label", track.title);
  const line = element("span", "tt-sweep-line");
  line.style.left = percent(cell.low);
  line.style.right = percent(1 - cell.high);
  const dot = element("span", "tt-sweep-dot");
  dot.style.left = percent(cell.value);
  track.append(line, dot);
  return track;
}

// ---- the parts

function header(view) {
  const node = element("div", "tt-run-header");
  const all = view.points.flatMap((point) => point.runs);
  const count = (words) => all.filter((run) => words.includes(statusWord(run))).length;
  const bad = count(["failed", "limit"]);
  const missing = all.filter((run) => !run.id && run.status !== "failed").length;
  const mark = view.stopped || missing ? "◐" : bad ? "✗" : "✓";
  showStatus(node, mark);
  const state = element("span", "tt-run-state");
  const sign = element("span", "tt-run-mark", mark);
  sign.setAttribute("aria-hidden", "true");
  state.append(sign, element("span", "tt-run-profile", "Sweep"));
  const facts = element("span", "tt-run-facts");
  const words = [counted(view.points.length, "point"), counted(all.length + view.hiddenRuns, "run")];
  if (!view.hiddenRuns) words.push(`${count(["done"])} completed`);
  if (bad) words.push(`${bad} failed`);
  if (missing) words.push(`${missing} not run`);
  for (const word of words) facts.append(element("span", "tt-run-fact", word));
  node.append(state, facts);
  return node;
}

function showStatus(node, mark) {
  node.dataset.status = { "✓": "done", "✗": "failed", "◐": "partial" }[mark];
}

function notes(view) {
  const lines = view.stopped ? [clean(view.stopped)] : [];
  if (view.hiddenRuns) lines.push(`${counted(view.hiddenRuns, "run")} not shown; they are in .rows and .df of the sweep.`);
  return lines.map((line) => element("div", "tt-run-problem tt-run-quiet", line));
}

function oneRun(run, checks, host) {
  const node = element("div", "tt-sweep-run");
  const status = statusWord(run);
  const line = element("div", "tt-sweep-facts");
  const mark = element("span", "tt-run-mark", run.status === "not run" ? "○" : MARKS[status] ?? "✗");
  mark.dataset.status = run.status === "not run" ? "waiting" : status;
  line.append(mark, element("span", "tt-sweep-repeat", `#${Number(run.repeat)}`));
  if (status !== "done") line.append(element("span", "tt-sweep-word", run.status === "not run" ? "not run" : status));
  (run.passes ?? []).forEach((value, n) => value != null && line.append(found(value, checks[n])));
  if (run.callCount) line.append(element("span", "tt-sweep-word", counted(run.callCount, "call")));
  if (run.tokens) line.append(element("span", "tt-sweep-word", counted(run.tokens, "token")));
  if (run.id) line.append(run.folder ? fileLink(host, `${run.folder}/run.json`, clean(run.id)) : element("span", "tt-run-path", clean(run.id)));
  node.append(line);
  if (run.problem && status !== "done") node.append(element("div", "tt-sweep-problem", clean(run.problem)));
  if (run.text) node.append(element("div", "tt-sweep-text", clean(run.text) + (run.textTruncated ? " …" : "")));
  if (run.images?.length) {
    const gallery = element("div", "tt-sweep-gallery");
    gallery.append(...run.images.map((image) => picture(image, host)));
    node.append(gallery);
  }
  return node;
}

function found(value, name) {
  const isPass = typeof value === "boolean";
  const node = element("span", `tt-sweep-check ${isPass ? (value ? "tt-sweep-passed" : "tt-sweep-missed") : ""}`);
  const word = isPass ? (value ? "✓" : "✗") : String(Number(value.toPrecision ? value.toPrecision(4) : value));
  node.append(element("span", "", word), element("span", "", oneLine(name, 60)));
  node.title = isPass ? `${clean(name)}: ${value ? "passed" : "not passed"}` : clean(name);
  return node;
}
