import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parseSync } from '@swc/core';
import { PROJECT_ROOT } from '../../config/project-root.js';

const read = (file: string): string => readFileSync(join(PROJECT_ROOT, file), 'utf8');
const security = read('SECURITY.md');
const model = read('docs/architecture/threat-model.md');

const section = (text: string, title: string): string => {
  const [, found] = text.split(`\n## ${title}\n`);
  if (found === undefined) throw new Error(`no section ${title}`);
  return found.split('\n## ')[0] as string;
};
/** The cells of every row of the section's table, without its head. */
const rowsOf = (text: string, title: string): string[][] =>
  section(text, title)
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()));

const [promises, parts, boundaries] = ['Promises', 'Whom each part trusts', 'Other boundaries'].map((title) =>
  rowsOf(model, title),
) as [string[][], string[][], string[][]];
const references = [...model.matchAll(/`([^`]+\.ts)` “([^”]+)”/g)].map(
  ([, file, title]) => [file as string, title as string] as const,
);

type Node = Readonly<Record<string, unknown>> & { readonly type?: string };
const text = (node: Node | undefined): string | null =>
  node?.type === 'StringLiteral'
    ? (node['value'] as string)
    : node?.type === 'TemplateLiteral' && (node['expressions'] as unknown[]).length === 0
      ? (node['quasis'] as { cooked: string }[]).map(({ cooked }) => cooked).join('')
      : null;
const word = (node: Node | undefined): string => (typeof node?.['value'] === 'string' ? node['value'] : '');
/** `it`, or `it each` for `it.each(…)(…)`. */
const calledName = (node: Node): string => {
  const below = node['callee'] ?? node['object'] ?? node['tag'] ?? node['expression'];
  return below ? `${calledName(below as Node)} ${word(node['property'] as Node | undefined)}` : word(node);
};

/** The titles of the tests in a file, and of cases that it gives to one by `name`; what is skipped is no test. */
function titlesIn(file: string): ReadonlySet<string> {
  const titles = new Set<string>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (node === null || typeof node !== 'object') return;
    const found = node as Node;
    if (found.type === 'CallExpression') {
      const name = calledName(found['callee'] as Node);
      if (/^(?:xit|xtest|xdescribe|fit|fdescribe)\b|\b(?:skip|todo|failing)\b/.test(name)) return;
      const [first] = found['arguments'] as { expression: Node }[];
      const title = /^(?:it|test|describe)\b/.test(name) ? text(first?.expression) : null;
      if (title !== null) titles.add(title);
    }
    if (found.type === 'KeyValueProperty' && (found['key'] as Node)['value'] === 'name') {
      const title = text(found['value'] as Node);
      if (title !== null) titles.add(title);
    }
    Object.values(found).forEach(visit);
  };
  visit(parseSync(read(file), { syntax: 'typescript', target: 'es2022' }));
  return titles;
}

describe('docs/architecture/threat-model.md', () => {
  it.each([...new Set(references.map(([file]) => file))])('names tests that are in %s', (file) => {
    expect(existsSync(join(PROJECT_ROOT, file))).toBe(true);
    const titles = titlesIn(file);
    const named = references.filter(([one]) => one === file).map(([, title]) => title);
    expect(named.filter((title) => !titles.has(title))).toEqual([]);
  });

  it('has rows for every numbered promise of SECURITY.md, and for no other', () => {
    const numbered = [...section(security, 'What Gate promises').matchAll(/^(\d+)\. \*\*/gm)].map(
      ([, number]) => number,
    );
    expect(numbered.length).toBeGreaterThan(4);
    expect([...new Set(promises.map(([number]) => number))]).toEqual(numbered);
  });

  it('has a row for everybody whom SECURITY.md trusts with something, in its order', () => {
    expect(parts.map(([part]) => part)).toEqual(rowsOf(security, 'Whom each part trusts').map(([part]) => part));
  });

  it('names a test in every row, or says that there is none; every promise has tests', () => {
    const names = (row: string[]): boolean => /`[^`]+\.ts` “/.test(row.at(-1) as string);
    for (const row of [...parts, ...boundaries])
      expect([row[0], names(row) || /\*\*No test\*\*/.test(row.at(-1) as string)]).toEqual([row[0], true]);
    for (const row of promises) expect([row[1], names(row)]).toEqual([row[1], true]);
  });

  it('names no test in a way that this test does not read', () => {
    const cells = [...promises, ...parts, ...boundaries].map((row) => row.at(-1) as string);
    expect(cells.join('\n').match(/“/g)).toHaveLength(references.length);
    expect(references.length).toBeGreaterThan(80);
  });
});
