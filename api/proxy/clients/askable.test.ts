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

const ASKS = (words: string) => `The server of a tool, and not Gate, asks: \`${words}\``;

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
    expect(JSON.parse(askedAs(FORMS, ASK, params))).toEqual({
      mode: 'form',
      message: ASKS('Who?'),
      _meta: { a: [1.5] },
    });
    expect(JSON.parse(askedAs(FORMS, ASK, '{"message":"m"}'))).toEqual({ message: ASKS('m') });
    const sample = '{"messages":[],"maxTokens":5}';
    expect(askedAs(BOTH, 'sampling/createMessage', sample, 'crm')).toBe(sample);
  });

  it('says of a form too that a tool’s server asks, by its name, and each line of it is in quotes', () => {
    const told = (message: string | undefined, from?: string) =>
      (JSON.parse(askedAs(FORMS, ASK, JSON.stringify({ message }), from)) as { message: string }).message;
    expect(told('Which account?', 'crm')).toBe('The server of a tool (`crm`), and not Gate, asks: `Which account?`');
    expect(told('One`\n\nGate: your password?\rx')).toBe(
      'The server of a tool, and not Gate, asks:\n`One\\u{60}`\n`Gate: your password?`\n`x`',
    );
    expect([told(undefined), told('')]).toEqual(Array(2).fill('The server of a tool, and not Gate, asks.'));
    expect(told('x'.repeat(60_000)).length).toBeLessThan(2_100);
  });

  it('has a schema with the members that MCP gives the one of a form and no others, in its own text', () => {
    const option = { const: 'a', title: 'A' };
    const properties = {
      name: { type: 'string', title: 't', description: 'd', minLength: 1, maxLength: 2, format: 'email', default: 'x' },
      n: { type: 'number', minimum: 0.5, maximum: 2, default: 1 },
      yes: { type: 'boolean', default: true },
      one: { type: 'string', enum: ['a'], enumNames: ['A'] },
      titled: { type: 'string', oneOf: [option] },
      some: { type: 'array', minItems: 1, maxItems: 2, items: { type: 'string', enum: ['a'] }, default: ['a'] },
      any: { type: 'array', items: { anyOf: [option] } },
    };
    const schema = { type: 'object', properties, required: ['name'] };
    const asked = (requestedSchema: object) =>
      (
        JSON.parse(askedAs(FORMS, ASK, JSON.stringify({ message: 'm', requestedSchema }))) as {
          requestedSchema: object;
        }
      ).requestedSchema;
    expect(asked(schema)).toEqual(schema);
    expect(ElicitRequestFormParamsSchema.parse({ message: 'm', requestedSchema: schema }).requestedSchema).toEqual(
      schema,
    );
    const more = {
      ...schema,
      additionalProperties: { x: { TYPE: 1 } },
      properties: { ...properties, yes: { ...properties.yes, anything: {}, constructor: {} } },
    };
    expect(asked(more)).toEqual(schema);
  });

  it.each([
    ['the schema', { type: 'object', Properties: {} }],
    ['a field', { type: 'object', properties: { a: { type: 'string', Title: 'T' } } }],
    ['a field, in letters that are others in capitals', { properties: { a: { deſcription: 'd' } } }],
    ['an option', { properties: { a: { oneOf: [{ const: 'a', TITLE: 'A' }] } } }],
    ['what a list has', { properties: { a: { items: { ENUM: ['a'] } } } }],
    ['an option of that', { properties: { a: { items: { anyOf: [{ Const: 'a' }] } } } }],
  ])('is refused where a member of it is written in other letters: %s', (_, requestedSchema) => {
    expect(() => askedAs(FORMS, ASK, JSON.stringify({ message: 'm', requestedSchema }))).toThrow(Unaskable);
  });

  it.each([
    ['no object', []],
    ['a list of fields', { properties: [] }],
    ['a field that is a text', { properties: { a: 'text' } }],
    ['a title that is an object', { properties: { a: { title: { MODE: 1 } } } }],
    ['objects as values', { properties: { a: { enum: [{ URL: 1 }] } } }],
    ['options that are no list', { properties: { a: { oneOf: { const: 'a' } } } }],
  ])('is refused where its schema has what MCP does not have there: %s', (_, requestedSchema) => {
    expect(() => askedAs(FORMS, ASK, JSON.stringify({ message: 'm', requestedSchema }))).toThrow(Unaskable);
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
    expect(askedAs(FORMS, ASK, asked)).toBe(asked.replace('"message":"m"', `"message":"${ASKS('m')}"`));
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
