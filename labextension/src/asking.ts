import { Cell, CodeCell } from '@jupyterlab/cells';
import type { ICell, IOutput } from '@jupyterlab/nbformat';
import { Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { Kernel } from '@jupyterlab/services';
import { ISignal, Signal } from '@lumino/signaling';
import { AskView, createAskView } from 'tt-static/ask_view.js';

import { executionsOf } from './live';
import { DiffView } from './protocol';
import { Digests, originOf } from './stale';

const TARGET = 'tt-kernel';
const LOADS = /^\s*%(?:load|reload)_ext\s+tt_kernel\b/m;
const RUNS = /^\s*%%?agent\b/m;
const PLACE_MS = 250;
/** How long a question waits for its run to be drawn before it floats over the notebook. */
const FLOAT_MS = 1500;
/** How long a kernel that was greeted has to say welcome. */
const WELCOME_MS = 10_000;
/** How long the kernel must have been idle before it is asked whether profiles changed. */
const QUIET_MS = 400;

interface Message {
  type: string;
  id?: string;
  run?: string;
  pending?: Message[];
  message?: string;
  code?: string | null;
  before?: string;
  after?: string;
  view?: DiffView;
  digests?: { [profile: string]: string | null };
}

interface Comparing {
  before: string;
  after: string;
  resolve(view: DiffView): void;
  reject(reason: Error): void;
}

interface Open {
  request: Message;
  node: HTMLElement;
  view: AskView;
  since: number;
}

/** The same cell without what an agent does not read of its outputs, which is most of their size. */
function withoutPictures(cell: ICell): ICell {
  const outputs = cell.outputs as IOutput[] | undefined;
  if (!outputs) {
    return cell;
  }
  const read = ([type]: [string, unknown]) => !type.startsWith('image/') && type !== 'text/html';
  return {
    ...cell,
    outputs: outputs.map(output =>
      output.data ? { ...output, data: Object.fromEntries(Object.entries(output.data).filter(read)) } : output
    )
  } as ICell;
}

const ASKING = new WeakMap<NotebookPanel, Asking>();

/** The conversation with the kernel of a notebook. */
export function askingOf(panel: NotebookPanel): Asking {
  let found = ASKING.get(panel);
  if (!found) {
    ASKING.set(panel, (found = new Asking(panel)));
  }
  return found;
}

/**
 * Approvals, questions and plans of one notebook: says hello to its kernel (tt_kernel/ipython/comms.py), shows what is asked in the
 * run that asks, and sends the answer.
 */
export class Asking {
  /** Says something to a run; resolves to what came of it. Null until the kernel said welcome. */
  guide: ((run: string, text: string) => Promise<string>) | null = null;
  /** The profiles of the notebook's runs as they are stored now, as far as the kernel was asked. */
  profiles: Digests = new Map();
  private guided: Array<(outcome: string) => void> = [];
  private comparing: Comparing[] = [];
  private own = new Set<string>();
  private quiet = 0;
  private changed = new Signal<this, void>(this);
  private comm: Kernel.IComm | null = null;
  private open = new Map<string, Open>();
  private timer = 0;
  private loading = new Set<string>();

  constructor(private panel: NotebookPanel) {
    const session = panel.sessionContext;
    session.kernelChanged.connect(() => this.reset());
    session.statusChanged.connect((_, status) => {
      if (status === 'restarting' || status === 'autorestarting' || status === 'dead') {
        this.reset();
      }
    });
    session.iopubMessage.connect((_, message) => this.overheard(message));
    NotebookActions.executionScheduled.connect(this.report, this);
    void session.ready.then(() => this.greetKnown());
    panel.disposed.connect(() => {
      NotebookActions.executionScheduled.disconnect(this.report, this);
      this.reset();
    });
  }

  get profilesChanged(): ISignal<this, void> {
    return this.changed;
  }

  /** Two stored runs held against each other. Rejects with what a person can do about it. */
  async compare(before: string, after: string): Promise<DiffView> {
    const until = performance.now() + WELCOME_MS;
    if (!this.panel.sessionContext.session?.kernel) {
      throw new Error('Comparing needs the kernel of the notebook. Start it, and load tt_kernel.');
    }
    this.greet();
    while (!this.guide) {
      if (!this.comm || performance.now() > until) {
        throw new Error('The kernel does not answer. Load tt_kernel in it: %load_ext tt_kernel');
      }
      await new Promise(resolve => setTimeout(resolve, 50));
    }
    this.say({ type: 'compare', before, after });
    return new Promise((resolve, reject) => this.comparing.push({ before, after, resolve, reject }));
  }

  /** Ask how the profiles are now that the outputs were made with. */
  askProfiles(): void {
    const origins = this.panel.content.widgets.map(cell => (cell instanceof CodeCell ? originOf(cell) : null));
    const ids = [...new Set(origins.flatMap(origin => (origin?.profileDigest ? [origin.profile] : [])))].sort();
    if (ids.length && this.guide && executionsOf(this.panel).isBusy === false) {
      this.say({ type: 'profiles', ids });
    }
  }

  /** Send something that makes the kernel busy for a moment, and remember that it did. */
  private say(message: Message & { ids?: string[] }): void {
    const future = this.comm?.send(message as never);
    if (future) {
      this.own.add(future.msg.header.msg_id);
    }
  }

  private settle(message: Message): void {
    const same = (asked: Comparing) => asked.before === message.before && asked.after === message.after;
    const asked = this.comparing.filter(same);
    this.comparing = this.comparing.filter(one => !same(one));
    asked.forEach(one => (message.view ? one.resolve(message.view) : one.reject(new Error(message.message ?? 'They cannot be compared.'))));
  }

  /** An agent that looks at the notebook sees it as it is here, saved or not. */
  private report(_: unknown, { notebook, cell }: { notebook: Notebook; cell: Cell }): void {
    const isAgent = notebook === this.panel.content && RUNS.test(cell.model.sharedModel.getSource());
    if (isAgent && this.guide && notebook.model) {
      this.comm?.send({ type: 'cells', cells: [...notebook.model.cells].map(model => withoutPictures(model.toJSON())) as never });
    }
  }

  /** A kernel that has tt_kernel for sure. Asking one that has not makes it complain in its log. */
  private greetKnown(): void {
    const isAgentKernel = this.panel.sessionContext.session?.kernel?.name === 'tt-agent';
    const isRunning = this.panel.node.querySelector('.tt-run[data-status=running]') !== null;
    if (isAgentKernel || isRunning) {
      this.greet();
    }
  }

  private overheard(message: { header: { msg_type: string }; parent_header: object; content: object }): void {
    const parent = (message.parent_header as { msg_id?: string }).msg_id ?? '';
    if (message.header.msg_type === 'execute_input') {
      const code = (message.content as { code: string }).code;
      if (LOADS.test(code)) {
        this.loading.add(parent);
      } else if (RUNS.test(code)) {
        this.greet();
      }
    } else if (message.header.msg_type === 'status' && (message.content as { execution_state: string }).execution_state === 'idle') {
      if (this.loading.delete(parent)) {
        this.greet();
      }
      if (!this.own.delete(parent)) {
        window.clearTimeout(this.quiet);
        this.quiet = window.setTimeout(() => this.askProfiles(), QUIET_MS);
      }
    }
  }

  private greet(): void {
    const kernel = this.panel.sessionContext.session?.kernel;
    if (!kernel || (this.comm && !this.comm.isDisposed)) {
      return;
    }
    const comm = (this.comm = kernel.createComm(TARGET));
    comm.onMsg = message => this.received(message.content.data as unknown as Message);
    comm.onClose = () => {
      if (comm === this.comm) {
        this.reset();
      }
    };
    comm.open({ type: 'hello', version: 1, answers: ['approval', 'question'] });
  }

  private received(message: Message): void {
    if (message.type === 'welcome') {
      this.guide = (run, text) => {
        this.comm?.send({ type: 'guidance', run, text });
        return new Promise(resolve => this.guided.push(resolve));
      };
      message.pending?.forEach(request => this.show(request));
      this.askProfiles();
    } else if (['approval_requested', 'question_asked', 'plan_ready'].includes(message.type)) {
      this.show(message);
    } else if (message.type === 'approval_settled' || message.type === 'question_settled') {
      this.close(message.id!);
    } else if (message.type === 'guided') {
      this.guided.shift()?.('The agent reads it before its next turn.');
    } else if (message.type === 'not_guided') {
      this.guided.shift()?.(message.message ?? '');
    } else if (message.type === 'invalid') {
      this.open.get(message.id!)?.view.invalid(message.message ?? '');
    } else if (message.type === 'compared' || message.type === 'not_compared') {
      this.settle(message);
    } else if (message.type === 'profiles_are') {
      this.profiles = new Map(Object.entries(message.digests ?? {}));
      this.changed.emit();
    } else if (message.type === 'not_pending') {
      const late = this.open.get(message.id!);
      late?.view.late();
      setTimeout(() => this.close(message.id!), 4000);
    }
  }

  private show(request: Message): void {
    const id = request.id ?? `plan-${request.run}`;
    if (this.open.has(id)) {
      return;
    }
    const node = document.createElement('div');
    const view = createAskView(node, request, fields => this.answer(id, request, fields));
    this.open.set(id, { request, node, view, since: performance.now() });
    this.place();
    this.timer ||= window.setInterval(() => this.place(), PLACE_MS);
  }

  private answer(id: string, request: Message, fields: object): void {
    if (request.type === 'plan_ready') {
      this.close(id);
      this.carryOut(request.run, (fields as Message).code ?? null);
      return;
    }
    const type = request.type === 'question_asked' ? 'question_answered' : 'approval_answered';
    this.comm?.send({ type, id: request.id!, ...fields });
  }

  /** Put each question into the run that asks; it may not be drawn yet, or be drawn anew. */
  private place(): void {
    for (const { request, node, since } of this.open.values()) {
      const slot = this.slot(request.run);
      if (slot && node.parentElement !== slot) {
        slot.append(node);
        node.classList.remove('tt-ask-floating');
        node.scrollIntoView({ block: 'nearest' });
      } else if (!slot && !node.isConnected && performance.now() - since > FLOAT_MS) {
        node.classList.add('tt-ask-floating', 'tt-run');
        this.panel.node.append(node);
      }
    }
  }

  private slot(run: string | undefined): HTMLElement | null {
    const all = [...this.panel.node.querySelectorAll<HTMLElement>('.tt-run')];
    const running = all.filter(view => view.dataset.status === 'running');
    const found = all.find(view => view.dataset.run === run) ?? (running.length === 1 ? running[0] : null);
    return found?.querySelector<HTMLElement>('.tt-run-ask') ?? null;
  }

  private close(id: string): void {
    this.open.get(id)?.view.dispose();
    this.open.delete(id);
    if (!this.open.size) {
      window.clearInterval(this.timer);
      this.timer = 0;
    }
  }

  private reset(): void {
    this.comm = this.guide = null;
    this.guided.splice(0).forEach(resolve => resolve('The kernel is gone.'));
    this.comparing.splice(0).forEach(({ reject }) => reject(new Error('The kernel is gone, or has no tt_kernel: %load_ext tt_kernel')));
    this.own.clear();
    window.clearTimeout(this.quiet);
    this.loading.clear();
    [...this.open.keys()].forEach(id => this.close(id));
  }

  /** A plan is approved by running its code in a cell below: then the notebook says what was done. */
  private carryOut(run: string | undefined, code: string | null): void {
    const { content, sessionContext } = this.panel;
    if (!code) {
      return;
    }
    const holder = content.widgets.findIndex(
      cell => cell instanceof CodeCell && cell.node.querySelector<HTMLElement>('.tt-run')?.dataset.run === run
    );
    content.activeCellIndex = holder >= 0 ? holder : content.activeCellIndex;
    NotebookActions.insertBelow(content);
    content.activeCell!.model.sharedModel.setSource(code);
    void NotebookActions.run(content, sessionContext);
  }
}
