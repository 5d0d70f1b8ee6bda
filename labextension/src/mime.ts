import { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { createCompareView } from 'tt-static/compare_view.js';
import { createRunView, Host, View } from 'tt-static/run_view.js';
import { createSweepView } from 'tt-static/sweep_view.js';

import { Kernel, kernelOf } from './bridge';
import { openLocal, renderProse } from './prose';
import { DIFF_MIME, RUN_MIME, RunView, SWEEP_MIME, ViewMeta } from './protocol';

/** What files and texts need of the surroundings. */
function hostOf(options: IRenderMime.IRendererOptions): Host {
  const { resolver } = options;
  return {
    renderText: (element, text) => renderProse(element, text, options),
    openFile: resolver ? (anchor, path) => openLocal(anchor, path, options) : undefined,
    fileUrl: resolver ? async path => resolver.getDownloadUrl(await resolver.resolveUrl(path)) : undefined
  };
}

/** A run in the output of a cell. One object stays for all updates of the output, so folds stay open. */
export class RunRenderer extends Widget implements IRenderMime.IRenderer {
  private view: View;
  private kernel: Kernel | null = null;
  private unwatch: (() => void) | null = null;
  private host: Host;

  constructor(private options: IRenderMime.IRendererOptions) {
    super();
    this.host = { ...hostOf(options), isBusy: () => this.kernel?.isBusy() };
    this.view = createRunView(this.node, this.host);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const view = model.data[this.options.mimeType] as unknown as RunView;
    const meta = (model.metadata[this.options.mimeType] ?? {}) as unknown as ViewMeta;
    this.watchKernel();
    const guide = this.kernel?.guide;
    this.host.guide = guide ? text => guide(view.id, text) : undefined;
    this.view.update(view, meta);
  }

  dispose(): void {
    this.unwatch?.();
    this.view.dispose();
    super.dispose();
  }

  protected onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this.watchKernel();
    this.view.refresh();
  }

  /** The notebook is known only when this is in its page. */
  private watchKernel(): void {
    if (this.kernel || !this.node.isConnected) {
      return;
    }
    const kernel = (this.kernel = kernelOf(this.node));
    if (kernel) {
      this.host.interrupt = () => kernel.interrupt();
      this.unwatch = kernel.onChange(() => this.view.refresh());
    }
  }
}

type Draw = (root: HTMLElement, host: Host) => { update(view: never): void; dispose(): void };

/** A comparison or the table of a sweep: a view that depends on nothing but its data. */
export class TableRenderer extends Widget implements IRenderMime.IRenderer {
  private view: ReturnType<Draw>;

  constructor(
    private mime: string,
    create: Draw,
    options: IRenderMime.IRendererOptions
  ) {
    super();
    this.view = create(this.node, hostOf(options));
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.view.update(model.data[this.mime] as never);
  }

  dispose(): void {
    this.view.dispose();
    super.dispose();
  }
}

function table(id: string, description: string, mime: string, create: Draw): IRenderMime.IExtension {
  const createRenderer = (options: IRenderMime.IRendererOptions) => new TableRenderer(mime, create, options);
  return { id, description, dataType: 'json', rank: -20, rendererFactory: { safe: true, mimeTypes: [mime], createRenderer } };
}

const run: IRenderMime.IExtension = {
  id: 'tt-kernel:run-renderer',
  description: 'Draws agent runs in the outputs of cells, and files that hold one.',
  dataType: 'json',
  rank: -20, // before widgets (-10)
  rendererFactory: { safe: true, mimeTypes: [RUN_MIME], createRenderer: options => new RunRenderer(options) },
  fileTypes: [
    { name: 'tt-run', displayName: 'Agent run', extensions: ['.ttrun', '.ttrun.json'], mimeTypes: [RUN_MIME], fileFormat: 'text' }
  ],
  documentWidgetFactoryOptions: {
    name: 'Agent run',
    primaryFileType: 'tt-run',
    fileTypes: ['tt-run'],
    defaultFor: ['tt-run']
  }
};

export default [
  run,
  table('tt-kernel:diff-renderer', 'Draws two runs side by side.', DIFF_MIME, createCompareView),
  table('tt-kernel:sweep-renderer', 'Draws the table of a sweep.', SWEEP_MIME, createSweepView)
];
