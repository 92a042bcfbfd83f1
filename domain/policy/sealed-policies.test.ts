import { describe, expect, it } from '@jest/globals';
import { canonicalDigest } from '../crypto/digest.js';
import { policiesDigest, policyKey } from './sealed-policies.js';

describe('the digest over every policy', () => {
  it.each([0, 1, 250, 251, 1_000])(
    'is over the canonical JSON of %d pairs in their order, and lets calls go on in between',
    async (count) => {
      const pairs = Array.from({ length: count }, (_, at): [string, string | null] => [
        policyKey(at % 2 === 0 ? '' : 'acme', `rule_${at}.rego`),
        at % 7 === 0 ? null : `policies:${at}`,
      ]);
      const inOrder = pairs.toSorted(([one], [other]) => (one < other ? -1 : 1));
      let [turns, ended] = [0, false];
      const digest = policiesDigest(new Map(pairs.toReversed())).finally(() => (ended = true));
      while (!ended) {
        await new Promise((resolve) => setImmediate(resolve));
        turns += 1;
      }
      expect(await digest).toBe(canonicalDigest(inOrder));
      expect(turns).toBeGreaterThanOrEqual(Math.ceil(count / 250));
    },
  );
});
