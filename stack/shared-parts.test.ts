import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { sharedParts } from './shared-parts.js';

const unused = () => Promise.reject(new Error('unused'));

describe('the tools of a process', () => {
  it('that names none send nothing, and say what is to be set', async () => {
    const { upstream } = sharedParts({
      together: true,
      engine: unused,
      ledger: unused,
      callStore: () => {
        throw new Error('unused');
      },
      upstream: undefined,
      env: {},
      logger: pino({ level: 'silent' }),
      onStop: () => undefined,
    });
    const [tools, caller] = [
      await upstream(() => Promise.reject(new Error('no identity'))),
      { tenant: 'acme', agent: 'bot' },
    ];
    expect(await tools.callTool(caller, {}, { timeoutMs: 1 })).toEqual({
      kind: 'not_sent',
      reason: 'no upstream is configured',
    });
    await expect(tools.control(caller, {}, { timeoutMs: 1 })).rejects.toMatchObject({
      code: 'upstream_not_configured',
      message: expect.stringContaining('GATE_UPSTREAM_URL'),
    });
    await tools.close();
  });
});
