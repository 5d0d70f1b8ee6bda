/** The table of a sweep, drawn by tt_kernel/widgets/static. */
declare module 'tt-static/sweep_view.js' {
  type SweepCellView = import('./protocol').SweepCellView;
  type SweepColumnView = import('./protocol').SweepColumnView;
  type SweepPointView = import('./protocol').SweepPointView;
  type SweepView = import('./protocol').SweepView;
  type Host = import('tt-static/run_view.js').Host;
  type Sort = { column: number; direction: number } | null;

  export const DRAWN_POINTS: number;
  export const DRAWN_RUNS: number;
  export function createSweepView(root: HTMLElement, host?: Host): { update(view: SweepView): void; dispose(): void };
  export function nextSort(sort: Sort, column: number, first: number): Sort;
  export function sortedPoints(view: SweepView, sort: Sort): Array<{ point: SweepPointView; key: number }>;
  export function scale(column: SweepColumnView, cells: ReadonlyArray<SweepCellView>): (value: number | null) => number | null;
}
