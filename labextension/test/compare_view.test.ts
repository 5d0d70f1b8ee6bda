import { beforeEach, describe, expect, it } from 'vitest';
import { createCompareView, differences, DRAWN_PAIRS } from 'tt-static/compare_view.js';

import { CallPairView, DiffView } from '../src/protocol';
import { call, PAYLOAD } from './views';

let root: HTMLElement;

beforeEach(() => {
  document.body.replaceChildren((root = document.createElement('div')));
});

function pair(changes: Partial<CallPairView> = {}): CallPairView {
  return { state: 'same', before: call(1), after: call(1, { content: '' }), arguments: [], result: '', sameImages: true, ...changes };
}

function diff(changes: Partial<DiffView> = {}): DiffView {
  const side = { status: 'done', profile: 'assistant', model: 'openai:gpt-x' };
  return {
    version: 1, isSame: false, hiddenPairs: 0, replies: [], pairs: [], fileDiffs: [], numbers: [],
    before: { id: 'aaaa1111', folder: 'n.agent/runs/aaaa1111', ...side }, after: { id: 'bbbb2222', folder: 'n.agent/runs/bbbb2222', ...side },
    prompt: [{ kind: 'same', text: 'How ' }, { kind: 'old', text: 'many' }, { kind: 'new', text: 'much' }], answer: [{ kind: 'same', text: 'Four.' }],
    ...changes
  };
}

const draw = (view: DiffView, host = {}) => {
  const made = createCompareView(root, host);
  made.update(view);
  return made;
};
const texts = (selector: string) => [...root.querySelectorAll(selector)].map(node => node.textContent);
const rows = () => [...root.querySelectorAll<HTMLElement>('.tt-compare-call')];
const open = (node: HTMLElement) => {
  const fold = node.querySelector('details')!;
  fold.open = true;
  fold.dispatchEvent(new Event('toggle'));
  return node;
};

describe('a comparison', () => {
  it('says what differs, and names both runs with links to them', () => {
    draw(diff({ pairs: [pair(), pair({ state: 'added', before: null })] }), { openFile: (link: HTMLElement, path: string) => link.setAttribute('href', path) });
    expect(texts('.tt-run-fact')).toEqual(['prompt differs', '1 call differs']);
    expect([...root.querySelectorAll('.tt-compare-side a')].map(a => a.getAttribute('href'))).toEqual(['n.agent/runs/aaaa1111/run.json', 'n.agent/runs/bbbb2222/run.json']);
  });

  it('says so when nothing differs', () => {
    draw(diff({ isSame: true, prompt: [{ kind: 'same', text: 'x' }] }));
    expect(root.querySelector('.tt-run-header')!.textContent).toContain('The runs are the same');
    expect(differences(diff({ prompt: [] }))).toEqual([]);
  });

  it('shows each text with its own words marked, and one text where they are equal', () => {
    draw(diff());
    expect(texts('.tt-compare-text')).toEqual(['AHow many', 'BHow much', 'Four.']);
    expect([texts('del'), texts('ins')]).toEqual([['many'], ['much']]);
  });

  it('marks what differs of the runs themselves', () => {
    const view = diff();
    draw({ ...view, after: { ...view.after, model: 'other', status: 'failed' } });
    expect(texts('.tt-compare-differs')).toEqual(['done', 'openai:gpt-x', 'failed', 'other']);
  });

  it.each(['same', 'changed', 'removed', 'added'] as const)('a pair that is %s is drawn on its sides', state => {
    draw(diff({ pairs: [pair({ state, before: state === 'added' ? null : call(1), after: state === 'removed' ? null : call(2) })] }));
    const [row] = rows();
    expect(row.dataset.state).toBe(state);
    expect(row.querySelectorAll('.tt-compare-half')).toHaveLength(2);
    expect(row.querySelectorAll('.tt-compare-empty')).toHaveLength(state === 'same' || state === 'changed' ? 0 : 1);
    expect(row.querySelector('.tt-compare-sign')!.getAttribute('aria-label')).toBeTruthy();
  });

  it('opens a changed pair as diffs, and one that stands alone as its card', () => {
    const changed = pair({ state: 'changed', arguments: [{ name: 'path', diff: '--- before\n+++ after\n@@ -1 +1 @@\n-a\n+b' }], result: '-x\n+y' });
    draw(diff({ pairs: [changed, pair({ state: 'removed', after: null })] }));
    expect(open(rows()[0]).querySelector('.tt-diff')!.textContent).toBe('@@ -1 +1 @@\n-a\n+b\n');
    expect(open(rows()[1]).querySelector('.tt-arguments')!.textContent).toBe('patha.md');
  });

  it('shows images that differ side by side', () => {
    const image = { path: 'r/a.png', mimeType: 'image/png', width: 3, height: 2, data: 'iVBORw0KGgo=', dataMimeType: null };
    draw(diff({ pairs: [pair({ state: 'changed', sameImages: false, before: call(1, { images: [image] }), after: call(1) })] }));
    expect(texts('.tt-compare-gallery')).toEqual(['A', 'Bno image']);
    expect(root.querySelectorAll('img')).toHaveLength(1);
  });

  it('shows files as unified diffs and numbers with their difference', () => {
    draw(diff({
      fileDiffs: [{ path: 'output/a.md', state: 'changed', diff: '--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c' }],
      numbers: [{ name: 'input tokens', before: 1500, after: 1400 }]
    }));
    expect(texts('.tt-card-line .tt-compare-count')).toEqual(['+2 −1']);
    expect(texts('.tt-compare-numbers tr:last-child td').slice(0, 3)).toEqual(['1,500', '1,400', '−100']);
  });

  it('can hide what is the same, and draws many pairs in pieces', () => {
    draw(diff({ pairs: Array.from({ length: 450 }, () => pair()) }));
    expect(rows()).toHaveLength(DRAWN_PAIRS);
    [...root.querySelectorAll('button')].find(one => one.textContent!.startsWith('Show'))!.click();
    expect(rows()).toHaveLength(2 * DRAWN_PAIRS);
    const toggle = [...root.querySelectorAll('button')].find(one => one.textContent === 'Only differences')!;
    toggle.click();
    expect([root.classList.contains('tt-compare-brief'), toggle.getAttribute('aria-pressed')]).toEqual([true, 'true']);
  });

  it('keeps folds open when it is drawn again', () => {
    const made = draw(diff({ pairs: [pair()] }));
    open(rows()[0]);
    made.update(diff({ pairs: [pair(), pair()] }));
    expect(rows().map(row => row.querySelector('details')!.open)).toEqual([true, false]);
  });

  it('no text becomes markup', () => {
    const evil = call(1, { name: PAYLOAD, group: PAYLOAD, state: 'error', errorCode: PAYLOAD, arguments: { [PAYLOAD]: PAYLOAD }, summary: PAYLOAD, content: PAYLOAD,
      images: [{ path: PAYLOAD, mimeType: 'image/svg+xml', width: 1, height: 1, data: btoa(PAYLOAD), dataMimeType: 'image/svg+xml' }] });
    const side = { id: PAYLOAD, status: PAYLOAD, profile: PAYLOAD, model: PAYLOAD, folder: PAYLOAD };
    const piece = (['same', 'old', 'new'] as const).map(kind => ({ kind, text: PAYLOAD }));
    draw(diff({
      before: side, after: { ...side, model: 'x' }, prompt: piece, answer: piece, replies: [{ state: 'changed', before: 1, after: null, text: piece }],
      pairs: (['same', 'changed', 'removed', 'added'] as const).map(state => pair({
        state, sameImages: false, before: state === 'added' ? null : evil, after: state === 'removed' ? null : evil, arguments: [{ name: PAYLOAD, diff: PAYLOAD }], result: PAYLOAD })),
      fileDiffs: [{ path: PAYLOAD, state: 'changed', diff: PAYLOAD }], numbers: [{ name: PAYLOAD, before: 1, after: 2 }]
    }), { openFile: () => {} });
    for (const fold of root.querySelectorAll('details')) {
      fold.open = true;
      fold.dispatchEvent(new Event('toggle'));
    }
    expect(root.querySelectorAll('img, script, svg[onload], iframe')).toHaveLength(0);
    expect([...root.querySelectorAll('*')].flatMap(node => node.getAttributeNames()).filter(name => name.startsWith('on'))).toEqual([]);
  });

  it('a damaged view is drawn as far as it goes', () => {
    draw(null as never);
    draw({ before: { id: 'x' } } as never);
    expect(root.textContent).toContain('x');
  });
});
