import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { loadPolicySet } from '../../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../../adapters/policy/policy-sources.js';
import type { Json, JsonObject } from '../../contracts/json.js';
import { calling, type Case, shippedCases } from '../../test/support/policy-cases.js';
import { seededRandom } from '../../test/support/random.js';
import { pairsOf, timesOf } from '../../test/support/some-of.js';
import type { PolicySet } from './policy-set.js';

let policies: PolicySet;
/** Those that are not allowed as they stand. */
let refused: readonly Case[];
beforeAll(async () => {
  policies = await loadPolicySet({ directory: shippedPolicyDirectory() });
  refused = shippedCases().filter(
    ({ input, classed, ...rest }) =>
      input.tool_type && !policies.evaluate(calling({ input, classed, ...rest }, input.tool_type)).allow,
  );
});

const perLetter = (name: string, to: (letter: string) => string): string => Array.from(name, to).join('');
const percent = (letter: string): string =>
  Array.from(Buffer.from(letter), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const LOOK_ALIKE: Readonly<Record<string, string>> = { a: 'а', e: 'е', o: 'о', c: 'с', p: 'р', i: 'і', s: 'ѕ', x: 'х' };
const LEET: Readonly<Record<string, string>> = { o: '0', i: '1', e: '3', a: '4', s: '5', t: '7' };

/** Other spellings of the same name. */
const SPELLINGS: Readonly<Record<string, (name: string) => string>> = {
  'upper case': (name) => name.toUpperCase(),
  'lower case': (name) => name.toLowerCase(),
  'alternating case': (name) =>
    Array.from(name, (one, at) => (at % 2 ? one.toUpperCase() : one.toLowerCase())).join(''),
  'camel case': (name) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
  hyphens: (name) => name.replaceAll('_', '-'),
  dots: (name) => name.replaceAll('_', '.'),
  slashes: (name) => name.replaceAll('_', '/'),
  backslashes: (name) => name.replaceAll('_', '\\'),
  colons: (name) => name.replaceAll('_', ':'),
  spaces: (name) => name.replaceAll('_', ' '),
  tabs: (name) => name.replaceAll('_', '\t'),
  'doubled separators': (name) => name.replaceAll('_', '__'),
  'no separators': (name) => name.replaceAll(/[_.-]/g, ''),
  'separators around it': (name) => `_${name}_`,
  'blanks around it': (name) => ` ${name}\n`,
  'a namespace': (name) => `mcp__x__${name}`,
  'full-width letters': (name) =>
    perLetter(name, (one) => (/[!-~]/.test(one) ? String.fromCodePoint((one.codePointAt(0) ?? 0) + 0xfee0) : one)),
  'letters of another alphabet': (name) => perLetter(name, (one) => LOOK_ALIKE[one] ?? one),
  'one letter of another alphabet': (name) => name.replace(/[aeocpisx]/, (one) => LOOK_ALIKE[one] ?? one),
  'letters of mathematics': (name) =>
    perLetter(name, (one) => (/[a-z]/.test(one) ? String.fromCodePoint(0x1d41a + one.charCodeAt(0) - 97) : one)),
  'invisible characters': (name) => perLetter(name, (one) => `${one}\u200b`),
  'a soft hyphen': (name) => `${name.slice(0, 2)}\u00ad${name.slice(2)}`,
  'combining marks': (name) => perLetter(name, (one) => (/[a-z]/i.test(one) ? `${one}\u0301` : one)),
  'encoded separators': (name) => name.replaceAll('_', '%5F'),
  'an encoded letter': (name) => `${percent(Array.from(name)[0] ?? '')}${Array.from(name).slice(1).join('')}`,
  'encoded letters': (name) => perLetter(name, (one) => percent(one)),
  'letters encoded twice': (name) => perLetter(name, (one) => percent(one).replaceAll('%', '%25')),
  'escapes of JSON': (name) => name.replaceAll('_', '\\u005f'),
  'entities of HTML': (name) => name.replaceAll('_', '&#x5f;'),
  'digits for letters': (name) => name.replaceAll(/(?<=[a-z])[oieast](?=[a-z])/g, (one) => LEET[one] ?? one),
};

const renamed = (value: Json, to: (name: string) => string): Json =>
  Array.isArray(value)
    ? value.map((item) => renamed(item, to))
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, item]) => [to(name), renamed(item, to)]))
      : value;
const eachMember = (args: JsonObject, to: (value: Json) => Json): JsonObject =>
  Object.fromEntries(Object.entries(args).map(([name, value]) => [name, to(value)]));
const inside = (args: JsonObject, levels: number): JsonObject =>
  levels === 0 ? args : { [`level_${'abcdefghijklmnopqrstuvwxyz'[levels % 26]}`]: inside(args, levels - 1) };

/** The same arguments at other places, of objects that no list of the rules knows. */
const NESTINGS: Readonly<Record<string, (args: JsonObject) => JsonObject>> = {
  'in an object': (args) => ({ options: args }),
  'five levels deeper': (args) => inside(args, 5),
  'twenty levels deeper': (args) => inside(args, 20),
  'in a list': (args) => ({ items: [args] }),
  'behind another one': (args) => ({ items: [{ x: 1 }, args] }),
  'in lists of lists': (args) => ({ items: [[[args]]] }),
  'in JSON in a text': (args) => ({ options: JSON.stringify(args) }),
  'in JSON in JSON': (args) => ({ options: JSON.stringify({ rows: JSON.stringify([args]) }) }),
  'in JSON in a list': (args) => ({ options: [JSON.stringify(args)] }),
  'values in lists': (args) => eachMember(args, (value) => [value]),
  'values in objects': (args) => eachMember(args, (value) => ({ value })),
  'values in JSON': (args) => eachMember(args, (value) => JSON.stringify(value)),
  'in pairs': (args) => ({ options: Object.entries(args).map(([name, value]) => ({ name, value })) }),
  'names in capitals': (args) => renamed(args, (name) => name.toUpperCase()) as JsonObject,
  'blanks around names': (args) => renamed(args, (name) => `${name} `) as JsonObject,
  'other arguments around them': (args) => ({ aaa: 'x', ...args, zzz: null }),
  'fifty arguments before them': (args) => ({
    ...Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, `v${at}`])),
    ...args,
  }),
};

/** Text that a tool carries to a file is judged by the name it stands under, and a text is no argument of its own where a query is known by its name. */
const isCarried = ({ input: { tool_type, arguments: args = {} } }: Case): boolean =>
  tool_type === 'write_file' && 'content' in args;
const allowed = (one: Case, tool: string, args?: JsonObject): boolean =>
  policies.evaluate(calling(one, tool, args)).allow;
const told = ({ file, description }: Case, tool: string, args?: JsonObject): string =>
  `${file}: ${description}: ${tool} ${args === undefined ? '' : JSON.stringify(args)}`;
/** A longer one is refused before it is judged. */
const LONGEST_TOOL = 256;
const PLAIN = /^[\x20-\x7e]+$/;

describe('a call that is not allowed', () => {
  it('is taken from the manual, of every family', () => {
    expect(refused.length).toBeGreaterThan(200);
    expect(new Set(refused.map(({ file }) => file)).size).toBeGreaterThan(14);
  });

  // Every case in a third of the spellings and places, every one of those with a third of the cases.
  const [spellings, nestings] = [Object.keys(SPELLINGS), Object.keys(NESTINGS)];
  const isSpelt = pairsOf('cases and spellings', spellings.length, 3);
  const isPlaced = pairsOf('cases and places', nestings.length, 3);

  it.each(Object.entries(SPELLINGS))('is not allowed under another spelling of its name: %s', (what, spelt) => {
    const gained = refused.flatMap((one, row) => {
      if (!isSpelt(row, spellings.indexOf(what))) return [];
      const { tool_type: tool } = one.input;
      const other = spelt(tool);
      // A class that waits for its operator is one of the very name.
      if (other === tool || !PLAIN.test(tool) || one.input.tool_classes !== undefined) return [];
      return allowed(one, other) ? [told(one, other)] : [];
    });
    expect(gained).toEqual([]);
  });

  it.each(Object.entries(NESTINGS))('is not allowed with its arguments at another place: %s', (what, placed) => {
    const gained = refused.flatMap((one, row) => {
      if (!isPlaced(row, nestings.indexOf(what))) return [];
      const { tool_type: tool, arguments: args } = one.input;
      if (args === undefined || Object.keys(args).length === 0 || isCarried(one)) return [];
      const other = placed(args as JsonObject);
      return allowed(one, tool, other) ? [told(one, tool, other)] : [];
    });
    expect(gained).toEqual([]);
  });

  it('is not allowed under two spellings and at two places at once', () => {
    const random = seededRandom('other spellings');
    const spelling = fc.constantFrom(...Object.entries(SPELLINGS));
    // Without separators a name and one in front of it are another word.
    const glued = new Set(['no separators', 'camel case']);
    const afterwards = fc.constantFrom(...Object.entries(SPELLINGS).filter(([what]) => !glued.has(what)));
    const nesting = fc.constantFrom(...Object.entries(NESTINGS));
    const base = fc.constantFrom(
      ...refused.filter(
        (one) => PLAIN.test(one.input.tool_type) && one.input.tool_classes === undefined && !isCarried(one),
      ),
    );
    fc.assert(
      fc.property(base, spelling, afterwards, nesting, nesting, (one, [, first], [, second], [, inner], [, outer]) => {
        const tool = second(first(one.input.tool_type));
        fc.pre(tool.length <= LONGEST_TOOL);
        const { arguments: args } = one.input;
        const other = args === undefined || Object.keys(args).length === 0 ? args : outer(inner(args as JsonObject));
        if (allowed(one, tool, other as JsonObject)) throw new Error(told(one, tool, other as JsonObject));
      }),
      { seed: random.seed, numRuns: timesOf(700, 2_000) },
    );
  });

  it('is not allowed when a fact that a rule needs is taken away', () => {
    const required = ['agent_history', 'intent_score', 'tool_type', 'current_time'];
    const gained = refused.flatMap((one) =>
      required.flatMap((field) => {
        const { [field]: _taken, ...rest } = calling(one, one.input.tool_type);
        try {
          return policies.evaluate(rest as never).allow ? [`${field}: ${told(one, one.input.tool_type)}`] : [];
        } catch (error) {
          expect(error).toMatchObject({ code: 'policy_input_invalid' });
          return [];
        }
      }),
    );
    expect(gained).toEqual([]);
  });
});
