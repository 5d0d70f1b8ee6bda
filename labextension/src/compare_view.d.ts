/** Two runs side by side, drawn by tt_kernel/widgets/static. */
declare module 'tt-static/compare_view.js' {
  type DiffView = import('./protocol').DiffView;
  type Host = import('tt-static/run_view.js').Host;

  export const DRAWN_PAIRS: number;
  export function createCompareView(root: HTMLElement, host?: Host): { update(view: DiffView): void; dispose(): void };
  export function differences(view: DiffView): string[];
}
