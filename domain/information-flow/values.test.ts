import { describe, expect, it } from '@jest/globals';
import { parseKeyRing } from '../crypto/key-ring.js';
import { flowSealing, type FlowSettings, keptOf, NO_TRUST, readCalls, taintOf, trustedForms } from './flow.js';
import { heldValues } from './known-values.js';

const sealing = flowSealing(parseKeyRing(`k1:${'0123456789abcdef'.repeat(4)}`));
const OWNER = { tenant: 'acme', agent: 'bot' };
const answerOf = (text: string) =>
  keptOf(
    {
      id: 'c-1',
      asked: [{ tool: 'read_email', arguments: {} }],
      ran: [{ tool: 'read_email', arguments: {} }],
      taint: [],
      released: JSON.stringify({ result: { content: [{ type: 'text', text }] } }),
    },
    sealing,
    OWNER,
    new Set(),
  );
/** The kinds of what an answer brought into an argument. */
function brought(text: string, argument: string, settings: FlowSettings = NO_TRUST): readonly string[] {
  const kept = answerOf(text);
  const read = readCalls([{ tool: 'send', arguments: { to: argument } }]);
  const known = heldValues();
  known.follow(kept ? [kept.answer] : []);
  const flow = { known, lost: null };
  return read ? taintOf(read, flow, sealing, OWNER, trustedForms(settings)).map(({ kind }) => kind) : [];
}

describe('an account number that an answer names is found in an argument', () => {
  const IBAN = 'DE89370400440532013000';
  it.each([
    ['beside Korean letters', '계좌 DE89 3704 0044 0532 0130 00로 송금', IBAN],
    ['beside Japanese letters', `${IBAN}へ振込`, IBAN],
    ['beside Chinese letters', '请付款到DE89 3704 0044 0532 0130 00谢谢', IBAN],
    ['between Japanese letters', '口座番号12345678です', '12345678'],
    ['glued to what it is', `IBAN${IBAN}`, IBAN],
    ['behind the sign of a number', '№40817810099910004312', '40817810099910004312'],
    ['in groups, with letters', 'MT84 MALT 0110 0001 2345 MTLC AST0 01S', 'MT84MALT011000012345MTLCAST001S'],
    ['with its country apart', 'DE 89 3704 0044 0532 0130 00', IBAN],
    ['with long dashes', '1234–5678–9012', '123456789012'],
    ['with underscores', '1234_5678_9012', '123456789012'],
    ['with apostrophes', "12'345'678", '12345678'],
    ['with three blanks', '1234   5678', '12345678'],
    ['as the bank has it', IBAN, '370400440532013000'],
    ['with its country, where the bank has it', '370400440532013000', IBAN],
  ])('%s', (_how, text, argument) => {
    expect(brought(text, argument)).toContain('account');
  });

  it('and not in another one, nor where check digits do not fit', () => {
    expect(brought(`IBAN ${IBAN}`, 'DE02120300000000202051')).toEqual([]);
    expect(brought('order DE90370400440532013000x', '370400440532013000')).toEqual([]);
  });
});

describe('an address that an answer names is found in an argument', () => {
  it.each([
    ['in the query of another', 'https://ok.example/?contact=eve@evil.example', 'eve@evil.example'],
    ['behind a second @', 'a@ok.example/eve@evil.example', 'eve@evil.example'],
    ['behind an @ of its own', '@eve@evil.example', 'eve@evil.example'],
    ['behind a comma of Chinese', '联系:a@ok.example、eve@evil.example', 'eve@evil.example'],
    ['between letters of Chinese', '请联系eve@evil.example谢谢', 'eve@evil.example'],
    ['in bold letters', 'eve@**evil.example**', 'eve@evil.example'],
    ['with its dot in brackets', 'eve@evil[.]example', 'eve@evil.example'],
    ['with its dot in round brackets', 'eve@evil (dot) example', 'eve@evil.example'],
    ['with blanks around its @', 'eve @ evil.example', 'eve@evil.example'],
    ['with its @ in angle brackets', 'eve<at>evil.example', 'eve@evil.example'],
    ['in words', 'write to Eve at evil dot example today', 'eve@evil.example'],
    ['in words, where it goes', 'write to eve@evil.example', 'eve at evil dot example'],
    ['behind a backslash', 'eve\\@evil.example', 'eve@evil.example'],
    ['with a full stop of Chinese', 'eve@evil。example', 'eve@evil.example'],
    ['with its @ in HTML', 'eve&commat;evil.example', 'eve@evil.example'],
    ['in letters that the network writes otherwise', 'eve@bücher.example', 'eve@xn--bcher-kva.example'],
    ['with a sign in its name', 'write eve!@evil.example', 'eve!@evil.example'],
    ['with more labels than nine', 'eve@a.b.c.d.e.f.g.h.i.j.evil.example', 'eve@a.b.c.d.e.f.g.h.i.j.evil.example'],
  ])('mail: %s', (_how, text, argument) => {
    expect(brought(text, argument)).toContain('mail');
  });

  const LONG = `https://evil.example/${'x'.repeat(2_100)}`;
  it.each([
    ['longer than any address', LONG, LONG],
    ['with a long query of the agent’s', 'see https://evil.example/', `https://evil.example/?q=${'x'.repeat(2_100)}`],
    ['below many labels', 'see https://evil.example/', 'https://a.b.c.d.e.f.g.h.i.j.evil.example/'],
    ['of numbers', 'post to http://[2001:db8::1]/hook', 'http://[2001:db8::1]/hook'],
    ['in the query of another', 'https://ok.example/?next=https://evil.example/x', 'https://evil.example/x'],
    ['made harmless', 'see hxxps://evil[.]example/in', 'https://evil.example/in'],
    ['without a scheme, made harmless', 'see evil(.)example/in', 'https://evil.example/in'],
  ])('URL: %s', (_how, text, argument) => {
    expect(brought(text, argument).some((kind) => kind === 'url' || kind === 'host')).toBe(true);
  });
});

describe('a trusted domain', () => {
  const trusting = { ...NO_TRUST, trustedValues: ['ok.example'] };
  it.each([
    'eve@a.b.c.d.e.f.g.ok.example.evil.example',
    'eve@ok.example.evil.example',
    'eve@ok.example_x.evil.example',
    'eve@ok.example@evil.example',
    'https://ok.example_x.evil.example/',
    'https://ok.example@evil.example/',
  ])('is read to its end: %s is not below it', (address) => {
    expect(brought(`write to ${address} now`, address, trusting).filter((kind) => kind !== 'text')).not.toEqual([]);
  });

  it.each(['bob@ok.example', 'bob@team.ok.example', 'https://a.b.c.d.e.f.g.h.i.ok.example/x'])(
    'is trusted with all below it: %s',
    (address) => {
      expect(brought(`write to ${address}.`, address, trusting).filter((kind) => kind !== 'text')).toEqual([]);
    },
  );
});

it('an answer of many members with long names makes a row that is not many times as large', () => {
  const members = Object.fromEntries(Array.from({ length: 16_384 }, (_, at) => [`member${at}`, `eve${at}`]));
  const text = JSON.stringify({ ['x'.repeat(460)]: members });
  const kept = answerOf(text);
  if (!kept) throw new Error('nothing was kept');
  expect(sealing.seal(OWNER, kept.answer).length).toBeLessThan(4 * text.length);
});
