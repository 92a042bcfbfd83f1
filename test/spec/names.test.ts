import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';

/** A word that had several meanings in the code, and where a name may hold it now. On the wire and in settings names stay as they are. */
const WORDS: readonly { word: string; says: string; parts: RegExp; within: RegExp; but?: RegExp }[] = [
  {
    word: 'fold',
    says: 'inspection and policy become one verdict; on a page, a long text that its reader opens',
    parts: /fold(?!er)/i,
    within: /^console\/|^(activities|domain\/call|domain\/policy|lite|bench)\//,
    but: /^(?:foldVerdict|folded|isFolded|foldedIn|Folded)$/,
  },
  {
    word: 'egress',
    says: 'rows of the ledger are streamed to sinks; what judges the answers of tools is called after responses',
    parts: /egress/i,
    within:
      /^(?:activities|config)\/egress\.ts$|^contracts\/ledger-egress\.ts$|^(?:adapters|domain)\/evidence\/egress\/|^api\/(?:ledger|worker)\/|^adapters\/ledger\/|^workers\/|^workflows\/|\/ledger-client\.ts$/,
  },
  {
    word: 'fact',
    says: 'what rules are told of a call; what a report reads is a report row',
    parts: /fact(?!or)/i,
    within: /^(?!(adapters|domain)\/(evidence|ledger)\/|api\/ledger\/)/,
  },
];
/** Codes and names of tables and data, which others rely on. */
const ON_THE_WIRE: ReadonlySet<string> = new Set(['egress_blocked', 'egress_cursors', 'external_egress_tools']);

/** The names in a file: comments and texts left out. */
const namesIn = (text: string): ReadonlySet<string> =>
  new Set(
    text
      .replaceAll(/\/\*[^]*?\*\/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`|(?<!:)\/\/[^\n]*/g, ' ')
      .match(/[A-Za-z_$][\w$]*/g),
  );

describe('a word means one thing', () => {
  const files = execFileSync('git', ['ls-files', '*.ts', '*.tsx'], { cwd: PROJECT_ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && !/\.test\.tsx?$|^(test|migrations)\//.test(file))
    .map((file) => [file, readFileSync(join(PROJECT_ROOT, file), 'utf8')] as const);
  /** Longer words that only hold these letters. */
  const others = /artifact|folder|manufact/i;

  it.each(WORDS.map((one) => [one.word, one.says, one] as const))(
    '%s: %s',
    (_word, _says, { parts, within, but = /^/ }) => {
      const found = files
        .filter(([, text]) => parts.test(text))
        .flatMap(([file, text]) =>
          [...namesIn(text)]
            .filter((name) => parts.test(name) && !others.test(name) && !ON_THE_WIRE.has(name))
            .map((name) => [file, name] as const),
        );
      expect(found.length).toBeGreaterThan(5);
      const named = files.map(([file]) => file).filter((file) => parts.test(basename(file)) && !others.test(file));
      expect(named.filter((file) => !within.test(file))).toEqual([]);
      expect(found.filter(([file, name]) => !within.test(file) || !but.test(name))).toEqual([]);
    },
  );

  it('looks at names alone', () => {
    expect(namesIn("/** folds */ const combined = 'fold'; // egress\nfoldVerdict(`fact`);")).toEqual(
      new Set(['const', 'combined', 'foldVerdict']),
    );
  });
});

describe('what tests and comments say', () => {
  it('calls nothing "one that is none": it says that it is invalid, unknown or missing', () => {
    const texts = execFileSync('git', ['grep', '-nE', '\\b(that|who|what) (is|are) none\\b', '--', '*.ts', '*.tsx'], {
      cwd: PROJECT_ROOT,
      encoding: 'utf8',
    }).split('\n');
    expect(texts.filter((line) => line !== '' && !/none (?:of|any more)\b|^test\/spec\/names/.test(line))).toEqual([]);
  });
});
