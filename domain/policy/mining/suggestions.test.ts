import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { DecisionSource } from '../../../contracts/decided-calls.js';
import { SUGGESTIONS_LOOK_MS } from '../../../contracts/policy-mining.js';
import { MINED_FACTS } from '../../../test/support/mined-facts.js';
import type { KeptSuggestion, PolicyStore } from '../library-ports.js';
import { createSuggestions, suggestionOf } from './suggestions.js';

const KEPT = suggestionOf(
  { tenant: 'acme', tool: 'a_tool', name: 'mined_a_tool.rego', body: '' },
  MINED_FACTS,
  1,
  '2026-11-02T10:00:00.000Z',
);

afterEach(() => {
  jest.useRealTimers();
});

describe('a list of suggestions', () => {
  it('comes in time, unchecked, where the ledger does not answer', async () => {
    jest.useFakeTimers();
    const store = {
      suggestions: () => Promise.resolve([KEPT]),
      catalogue: () => Promise.resolve({ policies: [] }),
    } as unknown as PolicyStore;
    const silent = { verify: () => new Promise(() => undefined) } as unknown as DecisionSource;
    const { list } = createSuggestions({
      store,
      library: { create: () => Promise.reject(new Error('not here')) },
      decisions: silent,
      clock: Date.now,
    });
    const listed = list('acme');
    await jest.advanceTimersByTimeAsync(SUGGESTIONS_LOOK_MS + 1);
    expect(await listed).toMatchObject([
      { state: 'unchecked', state_why: 'what people decided could not be read in time' },
    ]);
  });
});

describe('what was found', () => {
  it('is kept with a model’s words, for which it is asked once', async () => {
    const rows: KeptSuggestion[] = [];
    const store = {
      suggestions: async () => [...rows],
      catalogue: async () => ({ policies: [] }),
      keepSuggestions: async (_tenant: string, found: readonly KeptSuggestion[]) => {
        // As the stores do: what is found again is written over.
        rows.splice(0, rows.length, ...rows.filter(({ id }) => found.every((one) => one.id !== id)), ...found);
      },
      checkedSuggestions: async () => undefined,
    } as unknown as PolicyStore;
    const nothing = {
      verify: async () => ({ valid: true }),
      decidedPage: async () => ({ rows: [], next: null }),
    } as unknown as DecisionSource;
    const words = { one_liner: 'Lets small transfers pass.', rationale: 'Many were approved.', model: 'a:b' };
    const explain = jest.fn(async () => words);
    const { keep, list } = createSuggestions({
      store,
      library: { create: () => Promise.reject(new Error('not here')) },
      decisions: nothing,
      clock: Date.now,
      explain,
    });
    expect(await keep('acme', [KEPT])).toMatchObject([{ id: KEPT.id, explained: words }]);
    expect(await keep('acme', [KEPT])).toMatchObject([{ id: KEPT.id, explained: words }]);
    expect(await list('acme')).toMatchObject([{ id: KEPT.id, explained: words }]);
    expect(explain).toHaveBeenCalledTimes(1);
    // Where no model answered at first, it is asked with the next mining.
    const other = { ...KEPT, id: 'other' };
    explain.mockResolvedValueOnce(null as never);
    expect((await keep('acme', [other]))[0]).not.toHaveProperty('explained');
    expect(await keep('acme', [other])).toMatchObject([{ id: 'other', explained: words }]);
    // What was withdrawn stays as it is.
    rows.splice(0, rows.length, { ...KEPT, withdrawn_why: 'denied' });
    await keep('acme', [KEPT]);
    expect(explain).toHaveBeenCalledTimes(3);
  });
});
