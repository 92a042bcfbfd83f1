import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { compiledScript } from './threads.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gate-compiled-script-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const at = (...path: string[]): URL => pathToFileURL(join(root, ...path));

describe('the program of a thread', () => {
  it.each([
    ['the sources', ['adapters', 'policy', 'policy-thread.js']],
    ['what was compiled from them', ['dist', 'adapters', 'policy', 'policy-thread.js']],
  ])('is the one file that the build made of it, for %s', (_, module) => {
    mkdirSync(join(root, 'dist', 'threads'), { recursive: true });
    writeFileSync(join(root, 'dist', 'threads', 'policy-thread.js'), '');
    expect(compiledScript(at(...module))).toEqual(at('dist', 'threads', 'policy-thread.js'));
  });

  it.each([
    ['the sources', ['adapters', 'policy', 'policy-thread.js']],
    ['what was compiled from them', ['dist', 'adapters', 'policy', 'policy-thread.js']],
  ])('is the compiled module where only that was made, for %s', (_, module) => {
    expect(compiledScript(at(...module))).toEqual(at('dist', 'adapters', 'policy', 'policy-thread.js'));
  });

  it('is found in the same way for a thread of workflows', () => {
    mkdirSync(join(root, 'dist', 'threads'), { recursive: true });
    writeFileSync(join(root, 'dist', 'threads', 'workflow-thread.js'), '');
    expect(compiledScript(at('dist', 'workers', 'workflow-thread.js'))).toEqual(
      at('dist', 'threads', 'workflow-thread.js'),
    );
  });

  it('is what lies beside it in the single executable', () => {
    expect(compiledScript(at('program', 'policy-thread.js'))).toEqual(at('program', 'policy-thread.js'));
    for (const folder of ['workers', 'adapters'])
      expect(compiledScript(at(folder, 'x', 'program', 'policy-thread.js'))).toEqual(
        at(folder, 'x', 'program', 'policy-thread.js'),
      );
  });
});
