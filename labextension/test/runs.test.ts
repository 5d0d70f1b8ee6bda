import { describe, expect, it } from 'vitest';

import { FoundRun, matching, promptOf, statesOf } from '../src/runs';
import { isAgentCell, sourceCrc, staleReasons, withMode } from '../src/stale';
import { run } from './views';

const found = (changes: Partial<FoundRun> = {}): FoundRun => ({
  cell: 0, key: 'a/0', prompt: 'Count the penguins', view: run(), meta: {}, stale: [], isAgentCell: true, ...changes
});

describe('the list of runs', () => {
  it.each([
    ['running', 'live'], ['done', 'done'], ['failed', 'failed'], ['limit', 'failed'], ['interrupted', 'stopped'], ['partial', 'stopped']
  ] as const)('%s is %s', (status, state) => expect(statesOf(found({ view: run({ status }) }))).toEqual([state]));

  it('is narrowed by words and by a state', () => {
    const runs = [found(), found({ meta: { replayed: true } }), found({ stale: ['profile'], prompt: 'Other' }), found({ view: run({ status: 'failed' }) })];
    const places = (text: string, state: Parameters<typeof matching>[2] = null) => matching(runs, text, state).map(one => runs.indexOf(one));
    expect([places(''), places('penguins'), places('REPLAYED'), places('stale'), places('', 'done'), places('other', 'failed')]).toEqual([
      [0, 1, 2, 3], [0, 1, 3], [1], [2], [0, 1, 2], []
    ]);
  });

  it('names a run by the first line of its prompt', () => {
    expect([promptOf('%%agent writer\n\n  Write.\nMore'), promptOf('x = %agent Say it'), promptOf('%%agent')]).toEqual(['Write.', 'Say it', '']);
  });
});

describe('a stale output', () => {
  const origin = { sourceCrc: sourceCrc('%%agent\nx'), profile: 'p', profileDigest: 'aa' };

  it('has the check sum that the kernel computes', () => {
    expect(sourceCrc('%%agent writer --live \nDéjà vu ✓ 🐧')).toBe(sourceCrc('%%agent writer\nDéjà vu ✓ 🐧'));
    expect(sourceCrc('%%agent writer\nDéjà vu ✓ 🐧')).toBe(1160146425); // tests/ipython/test_origins.py has the same
    expect(sourceCrc('123456789')).toBe(0xcbf43926); // the check value of CRC-32
  });

  it('is one whose cell was changed, also before this page was opened', () => {
    expect(staleReasons('%%agent\nx', origin, undefined, new Map())).toEqual([]);
    expect(staleReasons('%%agent --replay\nx', origin, undefined, new Map())).toEqual([]);
    expect(staleReasons('%%agent\ny', origin, '%%agent\ny', new Map())).toEqual(['prompt']);
  });

  it('is one whose profile was changed', () => {
    const reasons = (digest: string | null) => staleReasons('%%agent\nx', origin, undefined, new Map([['p', digest]]));
    expect([reasons('aa'), reasons('bb'), reasons(null)]).toEqual([[], ['profile'], ['profile']]);
    expect(staleReasons('%%agent\ny', origin, undefined, new Map([['p', 'bb']]))).toEqual(['prompt', 'profile']);
    expect(staleReasons('%%agent\nx', { ...origin, profileDigest: null }, undefined, new Map([['p', 'bb']]))).toEqual([]);
  });

  it('of an older output is told from what this page saw', () => {
    expect([staleReasons('a', null, 'a', new Map()), staleReasons('b', null, 'a', new Map()), staleReasons('b', null, undefined, new Map())]).toEqual([[], ['prompt'], []]);
  });

  it('an option of the mode is taken out and put in', () => {
    expect([withMode('%%agent writer --live -q\nx --live', null), withMode('%%agent --live', 'replay')]).toEqual(['%%agent writer -q\nx --live', '%%agent --replay']);
    expect([isAgentCell('%%agent'), isAgentCell('%%agents'), isAgentCell('\n%%agent x')]).toEqual([true, false, true]);
  });
});
