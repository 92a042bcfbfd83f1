import { describe, expect, it } from '@jest/globals';
import { narrativePage } from '../cli/narrative.js';
import { oneLine, printable } from './printable.js';

describe('what an agent wrote, in a terminal', () => {
  it('is shown and not obeyed: escapes, bells, marks of direction', () => {
    expect(printable('a\u001b]0;owned\u0007b\u202ec')).toBe('a\\u{1b}]0;owned\\u{7}b\\u{202e}c');
  });

  it('keeps its lines where lines are meant, and none in a cell', () => {
    expect(printable('a\nb')).toBe('a\nb');
    expect(oneLine('a\nb')).toBe('a\\nb');
  });

  it('leaves letters of every script alone', () => {
    expect(oneLine('Überweisung 送金 🏦')).toBe('Überweisung 送金 🏦');
  });

  it('is made so on the page of a narrative too', () => {
    const page = narrativePage({
      headline: 'bot\u001b[2J',
      story: [{ text: 'called \u001b[31mx', seqs: [1] }],
      notable: [{ seq: 1, at: '2026-01-01T00:00:00.000Z', summary: 'a\u001b[0m' }],
      sparkline: { bucket: 'day', points: [] },
    } as unknown as Parameters<typeof narrativePage>[0]);
    expect(page).not.toContain('\u001b');
  });
});
