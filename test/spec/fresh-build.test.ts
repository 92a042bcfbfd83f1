import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';

const read = (file: string): string => readFileSync(join(PROJECT_ROOT, file), 'utf8');

it('compiles in a fresh clone by the compiler alone: packages of the repository are read from their source, which is there before they are built', () => {
  const { paths = {} } = (
    JSON.parse(read('tsconfig.json')) as { compilerOptions: { paths?: Record<string, readonly string[]> } }
  ).compilerOptions;
  // Tests write programs that import packages as text, which nobody compiles.
  const sources = execFileSync('git', ['ls-files', '*.ts', '*.tsx', ':!*.test.ts', ':!console/browser'], {
    cwd: PROJECT_ROOT,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(PROJECT_ROOT, file)));
  const imported = new Set(
    sources.flatMap((file) => [...read(file).matchAll(/from '(@gate\/[^']+)'/g)].map(([, name]) => name as string)),
  );
  expect(imported).toContain('@gate/agent-sdk');
  for (const name of imported) {
    expect(Object.keys(paths)).toContain(name);
    for (const source of paths[name] ?? []) {
      expect(source).not.toContain('/dist/');
      expect(existsSync(join(PROJECT_ROOT, source))).toBe(true);
    }
  }
});
