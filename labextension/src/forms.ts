import { CodeCell } from '@jupyterlab/cells';
import { NotebookPanel } from '@jupyterlab/notebook';

const WIDGET_MIME = 'application/vnd.jupyter.widget-view+json';
const WATCHED = new WeakSet<NotebookPanel>();

/**
 * Put the page in place of a form that is closed now and was opened before this page was loaded (or in another one).
 *
 * Display ids are not saved, so the output is found by the widget in it, which the kernel names beside the display id.
 */
export function closeForms(panel: NotebookPanel): void {
  if (WATCHED.has(panel)) {
    return;
  }
  WATCHED.add(panel);
  panel.sessionContext.iopubMessage.connect((_, message) => {
    if (message.header.msg_type !== 'update_display_data') {
      return;
    }
    const content = message.content as unknown as { data: object; metadata: object; transient?: { tt_widget?: string } };
    const widget = content.transient?.tt_widget;
    if (widget) {
      setTimeout(() => replace(panel, widget, content), 0); // after the notebook's own handling
    }
  });
}

function replace(panel: NotebookPanel, widget: string, content: { data: object; metadata: object }): void {
  for (const cell of panel.content.widgets) {
    const outputs = cell instanceof CodeCell ? cell.model.outputs : null;
    for (let n = 0; n < (outputs?.length ?? 0); n++) {
      const view = outputs!.get(n).data[WIDGET_MIME] as { model_id?: string } | undefined;
      if (view?.model_id === widget) {
        outputs!.set(n, { output_type: 'display_data', data: content.data, metadata: content.metadata } as never);
      }
    }
  }
}
