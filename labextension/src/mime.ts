import { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { createRunView, Host, View } from 'tt-static/run_view.js';

import { Kernel, kernelOf } from './bridge';
import { openLocal, renderProse } from './prose';
import { RUN_MIME, RunView, ViewMeta } from './protocol';

/** A run in the output of a cell. One object stays for all updates of the output, so folds stay open. */
export class RunRenderer extends Widget implements IRenderMime.IRenderer {
  private view: View;
  private kernel: Kernel | null = null;
  private unwatch: (() => void) | null = null;
  private host: Host;

  constructor(private options: IRenderMime.IRendererOptions) {
    super();
    const { resolver } = options;
    this.host = {
      renderText: (element, text) => renderProse(element, text, options),
      openFile: resolver ? (anchor, path) => openLocal(anchor, path, options) : undefined,
      fileUrl: resolver ? async path => resolver.getDownloadUrl(await resolver.resolveUrl(path)) : undefined,
      isBusy: () => this.kernel?.isBusy()
    };
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

const extension: IRenderMime.IExtension = {
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

export default extension;
