/** A run of its folder as a view, made by tt_kernel/widgets/static. */
declare module 'tt-static/stored_run.js' {
  type RunView = import('./protocol').RunView;
  export function journalEvents(text: string): object[];
  export function cutResults(events: object[]): string[];
  export function storedRun(record: object, events: object[], folder: string, results?: Map<string, object>): RunView;
}
