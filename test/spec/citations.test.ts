import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const ROOT = new URL('../../', import.meta.url).pathname;
/** Folders whose comments have been read with this in mind; add the next. */
const READ = [
  'policies',
  'personas',
  'domain/inspection',
  'domain/pipeline',
  'domain/policy',
  'domain/shell',
  'domain/sql',
  'api/brain',
  'api/policy',
];
const CITATION = /\b(?:spec|sheet|SPEC) \d|\b(?:brain|policy|proxy|ledger|identity|lite|SDK) sheet\b|\bDESIGN\b/i;

describe('comments and names of tests', () => {
  it('cite nothing that a reader of the repository cannot open', () => {
    const files = execFileSync('git', ['ls-files', ...READ], { cwd: ROOT, encoding: 'utf8' })
      .split('\n')
      .filter((file) => /\.(?:ts|rego|yaml|json|md)$/.test(file));
    expect(files.length).toBeGreaterThan(100);
    const citing = files.flatMap((file) =>
      readFileSync(`${ROOT}${file}`, 'utf8')
        .split('\n')
        .flatMap((line, at) => (CITATION.test(line) ? [`${file}:${at + 1}: ${line.trim()}`] : [])),
    );
    expect(citing).toEqual([]);
  });
});
