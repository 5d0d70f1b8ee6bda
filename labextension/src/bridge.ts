/**
 * What the application plugin lends to the MIME renderer, which JupyterLab gives no kernel. Both are parts of one bundle and so
 * share this module; without the plugin (another application) runs are drawn without a stop button.
 */
export interface Kernel {
  /** Whether a cell is running; undefined while nobody knows. */
  isBusy(): boolean | undefined;
  interrupt(): void;
  /** Say something to a run that goes on; null while the kernel could not hear it. */
  guide: ((run: string, text: string) => Promise<string>) | null;
  /** Called when `isBusy` may have changed, until the returned function is called. */
  onChange(call: () => void): () => void;
}

let find: ((node: HTMLElement) => Kernel | null) | null = null;

export function lendKernels(finder: (node: HTMLElement) => Kernel | null): void {
  find = finder;
}

/** The kernel of the notebook in whose page `node` is. */
export function kernelOf(node: HTMLElement): Kernel | null {
  return find?.(node) ?? null;
}
