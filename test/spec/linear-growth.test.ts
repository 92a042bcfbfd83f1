import { describe, expect, it } from '@jest/globals';
import { canonicalJson } from '../../domain/crypto/digest.js';
import { offlineEmbedding } from '../../domain/inspection/embedding.js';
import { decodeEscapes } from '../../domain/inspection/escapes.js';
import { scoreAsAnswer, scoreOf } from '../../domain/inspection/injection-classifier.js';
import { detectInjection } from '../../domain/inspection/injection.js';
import { classifyIntent } from '../../domain/inspection/intent.js';
import { detectMaliciousCode } from '../../domain/inspection/malicious-code.js';
import { detectCompromisedPackage } from '../../domain/inspection/packages.js';
import { inspectTexts } from '../../domain/inspection/texts.js';
import { mask } from '../../domain/masking/mask.js';
import { parseStrictJson } from '../../domain/mcp/strict-json.js';
import { printable } from '../../domain/printable.js';
import { minimizePayload } from '../../domain/review/minimize.js';
import { expressionsOf, growthFault, type WrittenExpression } from '../support/expressions.js';
import { pairsOf, someOf } from '../support/some-of.js';

const ROOT = new URL('../../', import.meta.url).pathname;
const written = ({ pattern, flags }: Pick<WrittenExpression, 'pattern' | 'flags'>): string => `/${pattern}/${flags}`;
const N = 8_000;

/** What most classes of characters hold. */
const CHARACTERS = ['a', 'A', '0', ' ', '-', '_', '.', '/', ':', '=', '"', 'a ', 'a-', 'a.', '-a ', '\n'];

/** Texts to repeat: the words that an expression is written with, alone and between what separates words, and single characters. */
function unitsOf({ pattern }: WrittenExpression): string[] {
  const words = pattern.replaceAll(/\\[bBsSdDwW]|\[[^\]]*\]|[()|?*+^$\\:{}!<=]/g, ' ').split(/\s+/);
  return [
    ...CHARACTERS,
    ...words
      .filter((one) => one.length > 1)
      .slice(0, 4)
      .flatMap((word) => [word, `${word} `, `-${word} `]),
  ];
}

describe('growth of every expression over hostile repetitions', () => {
  it('is that of the text', () => {
    const faults: string[] = [];
    const distinct = new Map(expressionsOf(ROOT).map((each) => [written(each), each])).values();
    const all = [...distinct].flatMap((one) => unitsOf(one).map((unit) => ({ one, unit })));
    // Each expression is also proved linear, in linear-expressions.test.ts; here a third of the texts is tried in each run.
    for (const { one, unit } of someOf('expressions and repetitions', all, Math.ceil(all.length / 3))) {
      const expression = new RegExp(one.pattern, one.flags.replaceAll(/[gy]/g, ''));
      const fault = growthFault((size) => {
        const text = `${unit.repeat(Math.ceil(size / unit.length))}\0`;
        return () => void expression.test(text);
      }, N);
      if (fault !== null) faults.push(`${one.file}: ${written(one)} over ${JSON.stringify(unit)} ${fault}`);
    }
    expect(faults).toEqual([]);
  }, 300_000);
});

/** Repetitions that were slow once, and what resembles them; the hostile end follows each. */
const REPETITIONS: readonly string[] = [
  'rm -',
  '-rm ',
  'rm -r -',
  'rm\n',
  '/rm -f ',
  'npm -/npm ',
  'npm -',
  "'npm -x ",
  'npm install ',
  'npm pip ',
  '$(npm i ',
  'pip install a;',
  '\\u{',
  '\\u{1',
  '\\u0',
  '\\x4',
  '\\',
  '%',
  '%2',
  '%41',
  '&',
  '&#',
  '&#x4',
  '&amp',
  '&amp;amp;',
  '<',
  '<a',
  '<<a>',
  '[',
  '{',
  '["',
  '{"a":',
  '"',
  '\\"',
  "'",
  'eyJaaaa-',
  'eyJaaaa.',
  'a@',
  'a@a.',
  'a.',
  '@',
  '1.',
  '1 ',
  '1-',
  '4111 ',
  'bearer ',
  'Bearer a',
  'password',
  'password=',
  '_password',
  'secret:',
  '-P',
  'token-',
  '-----BEGIN ',
  '-----BEGIN PRIVATE KEY-----',
  '-----BEGIN A',
  'while ',
  'while(1',
  'dup2(',
  '(:)',
  ':(){',
  'a(){a',
  '| nc',
  '/dev/tcp/',
  'curl ',
  'curl|',
  'eval(',
  'base64 -d ',
  'iex ',
  'ignore ',
  'ignore the ',
  'ignore all previous ',
  'ignore the of and or ',
  'your instructions ',
  'you are now ',
  'delete all the ',
  'wipe the ',
  'drop the database ',
  'ignoreallprevious',
  'i g n o r e ',
  'ignora todas ',
  'забудь все ',
  '忽略之前',
  '이전지시',
  'تجاهل كل ',
  'ab tum ',
  '1gn0re ',
  'allinstructions',
  'YWJjZGVm',
  '=',
  '\u202e',
  '\u{e0041}',
  '\ufe0f',
  '\ud83c',
  '\u{1f170}',
  'ａ',
  'e\u0301',
  'İ',
  ' ',
  '\n',
  '\t',
  '\0',
  ';',
  '|',
  'select ',
  '/*',
  '--',
];
const ENDS = ['x', '}\0'];

/** What is refused is refused in time too. */
const orRefused = (work: () => unknown) => (): void => {
  try {
    work();
  } catch {
    // Half of a surrogate pair, U+0000.
  }
};

describe('growth of every reader over hostile repetitions', () => {
  const input = (tool: string, value: string) => {
    const params = { name: tool, arguments: { content: value } };
    return { method: 'tools/call', tool, params, texts: inspectTexts(params, 'strict') };
  };
  const readers: Readonly<Record<string, (text: string) => () => void>> = {
    'the texts of a request': (text) => () => void inspectTexts({ arguments: { a: text } }, 'strict'),
    'a text in many values': (text) => {
      const params = { arguments: text.match(/[\s\S]{1,7}/gu) ?? [] };
      return () => void inspectTexts(params, 'strict');
    },
    escapes: (text) => () => void decodeEscapes(text),
    injection: (text) => {
      const { texts } = input('send', text);
      return () => void detectInjection(text.slice(0, 400), texts);
    },
    'the classifier of messages': (text) => () => void scoreOf(text),
    'the classifier of answers': (text) => () => void scoreAsAnswer(text),
    intent: (text) => {
      const given = input('run_command', text);
      return () => void classifyIntent(given);
    },
    'malicious code': (text) => {
      const given = input('write_file', text);
      return () => void detectMaliciousCode(given);
    },
    packages: (text) => {
      const given = input('run_command', text);
      return () => void detectCompromisedPackage(given);
    },
    embedding: (text) => () =>
      void offlineEmbedding.embed({ method: 'a', tool: text, params: { arguments: { [text]: text } } }),
    masking: (text) => () => void mask({ [text]: text }),
    'a review row': (text) => () =>
      void minimizePayload({ method: text, params: { name: text, arguments: { [text]: text } } }, ''),
    printing: (text) => () => void printable(text),
    'strict JSON': (text) => {
      const json = JSON.stringify({ [text]: [text, text] });
      return orRefused(() => parseStrictJson(json));
    },
    'what is no JSON': (text) => orRefused(() => parseStrictJson(text)),
    digests: (text) => orRefused(() => canonicalJson({ [text]: text })),
  };

  it.each(Object.keys(readers))(
    '%s: is that of the text',
    (name) => {
      const faults: string[] = [];
      const all = REPETITIONS.flatMap((unit, at) => ENDS.map((end, ending) => ({ unit, end, at, ending })));
      const tried = pairsOf(`repetitions for ${name}`, ENDS.length, ENDS.length);
      for (const { unit, end } of all.filter(({ at, ending }) => tried(at, ending))) {
        const fault = growthFault(
          (size) => readers[name]?.(unit.repeat(Math.ceil(size / unit.length)) + end) ?? (() => {}),
          N,
        );
        if (fault !== null) faults.push(`${JSON.stringify(unit)} ... ${JSON.stringify(end)} ${fault}`);
      }
      expect(faults).toEqual([]);
    },
    300_000,
  );
});
