import { describe, expect, it } from '@jest/globals';
import { createDecisionLinks } from '../review/decision-link.js';
import { createLinkCodes } from '../review/link-code.js';
import { createPasskeySessions } from '../review/passkey-session.js';
import { keyFor, taggedTexts } from './tagged-text.js';

const KEY = Buffer.alloc(32, 7);
const sessions = createPasskeySessions(KEY);
const codes = createLinkCodes({ sessionKey: KEY, clock: () => 1_000 });
const links = createDecisionLinks(KEY);
const begun = taggedTexts(Buffer.alloc(32, 9), { prefix: 'gate.console-oidc/1\nbegun\n' });

/** Texts as a Gate of before this module made them, and how each is read. */
const GIVEN: readonly (readonly [what: string, given: string, read: (text: string) => unknown])[] = [
  [
    'a session of a passkey',
    'eyJ0ZW5hbnQiOiJhY21lIiwic3ViamVjdCI6Im9wZXJhdG9yOmRldiIsImNyZWRlbnRpYWxfaWQiOiJjIiwiZXhwaXJlc19tcyI6Mjg4MDEwMDB9.ruTLnCXDHXh2KpaOPD1hsD_R7lDLXLWSESLg1f66_4U',
    (text) => sessions.read(text, 1_000),
  ],
  ['a code of a chat', 'slack.VTE.601.NKUMt60MdiV1nLygHSfc8Q', (text) => codes.read(text)],
  [
    'a decision link',
    '00000000-0000-4000-8000-000000000001.deny.60.05aca7b130375fa70ee839b9cef30efe26200d3c4c055e0626304222d2e30299',
    (text) => links.linkOf(text),
  ],
  [
    'a sign-in that has begun',
    'WyJzZWVkIiw2MDAwMDAsIi9oaWwiXQ.52rI0B9Yr8dy51JTsFyaMd8RH96ELy1fJTqRDmtauXU',
    (text) => begun.read(text),
  ],
];

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** The same bytes, with another of the letters that a last letter may be: decoders drop the bits in which they differ. */
const twin = (text: string): string => `${text.slice(0, -1)}${LETTERS[LETTERS.indexOf(text.slice(-1)) ^ 1]}`;

const CHANGES: readonly (readonly [how: string, change: (text: string) => string])[] = [
  ['with the twin of its last letter', twin],
  ['with padding', (text) => `${text}=`],
  ['in the letters of plain base64', (text) => text.replaceAll('-', '+').replaceAll('_', '/')],
  ['in capitals', (text) => text.toUpperCase()],
  ['with another part', (text) => `${text}.${text.slice(text.lastIndexOf('.') + 1)}`],
  ['with an empty part', (text) => `${text}.`],
  ['without its tag', (text) => text.slice(0, text.lastIndexOf('.'))],
  ['with half of its tag', (text) => text.slice(0, -8)],
  ['with a letter between that decoders skip', (text) => `${text.slice(0, -4)}!${text.slice(-4)}`],
  ['as nothing', () => ''],
];

describe.each(GIVEN)('%s, a text under a MAC', (_, given, read) => {
  it('is read as an earlier Gate gave it', () => {
    expect(read(given)).not.toBeNull();
  });

  it.each(CHANGES)('is nothing %s', (_how, change) => {
    const changed = change(given);
    if (changed !== given) expect(read(changed)).toBeNull();
  });
});

describe('a text under a MAC', () => {
  it('is the same each time, and is read with its own key, label and form alone', () => {
    const texts = taggedTexts(keyFor('a', KEY));
    expect(texts.made('said')).toBe(texts.made('said'));
    expect(texts.read(texts.made('a.b'))).toBe('a.b');
    const others = [
      taggedTexts(keyFor('b', KEY)),
      taggedTexts(keyFor('a', Buffer.alloc(32, 8))),
      taggedTexts(keyFor('a', KEY), { prefix: 'x' }),
      taggedTexts(keyFor('a', KEY), { bytes: 16 }),
      taggedTexts(keyFor('a', KEY), { spelled: 'hex' }),
    ];
    for (const other of others) expect(other.read(texts.made('said'))).toBeNull();
  });

  it('has no half of a character, which in bytes is like any other half', () => {
    const texts = taggedTexts(keyFor('a', KEY));
    const replaced = texts.made('a\ufffd');
    expect(texts.read(replaced)).toBe('a\ufffd');
    for (const half of ['a\ud800', 'a\udfff', '\udc00\ud800']) {
      expect(() => texts.made(half)).toThrow(RangeError);
      expect(texts.read(replaced.replace('a\ufffd', half))).toBeNull();
    }
    expect(texts.read(texts.made('a\u{1f600}'))).toBe('a\u{1f600}');
  });
});
