/**
 * What a person decides while a run waits: approvals of calls, questions of the agent, plans (the messages of
 * tt_kernel/ipython/comms.py). Plain ESM; text reaches the page through `textContent` only.
 *
 * Nothing is approved by accident: no button has the focus from the start, and what is not answered in time is denied.
 */

import { button, clean, duration, element, proposal } from "./run_view.js";

/**
 * @param {HTMLElement} root An empty element.
 * @param {object} request An `approval_requested`, `question_asked` or `plan_ready` message.
 * @param {(answer: object) => void} answer Sends the answer: the fields besides `type` and `id`.
 * @returns {{invalid(message: string): void, late(): void, dispose(): void}}
 */
export function createAskView(root, request, answer) {
  root.className = "tt-ask";
  root.dataset.kind = request.type;
  root.dataset.lmSuppressShortcuts = "true"; // typing here is not for the notebook
  root.setAttribute("role", "group");
  const problem = element("div", "tt-ask-problem");
  problem.setAttribute("role", "alert");
  const controls = [];
  const send = (fields) => {
    problem.textContent = "";
    for (const node of root.querySelectorAll("button, input, textarea")) node.disabled = true;
    answer(fields);
  };
  const build = { approval_requested: approval, question_asked: questions, plan_ready: plan }[request.type];
  controls.push(...build(request, send, problem));
  root.replaceChildren(...controls, problem);
  const stopClock = countdown(root.querySelector(".tt-ask-clock"), request);
  return {
    invalid(message) {
      for (const node of root.querySelectorAll("button, input, textarea")) node.disabled = false;
      problem.textContent = clean(message);
    },
    late() {
      problem.textContent = "This was answered already, here or elsewhere.";
    },
    dispose() {
      stopClock();
      root.remove();
    },
  };
}

function title(text, ...more) {
  const line = element("div", "tt-ask-title");
  line.setAttribute("role", "alert");
  line.append(element("span", "tt-ask-what", text), ...more);
  const clock = element("span", "tt-ask-clock");
  line.append(clock);
  return line;
}

function approval(request, send, problem) {
  const name = element("code", "tt-ask-name", clean(request.name));
  const effect = element("span", "tt-run-badge", EFFECTS[request.effect] ?? clean(request.effect));
  const parts = [title("Allow this call?", name, effect)];
  if (request.summary) parts.push(element("div", "tt-ask-summary", clean(request.summary)));
  const what = element("div", "tt-ask-call");
  what.append(...proposal(request));
  const edit = element("textarea", "tt-ask-edit");
  edit.setAttribute("aria-label", "The arguments as JSON");
  edit.value = JSON.stringify(request.arguments ?? {}, null, 2);
  edit.rows = Math.min(16, edit.value.split("\n").length + 1);
  edit.spellcheck = false;
  edit.hidden = true;
  const reason = element("input", "tt-run-guide");
  reason.placeholder = "Reason, told to the agent (optional)";
  reason.setAttribute("aria-label", "Reason of a denial");
  const deny = button("tt-ask-deny", "Deny");
  deny.addEventListener("click", () => send({ decision: "deny", ...(reason.value.trim() ? { reason: reason.value.trim() } : {}) }));
  const approve = button("tt-ask-approve", "Approve");
  approve.addEventListener("click", () => {
    if (edit.hidden) return send({ decision: "approve" });
    const changed = objectOf(edit.value);
    if (!changed) return (problem.textContent = "The arguments must be one JSON object.");
    return send({ decision: "edit", arguments: changed });
  });
  const always = button("tt-ask-always", "Approve for this run", scopeText(request));
  always.addEventListener("click", () => send({ decision: "allow_run" }));
  const change = button("tt-run-fold", "Edit arguments");
  change.addEventListener("click", () => {
    edit.hidden = !edit.hidden;
    what.hidden = !edit.hidden;
    always.hidden = !edit.hidden;
    approve.textContent = edit.hidden ? "Approve" : "Approve with these arguments";
    change.textContent = edit.hidden ? "Edit arguments" : "Do not edit";
    if (!edit.hidden) edit.focus();
  });
  const row = element("div", "tt-ask-row");
  row.append(deny, reason);
  const yes = element("div", "tt-ask-row");
  yes.append(approve, always, change);
  parts.push(what, edit, yes, row);
  const why = `${request.rule ? `Rule: ${clean(request.rule)}. ` : ""}Approving for this run covers ${scopeText(request)}.`;
  parts.push(element("div", "tt-run-label", why));
  return parts;
}

const EFFECTS = {
  none: "no effect",
  workspace: "files of the run",
  project: "files of the project",
  host: "runs on this computer",
  external: "outside service",
};

function scopeText(request) {
  const pairs = Object.entries(request.scope ?? {}).map(([name, glob]) => `${clean(name)} = ${clean(glob)}`);
  return pairs.length ? `calls of ${clean(request.name)} with ${pairs.join(", ")}` : `every call of ${clean(request.name)}`;
}

function objectOf(text) {
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function questions(request, send) {
  const parts = [title(request.questions.length === 1 ? "The agent asks" : "The agent has questions")];
  const replies = request.questions.map(() => ({ option: null, other: "" }));
  const ok = button("tt-ask-approve", "Answer");
  const check = () => (ok.disabled = replies.some((reply) => reply.option === null && !reply.other.trim()));
  request.questions.forEach((question, number) => {
    const group = element("fieldset", "tt-ask-question");
    group.append(element("legend", "", clean(question.question)));
    (question.options ?? []).forEach((option, place) => {
      const label = element("label", "tt-ask-option");
      const radio = element("input", "");
      radio.type = "radio";
      radio.name = `${request.id}-${number}`;
      radio.addEventListener("change", () => {
        replies[number].option = place;
        check();
      });
      const words = element("span", "", clean(option.label));
      if (option.recommended) words.append(element("span", "tt-run-badge", "recommended"));
      if (option.description) words.append(element("span", "tt-ask-description", clean(option.description)));
      label.append(radio, words);
      group.append(label);
    });
    const other = element("input", "tt-run-guide");
    other.placeholder = "In your own words";
    other.setAttribute("aria-label", `Own words for: ${clean(question.question)}`);
    other.addEventListener("input", () => {
      replies[number].other = other.value;
      check();
    });
    group.append(other);
    parts.push(group);
  });
  ok.addEventListener("click", () => send({ replies: replies.map(({ option, other }) => ({ option, ...(other.trim() ? { other } : {}) })) }));
  check();
  const row = element("div", "tt-ask-row");
  row.append(ok);
  return [...parts, row];
}

function plan(request, send) {
  const text = element("div", "tt-run-plain tt-ask-plan", clean(request.text));
  const go = button("tt-ask-approve", "Approve the plan", "Adds a cell that carries the plan out");
  go.addEventListener("click", () => send({ code: request.code }));
  const not = button("tt-run-fold", "Not now");
  not.addEventListener("click", () => send({ code: null }));
  const row = element("div", "tt-ask-row");
  row.append(go, not);
  return [title("The plan is ready"), text, row];
}

function countdown(clock, request) {
  const end = Date.parse(request.deadline);
  if (!clock || Number.isNaN(end)) return () => {};
  // The kernel's clock may differ from this one: from now on, at most the time that there was.
  const until = Math.min(end, Date.now() + 1000 * (request.timeoutSeconds ?? Infinity));
  const show = () => (clock.textContent = `${duration(Math.max(0, (until - Date.now()) / 1000), true)} left`);
  const timer = setInterval(show, 1000);
  show();
  return () => clearInterval(timer);
}
