import { describe, expect, it } from '@jest/globals';
import { eventually } from '../test/support/waiting.js';
import { terminalLog } from './terminal-log.js';

const FULL = { err: { message: 'database or disk is full', stack: 'Error: database or disk is full\n    at commit' } };

function terminal() {
  const disk = { full: false };
  const [shown, logged]: [string[], string[]] = [[], []];
  let nowMs = 0;
  const log = terminalLog({
    write: (text) => void shown.push(text),
    free: () => Promise.resolve(disk.full ? 0 : 1e9),
    tryDisk: () => (disk.full ? Promise.reject(Object.assign(new Error(), { code: 'ENOSPC' })) : Promise.resolve()),
    log: (line) => void logged.push(line),
    lookEveryMs: 1,
    now: () => (nowMs += 1_500),
  });
  return { disk, shown, logged, write: (event: object) => log.write(`${JSON.stringify({ level: 50, ...event })}\n`) };
}

describe('what the terminal of gate start shows of the log', () => {
  it('is a line for a person: who, what, why and the code; no JSON and no stack', () => {
    const { shown, write } = terminal();
    write({ service: 'hil', msg: 'refused', reason: 'no answer in time', code: 'orchestrator_unavailable' });
    write({ msg: 'a sweep failed', err: { message: 'it broke\u001b[2J', stack: 'Error: it broke\n    at sweep' } });
    expect(shown).toEqual([
      'gate: hil: refused: no answer in time (orchestrator_unavailable)\n',
      expect.stringMatching(/^gate: a sweep failed: it broke[^\n]*\[2J\n$/),
    ]);
    expect(shown.join('')).not.toContain('\u001b');
  });

  it('says that the disk is full where nothing has failed by it yet', async () => {
    const { disk, shown } = terminal();
    disk.full = true;
    await eventually('it is full', () => Promise.resolve(shown.length === 1));
    disk.full = false;
    await eventually('there is room', () => Promise.resolve(shown.length === 2));
    expect(shown[0]).toContain('gate: the disk is full');
  });

  it.each([
    ['SQLite', FULL],
    ['the system', { err: { message: 'ENOSPC: no space left on device, write', code: 'ENOSPC' } }],
    ['a quota', { err: { message: 'EDQUOT: quota exceeded', code: 'EDQUOT' } }],
  ])('says once that the disk is full (%s), and once that it takes writes again', async (_by, event) => {
    const { disk, shown, logged, write } = terminal();
    disk.full = true;
    for (let times = 0; times < 5; times += 1) write({ service: 'ledger', msg: 'ledger commit failed', ...event });
    write({ service: 'proxy', msg: 'refused', reason: 'calls.db: the disk is full', code: 'store_unavailable' });
    write({ service: 'proxy', msg: 'refused', reason: 'it is away', code: 'pipeline_unavailable' });
    expect(shown).toEqual([
      expect.stringMatching(/^gate: the disk is full: .*; free space, and it goes on by itself\n$/),
      'gate: proxy: refused: it is away (pipeline_unavailable)\n',
    ]);
    disk.full = false;
    await eventually('there is room', () => Promise.resolve(shown.length === 3));
    expect(shown[2]).toBe('gate: the disk takes writes again after 1.5 s; calls go on\n');
    expect(logged).toHaveLength(2);
    write({ service: 'ledger', msg: 'ledger commit failed', ...event });
    expect(shown).toHaveLength(4);
  });
});
