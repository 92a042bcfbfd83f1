import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { ConfigError, csv, port, readConfig, readGroups, setting } from './env.js';

const SETTINGS = {
  port: setting('GATE_X_PORT', port(8443), 'A port.'),
  list: setting('GATE_X_LIST', csv, 'A list.'),
  key: setting('GATE_X_KEY', z.string().min(8), 'A key.', { secret: true }),
} as const;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-env-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const faultsOf = (read: () => unknown): readonly string[] => {
  try {
    read();
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
  return [];
};

describe('the settings of a process', () => {
  it('are typed, defaulted and frozen', () => {
    const config = readConfig('x', SETTINGS, { GATE_X_LIST: 'a, b,', GATE_X_KEY: 'not-a-placeholder' });
    expect(config).toEqual({ port: 8443, list: ['a', 'b'], key: 'not-a-placeholder' });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('name every fault at once, and repeat no secret', () => {
    const faults = faultsOf(() => readConfig('x', SETTINGS, { GATE_X_PORT: '70000', GATE_X_KEY: 'short' }));
    expect(faults).toHaveLength(2);
    expect(faults[0]).toMatch(/^GATE_X_PORT: .*"70000"/);
    expect(faults[1]).toMatch(/^GATE_X_KEY: /);
    expect(faults.join()).not.toContain('short"');
  });

  it('take an empty variable for one that is not set', () => {
    expect(faultsOf(() => readConfig('x', SETTINGS, { GATE_X_PORT: '', GATE_X_KEY: '' }))).toEqual([
      'GATE_X_KEY: is not set',
    ]);
  });

  it.each(['changeme', 'password', 'xxxxxxxxxx', 'aaaaaaaaaa'])('refuse the placeholder %s', (GATE_X_KEY) => {
    expect(faultsOf(() => readConfig('x', SETTINGS, { GATE_X_KEY }))[0]).toContain('placeholder');
  });

  it('share a fault between groups that read the same variable', () => {
    const groups = { one: { key: SETTINGS.key }, two: SETTINGS };
    expect(faultsOf(() => readGroups('x', groups, {}))).toEqual(['GATE_X_KEY: is not set']);
    expect(readGroups('x', groups, { GATE_X_KEY: 'not-a-placeholder' }).one.key).toBe('not-a-placeholder');
  });
});

describe('a secret in a file', () => {
  it('is read from <variable>_FILE, without the newline at its end', async () => {
    const file = join(folder, 'key');
    await writeFile(file, 'from-the-file-1\n');
    expect(readConfig('x', SETTINGS, { GATE_X_KEY_FILE: file }).key).toBe('from-the-file-1');
  });

  it('is a fault when the variable is set too', () => {
    const env = { GATE_X_KEY: 'not-a-placeholder', GATE_X_KEY_FILE: join(folder, 'key') };
    expect(faultsOf(() => readConfig('x', SETTINGS, env))).toEqual(['GATE_X_KEY: set it or GATE_X_KEY_FILE, not both']);
  });

  it('is a fault when the file cannot be read, holds nothing, or holds a placeholder', async () => {
    const missing = join(folder, 'missing');
    expect(faultsOf(() => readConfig('x', SETTINGS, { GATE_X_KEY_FILE: missing }))).toEqual([
      `GATE_X_KEY_FILE: ${missing} cannot be read (ENOENT)`,
    ]);
    const file = join(folder, 'other');
    await writeFile(file, '\n');
    expect(faultsOf(() => readConfig('x', SETTINGS, { GATE_X_KEY_FILE: file }))).toEqual(['GATE_X_KEY: is not set']);
    await writeFile(file, 'changeme\n');
    expect(faultsOf(() => readConfig('x', SETTINGS, { GATE_X_KEY_FILE: file }))[0]).toContain('placeholder');
  });

  it('is no way for a setting that is no secret', () => {
    expect(
      readConfig('x', SETTINGS, { GATE_X_PORT_FILE: join(folder, 'missing'), GATE_X_KEY: 'not-a-placeholder' }).port,
    ).toBe(8443);
  });
});
