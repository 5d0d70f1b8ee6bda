import type { ICodeCellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { statusWord } from 'tt-static/run_view.js';

import { RUN_MIME, RunView, ViewMeta } from './protocol';
import { Reason } from './stale';

/** A run in the outputs of a notebook, and the cell that it stands in. */
export interface FoundRun {
  cell: number;
  /** Of the cell and its output: the same run may stand in several. */
  key: string;
  prompt: string;
  view: RunView;
  meta: ViewMeta;
  stale: Reason[];
  isAgentCell: boolean;
}

/** What the list can be narrowed to. */
export const STATES = ['live', 'done', 'failed', 'stopped', 'replayed', 'stale'] as const;
export type State = (typeof STATES)[number];

/** The runs in the outputs of a notebook, from the first cell to the last. */
export function runsOf(panel: NotebookPanel): FoundRun[] {
  const found: FoundRun[] = [];
  panel.content.widgets.forEach((cell, number) => {
    const outputs = cell.model.type === 'code' ? (cell.model as ICodeCellModel).outputs : null;
    for (let n = 0; n < (outputs?.length ?? 0); n++) {
      const output = outputs!.get(n);
      const view = output.data[RUN_MIME] as unknown as RunView | undefined;
      if (view) {
        const meta = (output.metadata[RUN_MIME] ?? {}) as unknown as ViewMeta;
        const prompt = promptOf(cell.model.sharedModel.getSource());
        const stale = (['prompt', 'profile'] as const).filter(reason => cell.hasClass(`tt-stale-${reason}`));
        const key = `${cell.model.id}/${n}`;
        found.push({ cell: number, key, prompt, view, meta, stale, isAgentCell: cell.hasClass('tt-agent-cell') });
      }
    }
  });
  return found;
}

/** The first line of what was asked. */
export function promptOf(source: string): string {
  const [first, ...rest] = source.trim().split('\n');
  const body = first.startsWith('%%agent') ? rest : [first.replace(/^.*%agent\s*/, ''), ...rest];
  return body.find(line => line.trim())?.trim() ?? '';
}

/** The states of a run: how it stands, whether it came from the record, whether it is stale. */
export function statesOf({ view, meta, stale }: FoundRun): State[] {
  const word = statusWord(view);
  const status = { running: 'live', done: 'done', failed: 'failed', limit: 'failed' }[word] as State | undefined;
  return [status ?? 'stopped', ...(meta.replayed ? ['replayed' as const] : []), ...(stale.length ? ['stale' as const] : [])];
}

/** Runs in a state (null: any) that have a text in what is shown of them. */
export function matching(runs: FoundRun[], text: string, state: State | null = null): FoundRun[] {
  const wanted = text.trim().toLowerCase();
  return runs.filter(run => {
    const { prompt, view } = run;
    const words = [prompt, view.id, view.profile, view.model, view.status, ...statesOf(run)].join(' ').toLowerCase();
    return words.includes(wanted) && (state === null || statesOf(run).includes(state));
  });
}
