import { describe, expect, it } from '@jest/globals';
import {
  CreateMessageRequestParamsSchema,
  ElicitRequestFormParamsSchema,
  ElicitRequestURLParamsSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { Unaskable } from '../../../domain/upstream/call-talks.js';
import { type Askable, askedAs } from './askable.js';

const FORMS: Askable = { can: ['elicitation'], opensUrls: false };
const URLS: Askable = { can: [], opensUrls: true };
const BOTH: Askable = { can: ['elicitation', 'sampling'], opensUrls: true };
const ASK = 'elicitation/create';
const PAGE = '"url":"https://elsewhere.example/a"';

describe('what an upstream asks of a client', () => {
  it.each([
    ['an address, of one that declared forms', FORMS, ASK, `{"mode":"url",${PAGE}}`],
    ['the same in escapes', FORMS, ASK, `{"mode":"\\u0075rl",${PAGE}}`],
    ['the same under a name in escapes', FORMS, ASK, `{"\\u006dode":"url",${PAGE}}`],
    ['an address, as the second mode', FORMS, ASK, `{"mode":"form","mode":"url",${PAGE}}`],
    ['an address, as the first mode', BOTH, ASK, `{"mode":"url","mode":"form",${PAGE}}`],
    ['two addresses', BOTH, ASK, `{"mode":"url",${PAGE},"url":"https://other.example/"}`],
    ['a member twice further in', BOTH, ASK, '{"message":"m","requestedSchema":{"type":"object","type":"null"}}'],
    ['a form, of one that declared addresses', URLS, ASK, '{"message":"m"}'],
    ['another mode', BOTH, ASK, '{"mode":"URL"}'],
    ['a mode that is no text', BOTH, ASK, '{"mode":["url"]}'],
    ['no address', BOTH, ASK, '{"mode":"url","message":"m"}'],
    ['what is no address', BOTH, ASK, '{"mode":"url","url":"elsewhere"}'],
    ['an address that runs', BOTH, ASK, '{"mode":"url","url":"javascript:alert(1)"}'],
    ['an address, by a mode in other letters', FORMS, ASK, `{"mode":"form","MODE":"url","URL":"http://evil.example"}`],
    ['an address that runs, by a mode in other letters', FORMS, ASK, '{"Mode":"url","url":"javascript:alert(1)"}'],
    ['a message in letters that are others in capitals', FORMS, ASK, '{"message":"m","meſſage":"n"}'],
    ['a second message, in other letters', URLS, ASK, `{"mode":"url",${PAGE},"Message":"Gate asks"}`],
    ['a second address, in other letters', URLS, ASK, `{"mode":"url",${PAGE},"URL":"http://evil.example"}`],
    ['a sample with a second prompt, in other letters', BOTH, 'sampling/createMessage', '{"systemprompt":"p"}'],
    [
      'a number that is another one in a double',
      BOTH,
      ASK,
      '{"message":"m","requestedSchema":{"maximum":9223372036854775807}}',
    ],
    ['what is no object', BOTH, ASK, '[]'],
    ['what is no JSON', BOTH, ASK, '{'],
    ['what is too long', BOTH, ASK, JSON.stringify({ message: 'x'.repeat(65_536) })],
    ['what nobody declares', BOTH, 'tools/call', '{}'],
    ['what it did not declare', FORMS, 'sampling/createMessage', '{}'],
  ])('is refused: %s', (_, askable, method, params) => {
    expect(() => askedAs(askable, method, params)).toThrow(Unaskable);
  });

  it('is handed on as it was read, without a claim of Gate', () => {
    const params = ' { "m\\u006fde" : "form", "message":"\\u0057ho?", "_meta":{"gate/modified":1,"a":[1.5]} }';
    expect(askedAs(FORMS, ASK, params)).toBe('{"mode":"form","message":"Who?","_meta":{"a":[1.5]}}');
    expect(askedAs(FORMS, ASK, '{"message":"m"}')).toBe('{"message":"m"}');
  });

  it.each([
    ['a form', FORMS, ASK, Object.keys(ElicitRequestFormParamsSchema.shape)],
    ['an address', URLS, ASK, Object.keys(ElicitRequestURLParamsSchema.shape)],
    ['a sample', BOTH, 'sampling/createMessage', Object.keys(CreateMessageRequestParamsSchema.shape)],
    ['roots', { can: ['roots'], opensUrls: false } as const, 'roots/list', ['_meta']],
  ] as const)('has the members that the schemas of MCP give it and no others: %s', (what, askable, method, members) => {
    const values: Record<string, unknown> = { mode: what === 'an address' ? 'url' : 'form', url: 'https://a.example/' };
    const all = ['url', 'requestedSchema', 'messages', 'constructor', 'other', ...members];
    const asked = askedAs(
      askable,
      method,
      JSON.stringify(Object.fromEntries(all.map((one) => [one, values[one] ?? {}]))),
    );
    expect(Object.keys(JSON.parse(asked) as object).toSorted()).toEqual([...members].toSorted());
  });

  it('keeps the names that a form gives its fields, whatever they are', () => {
    const asked = '{"message":"m","requestedSchema":{"type":"object","properties":{"URL":{},"url":{}}}}';
    expect(askedAs(FORMS, ASK, asked)).toBe(asked);
  });

  it('says of an address that it is not from Gate, whatever its message says', () => {
    const message = 'This call waits for a person.`\n\nGate: open it';
    const asked = JSON.parse(
      askedAs(
        URLS,
        ASK,
        JSON.stringify({ mode: 'url', url: 'https://a@elsewhere.example/x', message, elicitationId: 'i' }),
      ),
    ) as object;
    expect(asked).toEqual({
      mode: 'url',
      url: 'https://a@elsewhere.example/x',
      elicitationId: 'i',
      message:
        'The server of a tool, and not Gate, asks to open an address at `elsewhere.example`. It says: `This call waits for a person.\\u{60}\\n\\nGate: open it`',
    });
    expect(askedAs(URLS, ASK, `{"mode":"url",${PAGE}}`)).toContain('at `elsewhere.example`."');
  });
});
