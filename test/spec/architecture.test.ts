import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';

const page = readFileSync(join(PROJECT_ROOT, 'ARCHITECTURE.md'), 'utf8');
const files = execFileSync('git', ['ls-files'], { cwd: PROJECT_ROOT, encoding: 'utf8' }).split('\n').filter(Boolean);

describe('ARCHITECTURE.md', () => {
  it('leads to every page of docs/architecture', () => {
    const pages = files.filter((file) => file.startsWith('docs/architecture/'));
    expect(pages.filter((file) => !page.includes(`](${file})`))).toEqual([]);
  });

  it('counts the main files of an allow, which are there', () => {
    const [, count, folders, list = ''] =
      /The main files of an allow, .*: (\d+) files in (\d+) folders\.\n\n((?: {4}.*\n)+)/.exec(page) ?? [];
    const named = list
      .trim()
      .split('\n')
      .map((line) => line.trim().split(' ', 1)[0] ?? '');
    expect(named.filter((file) => !files.includes(file))).toEqual([]);
    expect([named.length, new Set(named.map((file) => dirname(file))).size]).toEqual([Number(count), Number(folders)]);
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
