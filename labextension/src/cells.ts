import { CodeCell } from '@jupyterlab/cells';
import { Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';

import { askingOf } from './asking';
import { isAgentCell, originOf, staleReasons, withMode } from './stale';

const MARKDOWN = 'text/x-ipythongfm';

export interface Choices {
  /** Show prompts as Markdown. */
  highlight: boolean;
  /** Mark outputs whose cell or profile was changed since. */
  markStale: boolean;
}

const SOURCES = new WeakMap<CodeCell, string>();
const BOUND = new WeakSet<CodeCell>();
const PANELS = new WeakMap<Notebook, NotebookPanel>();

/** What a cell's output was made from, as far as this page knows: its source when it was run, or when it was opened. */
function remember(cell: CodeCell): void {
  SOURCES.set(cell, withMode(cell.model.sharedModel.getSource(), null));
}

/** Markdown colours in `%%agent` cells, and the mark on outputs that no longer belong to their prompt or profile. */
export function decorateCells(panel: NotebookPanel, choices: Choices): void {
  const notebook = panel.content;
  PANELS.set(notebook, panel);
  const bindAll = () => {
    for (const cell of notebook.widgets) {
      if (cell instanceof CodeCell && !BOUND.has(cell)) {
        BOUND.add(cell);
        remember(cell);
        const soon = oncePerFrame(() => refresh(notebook, cell, choices));
        cell.model.contentChanged.connect(() => refresh(notebook, cell, choices));
        cell.model.outputs.changed.connect(soon);
        refresh(notebook, cell, choices);
      }
    }
  };
  notebook.model?.cells.changed.connect(() => requestAnimationFrame(bindAll));
  notebook.modelContentChanged.connect(bindAll);
  askingOf(panel).profilesChanged.connect(() => {
    notebook.widgets.forEach(cell => cell instanceof CodeCell && refresh(notebook, cell, choices));
  });
  bindAll();
}

export function watchExecutions(choices: Choices): void {
  NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
    if (cell instanceof CodeCell) {
      remember(cell);
      refresh(notebook, cell, choices);
    }
  });
}

function oncePerFrame(call: () => void): () => void {
  let waits = false;
  return () => {
    if (!waits) {
      waits = true;
      requestAnimationFrame(() => {
        waits = false;
        call();
      });
    }
  };
}

function refresh(notebook: Notebook, cell: CodeCell, choices: Choices): void {
  if (cell.isDisposed) {
    return;
  }
  const source = cell.model.sharedModel.getSource();
  const isAgent = isAgentCell(source);
  const wanted = isAgent && choices.highlight ? MARKDOWN : notebook.codeMimetype;
  if (cell.model.mimeType !== wanted && (isAgent || cell.model.mimeType === MARKDOWN)) {
    cell.model.mimeType = wanted;
  }
  cell.toggleClass('tt-agent-cell', isAgent);
  const panel = PANELS.get(notebook);
  const origin = isAgent && choices.markStale ? originOf(cell) : undefined;
  const reasons = origin === undefined || !panel ? [] : staleReasons(source, origin, SOURCES.get(cell), askingOf(panel).profiles);
  cell.toggleClass('tt-stale', reasons.length > 0);
  cell.toggleClass('tt-stale-prompt', reasons.includes('prompt'));
  cell.toggleClass('tt-stale-profile', reasons.includes('profile'));
}

/** Run the active cell in a mode without leaving the option in it, where it would be for ever. */
export async function runInMode(panel: NotebookPanel, mode: 'live' | 'replay'): Promise<void> {
  const cell = panel.content.activeCell;
  if (!(cell instanceof CodeCell) || !isAgentCell(cell.model.sharedModel.getSource())) {
    return;
  }
  const shared = cell.model.sharedModel;
  const source = shared.getSource();
  shared.transact(() => shared.setSource(withMode(source, mode)), false);
  const restore = () => shared.transact(() => shared.setSource(source), false);
  const scheduled = new Promise<void>(resolve => {
    const check = (_: unknown, { cell: which }: { cell: unknown }) => {
      if (which === cell) {
        NotebookActions.executionScheduled.disconnect(check);
        resolve();
      }
    };
    NotebookActions.executionScheduled.connect(check);
  });
  const done = NotebookActions.run(panel.content, panel.sessionContext);
  await Promise.race([scheduled.then(() => Promise.resolve()), done]); // the request holds the source as it is now
  restore();
  await done;
}
