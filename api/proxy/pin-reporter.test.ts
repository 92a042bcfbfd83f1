import { describe, expect, it } from '@jest/globals';
import type { ToolDefinitionReport } from '../../contracts/tool-definition-pins.js';
import { assertConsistent } from '../../domain/identity/tool-definition-pins.js';
import { createPinReporter } from './pin-reporter.js';

const settled = () => new Promise(setImmediate);
const OWNER = { tenant: 'acme', agent: 'bot' };

describe('what identity is told of the tools of an agent', () => {
  const told: ToolDefinitionReport[] = [];
  const failed: unknown[] = [];
  let isAway = false;
  const report = createPinReporter({
    identity: async () => ({
      async tellToolDefinitions(said) {
        if (isAway) throw new Error('identity is away');
        told.push(said);
        return { id: 'x', snapshot_sha256: said.snapshot_sha256, event_kind: 'tool_definition.pinned' };
      },
    }),
    onFailed: (error) => failed.push(error),
  });

  it('is told once, and again where it is another; nobody waits, and what failed is told with the next list', async () => {
    const digests = new Map([['read', 'a'.repeat(64)]]);
    const pinned = { event: 'pinned', digests, changes: [] } as const;
    isAway = true;
    report(OWNER, pinned);
    await settled();
    expect([told.length, failed.length]).toEqual([0, 1]);
    isAway = false;
    for (let times = 0; times < 2; times += 1) report(OWNER, pinned);
    await settled();
    const other = { event: 'drifted', digests: new Map([['read', 'b'.repeat(64)]]), changes: ['read'] } as const;
    report(OWNER, other);
    await settled();
    expect(told.map(({ event, changes }) => [event, changes])).toEqual([
      ['pinned', undefined],
      ['drifted', ['read']],
    ]);
    for (const one of told) assertConsistent(one, 'gate.local');
  });
});
