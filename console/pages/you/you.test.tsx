import { describe, expect, it } from '@jest/globals';
import { renderToString } from 'preact-render-to-string';
import { Registered, Signs } from './you.js';

const said = (asks: (tier: string | null) => boolean): string => renderToString(<Signs asks={asks} />);

describe('what a passkey is for, on the page of a person', () => {
  it.each([
    ['all', () => true, 'With a passkey you sign what you approve, on'],
    [
      'strict',
      (tier: string | null) => tier === 'strict',
      'you sign the calls that you approve whose tier of approval is strict, on',
    ],
    ['none', () => false, 'nothing that you approve in the console is signed by one'],
  ])('is what the setting asks of it: %s', (_setting, asks, words) => {
    expect(said(asks)).toContain(words);
  });

  it('is not to sign where nothing is signed', () => {
    expect(said(() => false)).not.toContain('you sign');
  });
});

describe('which passkeys somebody has, on the page of a person', () => {
  it('is each with when it was registered, or that there is none', () => {
    const of = [{ credential_id: 'abcdefghijkl', created_at: '2026-11-02T10:00:00.000Z' }];
    const html = renderToString(<Registered of={of} nowMs={Date.parse('2026-11-02T10:05:00.000Z')} />);
    expect(html).toContain('…efghijkl');
    expect(html).toContain('2026-11-02T10:00:00.000Z');
    expect(renderToString(<Registered of={[]} nowMs={0} />)).toBe('<p>You have no passkey.</p>');
  });
});
