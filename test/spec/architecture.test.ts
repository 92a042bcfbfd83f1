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

  it('says of every folder of more than ten files, tests aside, what belongs there', () => {
    const counts = new Map<string, number>();
    for (const file of files)
      if (!file.endsWith('.test.ts') && file.includes('/'))
        counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
    const large = [...counts].filter(([, count]) => count > 10).map(([folder]) => folder);
    expect(large.length).toBeGreaterThan(10);
    expect(large.filter((folder) => !page.includes(`\`${folder}/`))).toEqual([]);
  });
});
