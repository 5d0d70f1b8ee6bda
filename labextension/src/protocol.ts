// Written by `python -m tt_kernel.widgets.protocol` from tt_kernel/domain/views.py. Do not edit.

export const RUN_MIME = "application/vnd.tt-kernel.run+json";
export const DIFF_MIME = "application/vnd.tt-kernel.diff+json";
export const SWEEP_MIME = "application/vnd.tt-kernel.sweep+json";
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

export interface PieceView {
  kind: "same" | "old" | "new";
  text: string;
}

export interface ComparedRunView {
  id: string;
  status: string;
  profile: string;
  model: string;
  folder: string;
}

export interface ArgumentDiffView {
  name: string;
  diff: string;
}

export interface CallPairView {
  state: "same" | "changed" | "removed" | "added";
  before: CallView | null;
  after: CallView | null;
  arguments: ReadonlyArray<ArgumentDiffView>;
  result: string;
  sameImages: boolean;
}

export interface ReplyPairView {
  state: "same" | "changed" | "removed" | "added";
  before: number | null;
  after: number | null;
  text: ReadonlyArray<PieceView>;
}

export interface FileDiffView {
  path: string;
  state: "same" | "changed" | "removed" | "added";
  diff: string;
}

export interface NumberPairView {
  name: string;
  before: number;
  after: number;
}

export interface DiffView {
  version: 1;
  before: ComparedRunView;
  after: ComparedRunView;
  isSame: boolean;
  prompt: ReadonlyArray<PieceView>;
  answer: ReadonlyArray<PieceView>;
  replies: ReadonlyArray<ReplyPairView>;
  pairs: ReadonlyArray<CallPairView>;
  hiddenPairs: number;
  fileDiffs: ReadonlyArray<FileDiffView>;
  numbers: ReadonlyArray<NumberPairView>;
}

export interface SweepColumnView {
  name: string;
  kind: "varied" | "rate" | "number";
}

export interface SweepCellView {
  shown: string;
  value: number | null;
  low: number | null;
  high: number | null;
}

export interface SweepRunView {
  id: string;
  repeat: number;
  status: string;
  folder: string;
  text: string;
  textTruncated: boolean;
  problem: string;
  passes: ReadonlyArray<boolean | number | null>;
  callCount: number;
  tokens: number;
  images: ReadonlyArray<ImageView>;
}

export interface SweepPointView {
  cells: ReadonlyArray<SweepCellView>;
  runs: ReadonlyArray<SweepRunView>;
}

export interface SweepView {
  version: 1;
  columns: ReadonlyArray<SweepColumnView>;
  checks: ReadonlyArray<string>;
  points: ReadonlyArray<SweepPointView>;
  hiddenRuns: number;
  stopped: string;
}

export interface OriginView {
  sourceCrc: number;
  profile: string;
  profileDigest: string | null;
}

export interface ViewMeta {
  elapsedSeconds?: number | null;
  costUsd?: number | null;
  replayed?: boolean | null;
  drift?: ReadonlyArray<string>;
  live?: boolean;
  persistState?: string | null;
  origin?: OriginView | null;
}
