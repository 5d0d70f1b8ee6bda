import { ILayoutRestorer, JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ISettingRegistry } from '@jupyterlab/settingregistry';

import { askingOf } from './asking';
import { lendKernels } from './bridge';
import { Choices, decorateCells, runInMode, watchExecutions } from './cells';
import { showComparison } from './compare';
import { closeForms } from './forms';
import { follow, kernelOfPanel } from './live';
import { RunsPanel } from './sidebar';
import { isAgentCell } from './stale';
import { openRecordsAsRuns } from './viewer';

const ID = 'tt-kernel:plugin';

/** Every notebook, also those that were restored before this was activated. */
function eachNotebook(tracker: INotebookTracker, bind: (panel: NotebookPanel) => void): void {
  tracker.forEach(bind);
  tracker.widgetAdded.connect((_, panel) => bind(panel));
}

const live: JupyterFrontEndPlugin<void> = {
  id: 'tt-kernel:live',
  description: 'Stop button, and runs that go on after the page was loaded again.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (_: JupyterFrontEnd, tracker: INotebookTracker) => {
    lendKernels(node => {
      const panel = tracker.find(found => found.node.contains(node));
      return panel ? Object.defineProperty(kernelOfPanel(panel), 'guide', { get: () => askingOf(panel).guide }) : null;
    });
    eachNotebook(tracker, panel => {
      follow(panel);
      closeForms(panel);
      askingOf(panel);
    });
  }
};

const notebook: JupyterFrontEndPlugin<void> = {
  id: ID,
  description: 'Agent cells, the list of runs, and commands.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ISettingRegistry, ICommandPalette, ILayoutRestorer],
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    settings: ISettingRegistry | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null
  ) => {
    const choices: Choices = { highlight: true, markStale: true };
    void settings?.load(ID).then(loaded => {
      const read = () => Object.assign(choices, loaded.composite);
      loaded.changed.connect(read);
      read();
    });
    watchExecutions(choices);
    eachNotebook(tracker, panel => void panel.context.ready.then(() => decorateCells(panel, choices)));
    const runs: RunsPanel = new RunsPanel(tracker, {
      openFolder: (panel, { view }) => {
        const path = PathExt.join(PathExt.dirname(panel.context.path), view.folder);
        void app.commands.execute('filebrowser:go-to-path', { path });
      },
      replay: panel => void runInMode(panel, 'replay'),
      compare: (panel, before, after) => showComparison(app, panel, before.view.id, after.view.id)
    });
    eachNotebook(tracker, panel => askingOf(panel).profilesChanged.connect(() => runs.soon()));
    tracker.currentChanged.connect((_, panel) => panel && askingOf(panel).askProfiles());
    app.shell.add(runs, 'left', { rank: 450, type: 'Agent runs' });
    restorer?.add(runs, runs.id);
    addCommands(app, tracker, palette, runs);
  }
};

const records: JupyterFrontEndPlugin<void> = {
  id: 'tt-kernel:records',
  description: 'Opens run.json of an agent folder as the run.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  activate: openRecordsAsRuns
};

function addCommands(app: JupyterFrontEnd, tracker: INotebookTracker, palette: ICommandPalette | null, runs: RunsPanel): void {
  const current = () => (tracker.currentWidget && app.shell.currentWidget === tracker.currentWidget ? tracker.currentWidget : null);
  const onAgentCell = () => isAgentCell(current()?.content.activeCell?.model.sharedModel.getSource() ?? '');
  const commands: { [name: string]: { label: string; caption: string; isEnabled?: () => boolean; execute: () => unknown } } = {
    'run-live': {
      label: 'Run Agent Cell Live',
      caption: 'Ask the model anew, whatever is recorded',
      isEnabled: onAgentCell,
      execute: () => runInMode(current()!, 'live')
    },
    replay: {
      label: 'Replay Agent Cell',
      caption: 'Take everything from the recording; a difference is an error',
      isEnabled: onAgentCell,
      execute: () => runInMode(current()!, 'replay')
    },
    stop: {
      label: 'Stop Agent Run',
      caption: 'Interrupt the kernel; what the run has is kept',
      isEnabled: () => current() !== null,
      execute: () => kernelOfPanel(current()!).interrupt()
    },
    'compare-runs': {
      label: 'Compare Two Agent Runs',
      caption: 'Show the two runs that are chosen in the side bar side by side',
      execute: () => {
        const pair = runs.pair;
        pair ? showComparison(app, pair[0], pair[1].view.id, pair[2].view.id) : app.shell.activateById(runs.id);
      }
    },
    'show-runs': {
      label: 'Show Agent Runs',
      caption: 'The runs of this notebook, in the side bar',
      execute: () => app.shell.activateById(runs.id)
    }
  };
  for (const [name, { label, caption, isEnabled, execute }] of Object.entries(commands)) {
    const describedBy = { args: { type: 'object', properties: {} } };
    app.commands.addCommand(`tt-kernel:${name}`, { label, caption, isEnabled, execute, describedBy } as never);
    palette?.addItem({ command: `tt-kernel:${name}`, category: 'Agent' });
  }
}

export default [live, notebook, records];
