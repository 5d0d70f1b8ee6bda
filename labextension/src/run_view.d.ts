/** The plain ESM renderer of tt_kernel/widgets/static, which the anywidgets use too. */
declare module 'tt-static/run_view.js' {
  type CallView = import("./protocol").CallView;
  type RunView = import("./protocol").RunView;
  type TextView = import("./protocol").TextView;
  type ViewMeta = import("./protocol").ViewMeta;

  export interface Host {
    renderText?(element: HTMLElement, text: string): Promise<void> | void;
    openFile?(anchor: HTMLAnchorElement, path: string): void;
    fileUrl?(path: string): Promise<string>;
    interrupt?(): void;
    isBusy?(): boolean | undefined;
    guide?(text: string): Promise<string> | void;
  }

  export interface View {
    update(view: RunView, meta?: ViewMeta): void;
    refresh(): void;
    dispose(): void;
  }

  export type Item =
    | { kind: 'call'; id: string; call: CallView }
    | { kind: 'note'; id: string; note: TextView }
    | { kind: 'gap'; id: string; missing: number; kept: number };

  export const STATES: ReadonlyArray<CallView['state']>;
  export const ICONS: { readonly [group: string]: string };
  export const DRAWN_CALLS: number;
  export const DRAWN_CHARS: number;
  export function createRunView(root: HTMLElement, host?: Host): View;
  export function statusWord(view: RunView): string;
  export function callSummary(call: CallView): string;
  export function argumentsLine(call: CallView): string;
  export function counted(count: number, noun: string): string;
  export function duration(seconds: number, whole?: boolean): string;
  export function clean(text: unknown): string;
  export function localPath(path: string): string | null;
  export function storyItems(view: RunView, extra?: number): Item[];
  export function element(tag: string, className: string, text?: string): HTMLElement;
  export function button(className: string, text: string, title?: string): HTMLButtonElement;
  export function proposal(call: object): HTMLElement[];
  export function tabular(content: string): ReadonlyArray<{ [name: string]: unknown }> | null;
  export function diffLines(before: string, after: string): ReadonlyArray<['-' | '+' | ' ', string]>;
}
