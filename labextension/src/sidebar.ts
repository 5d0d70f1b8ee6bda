import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { LabIcon } from '@jupyterlab/ui-components';
import { Widget } from '@lumino/widgets';
import { button, clean, counted, element, statusWord } from 'tt-static/run_view.js';

import { FoundRun, matching, runsOf, State, STATES, statesOf } from './runs';

export const runsIcon = new LabIcon({
  name: 'tt-kernel:runs',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16"><path class="jp-icon3" fill="#616161" ' +
    'd="M7.3 1.5h1.4v2H13v9H3v-9h4.3zM4.5 5v6h7V5zm1.2 1.6h1.6v1.9H5.7zm3 0h1.6v1.9H8.7zM5 13.5h6V15H5z"/></svg>'
});

const REFRESH_MS = 250;
const MARKS: { [status: string]: string } = { done: '✓', running: '●', partial: '◐', interrupted: '■' };
const REASONS = { prompt: 'the prompt was changed since', profile: 'the profile was changed since' };

/** What can be done with the runs. */
export interface Actions {
  openFolder(panel: NotebookPanel, run: FoundRun): void;
  replay(panel: NotebookPanel, run: FoundRun): void;
  compare(panel: NotebookPanel, before: FoundRun, after: FoundRun): void;
}

/** The runs of the notebook in front; a click goes to the cell. */
export class RunsPanel extends Widget {
  private filter = document.createElement('input');
  private chips = element('div', 'tt-runs-chips');
  private list = element('ul', '');
  private bar = element('div', 'tt-runs-bar');
  private state: State | null = null;
  private chosen = new Set<string>();
  private shown: NotebookPanel | null = null;
  private drawn = '';
  private timer = 0;

  constructor(
    private tracker: INotebookTracker,
    private actions: Actions
  ) {
    super();
    this.id = 'tt-kernel-runs';
    this.title.icon = runsIcon;
    this.title.caption = 'Agent runs';
    this.addClass('tt-runs');
    this.filter.type = 'search';
    this.filter.placeholder = 'Filter';
    this.filter.setAttribute('aria-label', 'Filter the runs');
    this.filter.addEventListener('input', () => this.draw());
    this.chips.setAttribute('role', 'group');
    this.chips.setAttribute('aria-label', 'States');
    this.node.append(element('h2', '', 'Agent runs'), this.filter, this.chips, this.list, this.bar);
    tracker.currentChanged.connect(() => this.watch());
    this.watch();
  }

  /** The two runs that are chosen, in the order of their cells; null while there are not two. */
  get pair(): [NotebookPanel, FoundRun, FoundRun] | null {
    const runs = this.shown && !this.shown.isDisposed ? runsOf(this.shown).filter(run => this.chosen.has(run.key)) : [];
    return runs.length === 2 ? [this.shown!, runs[0], runs[1]] : null;
  }

  private watch(): void {
    const panel = this.tracker.currentWidget;
    if (panel !== this.shown) {
      this.shown?.model?.contentChanged.disconnect(this.soon, this);
      this.shown = panel;
      this.chosen.clear();
      this.state = null;
      panel?.context.ready.then(() => {
        panel.model?.contentChanged.connect(this.soon, this);
        this.soon();
      });
    }
    this.soon();
  }

  /** Draw when there was time for a few changes more. */
  soon(): void {
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
    const runs = matching(all, this.filter.value, this.state);
    const facts = runs.map(run => [run.key, run.cell, run.prompt, statesOf(run), run.stale, rowFacts(run), run.view.folder]);
    const drawn = JSON.stringify([panel?.id, all.map(statesOf), facts, [...this.chosen], this.state, this.filter.value]);
    if (drawn === this.drawn) {
      return; // nodes stay, and with them the keyboard's focus
    }
    this.drawn = drawn;
    this.chips.replaceChildren(...this.stateChips(all));
    const empty = all.length ? 'No run matches.' : panel ? 'This notebook has no runs yet.' : 'No notebook is open.';
    const focused = this.list.contains(document.activeElement) ? (document.activeElement as HTMLElement).dataset.focus : undefined;
    this.list.replaceChildren(...(runs.length ? runs.map(run => this.row(panel!, run)) : [element('li', 'tt-runs-empty', empty)]));
    const again = [...this.list.querySelectorAll<HTMLElement>('[data-focus]')].find(node => node.dataset.focus === focused);
    again?.focus();
    this.bar.replaceChildren(...this.comparing());
  }

  private stateChips(all: FoundRun[]): HTMLElement[] {
    const states = all.flatMap(statesOf);
    const there = STATES.filter(state => states.includes(state) || state === this.state);
    return there.map(state => {
      const chip = button('tt-runs-chip', `${state} ${states.filter(one => one === state).length}`, `Show only runs that are ${state}`);
      chip.dataset.state = state;
      chip.setAttribute('aria-pressed', String(state === this.state));
      chip.addEventListener('click', () => {
        this.state = state === this.state ? null : state;
        this.draw();
      });
      return chip;
    });
  }

  private row(panel: NotebookPanel, run: FoundRun): HTMLElement {
    const status = statusWord(run.view);
    const row = element('li', 'tt-runs-row');
    row.dataset.status = status;
    row.classList.toggle('tt-runs-chosen', this.chosen.has(run.key));
    const jump = button('tt-runs-jump', '', clean(run.prompt) || 'Go to the cell');
    jump.dataset.focus = `${run.key} jump`;
    const prompt = element('span', 'tt-runs-prompt', clean(run.prompt) || clean(run.view.id));
    jump.append(element('span', 'tt-runs-mark', MARKS[status] ?? '✗'), prompt, element('span', 'tt-runs-facts', rowFacts(run)));
    if (run.stale.length) {
      const tag = element('span', 'tt-runs-tag tt-runs-stale', 'stale');
      tag.title = run.stale.map(reason => REASONS[reason]).join(', ');
      jump.append(tag);
    }
    jump.addEventListener('click', () => this.goTo(panel, run));
    row.append(jump, this.rowActions(panel, run));
    return row;
  }

  private rowActions(panel: NotebookPanel, run: FoundRun): HTMLElement {
    const line = element('div', 'tt-runs-actions');
    const add = (className: string, text: string, title: string, call: () => void) => {
      const node = button(`tt-runs-action ${className}`, text, title);
      node.dataset.focus = `${run.key} ${text}`;
      node.addEventListener('click', call);
      line.append(node);
      return node;
    };
    if (run.view.folder) {
      add('tt-runs-folder', clean(run.view.id), `Open ${clean(run.view.folder)}`, () => this.actions.openFolder(panel, run));
    }
    if (run.isAgentCell && statusWord(run.view) !== 'running') {
      add('tt-runs-replay', 'Replay', 'Run the cell again from its recording', () => {
        this.goTo(panel, run);
        this.actions.replay(panel, run);
      });
    }
    if (run.view.folder && statusWord(run.view) !== 'running') {
      const compare = add('tt-runs-compare', 'Compare', 'Choose two runs to see them side by side', () => this.choose(run));
      compare.setAttribute('aria-pressed', String(this.chosen.has(run.key)));
    }
    return line;
  }

  private choose(run: FoundRun): void {
    if (!this.chosen.delete(run.key)) {
      this.chosen = new Set([...this.chosen, run.key].slice(-2));
    }
    this.draw();
  }

  private comparing(): HTMLElement[] {
    if (!this.chosen.size) {
      return [];
    }
    const pair = this.pair;
    const names = pair ? `${clean(pair[1].view.id)} and ${clean(pair[2].view.id)}` : 'Choose one more run.';
    const compare = button('tt-runs-go', 'Compare', 'Show both side by side') as HTMLButtonElement;
    compare.disabled = !pair;
    compare.addEventListener('click', () => pair && this.actions.compare(...pair));
    const clear = button('tt-runs-clear', 'Clear', 'Choose no runs');
    clear.addEventListener('click', () => {
      this.chosen.clear();
      this.draw();
    });
    return [element('span', 'tt-runs-names', names), clear, compare];
  }

  private goTo(panel: NotebookPanel, run: FoundRun): void {
    panel.content.activeCellIndex = run.cell;
    void panel.content.scrollToItem(run.cell, 'smart');
  }
}

function rowFacts({ view, meta }: FoundRun): string {
  const status = statusWord(view) === 'running' ? 'live' : statusWord(view);
  const facts = [status, meta.replayed ? 'replayed' : '', counted(view.callCount, 'call'), view.profile, view.model];
  return facts.map(clean).filter(Boolean).join(' · ');
}
