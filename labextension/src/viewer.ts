import { JupyterFrontEnd } from '@jupyterlab/application';
import { PathExt } from '@jupyterlab/coreutils';
import { ABCWidgetFactory, DocumentRegistry, DocumentWidget } from '@jupyterlab/docregistry';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { Contents } from '@jupyterlab/services';
import { Widget } from '@lumino/widgets';
import { button, clean, counted, createRunView, element, Host, View } from 'tt-static/run_view.js';
import { cutResults, journalEvents, storedRun } from 'tt-static/stored_run.js';

import { renderProse } from './prose';
import { ImageView, RunView } from './protocol';
import { runsIcon } from './sidebar';

const FACTORY = 'Agent run record';
const FILE_TYPE = 'tt-run-record';
const IN_RUNS = /(?:^|\/)[^/]+\.agent\/runs\/[^/]+\/run\.json$/;
const IMAGE_TYPES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const MOST_IMAGES = 40;
const MOST_RESULTS = 100;
const REDRAW_MS = 300;

interface StoredRecord {
  id?: string;
  status?: string;
  prompt?: string;
  text?: string;
  mode?: string;
  seed?: number;
  startedAt?: string;
  endedAt?: string | null;
  notebook?: string | null;
  usage?: { inputTokens?: number; outputTokens?: number; cachedTokens?: number; costUsd?: number | null };
}

/** What the viewer needs of the application. */
export interface Place {
  contents: Contents.IManager;
  open(path: string, factory?: string): void;
  openFolder(path: string): void;
  rendermime: IRenderMimeRegistry;
}

/** `run.json` of a run's folder: the run as its cell shows it, with its prompt and its numbers. */
export class RecordViewer extends Widget {
  private host: Host;
  private view: View;
  private head = element('div', 'tt-record-head');
  private foot = element('div', 'tt-record-foot');
  private timer = 0;
  private reads = 0;

  constructor(
    private context: DocumentRegistry.Context,
    private place: Place
  ) {
    super();
    this.addClass('tt-record');
    const body = element('div', '');
    const page = element('div', 'tt-record-page');
    page.append(this.head, body, this.foot);
    this.node.append(page);
    this.host = {
      renderText: (node, text) => renderProse(node, text, place.rendermime as never),
      openFile: (anchor, path) => this.link(anchor, decodeURIComponent(path)),
      fileUrl: path => place.contents.getDownloadUrl(this.besideNotebook(decodeURIComponent(path)))
    };
    this.view = createRunView(body, this.host);
    void context.ready.then(() => {
      context.model.contentChanged.connect(this.soon, this);
      void this.draw();
    });
  }

  dispose(): void {
    window.clearTimeout(this.timer);
    this.view.dispose();
    super.dispose();
  }

  private soon(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.draw(), REDRAW_MS);
  }

  private get folder(): string {
    return PathExt.dirname(this.context.path);
  }

  /** The run's folder as outputs show it: relative to the notebook's. */
  private get shownFolder(): string {
    return this.folder.split('/').slice(-3).join('/');
  }

  private besideNotebook(path: string): string {
    return PathExt.join(this.folder.split('/').slice(0, -3).join('/'), path);
  }

  private link(anchor: HTMLAnchorElement, path: string): void {
    anchor.href = '#';
    anchor.addEventListener('click', event => {
      event.preventDefault();
      const target = this.besideNotebook(path);
      target === this.context.path ? this.place.openFolder(this.folder) : this.place.open(target);
    });
  }

  private async draw(): Promise<void> {
    const version = ++this.reads;
    const record = this.record();
    if (!record) {
      this.head.replaceChildren(element('div', 'tt-run-problem', `${this.context.path} is no record of a run. Open it with the editor to see it.`));
      return;
    }
    const events = journalEvents(await this.read('events.jsonl'));
    const results = await this.results(events);
    const view = storedRun(record, events, this.shownFolder, results);
    if (this.isDisposed || version !== this.reads) {
      return;
    }
    this.head.replaceChildren(...this.titleParts(record));
    this.foot.replaceChildren(...this.facts(record, view));
    const meta = { elapsedSeconds: seconds(record), costUsd: record.usage?.costUsd ?? null };
    this.view.update(view, meta);
    const drawn = await this.withImages(view);
    if (drawn && !this.isDisposed && version === this.reads) {
      this.view.update(drawn, meta);
    }
  }

  private record(): StoredRecord | null {
    try {
      const found = JSON.parse(this.context.model.toString());
      return found && typeof found === 'object' && 'status' in found ? found : null;
    } catch {
      return null;
    }
  }

  /** A text file of the run's folder; empty where there is none. */
  private async read(name: string): Promise<string> {
    try {
      const options = { type: 'file', format: 'text', content: true } as const;
      return String((await this.place.contents.get(PathExt.join(this.folder, name), options)).content);
    } catch {
      return '';
    }
  }

  private async results(events: object[]): Promise<Map<string, object>> {
    const found = new Map<string, object>();
    const wanted = cutResults(events).filter(path => !path.split('/').includes('..')).slice(0, MOST_RESULTS);
    await Promise.all(
      wanted.map(async path => {
        try {
          found.set(path, JSON.parse(await this.read(path)));
        } catch {
          // the journal has its start
        }
      })
    );
    return found;
  }

  /** The same view with the first of its images; null where there are none. */
  private async withImages(view: RunView): Promise<RunView | null> {
    const wanted = view.calls.flatMap(call => call.images).filter(image => IMAGE_TYPES.has(image.mimeType)).slice(0, MOST_IMAGES);
    const data = new Map<ImageView, string>();
    await Promise.all(
      wanted.map(async image => {
        try {
          const file = await this.place.contents.get(this.besideNotebook(image.path), { type: 'file', format: 'base64', content: true });
          data.set(image, String(file.content).replace(/\s/g, ''));
        } catch {
          // it is named
        }
      })
    );
    const drawn = (image: ImageView) => ({ ...image, data: data.get(image) ?? null });
    return data.size ? { ...view, calls: view.calls.map(call => ({ ...call, images: call.images.map(drawn) })) } : null;
  }

  private titleParts(record: StoredRecord): HTMLElement[] {
    const title = element('h1', 'tt-record-title', `Run ${clean(record.id)}`);
    const actions = element('span', 'tt-record-actions');
    const add = (text: string, title: string, call: () => void) => {
      const node = button('tt-record-action', text, title);
      node.addEventListener('click', call);
      actions.append(node);
    };
    if (record.notebook) {
      add('Notebook', `Open ${clean(record.notebook)}`, () => this.place.open(this.besideNotebook(clean(record.notebook))));
    }
    add('Folder', 'Show the folder of the run in the file browser', () => this.place.openFolder(this.folder));
    add('Journal', 'Open events.jsonl, every event of the run', () => this.place.open(`${this.folder}/events.jsonl`));
    add('JSON', 'Open run.json as JSON', () => this.place.open(this.context.path, 'JSON'));
    const line = element('div', 'tt-record-line');
    line.append(title, actions);
    const prompt = element('div', 'tt-record-prompt', clean(record.prompt));
    prompt.tabIndex = 0;
    return [line, element('div', 'tt-compare-title', 'Prompt'), prompt];
  }

  private facts(record: StoredRecord, view: RunView): HTMLElement[] {
    const usage = record.usage ?? {};
    const tokens = ([name, count]: [string, number | undefined]) => (count ? `${count.toLocaleString('en-US')} ${name}` : '');
    const rows: Array<[string, string]> = [
      ['Started', time(record.startedAt)],
      ['Ended', time(record.endedAt)],
      ['Turns and calls', `${counted(view.turns, 'turn')}, ${counted(view.callCount, 'call')}`],
      ['Tokens', (Object.entries({ input: usage.inputTokens, cached: usage.cachedTokens, output: usage.outputTokens }) as Array<[string, number]>).map(tokens).filter(Boolean).join(', ')],
      ['Mode', clean(record.mode)],
      ['Seed', record.seed === undefined ? '' : String(record.seed)]
    ];
    const table = element('table', 'tt-arguments');
    for (const [name, value] of rows.filter(([, value]) => value)) {
      const row = element('tr', '');
      const head = element('th', '', name);
      head.setAttribute('scope', 'row');
      row.append(head, element('td', '', value));
      table.append(row);
    }
    return [element('div', 'tt-compare-title', 'Record'), table];
  }
}

function seconds(record: StoredRecord): number | null {
  const took = (Date.parse(record.endedAt ?? '') - Date.parse(record.startedAt ?? '')) / 1000;
  return Number.isFinite(took) && took >= 0 ? took : null;
}

function time(text: string | null | undefined): string {
  const found = new Date(text ?? '');
  return Number.isNaN(found.getTime()) ? '' : found.toLocaleString();
}

/** JupyterLab knows files by their names alone: a `run.json` that is in no agent folder goes to what opens JSON. */
class RecordFactory extends ABCWidgetFactory<DocumentWidget> {
  constructor(
    private registry: DocumentRegistry,
    private place: Place
  ) {
    super({ name: FACTORY, label: 'Agent run', fileTypes: [FILE_TYPE], defaultFor: [FILE_TYPE], modelName: 'text', readOnly: true });
  }

  createNew(context: DocumentRegistry.Context, source?: DocumentWidget): DocumentWidget {
    const other = IN_RUNS.test(context.path) ? undefined : this.registry.getWidgetFactory('JSON') ?? this.registry.getWidgetFactory('Editor');
    return other ? (other.createNew(context, source) as DocumentWidget) : super.createNew(context, source);
  }

  protected createNewWidget(context: DocumentRegistry.Context): DocumentWidget {
    const widget = new DocumentWidget({ content: new RecordViewer(context, this.place), context });
    widget.title.icon = runsIcon;
    return widget;
  }
}

/** Open `run.json` in agent folders as runs; JSON and the editor stay under "Open With". */
export function openRecordsAsRuns(app: JupyterFrontEnd, rendermime: IRenderMimeRegistry): void {
  const place: Place = {
    contents: app.serviceManager.contents,
    rendermime,
    open: (path, factory) => void app.commands.execute('docmanager:open', factory ? { path, factory } : { path }),
    openFolder: path => void app.commands.execute('filebrowser:go-to-path', { path, dontShowBrowser: false })
  };
  app.docRegistry.addFileType({
    name: FILE_TYPE,
    displayName: 'Agent run',
    pattern: '^run\\.json$',
    extensions: [],
    mimeTypes: ['application/json'],
    contentType: 'file',
    fileFormat: 'text',
    icon: runsIcon
  });
  app.docRegistry.addWidgetFactory(new RecordFactory(app.docRegistry, place));
}
