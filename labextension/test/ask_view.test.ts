import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createAskView } from 'tt-static/ask_view.js';
import { PAYLOAD } from './views';

let root: HTMLElement;
let answer: ReturnType<typeof vi.fn>;
beforeEach(() => {
  document.body.replaceChildren((root = document.createElement('div')));
  answer = vi.fn();
});

const approval = (changes: object = {}) => ({
  type: 'approval_requested', id: 'a1', run: 'r', name: 'Bash', group: 'shell', effect: 'host', arguments: { command: 'rm -r build' },
  rawArguments: null, rule: 'host = ask', summary: 'Remove build', diff: null, scope: { command: 'rm *' },
  deadline: new Date(Date.now() + 180000).toISOString(), timeoutSeconds: 180, ...changes
});
const press = (name: string) => root.querySelector<HTMLButtonElement>(`.tt-ask-${name}`)!.click();

describe('an approval', () => {
  it('says what would run, where, why, and how long there is', () => {
    createAskView(root, approval(), answer);
    expect(root.querySelector('.tt-ask-title')!.textContent).toMatch(/^Allow this call\?Bashruns on this computer(3:00 min|2:59 min) left$/);
    expect(root.querySelector('.tt-terminal-command')!.textContent).toBe('rm -r build');
    expect(root.textContent).toContain('Rule: host = ask.');
    expect(root.textContent).toContain('calls of Bash with command = rm *');
  });

  it('nothing has the focus, so no key approves by accident', () => {
    createAskView(root, approval(), answer);
    expect(document.activeElement).toBe(document.body);
  });

  it('is approved once', () => {
    createAskView(root, approval(), answer);
    press('approve');
    press('approve');
    expect(answer.mock.calls).toEqual([[{ decision: 'approve' }]]);
  });

  it('is denied with a reason', () => {
    createAskView(root, approval(), answer);
    root.querySelector<HTMLInputElement>('.tt-run-guide')!.value = ' keep it ';
    press('deny');
    expect(answer).toHaveBeenCalledWith({ decision: 'deny', reason: 'keep it' });
  });

  it('is approved for the run', () => {
    createAskView(root, approval(), answer);
    press('always');
    expect(answer).toHaveBeenCalledWith({ decision: 'allow_run' });
  });

  it('is edited, if the text is one JSON object', () => {
    createAskView(root, approval(), answer);
    const edit = root.querySelector<HTMLTextAreaElement>('.tt-ask-edit')!;
    root.querySelector<HTMLButtonElement>('.tt-run-fold')!.click();
    edit.value = '[1]';
    press('approve');
    expect(answer).not.toHaveBeenCalled();
    expect(root.querySelector('.tt-ask-problem')!.textContent).toContain('one JSON object');
    edit.value = '{"command": "ls"}';
    press('approve');
    expect(answer).toHaveBeenCalledWith({ decision: 'edit', arguments: { command: 'ls' } });
  });

  it('can be answered again after an invalid answer', () => {
    const view = createAskView(root, approval(), answer);
    press('approve');
    view.invalid('arguments: wrong');
    expect(root.querySelector('.tt-ask-problem')!.textContent).toBe('arguments: wrong');
    press('deny');
    expect(answer).toHaveBeenCalledTimes(2);
  });

  it('shows a diff as one', () => {
    createAskView(root, approval({ group: 'files', diff: '--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n' }), answer);
    expect(root.querySelector('.tt-diff-added')!.textContent).toBe('+new\n');
    expect(root.querySelector('.tt-diff-removed')!.textContent).toBe('-old\n');
  });

  it('shows text as text', () => {
    createAskView(root, approval({ name: PAYLOAD, rule: PAYLOAD, summary: PAYLOAD, arguments: { [PAYLOAD]: PAYLOAD }, diff: PAYLOAD, scope: { a: PAYLOAD } }), answer);
    expect(root.querySelectorAll('img, script, svg[onload]')).toHaveLength(0);
  });
});

describe('questions', () => {
  const question = { question: 'Which?', options: [{ label: 'A', description: 'first', recommended: true }, { label: 'B' }] };
  const asked = { type: 'question_asked', id: 'q1', questions: [question, question] };

  it('are answered together: an option or own words each', () => {
    createAskView(root, asked, answer);
    const ok = root.querySelector<HTMLButtonElement>('.tt-ask-approve')!;
    expect(ok.disabled).toBe(true);
    root.querySelectorAll<HTMLInputElement>('input[type=radio]')[1].click();
    expect(ok.disabled).toBe(true);
    const other = root.querySelectorAll<HTMLInputElement>('.tt-run-guide')[1];
    other.value = 'C';
    other.dispatchEvent(new Event('input'));
    ok.click();
    expect(answer).toHaveBeenCalledWith({ replies: [{ option: 1 }, { option: null, other: 'C' }] });
  });
});

it('a plan is carried out by its code', () => {
  createAskView(root, { type: 'plan_ready', run: 'r', text: 'First.', code: '%agent x' }, answer);
  press('approve');
  expect(answer).toHaveBeenCalledWith({ code: '%agent x' });
});
