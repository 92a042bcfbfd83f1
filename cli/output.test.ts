import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../config/project-root.js';
import { gateCommand, wrapped } from './output.js';

describe('a text wrapped into a cell', () => {
  it('is whole, in lines that fit, broken between words and inside those that are longer', () => {
    const text = `Review: money waits for a person ${'x'.repeat(45)} end`;
    const lines = wrapped(text, 20).split('\n');
    expect(lines).toEqual(['Review: money waits', 'for a person', 'x'.repeat(20), 'x'.repeat(20), 'xxxxx end']);
  });

  it.each(['', 'short', 'a  b'])('leaves %j as it is', (text) => expect(wrapped(text, 20)).toBe(text));
});

describe('how gate is typed, in commands that are printed', () => {
  it.each(['.', 'docs/how-to'])("is npx gate in Gate's folder: %s", (folder) =>
    expect(gateCommand(join(PROJECT_ROOT, folder), '/opt/gate/bin/gate.mjs')).toBe('npx gate'),
  );

  it.each([
    ['/opt/gate/bin/gate.mjs', '/opt/gate/bin/gate.mjs'],
    ["/home/o'neil/my gate", String.raw`'/home/o'\''neil/my gate'`],
  ])("is the program itself elsewhere, where npx would fetch somebody else's: %s", (program, typed) => {
    for (const folder of [tmpdir(), `${PROJECT_ROOT}-other`, join(PROJECT_ROOT, '..')])
      expect(gateCommand(folder, program)).toBe(typed);
  });
});
