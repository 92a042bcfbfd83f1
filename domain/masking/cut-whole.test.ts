import { describe, expect, it } from '@jest/globals';
import { cutWhole } from './cut-whole.js';
import { keptReasons } from './kept-reasons.js';
import { namedSecrets, NO_SECRETS } from './named-secrets.js';

const SEED = 'legal winner thank year wave sausage worth useful legal winner thank yellow';
const filled = (length: number): string => 'word '.repeat(length).slice(0, length);

describe('a text that is cut', () => {
  it('ends behind a word, and says so', () => {
    expect(cutWhole('one two', 7, NO_SECRETS)).toBe('one two');
    expect(cutWhole('one two three', 10, NO_SECRETS)).toBe('one two…');
    expect(cutWhole('x'.repeat(20), 10, NO_SECRETS)).toBe('…');
  });

  it('holds a secret of several words whole or not at all, wherever it would be cut', () => {
    const secrets = namedSecrets({ passphrase: SEED });
    const all = `Review: "${SEED}" is new, and "${SEED}" too.`;
    for (let most = 1; most <= all.length; most += 1) {
      const cut = cutWhole(all, most, secrets);
      expect(cut.length).toBeLessThanOrEqual(most + 1);
      expect(keptReasons([cut], secrets)[0]).not.toMatch(/legal|winner|sausage/);
    }
  });

  it.each([
    ['a card', '4111 1111 1111 1111', '[CARD]'],
    ['an account', 'DE89 3704 0044 0532 0130 00', '[IBAN]'],
  ])('holds %s whole or not at all', (_, number, masked) => {
    const said = `Review: pays ${number} of ann, whom nobody knows yet`;
    for (let most = 20; most <= said.length; most += 1) {
      const [kept = ''] = keptReasons([cutWhole(said, most, NO_SECRETS)]);
      expect(kept.replace(masked, '')).not.toMatch(/\d/);
    }
    expect(cutWhole(said, said.length - 1, NO_SECRETS)).toContain(number);
  });

  it('is not read for longer than its end is', () => {
    const cards = '4111 1111 1111 1111 '.repeat(5_000);
    expect(cutWhole(cards, 2_000, NO_SECRETS).length).toBeGreaterThan(1_900);
    expect(cutWhole(filled(100_000), 2_000, NO_SECRETS)).toBe(`${filled(1_999)}…`);
  });
});
