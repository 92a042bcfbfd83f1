import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { SignedDecision } from '../../contracts/review.js';
import { createClockWatch } from './clock-watch.js';
import type { DecisionOutcome, DecisionSender } from './ports.js';

const NOW = Date.parse('2026-11-30T12:00:00.000Z');
const { privateKey } = generateKeyPairSync('ed25519');
const DECISION = { not_after: new Date(NOW + 10_000).toISOString() } as SignedDecision;

/** A worker that finds every decision late by a clock that says so much more than HIL's. */
const late = (aheadMs: number): DecisionSender => ({
  decide: () => Promise.resolve({ outcome: 'refused', code: 'decision_refused', clock_ms: NOW + aheadMs }),
});
const decided = (storeMs: () => Promise<number | null>, sender: DecisionSender): Promise<DecisionOutcome> =>
  createClockWatch({
    decisionKey: privateKey,
    clock: () => NOW,
    storeMs,
    logger: { error: () => undefined },
  })
    .over(sender)
    .decide(DECISION);

describe('a decision that a worker of the same clock finds late', () => {
  it.each([
    ['behind', 300_000, '300 s behind that of its database'],
    ['ahead', -300_000, '300 s ahead of that of its database'],
  ])('is refused for the clock of their host, which the database says is %s', async (_, ofStoreMs, words) => {
    expect(await decided(() => Promise.resolve(NOW + ofStoreMs), late(0))).toMatchObject({
      outcome: 'refused',
      code: 'clocks_apart',
      reason: expect.stringContaining(words),
    });
  });

  it.each([
    ['says that the clock is right', () => Promise.resolve(NOW)],
    ['is none that could be asked', () => Promise.resolve(null)],
    ['does not answer', () => Promise.reject(new Error('away'))],
  ])('is refused as late where the database %s', async (_, storeMs) => {
    expect(await decided(storeMs, late(0))).toMatchObject({ outcome: 'refused', code: 'decision_refused' });
  });
});
