import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { check, type Diagnostics } from 'recheck';
import { composedExpressions } from '../../domain/expressions/linear.js';
import {
  expressionsIn,
  expressionsOf,
  growthFault,
  NOT_FROM_OUTSIDE,
  productFiles,
  type WrittenExpression,
} from '../support/expressions.js';

const ROOT = new URL('../../', import.meta.url).pathname;
const { folders, expressions: proved } = JSON.parse(
  readFileSync(join(ROOT, 'domain/expressions/proved-expressions.json'), 'utf8'),
) as { folders: string[]; expressions: string[] };
const written = ({ pattern, flags }: Pick<WrittenExpression, 'pattern' | 'flags'>): string => `/${pattern}/${flags}`;

/** What was proved once stays proved: kept by the prover's version beside the other things that can be made again. */
const KEPT = join(ROOT, '.cache', 'recheck-4.5.0.json');
function kept(): Set<string> {
  try {
    return new Set(JSON.parse(readFileSync(KEPT, 'utf8')) as string[]);
  } catch {
    return new Set();
  }
}

async function superlinear(all: readonly WrittenExpression[]): Promise<string[]> {
  const known = kept();
  const open = [...new Map(all.map((one) => [written(one), one])).values()].filter((one) => !known.has(written(one)));
  const faults: string[] = [];
  const next = async (): Promise<void> => {
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      const found = await check(one.pattern, one.flags, { timeout: 120_000 });
      if (found.status === 'safe' || (found.status === 'vulnerable' && !works(one, found))) known.add(written(one));
      else
        faults.push(
          `${one.file}: ${written(one)} is ${found.status}${found.status === 'vulnerable' ? `: ${found.attack.pattern}` : ''}`,
        );
    }
  };
  await Promise.all([next(), next()]);
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  writeFileSync(KEPT, JSON.stringify([...known]));
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
  return growthFault(reading, 4_000) !== null;
}

let literals: WrittenExpression[];
let composed: WrittenExpression[];

beforeAll(async () => {
  literals = expressionsOf(ROOT);
  for (const file of productFiles(ROOT)) {
    if (!/^(?:domain|lite|api|activities)\//.test(file) || file === 'domain/expressions/linear.ts') continue;
    if (/\bcomposed\(/.test(readFileSync(join(ROOT, file), 'utf8')))
      await import(`../../${file.replace(/\.ts$/, '.js')}`);
  }
  composed = composedExpressions().map(({ source, flags }) => ({ file: 'composed', pattern: source, flags }));
});

describe('expressions of the product', () => {
  it('are all found: literals of every file, and those composed of parts', () => {
    expect(literals.length).toBeGreaterThan(150);
    expect(composed.length).toBeGreaterThan(25);
  });

  it('are left out only in files that are there, and not in folders that read text from outside', () => {
    for (const file of Object.keys(NOT_FROM_OUTSIDE)) {
      expect(productFiles(ROOT)).toContain(file);
      expect(folders.filter((folder) => file.startsWith(folder))).toEqual([]);
    }
  });

  it('are linear, each proved', async () => {
    expect(await superlinear([...literals, ...composed])).toEqual([]);
  }, 300_000);

  it('are seen to be superlinear where they are', async () => {
    const hostile = expressionsIn(
      'x.ts',
      String.raw`export const a = /\brm\s+((?:-[a-z-]+\s+)+)\//; const b = 'no /a+$/';`,
    );
    expect(hostile.map(written)).toEqual([String.raw`/\brm\s+((?:-[a-z-]+\s+)+)\//`]);
    expect(await superlinear(hostile)).toEqual([expect.stringContaining('vulnerable')]);
  });

  it('stand in the list of proved ones where text from outside is read, and the list holds no others', () => {
    const here = new Set(literals.filter(({ file }) => folders.some((folder) => file.startsWith(folder))).map(written));
    expect(proved.filter((one) => !here.has(one))).toEqual([]);
    expect(proved).toEqual([...new Set(proved)].toSorted());
  });
});

describe('the lint rule for expressions', () => {
  const lint = (file: string, source: string): string => {
    const folder = mkdtempSync(join(ROOT, 'domain/inspection/.lint-'));
    try {
      writeFileSync(join(folder, file), source);
      return spawnSync(
        join(ROOT, 'node_modules/.bin/oxlint'),
        ['--quiet', '--no-ignore', '-c', join(ROOT, '.oxlintrc.json'), join(folder, file)],
        { cwd: ROOT, encoding: 'utf8' },
      ).stdout.replaceAll(/\s+/g, ' ');
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };

  it.each([
    ['a new literal that repeats without bound', 'export const found = /(?:-[a-z]+ )+x/;', 'nobody proved that'],
    ['an open upper bound', 'export const found = /x{2,}y/;', 'Read the text word by word, or use linear()'],
    ['an expression made of text', 'export const find = (a: string) => new RegExp(a);', 'composed() or linear()'],
    ['one made without new', 'export const find = (a: string) => RegExp(a);', 'composed() or linear()'],
  ])('refuses %s and says what to do', (_, source, message) => {
    expect(lint('new.ts', source)).toContain(message);
  });

  it('lets bounded and proved ones be', () => {
    expect(lint('new.ts', String.raw`export const found = [/[+*]{1,8}a/, /\+\*/, /\s+/];`)).not.toContain('gate(');
  });
});
