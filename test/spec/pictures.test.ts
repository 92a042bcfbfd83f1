import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../../config/project-root.js';

const files = execFileSync('git', ['ls-files'], { cwd: PROJECT_ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => existsSync(join(PROJECT_ROOT, file)));
const read = (file: string): string => readFileSync(join(PROJECT_ROOT, file), 'utf8');
const textOf = (of: RegExp): string =>
  files
    .filter((file) => of.test(file))
    .map(read)
    .join('\n');

const pictures = files.filter((file) => /\.(?:png|jpe?g|gif|webp)$/.test(file) && !file.startsWith('test/'));
const tests = textOf(/^test\/e2e\/.*\.ts$/);
const documents = textOf(/\.md$/);

describe('the pictures of README and the documents', () => {
  it.each(pictures)('%s is taken by a browser test, and a document shows it', (picture) => {
    expect(picture).toMatch(/^docs\/images\/[\w-]+\.png$/);
    expect(tests).toContain(`'${basename(picture, '.png')}'`);
    expect(documents).toContain(`images/${basename(picture)})`);
  });

  it('are all that the browser tests take', () => {
    const taken = [...tests.matchAll(/\bpictured\(\w+, '([\w-]+)'\)/g)].map(([, name]) => `docs/images/${name}.png`);
    expect(taken).not.toEqual([]);
    expect(taken.filter((picture) => !pictures.includes(picture))).toEqual([]);
  });
});
