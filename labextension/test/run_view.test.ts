import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  argumentsLine, clean, createRunView, diffLines, DRAWN_CALLS, DRAWN_CHARS, duration, ICONS, localPath, STATES, statusWord, storyItems, tabular
} from 'tt-static/run_view.js';
import { call, PAYLOAD, run } from './views';

let root: HTMLElement;
beforeEach(() => {
  document.body.replaceChildren((root = document.createElement('div')));
});

const cards = () => [...root.querySelectorAll<HTMLElement>('.tt-call')];
const fold = (n: number) => cards()[n].querySelector('details')!;
const opened = (n: number) => {
  fold(n).open = true;
  fold(n).dispatchEvent(new Event('toggle'));
  return cards()[n];
};

describe('the status line', () => {
  it('says who, how it ended, and the numbers that are not zero', () => {
    createRunView(root).update(run({ calls: [call(1)], callCount: 4 }));
    expect(root.querySelector('.tt-run-header')!.textContent).toBe('✓assistantopenai:gpt-x3 turns4 calls2,113 tokens');
  });

  it.each([['failed', '✗'], ['interrupted', '■'], ['partial', '◐'], ['limit', '✗']])('%s is marked %s and named', (status, mark) => {
    createRunView(root).update(run({ status }));
    expect(root.querySelector('.tt-run-mark')!.textContent).toBe(mark);
    expect(root.querySelector('.tt-run-status')!.textContent).toBe(status);
  });

  it('shows volatile facts from the metadata only', () => {
    createRunView(root).update(run(), { elapsedSeconds: 2.121, costUsd: 0.034, replayed: false });
    expect(root.querySelector('.tt-run-facts')!.textContent).toContain('2.1 s$0.03');
    expect(root.querySelector('.tt-run-badge')).toBeNull();
  });

  it('marks a replay, and says nothing of the time that it took', () => {
    createRunView(root).update(run(), { elapsedSeconds: 2.1, replayed: true });
    expect(root.querySelector('.tt-run-badge')!.textContent).toBe('replayed');
    expect(root.textContent).not.toContain('2.1 s');
  });

  it('shows what differs from the recording', () => {
    createRunView(root).update(run(), { drift: ['builtin:dice.roll content'] });
    expect(root.querySelector('.tt-run-alert')!.textContent).toContain('dice.roll content');
  });
});

describe('a live run', () => {
  it('can be stopped from the moment that its kernel is known', () => {
    const host = { isBusy: () => true } as { isBusy: () => boolean; interrupt?: () => void };
    const view = createRunView(root, host);
    view.update(run({ status: 'running' }), { live: true });
    expect(root.querySelector('.tt-run-stop')).toBeNull();
    host.interrupt = vi.fn();
    view.update(run({ status: 'running' }), { live: true });
    expect(root.querySelector('.tt-run-stop')).not.toBeNull();
  });

  it('counts the time and has a stop button that works once', () => {
    vi.useFakeTimers();
    const interrupt = vi.fn();
    const view = createRunView(root, { interrupt, isBusy: () => true });
    view.update(run({ status: 'running' }), { live: true, elapsedSeconds: 58 });
    vi.advanceTimersByTime(3000);
    expect(root.querySelector('.tt-run-elapsed')!.textContent).toBe('1:01 min');
    const stop = root.querySelector<HTMLButtonElement>('.tt-run-stop')!;
    stop.click();
    expect(interrupt).toHaveBeenCalledOnce();
    expect(stop.disabled).toBe(true);
    view.update(run({ status: 'interrupted' }), { live: false });
    expect(root.querySelector('.tt-run-stop')).toBeNull();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('names its folder from the start and links it when it has ended', () => {
    const view = createRunView(root, { openFile: (link: HTMLElement, path: string) => link.setAttribute('href', path) });
    const folder = () => root.querySelector<HTMLElement>('.tt-run-footer .tt-run-path')!;
    view.update(run({ status: 'running', folder: 'a.agent/runs/1' }), { live: true });
    expect([folder().tagName, folder().textContent]).toEqual(['SPAN', 'a.agent/runs/1']);
    view.update(run({ folder: 'a.agent/runs/1' }), { live: false });
    expect(folder().getAttribute('href')).toBe('a.agent/runs/1/run.json');
  });

  it('does not pretend to go on when the kernel is idle', () => {
    createRunView(root, { interrupt: () => {}, isBusy: () => false }).update(run({ status: 'running' }), { live: true });
    expect(root.querySelector('.tt-run-status')!.textContent).toBe('not finished');
    expect(root.querySelector('.tt-run-stop')).toBeNull();
  });

  it('sends guidance', () => {
    const guide = vi.fn();
    createRunView(root, { guide, isBusy: () => true }).update(run({ status: 'running' }), { live: true });
    root.querySelector<HTMLInputElement>('.tt-run-guide')!.value = 'shorter';
    root.querySelector('form')!.dispatchEvent(new Event('submit', { cancelable: true }));
    expect(guide).toHaveBeenCalledWith('shorter');
  });
});

describe('calls', () => {
  it('stand in order, with the notes between them and what is missing named', () => {
    const view = run({ calls: [call(1), call(2), call(9)], callCount: 9, notes: [{ after: 1, text: 'Then', truncated: false }] });
    createRunView(root).update(view);
    const kinds = [...root.querySelector('.tt-run-story')!.children].map(node => node.className);
    expect(kinds).toEqual(['tt-call', 'tt-run-note', 'tt-call', 'tt-run-gap', 'tt-call']);
    expect(root.querySelector('.tt-run-gap')!.textContent).toContain('6 calls not shown');
  });

  it.each(STATES)('state %s is drawn', state => {
    createRunView(root).update(run({ calls: [call(1, { state })] }));
    expect(cards()[0].dataset.state).toBe(state);
    const word = { requested: 'waiting', running: 'running', done: '3 lines', error: 'error', cancelled: 'cancelled' }[state];
    expect(root.querySelector('.tt-card-outcome')!.textContent).toBe(word);
  });

  it('every group has an icon of its own', () => {
    expect(new Set(Object.values(ICONS)).size).toBe(Object.keys(ICONS).length);
  });

  it('an error shows its code without opening anything', () => {
    const failed = call(1, { state: 'error', errorCode: 'workspace.shell_exit', summary: 'exit 3' });
    createRunView(root).update(run({ calls: [failed] }));
    expect(fold(0).open).toBe(false);
    expect(root.querySelector('.tt-card-error')!.textContent).toBe('workspace.shell_exitexit 3');
  });

  it('folds stay open and nodes stay the same while calls are added and change', () => {
    const view = createRunView(root);
    view.update(run({ calls: [call(1, { state: 'running', content: '' })] }));
    const card = opened(0);
    view.update(run({ calls: [call(1), call(2)] }));
    expect(cards()[0]).toBe(card);
    expect(fold(0).open).toBe(true);
    expect(card.querySelector('pre')!.textContent).toContain('three');
  });

  it('an unchanged call is not touched by an update', () => {
    const view = createRunView(root);
    view.update(run({ calls: [call(1)] }));
    const line = root.querySelector('.tt-card-name');
    view.update(run({ calls: [call(1), call(2)] }));
    expect(root.querySelector('.tt-card-name')).toBe(line);
  });

  it('the body is built when it is opened', () => {
    createRunView(root).update(run({ calls: [call(1)] }));
    expect(cards()[0].querySelector('.tt-card-body')!.children).toHaveLength(0);
    expect(opened(0).querySelector('.tt-arguments')!.textContent).toBe('patha.md');
  });

  it('arguments are one click from their JSON', () => {
    createRunView(root).update(run({ calls: [call(1)] }));
    const raw = opened(0).querySelector<HTMLButtonElement>('.tt-run-raw')!;
    raw.click();
    expect(JSON.parse(cards()[0].querySelector('.tt-section pre')!.textContent!)).toEqual({ path: 'a.md' });
    raw.click();
    expect(cards()[0].querySelector('.tt-arguments')).not.toBeNull();
  });

  it('long arguments come last, as text with line breaks', () => {
    createRunView(root).update(run({ calls: [call(1, { arguments: { content: 'a\n'.repeat(90), mode: 'append', path: 'x' } })] }));
    const names = [...opened(0).querySelectorAll('th')].map(node => node.textContent);
    expect(names).toEqual(['mode', 'path', 'content']);
    expect(cards()[0].querySelector('td pre')!.textContent).toBe('a\n'.repeat(90));
  });

  it('arguments that were no JSON are shown as the model wrote them', () => {
    createRunView(root).update(run({ calls: [call(1, { arguments: {}, rawArguments: '{"path": ' })] }));
    expect(opened(0).querySelector('pre')!.textContent).toBe('{"path": ');
  });

  it('an edit is a diff', () => {
    const edit = call(1, { arguments: { path: 'a', old_string: 'x\nold\ny', new_string: 'x\nnew\ny' } });
    createRunView(root).update(run({ calls: [edit] }));
    expect(opened(0).querySelector('.tt-diff')!.textContent).toBe(' x\n-old\n+new\n y\n');
  });

  it('a shell call is a terminal', () => {
    const shell = call(1, { group: 'shell', arguments: { command: 'echo hi' }, content: 'exit code 0\nhi' });
    createRunView(root).update(run({ calls: [shell] }));
    expect(opened(0).querySelector('.tt-terminal')!.textContent).toBe('echo hi\nexit code 0\nhi');
  });

  it('rows are a table', () => {
    createRunView(root).update(run({ calls: [call(1, { content: '[{"a":1,"b":"x"},{"a":2,"b":null}]' })] }));
    expect([...opened(0).querySelectorAll('.tt-table tr')].map(row => row.textContent)).toEqual(['ab', '1x', '2']);
    expect(tabular('[{"a":1},{"b":2}]')).toBeNull();
    expect(tabular('[{"a":{}}]')).toBeNull();
    expect(tabular('[{"a":1}')).toBeNull();
  });

  it('pictures are seen without opening; one without data is named', () => {
    const image = { path: 'r/a.png', mimeType: 'image/png', width: 3, height: 2, data: 'iVBORw0KGgo=', dataMimeType: 'image/png' };
    createRunView(root).update(run({ calls: [call(1, { images: [image, { ...image, data: null, path: 'r/b.png' }] })] }));
    expect(root.querySelector('img')!.alt).toBe('a.png (3 x 2)');
    expect(root.querySelector('.tt-gallery')!.textContent).toBe('image r/b.png (3 x 2)');
  });
});

describe('much', () => {
  it('of 5,000 calls the first and the last are drawn, quickly, and the rest on request', () => {
    const calls = Array.from({ length: 5000 }, (_, n) => call(n + 1));
    const began = performance.now();
    createRunView(root).update(run({ calls }));
    expect(performance.now() - began).toBeLessThan(3000);
    expect(cards()).toHaveLength(DRAWN_CALLS);
    root.querySelector<HTMLButtonElement>('.tt-run-gap button')!.click();
    expect(cards()).toHaveLength(2 * DRAWN_CALLS);
  });

  it('a long text is drawn in pieces', () => {
    createRunView(root).update(run({ calls: [call(1, { content: 'x'.repeat(3 * DRAWN_CHARS) })] }));
    const pre = opened(0).querySelector('pre.tt-text')!;
    expect(pre.textContent!.length).toBeLessThan(DRAWN_CHARS + 20);
    pre.querySelector('button')!.click();
    pre.querySelector('button')!.click();
    expect(pre.textContent).toBe('x'.repeat(3 * DRAWN_CHARS));
  });
});

describe('texts of models and tools are data', () => {
  it('no text becomes markup, wherever it is', () => {
    const evil = call(1, {
      name: PAYLOAD, toolId: PAYLOAD, group: PAYLOAD, state: 'error', arguments: { [PAYLOAD]: PAYLOAD, list: [PAYLOAD] },
      summary: PAYLOAD, content: PAYLOAD, errorCode: PAYLOAD, contentTruncated: true,
      images: [{ path: PAYLOAD, mimeType: 'image/svg+xml', width: 1, height: 1, data: btoa(PAYLOAD), dataMimeType: 'image/svg+xml' }]
    });
    const view = run({
      calls: [evil], notes: [{ after: 0, text: PAYLOAD, truncated: true }], text: PAYLOAD, files: [PAYLOAD], folder: PAYLOAD,
      status: PAYLOAD, profile: PAYLOAD, model: PAYLOAD, problem: PAYLOAD, problemCode: PAYLOAD, continues: PAYLOAD
    });
    createRunView(root, { openFile: () => {} }).update(view, { drift: [PAYLOAD] });
    opened(0);
    expect(root.querySelectorAll('img, script, svg[onload], iframe')).toHaveLength(0);
    expect([...root.querySelectorAll('*')].flatMap(node => node.getAttributeNames()).filter(name => name.startsWith('on'))).toEqual([]);
    expect((window as never as { hacked?: number }).hacked).toBeUndefined();
  });

  it('only pictures of known kinds, in base64, are shown', () => {
    const image = { path: 'a', mimeType: 'image/png', width: 1, height: 1, data: '"><script>', dataMimeType: 'image/png' };
    createRunView(root).update(run({ calls: [call(1, { images: [image] })] }));
    expect(root.querySelector('img')).toBeNull();
  });

  it.each(['javascript:alert(1)', 'https://x.example/a', '/etc/passwd', '../../secret', 'a/../../b', '\\\\host\\x', 'C:\\x', ''])(
    'no link leads to %s', path => expect(localPath(path)).toBeNull()
  );

  it('a path beside the notebook is a link, with its characters encoded', () => {
    expect(localPath('a.agent/runs/x 1/out#?.md')).toBe('a.agent/runs/x%201/out%23%3F.md');
  });

  it('control characters and text direction do not get through', () => {
    expect(clean('a\u001b[31mb\u202ec\nd\te')).toBe('a[31mbc\nd\te');
  });

  it('a view of a newer or damaged file is drawn as far as it goes', () => {
    createRunView(root).update({ status: 'completed', profile: 'x' } as never);
    expect(root.querySelector('.tt-run-header')!.textContent).toContain('x');
    createRunView(root).update(null as never);
  });
});

describe('the answer', () => {
  it('is plain text with its line breaks where nothing can draw Markdown', () => {
    createRunView(root).update(run({ text: '# not\n*drawn*' }));
    expect(root.querySelector('.tt-run-plain')!.textContent).toBe('# not\n*drawn*');
  });

  it('is drawn by the host; the newest text wins, however long an older one takes', async () => {
    const finish: Array<() => void> = [];
    const renderText = (element: HTMLElement, text: string) =>
      new Promise<void>(resolve => finish.push(() => (element.append(text.toUpperCase()), resolve())));
    const view = createRunView(root, { renderText });
    view.update(run({ text: 'one' }));
    await Promise.resolve();
    view.update(run({ text: 'two' }));
    await vi.waitFor(() => expect(finish).toHaveLength(2));
    finish[1]();
    finish[0]();
    await vi.waitFor(() => expect(root.querySelector('.tt-run-answer')!.textContent).toBe('TWO'));
  });

  it('stays readable when drawing fails', async () => {
    createRunView(root, { renderText: () => Promise.reject(new Error('x')) }).update(run({ text: 'still here' }));
    await new Promise(resolve => setTimeout(resolve));
    expect(root.querySelector('.tt-run-answer')!.textContent).toBe('still here');
  });
});

describe('words', () => {
  it('durations', () => expect([0.04, 2.1, 59, 61, 3723].map(s => duration(s))).toEqual(['0.0 s', '2.1 s', '59 s', '1:01 min', '1:02:03 h']));
  it('a status is a word whatever a file says', () => expect(statusWord(run({ status: '<b>9' }))).toBe('b'));
  it('one argument needs no name', () => {
    expect(argumentsLine(call(1))).toBe('a.md');
    expect(argumentsLine(call(1, { arguments: { b: 1, a: 'x  y' } }))).toBe('a=x y b=1');
    expect(argumentsLine(call(1, { arguments: { content: 'x'.repeat(99), mode: 'w', path: 'p' } }))).toBe('p mode=w');
  });
  it('items of a run without calls', () => expect(storyItems(run({ callCount: 3 }))).toEqual([]));
  it('diff keeps common lines', () => expect(diffLines('a\nb\n', 'a\nc\nb\n').map(line => line.join(''))).toEqual([' a', '+c', ' b']));
});
