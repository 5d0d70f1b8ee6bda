import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { LabIcon } from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';
import { clean, counted, statusWord } from 'tt-static/run_view.js';

import { FoundRun, matching, runsOf } from './runs';

export const runsIcon = new LabIcon({
  name: 'tt-kernel:runs',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16"><path class="jp-icon3" fill="#616161" ' +
    'd="M7.3 1.5h1.4v2H13v9H3v-9h4.3zM4.5 5v6h7V5zm1.2 1.6h1.6v1.9H5.7zm3 0h1.6v1.9H8.7zM5 13.5h6V15H5z"/></svg>'
});

const REFRESH_MS = 250;
const MARKS: { [status: string]: string } = { done: '✓', running: '●', partial: '◐', interrupted: '■' };

/** The runs of the notebook in front; a click goes to the cell. */
export class RunsPanel extends Widget {
  private filter = document.createElement('input');
  private list = document.createElement('ul');
  private shown: NotebookPanel | null = null;
  private timer = 0;

  constructor(
    private tracker: INotebookTracker,
    private openFolder: (path: string) => void
  ) {
    super();
    this.id = 'tt-kernel-runs';
    this.title.icon = runsIcon;
    this.title.caption = 'Agent runs';
    this.addClass('tt-runs');
    const title = document.createElement('h2');
    title.textContent = 'Agent runs';
    this.filter.type = 'search';
    this.filter.placeholder = 'Filter';
    this.filter.setAttribute('aria-label', 'Filter the runs');
    this.filter.addEventListener('input', () => this.draw());
    this.node.append(title, this.filter, this.list);
    tracker.currentChanged.connect(() => this.watch());
    this.watch();
  }

  private watch(): void {
    const panel = this.tracker.currentWidget;
    if (panel !== this.shown) {
      this.shown?.model?.contentChanged.disconnect(this.soon, this);
      this.shown = panel;
      panel?.context.ready.then(() => {
        panel.model?.contentChanged.connect(this.soon, this);
        this.soon();
      });
    }
    this.soon();
  }

  private soon(): void {
    if (!this.timer) {
      this.timer = window.setTimeout(() => {
        this.timer = 0;
        this.draw();
      }, REFRESH_MS);
    }
  }

  private draw(): void {
    if (this.isDisposed) {
      return;
    }
    const panel = this.shown && !this.shown.isDisposed ? this.shown : null;
    const all = panel ? runsOf(panel) : [];
    const rows = matching(all, this.filter.value).map(run => this.row(panel!, run));
    const empty = all.length ? 'No run matches.' : panel ? 'This notebook has no runs yet.' : 'No notebook is open.';
    this.list.replaceChildren(...(rows.length ? rows : [text('li', 'tt-runs-empty', empty)]));
  }

  private row(panel: NotebookPanel, run: FoundRun): HTMLElement {
    const status = statusWord(run.view);
    const row = text('li', 'tt-runs-row', '');
    row.dataset.status = status;
    const jump = document.createElement('button');
    jump.className = 'tt-runs-jump';
    jump.title = clean(run.prompt);
    const replayed = run.meta.replayed ? 'replayed' : '';
    const facts = [status, replayed, counted(run.view.callCount, 'call'), run.view.profile, run.view.model].map(clean);
    jump.append(
      text('span', 'tt-runs-mark', MARKS[status] ?? '✗'),
      text('span', 'tt-runs-prompt', clean(run.prompt) || run.view.id),
      text('span', 'tt-runs-facts', facts.filter(Boolean).join(' · '))
    );
    if (run.isStale) {
      jump.append(text('span', 'tt-runs-tag tt-runs-stale', 'stale'));
    }
    jump.addEventListener('click', () => {
      panel.content.activeCellIndex = run.cell;
      void panel.content.scrollToItem(run.cell, 'smart');
    });
    row.append(jump);
    if (run.view.folder) {
      const folder = text('button', 'tt-runs-folder', clean(run.view.id));
      folder.title = `Open ${clean(run.view.folder)}`;
      folder.addEventListener('click', () => this.openFolder(run.view.folder));
      row.append(folder);
    }
    return row;
  }
}

function text(tag: string, className: string, content: string): HTMLElement {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = content;
  return node;
}
