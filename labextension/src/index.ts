import { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

import { kernelOfPanel, follow } from './live';
import { lendKernels } from './bridge';

const live: JupyterFrontEndPlugin<void> = {
  id: 'tt-kernel:live',
  description: 'Stop button, and runs that go on after the page was loaded again.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (_: JupyterFrontEnd, tracker: INotebookTracker) => {
    lendKernels(node => {
      const panel = tracker.find(found => found.node.contains(node));
      return panel ? kernelOfPanel(panel) : null;
    });
    const bind = (_: unknown, panel: NotebookPanel) => follow(panel);
    tracker.forEach(panel => follow(panel)); // restored before this was activated
    tracker.widgetAdded.connect(bind);
  }
};

export default [live];
