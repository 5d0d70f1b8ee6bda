import type { CodeCell } from '@jupyterlab/cells';

import { OriginView, RUN_MIME, ViewMeta } from './protocol';

const AGENT_CELL = /^\s*%%agent(?=\s|$)/;
const MODE_OPTION = /[ \t]+--(?:live|replay)(?=\s|$)/g;
const POLYNOMIAL = 0xedb88320;
const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit++) {
    value = value & 1 ? POLYNOMIAL ^ (value >>> 1) : value >>> 1;
  }
  return value;
});

/** What of an output's making is another one now. */
export type Reason = 'prompt' | 'profile';
/** Profiles as they are stored now, by their ids; null: there is none. A profile that was not asked for yet is missing. */
export type Digests = ReadonlyMap<string, string | null>;

export function isAgentCell(source: string): boolean {
  return AGENT_CELL.test(source);
}

/** The same cell with `--live` or `--replay` in its first line, or (null) with neither. */
export function withMode(source: string, mode: 'live' | 'replay' | null): string {
  const [first, ...rest] = source.split('\n');
  const bare = first.replace(MODE_OPTION, '').trimEnd();
  return [mode ? `${bare} --${mode}` : bare, ...rest].join('\n');
}

/** The number that tt_kernel/ipython/origins.py computes of a cell's text. */
export function sourceCrc(source: string): number {
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(withMode(source, null))) {
    crc = TABLE[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/**
 * Why an output no longer belongs to its cell.
 *
 * @param origin What the output says that it was made from; null where it does not.
 * @param known The cell's text as this page last knew that it belonged to the output, for outputs that do not say.
 */
export function staleReasons(source: string, origin: OriginView | null, known: string | undefined, digests: Digests): Reason[] {
  if (!origin) {
    return known !== undefined && withMode(source, null) !== known ? ['prompt'] : [];
  }
  const reasons: Reason[] = sourceCrc(source) === origin.sourceCrc ? [] : ['prompt'];
  const now = digests.get(origin.profile);
  return origin.profileDigest && now !== undefined && now !== origin.profileDigest ? [...reasons, 'profile'] : reasons;
}

/** What the run in a cell's output says that it was made from; undefined where there is no run. */
export function originOf(cell: CodeCell): OriginView | null | undefined {
  const { outputs } = cell.model;
  for (let n = 0; n < outputs.length; n++) {
    const output = outputs.get(n);
    if (RUN_MIME in output.data) {
      return (output.metadata[RUN_MIME] as unknown as ViewMeta | undefined)?.origin ?? null;
    }
  }
  return undefined;
}
