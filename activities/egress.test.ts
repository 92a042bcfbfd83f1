import { describe, expect, it } from '@jest/globals';
import type { EgressSource } from '../contracts/ledger-egress.js';
import { createEgressActivities } from './egress.js';

describe('a sink that was taken out of the settings', () => {
  it('moves no cursor, reads no row and counts as no failure', async () => {
    const counted: string[] = [];
    const untouched = new Proxy({} as EgressSource, {
      get: () => () => {
        throw new Error('rows were read');
      },
    });
    const { sweepSink } = createEgressActivities({
      source: untouched,
      sinks: [],
      onSweep: (sink) => counted.push(sink),
    });
    expect(await sweepSink('generic', { after: 5, limit: 10 })).toMatchObject({
      delivered: false,
      rows: 0,
      error: 'not configured',
    });
    expect(counted).toEqual([]);
  });
});
