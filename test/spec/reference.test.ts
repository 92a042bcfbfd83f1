import { describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_CODES } from '../../contracts/error-codes.js';
import { EVENT_KINDS } from '../../contracts/event-kinds.js';
import { REFERENCE_DIRECTORY, referencePages } from '../../scripts/print-reference.js';
import { PROJECT_ROOT } from '../../config/project-root.js';

const page = (file: string): string => readFileSync(join(REFERENCE_DIRECTORY, file), 'utf8');

/** The first cells of the tables of a page, without their back-ticks. */
const firstCells = (text: string): string[] =>
  [...text.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] as string);

/** TypeScript and scripts, tests aside; also files that are new and not yet added. */
const LISTED = ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts', '*.tsx', '*.mjs'];
const SOURCES = execFileSync('git', LISTED, { cwd: PROJECT_ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && !/\.test\.tsx?$|^test\/|^config\/elsewhere\.ts$/.test(file));
/** The ways in which source reads a variable, or names one to whoever reads it. */
const READS = [
  /\benv(?:\?\.|\.|\[')([A-Z][A-Z0-9_]+)/g,
  /\.env\(\s*'([A-Z][A-Z0-9_]+)'/g,
  /'(GATE_[A-Z0-9_]+)'/g,
  /\$\{\w+\}(_[A-Z][A-Z_]+)/g,
  /\$\{([A-Z][A-Z0-9_]+):-/g,
  /^ENV ([A-Z_]+)/gm,
];

/** Each variable that the product reads, with the files that do. */
function readVariables(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const file of [...SOURCES, 'Dockerfile', 'docker-compose.yml']) {
    const text = readFileSync(join(PROJECT_ROOT, file), 'utf8');
    for (const [, name = ''] of READS.flatMap((way) => [...text.matchAll(way)]))
      found.set(name, [...(found.get(name) ?? []), file]);
  }
  return found;
}

/** `GATE_PROXY` stands for its ports where a listener is named by it. */
const isPartOf = (prefix: string) => (name: string) => name.startsWith(`${prefix}_`);

describe('docs/reference', () => {
  it('says what the program says: `npm run reference` changes nothing', async () => {
    const pages = await referencePages();
    for (const [file, text] of Object.entries(pages)) expect([file, page(file)]).toEqual([file, text]);
    // Its own test prints and compares it: that takes OPA's cases (opa-cases.test.ts).
    const others = readdirSync(REFERENCE_DIRECTORY).filter((name) => name !== 'policy-builtins.md');
    expect(others.sort()).toEqual(Object.keys(pages).sort());
  });

  it('lists every error code with its status, and no other', () => {
    const listed = [...page('errors.md').matchAll(/^\| `([^`]+)` \| (\d{3}) \|/gm)].map((match) => [
      match[1],
      Number(match[2]),
    ]);
    expect(listed).toEqual(Object.entries(ERROR_CODES).map(([code, { status }]) => [code, status]));
  });

  it('names every event kind once, written ones in the table', () => {
    const text = page('events.md');
    const reserved = [...(text.split('written by nothing yet: ')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) =>
      String(match[1]),
    );
    const named = [...firstCells(text), ...reserved];
    expect(named).toHaveLength(EVENT_KINDS.length);
    expect(new Set(named)).toEqual(new Set<string>(EVENT_KINDS));
  });

  it('lists every variable that is read anywhere, and none that nobody reads', () => {
    const read = readVariables();
    expect(read.size).toBeGreaterThan(120);
    const listed = new Set(firstCells(page('settings.md')));
    const unlisted = [...read].filter(
      ([name]) =>
        !listed.has(name) &&
        !listed.has(name.replace(/_FILE$/, '')) &&
        !name.startsWith('_') &&
        ![...listed].some(isPartOf(name)),
    );
    expect(unlisted).toEqual([]);
    // One that is listed and named nowhere would be a remnant. Settings that two processes share are put together from a prefix.
    const endings = [...read.keys()].filter((name) => name.startsWith('_'));
    expect([...listed].filter((name) => !read.has(name) && !endings.some((ending) => name.endsWith(ending)))).toEqual(
      [],
    );
  });

  it('shows no default of a secret', () => {
    const secrets = [...page('settings.md').matchAll(/^\| `[^`]+` \| ([^|]+) \| .*\*\*Secret\.\*\* \|$/gm)];
    expect(secrets.length).toBeGreaterThan(10);
    for (const [, value] of secrets) expect(['required', 'none', 'empty']).toContain(value);
  });
});
