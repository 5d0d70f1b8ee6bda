import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
// @ts-expect-error plain ESM without types: the code of an anywidget
import widget, { createProfileEditor } from 'tt-static/profile_editor.js';
import { PAYLOAD } from './views';

let root: HTMLElement;
let send: ReturnType<typeof vi.fn>;
let view: { open(): void; received(message: object): void; dispose(): void };

beforeEach(() => {
  vi.useFakeTimers();
  document.body.replaceChildren((root = document.createElement('div')));
  send = vi.fn();
  view = createProfileEditor(root, send);
  view.open();
});
afterEach(() => vi.useRealTimers());

const field = (name: string, kind: string, more: object = {}) => ({
  name, path: name.split('.'), label: name, help: '', kind, nullable: false, default: null, empty: '', fixed: false, ...more
});
const part = (...fields: object[]) => ({ title: '', folded: false, fields });

const rules = field('permissions.rules', 'rows', {
  items: [
    { ...field('permissions.rules.tool', 'text'), path: ['tool'] },
    { ...field('permissions.rules.decision', 'choice', { options: ['allow', 'ask', 'deny'] }), path: ['decision'] },
    { ...field('permissions.rules.arguments', 'map'), path: ['arguments'] }
  ]
});
const GROUPS = [
  {
    id: 'about', title: 'About', parts: [part(
      field('id', 'text', { fixed: true }), field('description', 'long', { nullable: true }),
      field('limits.turns', 'integer', { nullable: true }), field('sampling.temperature', 'number', { nullable: true }),
      field('run.stream', 'boolean'), field('skills.visible', 'list'), field('sampling.extra', 'json'),
      field('workspace.visibleRoots', 'choices', { options: ['output', 'plan'] }), rules
    )]
  },
  { id: 'model', title: 'Model', parts: [part(field('model.mode', 'choice', { options: [] }), field('model.connectionRef', 'text'), field('model.modelId', 'text'))] },
  { id: 'tools', title: 'Tools', parts: [part(field('tools.allow', 'list'), field('tools.deny', 'list'), field('tools.toolDescriptions', 'json'))] }
];
const DOCUMENT = {
  id: 'x', description: null, limits: { turns: null }, sampling: { temperature: null, extra: {} }, run: { stream: true },
  skills: { visible: ['*'] }, workspace: { visibleRoots: ['plan', 'output'] }, permissions: { rules: [] },
  model: { mode: 'currentPromptSnapshot', connectionRef: null, modelId: null },
  tools: { allow: ['builtin:a.read', 'extension/notebook:*'], deny: [], toolDescriptions: {} }
};
const tool = (id: string, more: object = {}) => ({
  id, name: id.split(':')[1].replace('.', '_'), group: 'files', source: 'built in', effect: 'project', readOnly: false,
  description: `Does ${id}.`, properties: { path: 'A path.' }, tokens: 10, ...more
});
const TOOLS = [
  tool('builtin:a.read', { readOnly: true }), tool('builtin:b.write'), tool('builtin:Bash', { group: 'shell', effect: 'host' }),
  tool('extension/notebook:own', { group: 'notebook', source: 'this notebook', effect: 'external' })
];
const state = (allow = {}, deny = {}) => Object.fromEntries(
  TOOLS.map(({ id }) => [id, { allow: [], deny: [], described: null, ...(allow as any)[id], ...(deny as any)[id] }])
);
const STATES = { 'builtin:a.read': { allow: ['builtin:a.read'] }, 'extension/notebook:own': { allow: ['extension/notebook:*'] } };
const me = () => send.mock.calls[0][0].view as string;

function message(type: string, changes: object = {}): object {
  return {
    type, view: me(), number: 0, document: structuredClone(DOCUMENT), base: structuredClone(DOCUMENT), problems: [], changed: [],
    changes: [], diff: '', canSave: false, toolStates: state(STATES), ...changes
  };
}
const show = (changes: object = {}) =>
  view.received(message('form', {
    title: 'x', target: 'nb.agent/profiles/x.json', isCopy: false, groups: GROUPS, tools: structuredClone(TOOLS),
    models: { default: 'openai:gpt-x', models: ['openai:gpt-x'], connections: [{ name: 'lab', provider: 'openai', model: 'm', models: ['m'], description: null }] },
    ...changes
  }));
const at = (name: string) => root.querySelector<HTMLElement>(`.tt-field[data-name="${name}"]`)!;
const input = (name: string) => at(name).querySelector<HTMLInputElement>('input, textarea, select')!;
function type(node: HTMLInputElement, text: string): void {
  node.value = text;
  node.dispatchEvent(new Event('input', { bubbles: true }));
}
function sent(): Array<{ path: string[]; value: unknown; number: number }> {
  vi.runAllTimers();
  return send.mock.calls.map(([one]) => one).filter(one => one.type === 'change');
}
const press = (text: string) =>
  [...root.querySelectorAll<HTMLButtonElement>('button')].find(node => node.textContent === text && !node.hidden)!.click();

it('asks for everything when it is opened, and draws it once', () => {
  expect(send).toHaveBeenCalledWith({ type: 'open', view: me() });
  view.received({ ...message('form'), view: 'another' });
  expect(root.querySelector('.tt-edit-tab')).toBeNull();
  show();
  expect([...root.querySelectorAll('[role=tab]')].map(tab => tab.firstChild!.textContent)).toEqual(['About', 'Model', 'Tools', 'Preview']);
  expect(input('id').disabled).toBe(true);
});

describe('a field', () => {
  beforeEach(() => show());

  it('sends what was typed after a pause, numbers as numbers and anything else as it is', () => {
    type(input('limits.turns'), '1');
    type(input('limits.turns'), '12');
    expect(send).toHaveBeenCalledTimes(1);
    type(input('sampling.temperature'), 'warm');
    expect(sent().map(({ path, value, number }) => [path.join('.'), value, number])).toEqual([
      ['limits.turns', 12, 1], ['sampling.temperature', 'warm', 2]
    ]);
  });

  it('that is emptied means null, where it may', () => {
    type(input('description'), 'word');
    type(input('description'), '');
    expect(sent()[0]).toMatchObject({ value: null });
  });

  it('sends lists by the line, and rows as objects', () => {
    type(input('skills.visible'), ' one \n\ntwo');
    at('permissions.rules').querySelector<HTMLButtonElement>('.tt-rows > button')!.click();
    type(at('permissions.rules.tool').querySelector('input')!, 'Bash');
    type(at('permissions.rules.arguments').querySelector<HTMLInputElement>('textarea')!, 'command = git *=x');
    const last = Object.fromEntries(sent().map(({ path, value }) => [path.join('.'), value]));
    expect(last['skills.visible']).toEqual(['one', 'two']);
    expect(last['permissions.rules']).toEqual([{ tool: 'Bash', decision: 'ask', arguments: { command: 'git *=x' } }]);
  });

  it('keeps the order of choices that are left as they are', () => {
    at('workspace.visibleRoots').querySelectorAll('input')[0].click();
    at('workspace.visibleRoots').querySelectorAll('input')[0].click();
    expect(sent().map(one => one.value)).toEqual([['plan'], ['plan', 'output']]);
  });

  it('shows its problem, and says so to screen readers', () => {
    view.received(message('state', { problems: [{ path: ['limits', 'turns'], message: 'limits.turns is 0: too small.', blocks: true }] }));
    const node = input('limits.turns');
    expect(at('limits.turns').querySelector('.tt-field-problem')!.textContent).toBe('limits.turns is 0: too small.');
    expect(node.getAttribute('aria-invalid')).toBe('true');
    const described = node.getAttribute('aria-describedby')!.split(' ').map(id => document.getElementById(id)!.textContent).join('');
    expect(described).toContain('too small');
    expect(root.querySelector('.tt-edit-badge')!.textContent).toBe('1');
    expect(root.querySelector('.tt-edit-status')!.textContent).toBe('1 problem to mend');
  });

  it('tells what is wrong in a row in that row', () => {
    const rows = [{ tool: 'a', decision: 'ask', arguments: {} }, { tool: 'b', decision: 'no', arguments: {} }];
    const problems = [{ path: ['permissions', 'rules', 1, 'decision'], message: 'wrong', blocks: true }];
    view.received(message('state', { document: { ...DOCUMENT, permissions: { rules: rows } }, problems }));
    const said = [...at('permissions.rules').querySelectorAll('.tt-field-problem')].map(node => node.textContent);
    expect(said.filter(Boolean)).toEqual(['wrong']);
    expect(said.indexOf('wrong')).toBe(4);
  });

  it('does not take back what was typed since', () => {
    type(input('description'), 'new');
    view.received(message('state'));
    expect(input('description').value).toBe('new');
    vi.runAllTimers();
    view.received(message('state'));
    expect(input('description').value).toBe('new');
    view.received(message('state', { number: 1, document: { ...DOCUMENT, description: 'newer' } }));
    expect(input('description').value).toBe('newer');
  });

  it('takes what another view changed', () => {
    view.received(message('state', { view: 'another', number: 9, document: { ...DOCUMENT, description: 'theirs' } }));
    expect(input('description').value).toBe('theirs');
  });

  it('goes back to what was read', () => {
    type(input('limits.turns'), '12');
    vi.runAllTimers();
    view.received(message('state', { number: 1, document: { ...DOCUMENT, limits: { turns: 12 } }, changed: [['limits', 'turns']] }));
    at('limits.turns').querySelector<HTMLButtonElement>('.tt-field-undo')!.click();
    expect(sent().at(-1)).toMatchObject({ path: ['limits', 'turns'], value: null });
    expect(input('limits.turns').value).toBe('');
  });

  it('of JSON sends nothing that is none, and then nothing can be saved', () => {
    type(input('sampling.extra'), '{"a": ');
    expect(sent()).toEqual([]);
    expect(at('sampling.extra').querySelector('.tt-field-problem')!.textContent).toBe('sampling.extra is no JSON yet.');
    expect(root.querySelector('.tt-edit-status')!.textContent).toBe('1 problem to mend');
    type(input('sampling.extra'), '{"a": 1}');
    expect(sent()).toMatchObject([{ path: ['sampling', 'extra'], value: { a: 1 } }]);
    expect(at('sampling.extra').querySelector('.tt-field-problem')!.textContent).toBe('');
  });
});

describe('the model', () => {
  beforeEach(() => show());

  it('is reached by a connection, by its own name, or not yet', () => {
    const [reach, name] = root.querySelectorAll<HTMLInputElement>('.tt-model select, .tt-model input');
    reach.value = 'lab';
    reach.dispatchEvent(new Event('change'));
    type(name, ' any-model ');
    const model = Object.fromEntries(sent().map(({ path, value }) => [path[1], value]));
    expect(model).toEqual({ mode: 'connectionRef', connectionRef: 'lab', modelId: 'any-model' });
  });

  it('of a connection that is not there stays what it is', () => {
    view.received(message('state', { document: { ...DOCUMENT, model: { mode: 'connectionRef', connectionRef: 'theirs', modelId: 'm' } } }));
    const reach = root.querySelector<HTMLSelectElement>('.tt-model select')!;
    expect(reach.selectedOptions[0].textContent).toBe('connection theirs (you have none of this name)');
    expect(sent()).toEqual([]);
  });
});

describe('the tools', () => {
  const check = (id: string) => root.querySelector<HTMLInputElement>(`.tt-tool[data-tool="${id}"] .tt-check`)!;
  beforeEach(() => show());

  it('are listed by group with what they touch, and found by words', () => {
    const badges = [...root.querySelectorAll('.tt-tool')].map(row => [row.querySelector('code')!.textContent, row.querySelector('.tt-badge')!.textContent]);
    expect(badges).toEqual([
      ['own', 'runs · this notebook'], ['a_read', 'reads · files of the project'], ['b_write', 'changes · files of the project'], ['Bash', 'runs · this computer']
    ]);
    type(root.querySelector<HTMLInputElement>('.tt-tools-search')!, 'SHELL host');
    expect([...root.querySelectorAll<HTMLElement>('.tt-tool')].filter(row => !row.hidden).map(row => row.dataset.tool)).toEqual(['builtin:Bash']);
    expect(root.querySelector('.tt-tools-count')!.textContent).toBe('2 of 4 tools, about 20 tokens in every request');
  });

  it('are allowed by their ids', () => {
    check('builtin:b.write').click();
    expect(sent()).toMatchObject([{ path: ['tools', 'allow'], value: ['builtin:a.read', 'extension/notebook:*', 'builtin:b.write'] }]);
  });

  it('are taken off the list, or denied where a glob allows them', () => {
    check('builtin:a.read').click();
    check('extension/notebook:own').click();
    const last = Object.fromEntries(sent().map(({ path, value }) => [path[1], value]));
    expect(last).toEqual({ allow: ['extension/notebook:*'], deny: ['extension/notebook:own'] });
    check('extension/notebook:own').click();
    expect(sent().at(-1)).toMatchObject({ path: ['tools', 'deny'], value: [] });
  });

  it('stay as they were checked while older answers come in', () => {
    type(input('description'), 'word');
    vi.runAllTimers();
    check('builtin:b.write').click();
    view.received(message('state', { number: 1 }));
    expect(check('builtin:b.write').checked).toBe(true);
    view.received(message('state', { number: 2, toolStates: state() }));
    expect(check('builtin:b.write').checked).toBe(false);
  });

  it('that a glob denies say by which', () => {
    view.received(message('state', { toolStates: state({}, { 'builtin:Bash': { deny: ['builtin:B*'] } }) }));
    expect(check('builtin:Bash').disabled).toBe(true);
    expect(root.querySelector('.tt-tool[data-tool="builtin:Bash"] .tt-tool-why')!.textContent).toBe('Denied by builtin:B*.');
  });

  it('are checked as a group', () => {
    const all = root.querySelectorAll<HTMLInputElement>('.tt-tools-head .tt-check')[1];
    expect(all.indeterminate).toBe(true);
    all.click();
    expect(sent().at(-1)!.value).toEqual(['builtin:a.read', 'extension/notebook:*', 'builtin:b.write']);
  });

  it('are described in other words', () => {
    root.querySelector<HTMLButtonElement>('.tt-tool[data-tool="builtin:a.read"] .tt-tool-fold')!.click();
    const [whole, path] = root.querySelectorAll<HTMLInputElement>('.tt-tool[data-tool="builtin:a.read"] textarea');
    expect(whole.placeholder).toBe('Does builtin:a.read.');
    type(whole, 'Read it.');
    type(path, 'Which.');
    expect(sent().at(-1)).toMatchObject({ path: ['tools', 'toolDescriptions'], value: { 'builtin:a.read': { description: 'Read it.', properties: { path: 'Which.' } } } });
    type(whole, '');
    type(path, '');
    expect(sent().at(-1)!.value).toEqual({});
  });
});

describe('saving', () => {
  const CHANGED = { changed: [['limits', 'turns']], changes: [['limits.turns', '', '12']], diff: '--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n', canSave: true };
  beforeEach(() => show(CHANGED));

  it('comes after what would change was shown', () => {
    expect([...root.querySelectorAll<HTMLButtonElement>('.tt-edit-bar button')].filter(node => !node.hidden).map(node => node.textContent)).toEqual(['Close', 'Review changes']);
    press('Review changes');
    expect(root.querySelector('.tt-changes')!.textContent).toBe('limits.turnsbefore: (nothing)→after: 12');
    expect(root.querySelector('.tt-line-added')!.textContent).toBe('+new\n');
    press('Save');
    expect(send).toHaveBeenLastCalledWith(expect.objectContaining({ type: 'save' }));
  });

  it('sends first what was just typed', () => {
    type(input('description'), 'late');
    press('Review changes');
    press('Save');
    expect(send.mock.calls.slice(1).map(([one]) => one.type)).toEqual(['change', 'save']);
  });

  it('of nothing, or of what is wrong, is not offered', () => {
    view.received(message('state'));
    expect([...root.querySelectorAll('button')].find(node => node.textContent === 'Review changes')!.disabled).toBe(true);
    view.received(message('state', { ...CHANGED, canSave: false }));
    press('Review changes');
    expect([...root.querySelectorAll('button')].find(node => node.textContent === 'Save')!.disabled).toBe(true);
  });

  it('meets a changed file with both ways out', () => {
    view.received({ type: 'conflict', message: 'It was changed.', changes: [['sampling.seed', '1', '2']] });
    expect(root.querySelector('.tt-edit-notice')!.textContent).toContain('It was changed.sampling.seed');
    press("Take both sides' changes");
    expect(send).toHaveBeenLastCalledWith(expect.objectContaining({ type: 'take_both' }));
  });

  it('shows what both sides came to', () => {
    type(input('description'), 'mine');
    vi.runAllTimers();
    view.received({ type: 'conflict', message: 'It was changed.', changes: [] });
    press("Take both sides' changes");
    const { number } = send.mock.calls.at(-1)![0];
    const both = { ...DOCUMENT, description: 'mine', limits: { turns: 3 } };
    view.received({ type: 'merged', message: 'Both.' });
    view.received(message('state', { ...CHANGED, number, document: both, base: { ...both, description: null } }));
    expect(input('limits.turns').value).toBe('3');
    expect(at('limits.turns').classList.contains('tt-changed')).toBe(false);
    expect(at('description').classList.contains('tt-changed')).toBe(true);
  });

  it('is not given up by one click', () => {
    press('Close');
    expect(send.mock.calls.at(-1)![0].type).toBe('open');
    press('Close without saving');
    expect(send).toHaveBeenLastCalledWith(expect.objectContaining({ type: 'close' }));
  });
});

it('says that it waits for a kernel that does not answer, and keeps what was typed', () => {
  vi.runAllTimers();
  expect(root.textContent).toMatch(/^Waiting for the kernel/);
  show();
  type(input('description'), 'kept');
  vi.runAllTimers();
  expect(root.querySelector('.tt-edit-said')!.textContent).toMatch(/^Waiting for the kernel/);
  expect(input('description').value).toBe('kept');
  view.received(message('state', { number: 1, document: { ...DOCUMENT, description: 'kept' }, changed: [['description']], changes: [['description', '', 'kept']] }));
  expect(root.querySelector('.tt-edit-said')!.textContent).toBe('1 field changed');
});

it('outlives a kernel that is gone', () => {
  const gone = { on() {}, off() {}, send() { throw new Error('disposed'); } };
  widget.render({ model: gone, el: root });
  vi.runAllTimers();
  expect(root.textContent).toMatch(/^Waiting for the kernel/);
});

it('goes from tab to tab by arrow keys', () => {
  show();
  const tabs = [...root.querySelectorAll<HTMLElement>('[role=tab]')];
  tabs[0].focus();
  tabs[0].dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp', bubbles: true }));
  expect(document.activeElement).toBe(tabs[3]);
  expect(tabs.map(node => node.tabIndex)).toEqual([-1, -1, -1, 0]);
  expect(root.querySelector<HTMLElement>('[role=tabpanel]:not([hidden])')!.getAttribute('aria-labelledby')).toBe(tabs[3].id);
  expect(send).toHaveBeenLastCalledWith({ type: 'preview' });
  view.received({ type: 'preview', title: 'x for any model', sections: [{ title: 'system prompt (3 tokens)', body: 'You are.', isOpen: true }], notes: ['A note.'] });
  expect(root.querySelector('.tt-edit-preview')!.textContent).toBe('x for any modelsystem prompt (3 tokens)You are.A note.');
});

it('shows text as text', () => {
  const groups = [{ id: 'g', title: PAYLOAD, parts: [{ title: PAYLOAD, folded: false, fields: [field('description', 'long', { label: PAYLOAD, help: PAYLOAD, empty: PAYLOAD })] }] }, GROUPS[1], GROUPS[2]];
  show({
    groups, title: PAYLOAD, target: PAYLOAD, tools: [tool(`builtin:${PAYLOAD}`, { name: PAYLOAD, description: PAYLOAD, group: PAYLOAD, properties: { [PAYLOAD]: PAYLOAD } })],
    problems: [{ path: ['description'], message: PAYLOAD, blocks: true }, { path: [], message: PAYLOAD, blocks: true }],
    changes: [[PAYLOAD, PAYLOAD, PAYLOAD]], changed: [['x']], diff: PAYLOAD, document: { ...DOCUMENT, description: PAYLOAD }
  });
  root.querySelector<HTMLButtonElement>('.tt-tool-fold')!.click();
  press('Review changes');
  view.received({ type: 'conflict', message: PAYLOAD, changes: [[PAYLOAD, PAYLOAD, PAYLOAD]] });
  view.received({ type: 'preview', title: PAYLOAD, sections: [{ title: PAYLOAD, body: PAYLOAD, isOpen: true }], notes: [PAYLOAD] });
  expect(root.querySelectorAll('img, script, svg[onload]')).toHaveLength(0);
  expect((window as unknown as { hacked?: number }).hacked).toBeUndefined();
});

it('is an anywidget', () => {
  const handlers = new Map<string, (message: object) => void>();
  const model = { on: (name: string, call: (message: object) => void) => handlers.set(name, call), off: (name: string) => handlers.delete(name), send };
  const stop = widget.render({ model, el: root });
  expect(send).toHaveBeenLastCalledWith(expect.objectContaining({ type: 'open' }));
  handlers.get('msg:custom')!({ type: 'closed', message: 'Saved: x.json' });
  expect(root.textContent).toBe('Saved: x.json');
  stop();
  expect(handlers.size).toBe(0);
});
