import { beforeEach, describe, expect, it } from 'vitest';
import { createSweepView, DRAWN_POINTS, DRAWN_RUNS, nextSort, scale, sortedPoints } from 'tt-static/sweep_view.js';

import { SweepPointView, SweepRunView, SweepView } from '../src/protocol';
import { PAYLOAD } from './views';

let root: HTMLElement;

beforeEach(() => {
  document.body.replaceChildren((root = document.createElement('div')));
});

const IMAGE = { path: 'r/a.png', mimeType: 'image/png', width: 3, height: 2, data: 'iVBORw0KGgo=', dataMimeType: null };

function one(repeat: number, changes: Partial<SweepRunView> = {}): SweepRunView {
  return {
    id: `aaaa1111.${repeat}`, repeat, status: 'completed', folder: `n.agent/runs/aaaa1111.${repeat}`, text: 'Four.', textTruncated: false, problem: '',
    passes: [true], callCount: 1, tokens: 120, images: [], ...changes
  };
}

function point(model: string, rate: number | null, tokens: number | null, runs: SweepRunView[] = [one(1), one(2)]): SweepPointView {
  const bare = { low: null, high: null };
  return {
    cells: [
      { shown: model, value: null, ...bare },
      rate === null ? { shown: '?', value: null, ...bare } : { shown: `${rate * 2}/2`, value: rate, low: rate / 2, high: 1 },
      { shown: tokens === null ? '' : String(tokens), value: tokens, ...bare }
    ],
    runs
  };
}

function sweep(points: SweepPointView[], changes: Partial<SweepView> = {}): SweepView {
  return {
    version: 1, columns: [{ name: 'model', kind: 'varied' }, { name: 'good', kind: 'rate' }, { name: 'tokens', kind: 'number' }], checks: ['good'],
    points, hiddenRuns: 0, stopped: '', ...changes
  };
}

const draw = (view: SweepView, host = {}) => {
  const made = createSweepView(root, host);
  made.update(view);
  return made;
};
const names = () => [...root.querySelectorAll('.tt-sweep-point > td:nth-child(2)')].map(node => node.textContent);
const sorter = (n: number) => root.querySelectorAll<HTMLButtonElement>('.tt-sweep-sort')[n];
const rows = () => [...root.querySelectorAll<HTMLElement>('.tt-sweep-point')];

describe('the table of a sweep', () => {
  it('counts its points and runs', () => {
    draw(sweep([point('a', 1, 10), point('b', 0, 20, [one(1), one(2, { status: 'failed', id: '' })])]));
    expect([...root.querySelectorAll('.tt-run-fact')].map(node => node.textContent)).toEqual(['2 points', '4 runs', '3 completed', '1 failed']);
  });

  it('says why some runs are missing', () => {
    draw(sweep([point('a', 1, 10, [one(1), one(2, { id: '', status: 'not run' })])], { stopped: 'The budget is spent.' }));
    expect(root.querySelector('.tt-run-quiet')!.textContent).toBe('The budget is spent.');
    expect(root.querySelector('.tt-run-facts')!.textContent).toContain('1 not run');
  });

  it('is sorted by a click: the largest first, then the smallest, then as it ran', () => {
    draw(sweep([point('a', 0.5, 20), point('b', 1, 9), point('c', 0, 100)]));
    const orders = [1, 2, 3].map(() => (sorter(2).click(), names().join('')));
    expect(orders).toEqual(['cab', 'bac', 'abc']);
    sorter(0).click();
    sorter(0).click();
    expect([names().join(''), root.querySelector('th[aria-sort=descending]')!.textContent]).toEqual(['cba', 'model▼']);
  });

  it('colours what can be held against something', () => {
    draw(sweep([point('a', 0, 5), point('b', 1, 5), point('c', null, 5)]));
    const heat = (row: HTMLElement) => row.querySelector<HTMLElement>('[data-heat=rate]')?.style.getPropertyValue('--tt-heat');
    expect(rows().map(heat)).toEqual(['0.000', '1.000', undefined]);
    expect(root.querySelectorAll('[data-heat=number]')).toHaveLength(0);
    expect(scale({ name: 'n', kind: 'number' }, [{ shown: '', value: 2, low: null, high: null }, { shown: '', value: 6, low: null, high: null }])(3)).toBe(0.25);
  });

  it('draws the interval of a rate, and says it', () => {
    draw(sweep([point('a', 0.5, 5)]));
    expect(root.querySelector('.tt-sweep-interval')!.getAttribute('aria-label')).toBe('50%, with 95% confidence between 25% and 100%');
  });

  it('opens a point: its runs with checks, answers and links to their folders', () => {
    draw(sweep([point('a', 0.5, 5, [one(1), one(2, { passes: [false], status: 'failed', problem: 'No key.' })])]), {
      openFile: (link: HTMLElement, path: string) => link.setAttribute('href', path)
    });
    expect(root.querySelectorAll('.tt-sweep-run')).toHaveLength(0);
    root.querySelector<HTMLButtonElement>('.tt-sweep-toggle')!.click();
    expect(root.querySelector('.tt-sweep-toggle')!.getAttribute('aria-expanded')).toBe('true');
    expect([...root.querySelectorAll('.tt-sweep-check')].map(node => node.textContent)).toEqual(['✓good', '✗good']);
    expect(root.querySelector('.tt-sweep-problem')!.textContent).toBe('No key.');
    expect(root.querySelector('.tt-sweep-run a')!.getAttribute('href')).toBe('n.agent/runs/aaaa1111.1/run.json');
    root.querySelector<HTMLButtonElement>('.tt-sweep-toggle')!.click();
    expect(root.querySelector<HTMLElement>('.tt-sweep-detail')!.hidden).toBe(true);
  });

  it('shows thumbnails in the row, and what more there is', () => {
    draw(sweep([point('a', 1, 5, [one(1, { images: [IMAGE, IMAGE] }), one(2, { images: [IMAGE, IMAGE, { ...IMAGE, data: null }] })]), point('b', 1, 5)]));
    expect(root.querySelectorAll('.tt-sweep-images img')).toHaveLength(3);
    expect(root.querySelector('.tt-sweep-more')!.textContent).toBe('+2');
  });

  it('keeps what is open and the order when it is drawn again', () => {
    const made = draw(sweep([point('a', 1, 5), point('b', 1, 9)]));
    sorter(2).click();
    rows()[0].click();
    made.update(sweep([point('a', 1, 5), point('b', 1, 9), point('c', 1, 99)]));
    expect(names()).toEqual(['c', 'b', 'a']);
    expect(rows().map(row => row.classList.contains('tt-sweep-open'))).toEqual([false, true, false]);
  });

  it('draws much in pieces', () => {
    draw(sweep(Array.from({ length: 1000 }, (_, n) => point(`m${n}`, 1, n, n ? [] : Array.from({ length: 300 }, (_, k) => one(k + 1))))));
    expect(rows()).toHaveLength(DRAWN_POINTS);
    rows()[0].click();
    expect(root.querySelectorAll('.tt-sweep-run')).toHaveLength(DRAWN_RUNS);
    [...root.querySelectorAll('button')].find(node => node.textContent!.endsWith('more points'))!.click();
    expect(rows()).toHaveLength(2 * DRAWN_POINTS);
  });

  it('no text becomes markup', () => {
    const evil = one(1, { id: PAYLOAD, status: PAYLOAD, folder: PAYLOAD, text: PAYLOAD, problem: PAYLOAD, images: [{ ...IMAGE, path: PAYLOAD, data: PAYLOAD }] });
    draw(sweep([point(PAYLOAD, 1, 5, [evil])], { stopped: PAYLOAD, checks: [PAYLOAD], columns: [{ name: PAYLOAD, kind: 'varied' }, { name: PAYLOAD, kind: 'rate' }, { name: PAYLOAD, kind: 'number' }] }), { openFile: () => {} });
    rows()[0].click();
    expect(root.querySelectorAll('img, script, svg[onload], iframe')).toHaveLength(0);
    expect([...root.querySelectorAll('*')].flatMap(node => node.getAttributeNames()).filter(name => name.startsWith('on'))).toEqual([]);
  });

  it('a damaged view is drawn as far as it goes', () => {
    draw(null as never);
    draw({ columns: [], points: [{}] } as never);
    expect(root.textContent).toContain('1 point');
  });
});

describe('order', () => {
  it('of a column: its own direction, the other, none', () => {
    const first = nextSort(null, 1, -1);
    expect([first, nextSort(first, 1, -1), nextSort({ column: 1, direction: 1 }, 1, -1), nextSort(first, 2, 1)]).toEqual([
      { column: 1, direction: -1 }, { column: 1, direction: 1 }, null, { column: 2, direction: 1 }
    ]);
  });

  it('what has no value comes last, equal ones stay as they were, numbers in names count', () => {
    const view = sweep([point('m10', null, 1), point('m9', 1, 1), point('m2', 1, 1)]);
    const order = (column: number, direction: number) => sortedPoints(view, { column, direction }).map(({ key }) => key);
    expect([order(1, 1), order(1, -1), order(0, 1), order(2, -1)]).toEqual([[1, 2, 0], [1, 2, 0], [2, 1, 0], [0, 1, 2]]);
  });
});
