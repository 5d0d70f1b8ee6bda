/**
 * Draws two runs held against each other (`DiffView` of tt_kernel/domain/views.py) side by side. Plain ESM; text reaches the
 * page through `textContent` only.
 */

import {
  ICONS, MARKS, UI_ICONS, argumentsLine, button, callBody, callSummary, clean, counted, element, fileLink, icon, oneLine, picture, section,
  statusWord, unifiedDiff, watchFocus,
} from "./run_view.js";

const SIGNS = { same: "=", changed: "≠", removed: "−", added: "+" };
const SIGN_WORDS = { same: "the same in both", changed: "differs", removed: "only in A", added: "only in B" };
/** Pairs of calls put into the page at once; the rest comes with a button. */
export const DRAWN_PAIRS = 200;

/**
 * @param {HTMLElement} root An empty element that the view owns from now on.
 * @param {object} [host] As for `createRunView`: `openFile`, `fileUrl`.
 * @returns {{update(view: object): void, dispose(): void}}
 */
export function createCompareView(root, host = {}) {
  root.classList.add("tt-run", "tt-compare");
  watchFocus(root);
  return {
    update(given) {
      const view = wellFormed(given);
      const open = new Set([...root.querySelectorAll("details[open]")].map((node) => node.dataset.key));
      root.dataset.same = String(Boolean(view.isSame));
      const parts = [
        header(view, root), sides(view, host), ...texts("Prompt", view.prompt), calls(view, host), replies(view), ...texts("Answer", view.answer),
        files(view), numbers(view),
      ];
      root.replaceChildren(...parts.filter(Boolean));
      for (const node of root.querySelectorAll("details")) node.open = node.open || open.has(node.dataset.key);
    },
    dispose: () => root.replaceChildren(),
  };
}

function wellFormed(view) {
  const given = view && typeof view === "object" ? view : {};
  return { before: {}, after: {}, prompt: [], answer: [], replies: [], pairs: [], fileDiffs: [], numbers: [], hiddenPairs: 0, ...given };
}

// ---- the head

/** What differs, in words: `2 calls differ`, `answer differs`. */
export function differences(view) {
  const different = (parts) => parts.filter((part) => part.state !== "same").length;
  const words = [];
  if (isChanged(view.prompt)) words.push("prompt differs");
  const counts = [[different(view.pairs), "call"], [changedReplies(view).length, "reply"], [different(view.fileDiffs), "file"]];
  for (const [count, noun] of counts) if (count) words.push(`${count === 1 ? `1 ${noun}` : `${count} ${plural(noun)}`} ${count === 1 ? "differs" : "differ"}`);
  if (isChanged(view.answer)) words.push("answer differs");
  if (view.before.status !== view.after.status) words.push("status differs");
  return words;
}

function plural(noun) {
  return noun === "reply" ? "replies" : `${noun}s`;
}

function header(view, root) {
  const node = element("div", "tt-run-header");
  const state = element("span", "tt-run-state");
  const mark = element("span", "tt-run-mark", view.isSame ? "=" : "≠");
  mark.setAttribute("aria-hidden", "true");
  state.append(mark, element("span", "tt-run-profile", view.isSame ? "The runs are the same" : "Comparison"));
  const facts = element("span", "tt-run-facts");
  for (const fact of differences(view)) facts.append(element("span", "tt-run-fact", fact));
  const side = element("span", "tt-run-side");
  if (view.pairs.some((pair) => pair.state === "same") && !view.isSame) side.append(onlyDifferences(root));
  node.append(state, facts, side);
  return node;
}

function onlyDifferences(root) {
  const toggle = button("tt-run-fold", "Only differences", "Hide the calls that are the same in both runs");
  const show = () => toggle.setAttribute("aria-pressed", String(root.classList.contains("tt-compare-brief")));
  toggle.addEventListener("click", () => {
    root.classList.toggle("tt-compare-brief");
    show();
  });
  show();
  return toggle;
}

function sides(view, host) {
  const node = element("div", "tt-compare-sides");
  for (const [letter, run, other] of [["A", view.before, view.after], ["B", view.after, view.before]]) {
    const side = element("div", "tt-compare-side");
    const status = statusWord(run);
    const mark = element("span", "tt-run-mark", MARKS[status] ?? "✗");
    mark.dataset.status = status;
    side.append(letterOf(letter), mark);
    side.append(run.folder ? fileLink(host, `${run.folder}/run.json`, clean(run.id)) : element("span", "tt-run-path", clean(run.id)));
    for (const name of ["status", "profile", "model"]) {
      const value = name === "status" ? (status === "done" && statusWord(other) === "done" ? "" : status) : clean(run[name]);
      if (!value) continue;
      const fact = element("span", "tt-compare-fact", value);
      if (run[name] !== other[name]) fact.classList.add("tt-compare-differs");
      side.append(fact);
    }
    node.append(side);
  }
  return node;
}

function letterOf(letter) {
  return element("span", `tt-compare-letter tt-compare-${letter.toLowerCase()}`, letter);
}

// ---- texts

function isChanged(pieces) {
  return (pieces ?? []).some((piece) => piece.kind !== "same");
}

function texts(title, pieces) {
  if (!(pieces ?? []).some((piece) => clean(piece.text).trim())) return [];
  return [part(title, isChanged(pieces) ? "changed" : "same", twoTexts(pieces))];
}

/** Both texts, each with its own words marked; one text where they are equal. */
function twoTexts(pieces) {
  const row = element("div", "tt-compare-row");
  if (!isChanged(pieces)) {
    row.classList.add("tt-compare-both");
    row.append(words(pieces, "same", ""));
    return row;
  }
  row.append(words(pieces, "old", "A"), words(pieces, "new", "B"));
  return row;
}

function words(pieces, kind, letter) {
  const box = element("div", "tt-compare-text");
  box.tabIndex = 0;
  if (letter) box.append(letterOf(letter));
  const shown = pieces.filter((piece) => piece.kind === "same" || piece.kind === kind);
  for (const piece of shown) {
    const text = clean(piece.text);
    box.append(piece.kind === "same" ? document.createTextNode(text) : element(kind === "old" ? "del" : "ins", "", text));
  }
  if (!shown.some((piece) => clean(piece.text).trim())) box.append(element("span", "tt-compare-nothing", "nothing"));
  return box;
}

/** Replies that say something else; that they made other calls is seen there. */
function changedReplies(view) {
  return view.replies.filter((reply) => isChanged(reply.text));
}

function replies(view) {
  const changed = changedReplies(view);
  if (!changed.length) return null;
  const nodes = changed.map((reply) => {
    const turn = (number) => (number == null ? "none" : `turn ${Number(number)}`);
    const line = element("span", "tt-card-name", `${turn(reply.before)} · ${turn(reply.after)}`);
    return fold(`reply-${reply.before}-${reply.after}`, [line], () => [twoTexts(reply.text)], reply.state);
  });
  return part("Replies", "changed", ...nodes);
}

// ---- calls

function calls(view, host) {
  if (!view.pairs.length) return null;
  const list = element("div", "tt-compare-pairs");
  let drawn = 0;
  const more = button("tt-run-fold", "");
  const draw = () => {
    const next = view.pairs.slice(drawn, drawn + DRAWN_PAIRS);
    list.append(...next.map((pair, n) => callPair(pair, drawn + n, view, host)));
    drawn += next.length;
    more.textContent = `Show ${counted(Math.min(view.pairs.length - drawn, DRAWN_PAIRS), "more pair")}`;
    more.hidden = drawn >= view.pairs.length;
  };
  more.addEventListener("click", draw);
  draw();
  const node = part("Calls", view.pairs.some((pair) => pair.state !== "same") ? "changed" : "same", list, more);
  if (view.hiddenPairs) node.append(element("div", "tt-run-label", `${counted(view.hiddenPairs, "pair")} of calls not shown; .calls of the diff has them`));
  return node;
}

function callPair(pair, number, view, host) {
  const state = SIGNS[pair.state] ? pair.state : "changed";
  const after = state === "same" && pair.after ? { ...pair.after, content: pair.before?.content } : pair.after; // sent once
  const line = [callSide(pair.before, after, "left"), callSide(after, pair.before, "right")];
  const card = fold(`pair-${number}`, line, () => pairBody(pair, view, host), state);
  card.classList.add("tt-compare-pair");
  const box = element("div", "tt-compare-call");
  box.dataset.state = state;
  box.append(card);
  if (!pair.sameImages && !(pair.before && pair.after && !pair.before.images?.length && !pair.after.images?.length)) box.append(pictures(pair, host));
  return box;
}

function callSide(call, other, place) {
  const side = element("span", `tt-compare-half tt-compare-${place}`);
  if (!call) {
    side.classList.add("tt-compare-empty");
    side.append(element("span", "tt-run-hidden", "no such call"));
    return side;
  }
  side.dataset.state = clean(call.state);
  const group = icon(ICONS[call.group] ?? ICONS.other, "tt-group-icon");
  const outcome = call.state === "error" ? oneLine(call.errorCode || "error", 60) : callSummary(call);
  const told = element("span", "tt-card-outcome", outcome);
  if (other && callSummary(other) !== callSummary(call)) told.classList.add("tt-compare-differs");
  side.append(group, element("span", "tt-card-name", oneLine(call.name, 80)), element("span", "tt-card-arguments", argumentsLine(call)), told);
  return side;
}

function pairBody(pair, view, host) {
  const run = (call) => (call === pair.after && call !== pair.before ? view.after : view.before);
  if (!pair.before || !pair.after) {
    const call = pair.before ?? pair.after;
    const row = element("div", "tt-compare-row");
    const body = element("div", "tt-compare-body");
    body.append(...callBody(call, run(call), host));
    const nothing = element("div", "tt-compare-body");
    row.append(...(pair.before ? [body, nothing] : [nothing, body]));
    return [row];
  }
  if (pair.state === "same") return callBody(pair.before, view.before, host);
  const parts = (pair.arguments ?? []).map((argument) => section(`Argument ${clean(argument.name)}`, changes(argument.diff)));
  if (pair.result) parts.push(section("Result", changes(pair.result)));
  if (!parts.length) parts.push(element("div", "tt-run-label", "Arguments and results are the same; the images differ."));
  return parts;
}

/** A unified diff without the lines that name its sides, which stand above it. */
function changes(diff) {
  return unifiedDiff(String(diff).replace(/^--- [^\n]*\n\+\+\+ [^\n]*\n/, ""));
}

function pictures(pair, host) {
  const row = element("div", "tt-compare-row tt-compare-pictures");
  for (const [letter, call] of [["A", pair.before], ["B", pair.after]]) {
    const side = element("div", "tt-compare-gallery");
    const images = call?.images ?? [];
    side.append(letterOf(letter), ...images.map((image) => picture(image, host)));
    if (!images.length) side.append(element("span", "tt-compare-nothing", "no image"));
    row.append(side);
  }
  return row;
}

// ---- files and numbers

function files(view) {
  if (!view.fileDiffs.length) return null;
  const nodes = view.fileDiffs.map((file) => {
    const line = [icon(ICONS.files, "tt-group-icon"), element("span", "tt-card-name", clean(file.path)), element("span", "tt-compare-count", fileCount(file))];
    if (file.state === "same") return fold(`file-${file.path}`, line, () => [element("div", "tt-run-label", "The same in both runs.")], "same");
    const card = fold(`file-${file.path}`, line, () => [changes(file.diff)], file.state);
    card.open = view.fileDiffs.length <= 3 && String(file.diff).length < 4000;
    return card;
  });
  return part("Files", view.fileDiffs.some((file) => file.state !== "same") ? "changed" : "same", ...nodes);
}

function fileCount(file) {
  const lines = clean(file.diff).split("\n");
  const count = (sign) => lines.filter((line) => line.startsWith(sign) && !line.startsWith(sign.repeat(3))).length;
  const told = lines.some((line) => line.startsWith("@@")) ? `+${count("+")} −${count("-")}` : "";
  return [file.state === "changed" ? "" : SIGN_WORDS[file.state] ?? "", told].filter(Boolean).join(" · ");
}

function numbers(view) {
  if (!view.numbers.length) return null;
  const table = element("table", "tt-table tt-compare-numbers");
  const head = element("tr", "");
  for (const title of ["", "A", "B", "B − A", ""]) head.append(element("th", title ? "tt-number" : "", title));
  table.append(head);
  for (const { name, before, after } of view.numbers) {
    const row = element("tr", "");
    const change = Number(after) - Number(before);
    const title = element("th", "", clean(name));
    title.scope = "row";
    row.append(title, number(before), number(after));
    row.append(element("td", "tt-number tt-compare-change", change ? `${change > 0 ? "+" : "−"}${Math.abs(change).toLocaleString("en-US")}` : "="));
    row.append(bars(Number(before) || 0, Number(after) || 0));
    table.append(row);
  }
  const box = element("div", "tt-table-box");
  box.append(table);
  return part("Usage", "", box);
}

function number(value) {
  return element("td", "tt-number", (Number(value) || 0).toLocaleString("en-US"));
}

function bars(before, after) {
  const cell = element("td", "tt-compare-bars");
  cell.setAttribute("aria-hidden", "true");
  for (const [value, letter] of [[before, "a"], [after, "b"]]) {
    const bar = element("span", `tt-compare-bar tt-compare-${letter}`);
    bar.style.width = `${Math.round((100 * Math.max(0, value)) / Math.max(before, after, 1))}%`;
    cell.append(bar);
  }
  return cell;
}

// ---- elements

function part(title, state, ...nodes) {
  const node = element("div", "tt-compare-part");
  const head = element("div", "tt-compare-title", title);
  if (state === "same") head.append(element("span", "tt-compare-count", SIGN_WORDS.same));
  node.append(head, ...nodes);
  return node;
}

/** A line that opens; its body is built then. */
function fold(key, line, body, state) {
  const details = element("details", "tt-card");
  details.dataset.key = clean(key);
  details.dataset.state = state;
  const summary = element("summary", "tt-card-line");
  const sign = element("span", "tt-compare-sign", SIGNS[state] ?? "");
  sign.title = SIGN_WORDS[state] ?? "";
  sign.setAttribute("aria-label", SIGN_WORDS[state] ?? "");
  summary.append(icon(UI_ICONS.chevron, "tt-chevron"), sign, ...line);
  const inside = element("div", "tt-card-body");
  details.append(summary, inside);
  details.addEventListener("toggle", () => {
    if (details.open && !inside.firstChild) inside.append(...body());
  });
  return details;
}
