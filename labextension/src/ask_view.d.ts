/** What a person decides while a run waits, drawn by tt_kernel/widgets/static. */
declare module 'tt-static/ask_view.js' {
  export interface AskView {
    invalid(message: string): void;
    late(): void;
    dispose(): void;
  }
  export function createAskView(root: HTMLElement, request: object, answer: (fields: object) => void): AskView;
}
