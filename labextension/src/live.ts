import { CodeCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Signal } from '@lumino/signaling';

import { Kernel } from './bridge';
import { RUN_MIME, RunView } from './protocol';

/**
 * Whether cells run in a notebook, by the requests themselves: a kernel that answers a comm on a subshell says "idle" while a cell
 * goes on, so its status does not tell.
 */
class Executions {
  readonly changed = new Signal<this, void>(this);
  private running = new Set<string>();
  private ended = new Set<string>();
  /** A cell runs whose request this page does not know: it was loaded after that. Undefined while that is not known. */
  private before: boolean | undefined;

  constructor(private panel: NotebookPanel) {
    const session = panel.sessionContext;
    session.kernelChanged.connect(() => this.reset());
    session.statusChanged.connect((_, status) => (GONE.has(status) ? this.reset() : this.meet()));
    session.iopubMessage.connect((_, message) => this.overheard(message as never));
    void session.ready.then(() => this.meet());
  }

  get isBusy(): boolean | undefined {
    const session = this.panel.sessionContext;
    if (!session.isReady) {
      return session.hasNoKernel ? false : undefined;
    }
    if (!session.session?.kernel) {
      return false;
    }
    return this.running.size > 0 || this.before;
  }

  private reset(): void {
    this.running.clear();
    this.ended.clear();
    this.before = undefined;
    this.meet();
  }

  private meet(): void {
    const status = this.panel.sessionContext.session?.kernel?.status;
    if (this.before === undefined && (status === 'busy' || status === 'idle')) {
      this.before = status === 'busy' && this.running.size === 0;
    }
    this.changed.emit();
  }

  private overheard({ header, parent_header: { msg_id: id, msg_type: type }, content }: Overheard): void {
    if (!id || (type !== 'execute_request' && type !== 'kernel_info_request')) {
      return;
    }
    const was = this.isBusy;
    if (header.msg_type === 'status' && content.execution_state === 'idle') {
      this.running.delete(id);
      this.ended.add(id);
      this.before = false; // the main shell answers one request after the other
    } else if (type === 'execute_request' && !this.ended.has(id) && !this.running.has(id)) {
      this.running = new Set([id]); // also of a cell that was started before this page was loaded
    }
    if (was !== this.isBusy) {
      this.changed.emit();
    }
  }
}

interface Overheard {
  header: { msg_type: string };
  parent_header: { msg_id?: string; msg_type?: string };
  content: { execution_state?: string };
}

const GONE = new Set(['restarting', 'autorestarting', 'dead', 'terminating']);
const EXECUTIONS = new WeakMap<NotebookPanel, Executions>();

/** Begins to listen when it is first asked, which should be early. */
export function executionsOf(panel: NotebookPanel): Executions {
  let found = EXECUTIONS.get(panel);
  if (!found) {
    EXECUTIONS.set(panel, (found = new Executions(panel)));
  }
  return found;
}

/** The kernel of a notebook, whichever it is at the time. */
export function kernelOfPanel(panel: NotebookPanel): Kernel {
  const session = panel.sessionContext;
  const executions = executionsOf(panel);
  return {
    isBusy: () => executions.isBusy,
    guide: null,
    interrupt: () => void session.session?.kernel?.interrupt(),
    onChange: call => {
      executions.changed.connect(call);
      return () => executions.changed.disconnect(call);
    }
  };
}

const FOLLOWED = new WeakSet<NotebookPanel>();

/**
 * Keep runs up to date that were started before the page was loaded.
 *
 * Their updates name a display that this page does not know (display ids are not saved), so the output is found by the run's
 * id instead.
 */
export function follow(panel: NotebookPanel): void {
  if (FOLLOWED.has(panel)) {
    return;
  }
  FOLLOWED.add(panel);
  executionsOf(panel);
  panel.sessionContext.iopubMessage.connect((_, message) => {
    if (message.header.msg_type !== 'update_display_data') {
      return;
    }
    const content = message.content as unknown as { data: { [mime: string]: unknown }; metadata: object };
    const run = content.data[RUN_MIME] as RunView | undefined;
    if (run) {
      setTimeout(() => catchUp(panel, run, content), 0); // after the notebook's own handling
    }
  });
}

function catchUp(panel: NotebookPanel, run: RunView, content: { data: object; metadata: object }): void {
  for (const cell of panel.content.widgets) {
    const outputs = cell instanceof CodeCell ? cell.model.outputs : null;
    for (let n = 0; n < (outputs?.length ?? 0); n++) {
      const old = outputs!.get(n).data[RUN_MIME] as unknown as RunView | undefined;
      if (old && old.id === run.id && old.status === 'running' && JSON.stringify(old) !== JSON.stringify(run)) {
        outputs!.set(n, { output_type: 'display_data', data: content.data, metadata: content.metadata } as never);
      }
    }
  }
}
