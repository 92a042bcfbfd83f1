import { describe, expect, it } from '@jest/globals';
import { rulesScanner } from '../../test/support/definition-scanner.js';
import { createNameWatch } from './name-watch.js';
import type { DefinitionScanner } from './ports.js';

const OWNER = { tenant: 'acme', agent: 'bot' };
const NOT_LISTED = { suspended: 'not_listed' } as const;

function watch({
  names = ['read_file', 'pay'],
  scanToolName = rulesScanner.scanToolName,
  limitMs = 5_000,
}: {
  names?: readonly string[];
  scanToolName?: DefinitionScanner['scanToolName'];
  limitMs?: number;
} = {}) {
  const degraded: unknown[] = [];
  const asked: string[] = [];
  const look = createNameWatch({
    pins: { listed: async () => ({ names: new Set(names), complete: true }) },
    scanner: {
      scanToolName(request) {
        asked.push(request.called);
        return scanToolName(request);
      },
    },
    onDegraded: (error) => degraded.push(error),
    limitMs,
  });
  return { look, degraded, asked };
}

describe('the names of a call', () => {
  it('that no list has are compared with those of the lists', async () => {
    const { look, asked } = watch();
    expect(await look(OWNER, { read_fil: NOT_LISTED, delete_all: NOT_LISTED })).toEqual([
      { called: 'read_fil', nearest: 'read_file', distance: 1, confidence: 0.8, signals: ['edit_distance'] },
    ]);
    expect(asked).toEqual(['read_fil', 'delete_all']);
  });

  it('that a list has, or of which nothing is known, ask nobody', async () => {
    const { look, asked } = watch();
    expect(await look(OWNER, { read_file: {}, read_fil: { suspended: 'definition_changed' } })).toEqual([]);
    expect(await look(OWNER, undefined)).toEqual([]);
    expect(asked).toEqual([]);
  });

  it('are not compared where there is no list, and only some of a batch are', async () => {
    expect(await watch({ names: [] }).look(OWNER, { read_fil: NOT_LISTED })).toEqual([]);
    const { look, asked } = watch();
    await look(OWNER, Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`tool_${index}`, NOT_LISTED])));
    expect(asked).toHaveLength(4);
  });

  it('hold up no call where Brain fails or does not answer', async () => {
    const failing = watch({ scanToolName: () => Promise.reject(new Error('away')) });
    expect(await failing.look(OWNER, { read_fil: NOT_LISTED })).toEqual([]);
    expect(failing.degraded).toHaveLength(1);
    const silent = watch({ scanToolName: () => new Promise(() => undefined), limitMs: 5 });
    expect(await silent.look(OWNER, { read_fil: NOT_LISTED })).toEqual([]);
    expect(silent.degraded).toHaveLength(1);
  });
});
