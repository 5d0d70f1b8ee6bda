// Written by `python -m tt_kernel.widgets.protocol` from tt_kernel/domain/views.py. Do not edit.

export const RUN_MIME = "application/vnd.tt-kernel.run+json";
export const MAX_VIEW_BYTES = 262144;

export interface ImageView {
  path: string;
  mimeType: string;
  width: number | null;
  height: number | null;
  data: string | null;
  dataMimeType: string | null;
}

export interface CallView {
  index: number;
  turn: number;
  name: string;
  toolId: string;
  group: string;
  state: "requested" | "running" | "done" | "error" | "cancelled";
  arguments: { [name: string]: unknown };
  rawArguments: string | null;
  summary: string;
  content: string;
  contentTruncated: boolean;
  errorCode: string | null;
  images: ReadonlyArray<ImageView>;
}

export interface TextView {
  after: number;
  text: string;
  truncated: boolean;
}

export interface RunView {
  version: 1;
  id: string;
  status: string;
  profile: string;
  model: string;
  turns: number;
  callCount: number;
  tokens: number;
  calls: ReadonlyArray<CallView>;
  notes: ReadonlyArray<TextView>;
  hiddenCalls: number;
  text: string;
  textTruncated: boolean;
  files: ReadonlyArray<string>;
  folder: string;
  problemCode: string | null;
  problem: string | null;
  continues: string | null;
}

export interface ViewMeta {
  elapsedSeconds?: number | null;
  costUsd?: number | null;
  replayed?: boolean | null;
  drift?: ReadonlyArray<string>;
  live?: boolean;
  persistState?: string | null;
}
