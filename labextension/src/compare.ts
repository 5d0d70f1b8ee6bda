import { JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { NotebookPanel } from '@jupyterlab/notebook';
import { Widget } from '@lumino/widgets';
import { createCompareView } from 'tt-static/compare_view.js';
import { clean, element } from 'tt-static/run_view.js';

import { askingOf } from './asking';
import { runsIcon } from './sidebar';

/** Two stored runs of a notebook side by side, in the main area; one that is open already comes to the front. */
export function showComparison(app: JupyterFrontEnd, panel: NotebookPanel, before: string, after: string): void {
  const id = `tt-compare-${panel.id}-${before}-${after}`;
  const open = [...app.shell.widgets('main'), ...app.shell.widgets('right')].find(widget => widget.id === id);
  if (open) {
    app.shell.activateById(id);
    return;
  }
  const content = new Widget();
  content.addClass('tt-record');
  const page = element('div', 'tt-record-page');
  content.node.append(page);
  const widget = new MainAreaWidget({ content });
  widget.id = id;
  widget.title.label = `${before} ↔ ${after}`;
  widget.title.caption = `Two runs of ${panel.context.path}`;
  widget.title.icon = runsIcon;
  widget.title.closable = true;
  page.append(element('div', 'tt-runs-empty', 'Reading both runs'));
  app.shell.add(widget, 'main', { ref: panel.id, mode: 'split-right' });
  if (!widget.isAttached) {
    app.shell.add(widget, 'right'); // Notebook has one document a page
  }
  app.shell.activateById(id);
  const folder = PathExt.dirname(panel.context.path);
  const inFolder = (path: string) => PathExt.join(folder, decodeURIComponent(path));
  const openFile = (anchor: HTMLAnchorElement, path: string) => {
    anchor.href = '#';
    anchor.addEventListener('click', event => {
      event.preventDefault();
      void app.commands.execute('docmanager:open', { path: inFolder(path) });
    });
  };
  const fileUrl = (path: string) => app.serviceManager.contents.getDownloadUrl(inFolder(path));
  askingOf(panel)
    .compare(before, after)
    .then(
      view => {
        const node = element('div', '');
        page.replaceChildren(node);
        createCompareView(node, { openFile, fileUrl }).update(view);
      },
      (problem: Error) => page.replaceChildren(element('div', 'tt-runs-empty', clean(problem.message)))
    );
}
