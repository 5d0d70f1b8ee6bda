import { CodeCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';

import { RUN_MIME, RunView, ViewMeta } from './protocol';

/** A run in the outputs of a notebook, and the cell that it stands in. */
export interface FoundRun {
  cell: number;
  prompt: string;
  view: RunView;
  meta: ViewMeta;
  isStale: boolean;
}

/** The runs in the outputs of a notebook, from the first cell to the last. */
export function runsOf(panel: NotebookPanel): FoundRun[] {
  const found: FoundRun[] = [];
  panel.content.widgets.forEach((cell, number) => {
    const outputs = cell instanceof CodeCell ? cell.model.outputs : null;
    for (let n = 0; n < (outputs?.length ?? 0); n++) {
      const output = outputs!.get(n);
      const view = output.data[RUN_MIME] as unknown as RunView | undefined;
      if (view) {
        const meta = (output.metadata[RUN_MIME] ?? {}) as unknown as ViewMeta;
        const prompt = promptOf(cell.model.sharedModel.getSource());
        found.push({ cell: number, prompt, view, meta, isStale: cell.hasClass('tt-stale') });
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

/** Runs that have a text in what is shown of them. */
export function matching(runs: FoundRun[], text: string): FoundRun[] {
  const wanted = text.trim().toLowerCase();
  return runs.filter(({ prompt, view, meta, isStale }) =>
    [prompt, view.id, view.profile, view.model, view.status, meta.replayed ? 'replayed' : '', isStale ? 'stale' : '']
      .join(' ')
      .toLowerCase()
      .includes(wanted)
  );
}
