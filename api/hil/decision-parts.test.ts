import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openHil, type HilFixture } from '../../test/support/hil.js';
import type { HilOptions } from './app.js';
import { decisionParts } from './decision-parts.js';

const { privateKey: decisionKey } = generateKeyPairSync('ed25519');

describe('what a process decides by', () => {
  let hil: HilFixture;
  beforeEach(async () => {
    hil = await openHil('sqlite');
  });
  afterEach(() => hil.close());

  it('is one: a withdrawal of the same process that shows that clocks are apart makes the service not ready', async () => {
    const parts = decisionParts({
      reviews: { ...hil.reviews, clockMs: () => Promise.resolve(null) },
      sender: {
        decide: () => Promise.resolve({ outcome: 'refused', code: 'decision_refused', clock_ms: hil.now + 300_000 }),
      },
      decisionKey,
      decisionLifeMs: 10_000,
      clock: () => hil.now,
      logger: { error: () => undefined },
    });
    const { checkClock } = parts;
    await hil.serve({ checkClock });
    const clock = async () => {
      const { checks } = (await hil.service.health.inject('/readyz')).json<{ checks: Record<string, string> }>();
      return checks['clock'];
    };
    expect(await clock()).toBe('ok');
    const { correlation_id, tenant, agent_id } = await hil.park(1);
    await expect(parts.withdrawCall({ correlation_id, tenant, agent_id })).rejects.toThrow('clock of HIL');
    expect(await clock()).toBe('failed');
  });
});

it('has no service without the settings that make approval strict', () => {
  type Given<Left extends keyof HilOptions> = Omit<HilOptions, Left>;
  const needs = (_options: HilOptions): boolean => true;
  // @ts-expect-error by a passkey or not is said
  const passkey = (options: Given<'passkeyRequired'>) => needs(options);
  // @ts-expect-error how many people is said
  const quorum = (options: Given<'quorum'>) => needs(options);
  // @ts-expect-error whose agents they are is said
  const owners = (options: Given<'agentOwners'>) => needs(options);
  expect([passkey, quorum, owners]).toHaveLength(3);
});
