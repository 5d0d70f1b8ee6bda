import { CodeCell } from '@jupyterlab/cells';
import { Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';

const MARKDOWN = 'text/x-ipythongfm';
const AGENT_CELL = /^\s*%%agent(?=\s|$)/;
const MODE_OPTION = /[ \t]+--(?:live|replay)(?=\s|$)/g;

export interface Choices {
  /** Show prompts as Markdown. */
  highlight: boolean;
  /** Mark outputs whose cell was changed since. */
  markStale: boolean;
}

export function isAgentCell(source: string): boolean {
  return AGENT_CELL.test(source);
}

/** The same cell with `--live` or `--replay` in its first line, or (null) with neither. */
export function withMode(source: string, mode: 'live' | 'replay' | null): string {
  const [first, ...rest] = source.split('\n');
  const bare = first.replace(MODE_OPTION, '').trimEnd();
  return [mode ? `${bare} --${mode}` : bare, ...rest].join('\n');
}

const SOURCES = new WeakMap<CodeCell, string>();
const BOUND = new WeakSet<CodeCell>();

/** What a cell's output was made from, as far as this page knows: its source when it was run, or when it was opened. */
function remember(cell: CodeCell): void {
  SOURCES.set(cell, withMode(cell.model.sharedModel.getSource(), null));
}

/** Markdown colours in `%%agent` cells, and the mark on outputs that no longer belong to their prompt. */
export function decorateCells(panel: NotebookPanel, choices: Choices): void {
  const notebook = panel.content;
  const bindAll = () => {
    for (const cell of notebook.widgets) {
      if (cell instanceof CodeCell && !BOUND.has(cell)) {
        BOUND.add(cell);
        remember(cell);
        cell.model.contentChanged.connect(() => refresh(notebook, cell, choices));
        refresh(notebook, cell, choices);
      }
    }
  };
  notebook.model?.cells.changed.connect(() => requestAnimationFrame(bindAll));
  notebook.modelContentChanged.connect(bindAll);
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
  cell.toggleClass('tt-stale', isAgent && choices.markStale && withMode(source, null) !== SOURCES.get(cell));
}

/** Run a cell in a mode without leaving the option in it, where it would be for ever. */
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
