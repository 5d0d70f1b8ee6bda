/**
 * A run of its folder (`run.json` and `events.jsonl`) as a RunView: what tt_kernel/runtime/projection.py makes of the same events,
 * for front ends that have files and no kernel. Plain ESM without imports; tests/widgets/test_stored_run.py holds it against the
 * kernel's projection.
 */

const STATUS = { run_completed: "done", run_partial_success: "partial", run_failed: "failed", run_cancelled: "interrupted", run_limited: "limit" };
const CONTENT_CHARS = 4000;
const NOTE_CHARS = 4000;
const SUMMARY_CHARS = 120;
const BY_EXIT_CODE = new Set(["workspace.shell_exit", "process.failed"]);
const FACTS = ["entries", "hits", "exitCode", "totalLines", "replacements", "total", "outputTruncated", "truncated"];

/** The events of a journal, in order; a line that was cut off ends it. */
export function journalEvents(text) {
  const events = [];
  for (const line of String(text).split("\n")) {
    if (!line.trim()) continue;
    try {
      events.push(JSON.parse(line).event ?? {});
    } catch {
      break;
    }
  }
  return events;
}

/** Paths, below the run's folder, of results of which the journal has only the start. */
export function cutResults(events) {
  return events.filter((event) => event.resultRef && (event.result?.content ?? "").length >= 2000).map((event) => event.resultRef);
}

/**
 * @param {object} record `run.json`.
 * @param {object[]} events Of its journal.
 * @param {string} folder The run's folder relative to the notebook's.
 * @param {Map<string, object>} [results] Whole results, by their path below the run's folder.
 * @returns {object} A RunView with all calls; its images have no data.
 */
export function storedRun(record, events, folder, results = new Map()) {
  const state = {
    view: {
      version: 1, id: record.id ?? "", status: "running", profile: record.profile?.id ?? "", model: record.model ?? "", turns: 0, callCount: 0, tokens: 0,
      calls: [], notes: [], hiddenCalls: 0, text: "", textTruncated: false, files: [], folder, problemCode: null, problem: null, continues: null,
    },
    calls: new Map(), folder, results,
  };
  for (const event of events) HANDLERS[event.type]?.(state, event);
  if (state.view.status === "running" && record.status && record.status !== "running") {
    const problem = { problemCode: "agent.run_interrupted", problem: "The process ended before the run did." };
    Object.assign(state.view, { status: "interrupted", text: record.text || state.view.text }, problem);
  }
  return { ...state.view, calls: [...state.calls.values()] };
}

const HANDLERS = {
  run_created: ({ view }, event) => Object.assign(view, { profile: event.profileId, model: event.model, continues: event.continues ?? null }),
  agent_invocation_started: ({ view }, event) => (view.profile = event.profileId),
  model_completed: modelCompleted,
  model_response_partial: ({ view }, event) => (view.text = event.text),
  history_compacted: compacted,
  tool_call_requested: requested,
  tool_call_started: (state, event) => update(state, event.callId, { state: "running" }),
  tool_call_completed: ended,
  tool_call_failed: ended,
  workspace_file_written: written,
  workspace_patch_applied: written,
  chat_progress_published: ({ view }, event) => (view.text = event.text),
  chat_commit_completed: ({ view }, event) => (view.text = event.text),
  ...Object.fromEntries(Object.keys(STATUS).map((type) => [type, runEnded])),
};

function spend(view, usage) {
  view.tokens += (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
}

function modelCompleted({ view }, { turn, reply }) {
  view.turns = turn;
  spend(view, reply.usage);
  const text = reply.message?.text ?? "";
  if (reply.message?.calls?.length && text.trim()) view.notes.push({ after: view.callCount, text: text.slice(0, NOTE_CHARS), truncated: text.length > NOTE_CHARS });
  else view.text = text;
}

function compacted({ view }, event) {
  spend(view, event.usage);
  const text = {
    pruned: `[${event.pruned?.length} old tool results were removed from the conversation.]`,
    summary: `[${event.count} earlier messages were summarised.]`,
    failed: "[The earlier messages could not be summarised; they stay.]",
  }[event.method];
  view.notes.push({ after: view.callCount, text, truncated: false });
}

function requested({ view, calls }, { call, group }) {
  view.callCount += 1;
  const { value, raw } = call.arguments ?? {};
  calls.set(call.id, {
    index: view.callCount, turn: call.turn, name: call.name, toolId: call.toolId, group: group ?? "other", state: "requested", arguments: value ?? {},
    rawArguments: raw ?? null, summary: "", content: "", contentTruncated: false, errorCode: null, images: [],
  });
}

function update({ calls }, id, changes) {
  if (calls.has(id)) Object.assign(calls.get(id), changes);
}

function ended(state, event) {
  const result = state.results.get(event.resultRef) ?? event.result;
  const content = String(result.content ?? "");
  update(state, event.callId, {
    state: result.isError ? "error" : "done", summary: callSummary(result), content: content.slice(0, CONTENT_CHARS),
    contentTruncated: content.length > CONTENT_CHARS, errorCode: result.errorCode ?? null,
    images: (result.images ?? []).map((image) => ({
      path: `${state.folder}/${image.path}`, mimeType: image.mimeType, width: image.width ?? null, height: image.height ?? null, data: null, dataMimeType: null,
    })),
  });
}

function written({ view }, event) {
  if (!view.files.includes(event.path)) view.files.push(event.path);
}

function runEnded({ view }, event) {
  Object.assign(view, { status: STATUS[event.type], problemCode: event.code ?? null, problem: event.message ?? null, text: event.text ?? "" });
}

// ---- the line of a closed card (tt_kernel/runtime/summaries.py)

export function callSummary(result) {
  if (result.isError && !BY_EXIT_CODE.has(result.errorCode)) return firstLine(result.content);
  const facts = result.structured && typeof result.structured === "object" && !Array.isArray(result.structured) ? result.structured : {};
  const parts = FACTS.filter((key) => facts[key] != null).map((key) => fact(key, facts[key]));
  if ("exitCode" in facts && facts.exitCode === null) parts.push(String(facts.status ?? ""));
  if (result.images?.length) parts.push(plural(result.images.length, "image"));
  return parts.filter(Boolean).join(", ") || firstLine(result.content);
}

function fact(key, value) {
  if (key === "entries" || key === "hits") return Array.isArray(value) ? plural(value.length, key === "entries" ? "entry" : "hit") : "";
  const texts = {
    exitCode: `exit ${value}`, totalLines: plural(value, "line"), replacements: plural(value, "replacement"), total: `total ${value}`,
    outputTruncated: value ? "output truncated" : "", truncated: value ? "truncated" : "",
  };
  return texts[key];
}

function plural(count, noun) {
  if (count === 1) return `1 ${noun}`;
  return `${count} ${noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;
}

function firstLine(text) {
  const first = String(text ?? "").split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/).map((line) => line.trim()).find(Boolean) ?? "";
  return first.length <= SUMMARY_CHARS ? first : `${first.slice(0, SUMMARY_CHARS)}...`;
}
