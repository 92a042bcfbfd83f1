import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';

const page = readFileSync(join(PROJECT_ROOT, 'ARCHITECTURE.md'), 'utf8');
const files = execFileSync('git', ['ls-files'], { cwd: PROJECT_ROOT, encoding: 'utf8' }).split('\n').filter(Boolean);

/** What one main file of an allow calls another by, where it does not import it. */
const PORTS: readonly string[] = [
  'domain/call/ports.ts',
  'domain/call/call-runner.ts',
  'domain/call/pipeline.ts',
  'workflows/tool-call/messages.ts',
  'domain/inspection/port.ts',
  'domain/policy/evaluator.ts',
  'domain/upstream/upstream.ts',
  'contracts/ledger.ts',
  'domain/ledger/chain-store.ts',
];

describe('ARCHITECTURE.md', () => {
  it('leads to every page of docs/architecture', () => {
    const pages = files.filter((file) => file.startsWith('docs/architecture/'));
    expect(pages.filter((file) => !page.includes(`](${file})`))).toEqual([]);
  });

  const [, count, folders, list = ''] =
    /The main files of an allow, .*: (\d+) files in (\d+) folders\.\n\n((?: {4}.*\n)+)/.exec(page) ?? [];
  const main = list
    .trim()
    .split('\n')
    .map((line) => line.trim().split(' ', 1)[0] ?? '');

  it('counts the main files of an allow, which are there, and their folders', () => {
    expect(main.filter((file) => !files.includes(file))).toEqual([]);
    expect([main.length, new Set(main.map((file) => dirname(file))).size]).toEqual([Number(count), Number(folders)]);
  });

  it('names no main file of an allow that none above it reaches, by an import or through a port', () => {
    const imported = new Map(
      main.map((file) => {
        const text = readFileSync(join(PROJECT_ROOT, file), 'utf8');
        const targets = [...text.matchAll(/from '(\.{1,2}\/[^']+)\.js'/g)].map(
          ([, target = '']) => `${join(dirname(file), target)}.ts`,
        );
        return [file, new Set(targets)] as const;
      }),
    );
    const reaches = (from: string, to: string): boolean =>
      imported.get(from)?.has(to) === true ||
      PORTS.some((port) => imported.get(to)?.has(port) && (port === from || imported.get(from)?.has(port)));
    expect(main.length).toBeGreaterThan(20);
    expect(main.slice(1).filter((file, at) => !main.slice(0, at + 1).some((above) => reaches(above, file)))).toEqual(
      [],
    );
    const used = PORTS.filter((port) => [...imported].filter(([, targets]) => targets.has(port)).length > 1);
    expect(used).toEqual(PORTS);
  });

  it('says of every folder of more than ten files, tests aside, what belongs there', () => {
    const counts = new Map<string, number>();
    for (const file of files)
      if (!/\.test\.tsx?$/.test(file) && file.includes('/'))
        counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    const large = [...counts].filter(([, count]) => count > 10).map(([folder]) => folder);
    expect(large.length).toBeGreaterThan(10);
    const [, rows = ''] = page.split('Folders of more than ten files, and what belongs in each:');
    const said = rows
      .slice(0, rows.indexOf('\n## '))
      .split('\n')
      .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)\/`/g)].map(([, folder]) => folder));
    expect(said.filter((folder, at) => said.indexOf(folder) !== at)).toEqual([]);
    // `<domain>` stands for any one folder.
    const rowsOf = said.map((folder = '') => new RegExp(`^${folder.replaceAll(/<[^>]+>/g, '[^/]+')}$`));
    expect(large.filter((folder) => !rowsOf.some((row) => row.test(folder)))).toEqual([]);
    expect(said.filter((_, at) => ![...counts.keys()].some((folder) => rowsOf[at]?.test(folder)))).toEqual([]);
  });

  it('and README.md lead to every folder at the top', () => {
    const top = new Set(files.filter((file) => file.includes('/')).map((file) => file.slice(0, file.indexOf('/'))));
    const shown = [...top].filter((folder) => !folder.startsWith('.'));
    const readme = readFileSync(join(PROJECT_ROOT, 'README.md'), 'utf8');
    for (const text of [readme, page])
      expect(
        shown.filter((folder) => !text.split('\n').some((row) => row.split('|')[1]?.includes(`\`${folder}/`))),
      ).toEqual([]);
  });
});
