import { describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import { Said, SaidShort, Time } from './parts.js';
import { textOf } from '../../test/support/html.js';

describe('a time on a page', () => {
  const now = Date.parse('2026-11-02T10:00:00.000Z');
  const shown = (awayMs: number) => render(<Time iso={new Date(now + awayMs).toISOString()} nowMs={now} />);

  it.each([
    [0, 'now'],
    [-999, 'now'],
    [-12_400, '12 s ago'],
    [-60_000, '1 min ago'],
    [9.5 * 60_000, 'in 9 min'],
    [-3_600_000, '1 h ago'],
    [-49 * 3_600_000, '2 days ago'],
  ])('%d ms away: %s', (away, said) => expect(textOf(shown(away))).toMatch(new RegExp(`^${said} \\(`)));

  it('is exact on hover and in print', () => {
    expect(shown(-60_000)).toContain('title="2026-11-02 09:59:00 UTC"');
    expect(shown(-60_000)).toContain('<span class="exact"> (2026-11-02 09:59:00 UTC)</span>');
  });
});

describe('a sentence of Gate around words of others', () => {
  it.each([
    ['move 5 to `a<b`', '<bdi>move 5 to <code>a&lt;b</code></bdi>', '<bdi>move 5 to “a&lt;b”</bdi>'],
    ['`a` and `b`', '<bdi><code>a</code> and <code>b</code></bdi>', '<bdi>“a” and “b”</bdi>'],
    ['a ` b', '<bdi>a <code> b</code></bdi>', '<bdi>a “ b”</bdi>'],
    ['a `b”c"d`', '<bdi>a <code>b”c&quot;d</code></bdi>', '<bdi>a “b\\u{201d}c\\u{22}d”</bdi>'],
    ['a\n\u202e', '<bdi>a\\n\\u{202e}</bdi>', '<bdi>a\\n\\u{202e}</bdi>'],
  ])('%j marks what it quotes, and has the rest escaped as theirs is', (text, whole, short) => {
    expect(render(<Said text={text} />)).toBe(whole);
    expect(render(<SaidShort text={text} />)).toBe(short);
  });
});
