import { CodeCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';

import { Kernel } from './bridge';
import { RUN_MIME, RunView } from './protocol';

/** The kernel of a notebook, whichever it is at the time. */
export function kernelOfPanel(panel: NotebookPanel): Kernel {
  const session = panel.sessionContext;
  return {
    isBusy: () => {
      if (!session.isReady) {
        return session.hasNoKernel ? false : undefined;
      }
      const status = session.session?.kernel?.status;
      return status === undefined ? false : status === 'unknown' ? undefined : status === 'busy';
    },
    guide: null,
    interrupt: () => void session.session?.kernel?.interrupt(),
    onChange: call => {
      session.statusChanged.connect(call);
      session.kernelChanged.connect(call);
      return () => {
        session.statusChanged.disconnect(call);
        session.kernelChanged.disconnect(call);
      };
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
