import { describe, expect, it } from '@jest/globals';
import { renderToString } from 'preact-render-to-string';
import { Signs } from './you.js';

const said = (asks: (tier: string | null) => boolean): string => renderToString(<Signs asks={asks} />);

describe('what a passkey is for, on the page of a person', () => {
  it.each([
    ['all', () => true, 'With a passkey you sign what you approve, on'],
    ['strict', (tier: string | null) => tier === 'strict', 'you sign the calls of tier strict that you approve, on'],
    ['none', () => false, 'nothing that you approve in the console is signed by one'],
  ])('is what the setting asks of it: %s', (_setting, asks, words) => {
    expect(said(asks)).toContain(words);
  });

  it('is not to sign where nothing is signed', () => {
    expect(said(() => false)).not.toContain('you sign');
  });
});
