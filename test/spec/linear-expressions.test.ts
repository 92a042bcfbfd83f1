import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { check, type Diagnostics } from 'recheck';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { composedExpressions } from '../../domain/expressions/linear.js';
import {
  expressionsIn,
  expressionsOf,
  growthFault,
  NOT_FROM_OUTSIDE,
  productFiles,
  type WrittenExpression,
} from '../support/expressions.js';
import { seededRandom } from '../support/random.js';

const ROOT = new URL('../../', import.meta.url).pathname;
const { folders, expressions: proved } = JSON.parse(
  readFileSync(join(ROOT, 'domain/expressions/proved-expressions.json'), 'utf8'),
) as { folders: string[]; expressions: string[] };
const written = ({ pattern, flags }: Pick<WrittenExpression, 'pattern' | 'flags'>): string => `/${pattern}/${flags}`;

/** What was proved once, with one version of the prover, stays proved. What is not in the list is proved when the test runs. */
const LIST = join(ROOT, 'test/vectors/expressions-proved-linear.json');
interface Proofs {
  readonly prover: string;
  readonly expressions: readonly string[];
}
const PROVER = `recheck ${(JSON.parse(readFileSync(join(ROOT, 'node_modules/recheck/package.json'), 'utf8')) as { version: string }).version}`;
const listed = JSON.parse(readFileSync(LIST, 'utf8')) as Proofs;
/** So many of the list are proved again in each run, others each time: a wrong line is found without anybody looking for it. */
const PROVED_AGAIN = 12;

const distinct = (all: readonly WrittenExpression[]): WrittenExpression[] => [
  ...new Map(all.map((one) => [written(one), one])).values(),
];

/** Those that the list does not vouch for, and some of the others, chosen by the run's seed. */
function toProve(all: readonly WrittenExpression[], { prover, expressions }: Proofs, again: number) {
  const known = new Set(prover === PROVER ? expressions : []);
  const { next } = seededRandom('linear expressions that are proved again');
  const vouchedFor = distinct(all).filter((one) => known.has(written(one)));
  const chosen = Array.from(
    { length: Math.min(again, vouchedFor.length) },
    () => vouchedFor.splice(Math.floor(next() * vouchedFor.length), 1)[0] as WrittenExpression,
  );
  return [...distinct(all).filter((one) => !known.has(written(one))), ...chosen];
}

async function superlinear(all: readonly WrittenExpression[]): Promise<string[]> {
  const open = [...all];
  const faults: string[] = [];
  const next = async (): Promise<void> => {
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      const found = await check(one.pattern, one.flags, { timeout: 120_000 });
      if (found.status !== 'safe' && (found.status !== 'vulnerable' || works(one, found)))
        faults.push(
          `${one.file}: ${written(one)} is ${found.status}${found.status === 'vulnerable' ? `: ${found.attack.pattern}` : ''}`,
        );
    }
  };
  await Promise.all([next(), next()]);
  return faults;
}

/**
 * Whether an attack that was found is one. Where an expression looks around or back, the prover tries texts at random and calls a long
 * one that is read in many steps an attack; what decides is how the time grows with it.
 */
function works(
  { pattern, flags }: WrittenExpression,
  { complexity, attack: { pumps, suffix } }: Extract<Diagnostics, { status: 'vulnerable' }>,
): boolean {
  if (complexity.type === 'exponential') return true;
  const expression = new RegExp(pattern, flags.replaceAll(/[gy]/g, ''));
  const reading = (repeats: number) => {
    const text = pumps.map(({ prefix, pump, bias }) => prefix + pump.repeat(repeats + bias)).join('') + suffix;
    return () => void expression.test(text);
  };
  // One measurement says nothing where other work fell into it.
  return [1, 2, 3].some(() => growthFault(reading, 2_000) !== null);
}

let literals: WrittenExpression[];
let composed: WrittenExpression[];

beforeAll(async () => {
  literals = expressionsOf(ROOT);
  for (const file of productFiles(ROOT)) {
    if (file === 'domain/expressions/linear.ts') continue;
    if (/\bcomposed\(/.test(readFileSync(join(ROOT, file), 'utf8')))
      await import(`../../${file.replace(/\.tsx?$/, '.js')}`);
  }
  composed = composedExpressions().map(({ source, flags }) => ({ file: 'composed', pattern: source, flags }));
});

describe('expressions of the product', () => {
  it('are all found: literals of every file, and those composed of parts', () => {
    expect(literals.length).toBeGreaterThan(150);
    expect(composed.length).toBeGreaterThan(25);
    for (const kind of ['.ts', '.tsx', '.mjs'])
      expect(literals.map(({ file }) => file)).toContainEqual(expect.stringMatching(new RegExp(`\\${kind}$`)));
  });

  it('are left out only in files that are there, and not in folders that read text from outside', () => {
    for (const file of Object.keys(NOT_FROM_OUTSIDE)) {
      expect(productFiles(ROOT)).toContain(file);
      expect(folders.filter((folder) => file.startsWith(folder))).toEqual([]);
    }
  });

  it('are linear, each proved', async () => {
    const all = distinct([...literals, ...composed]);
    expect(await superlinear(toProve(all, listed, PROVED_AGAIN))).toEqual([]);
    if (process.env['GATE_TEST_PROVED'] !== 'write') return;
    const proofs: Proofs = { prover: PROVER, expressions: all.map(written).toSorted() };
    writeFileSync(LIST, `${JSON.stringify(proofs, null, 2)}\n`);
  }, 300_000);

  it('stand in the list of what was proved, which holds no others: GATE_TEST_PROVED=write writes it', () => {
    const { prover, expressions } = JSON.parse(readFileSync(LIST, 'utf8')) as Proofs;
    expect(prover).toBe(PROVER);
    expect(expressions).toEqual(
      distinct([...literals, ...composed])
        .map(written)
        .toSorted(),
    );
  });

  it('are seen to be superlinear where they are', async () => {
    const hostile = expressionsIn(
      'x.ts',
      String.raw`export const a = /\brm\s+((?:-[a-z-]+\s+)+)\//; const b = 'no /a+$/';`,
    );
    expect(hostile.map(written)).toEqual([String.raw`/\brm\s+((?:-[a-z-]+\s+)+)\//`]);
    expect(await superlinear(toProve(hostile, listed, 0))).toEqual([expect.stringContaining('vulnerable')]);
  });

  it('are all proved anew by another version of the prover, and a wrong line of the list is found', async () => {
    const hostile = expressionsIn('x.ts', 'export const a = /(?:a|aa)+$/;');
    const wrong = { prover: PROVER, expressions: hostile.map(written) };
    expect(toProve(hostile, { ...wrong, prover: 'recheck 0.0.1' }, 0)).toEqual(hostile);
    expect(toProve(hostile, wrong, 0)).toEqual([]);
    expect(await superlinear(toProve(hostile, wrong, PROVED_AGAIN))).toEqual([expect.stringContaining('vulnerable')]);
  });

  it('stand in the list of proved ones where text from outside is read, and the list holds no others', () => {
    const here = new Set(literals.filter(({ file }) => folders.some((folder) => file.startsWith(folder))).map(written));
    expect(proved.filter((one) => !here.has(one))).toEqual([]);
    expect(proved).toEqual([...new Set(proved)].toSorted());
  });
});

describe('the lint rule for expressions', () => {
  const REFUSED = [
    ['a new literal that repeats without bound', 'export const found = /(?:-[a-z]+ )+x/;', 'nobody proved that'],
    ['an open upper bound', 'export const found = /x{2,}y/;', 'Read the text word by word, or use linear()'],
    ['one of a page', 'export const found = <b>{/(?:-[a-z]+ )+x/.source}</b>;', 'nobody proved that'],
    ['an expression made of text', 'export const find = (a: string) => new RegExp(a);', 'composed() or linear()'],
    ['one made without new', 'export const find = (a: string) => RegExp(a);', 'composed() or linear()'],
  ] as const;
  const LET_BE = String.raw`export const found = [/[+*]{1,8}a/, /\+\*/, /\s+/];`;

  /** What it says of each file, all of them in one run of the linter. */
  let said: ReadonlyMap<string, string>;
  beforeAll(() => {
    const folder = mkdtempSync(join(ROOT, 'domain/inspection/.lint-'));
    try {
      const files = [...REFUSED.map(([, source]) => source), LET_BE].map((source) => {
        const file = join(folder, `${sha256Hex(source)}.${source.includes('</') ? 'tsx' : 'ts'}`);
        writeFileSync(file, source);
        return file;
      });
      const { stdout } = spawnSync(
        join(ROOT, 'node_modules/.bin/oxlint'),
        ['--quiet', '--no-ignore', '--format', 'json', '-c', join(ROOT, '.oxlintrc.json'), ...files],
        { cwd: ROOT, encoding: 'utf8' },
      );
      const { diagnostics, number_of_files: read } = JSON.parse(stdout) as {
        diagnostics: { filename: string; code: string; message: string; help?: string }[];
        number_of_files: number;
      };
      expect(read).toBe(files.length);
      said = new Map(
        files.map((file) => [
          basename(file, extname(file)),
          diagnostics
            .filter(({ filename }) => basename(filename) === basename(file))
            .map(({ code, message, help = '' }) => `${code} ${message} ${help}`)
            .join('\n'),
        ]),
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
  const saidOf = (source: string): string => said.get(sha256Hex(source)) ?? 'it was not read';

  it.each(REFUSED)('refuses %s and says what to do', (_, source, message) => {
    expect(saidOf(source)).toContain(message);
  });

  it('lets bounded and proved ones be', () => {
    expect(saidOf(LET_BE)).not.toMatch(/gate\(|it was not read/);
  });
});
