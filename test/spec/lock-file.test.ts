import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../config/project-root.js';

interface Entry {
  version?: string;
  integrity?: string;
  link?: boolean;
  optional?: boolean;
  dev?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}
interface Lock {
  packages: Record<string, Entry>;
}

const text = readFileSync(join(PROJECT_ROOT, 'package-lock.json'), 'utf8');
/** What is not under node_modules is of this repository. */
const packages = Object.entries((JSON.parse(text) as Lock).packages).filter(
  ([where, { link }]) => where.includes('node_modules/') && !link,
);

/** Where Gate is built, and where it is run: an image has no packages that only tests need. */
const SUPPORTED = [
  { what: 'a build on x64', cpu: 'x64', development: true },
  { what: 'an image for x64', cpu: 'x64', development: false },
  { what: 'an image for arm64', cpu: 'arm64', development: false },
];
const fits = (values: string[] | undefined, value: string): boolean => !values || values.includes(value);
const installedIn = (machine: (typeof SUPPORTED)[number], { os, cpu, libc, dev }: Entry): boolean =>
  fits(os, 'linux') && fits(cpu, machine.cpu) && fits(libc, 'glibc') && (machine.development || !dev);

describe('package-lock.json', () => {
  it.each(SUPPORTED)('has a hash for every package of $what', (machine) => {
    const installed = packages.filter(([, entry]) => installedIn(machine, entry));
    expect(installed.length).toBeGreaterThan(machine.development ? 600 : 200);
    for (const [where, { integrity }] of installed) {
      expect([where, integrity]).toEqual([where, expect.stringMatching(/^sha512-[A-Za-z0-9+/]{86}==$/)]);
    }
  });

  it('has none only for optional packages of other platforms, in one exact version', () => {
    for (const [where, entry] of packages.filter(([, { integrity }]) => !integrity)) {
      expect([where, entry.optional, SUPPORTED.some((machine) => installedIn(machine, entry))]).toEqual([
        where,
        true,
        false,
      ]);
      expect(entry.version).toMatch(/^\d+\.\d+\.\d+/);
    }
  });
});

describe('scripts/complete-lock.mjs', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gate-lock-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const run = (lock: string, ...options: string[]) => {
    const file = join(folder, 'package-lock.json');
    writeFileSync(file, lock);
    const ended = spawnSync(process.execPath, [join(PROJECT_ROOT, 'scripts/complete-lock.mjs'), ...options, file], {
      encoding: 'utf8',
    });
    return { status: ended.status, said: ended.stderr, lock: readFileSync(file, 'utf8') };
  };
  const needing = (...names: string[]): string =>
    JSON.stringify({
      packages: {
        '': {},
        'node_modules/native': {
          version: '1.0.0',
          integrity: 'sha512-kept',
          optionalDependencies: Object.fromEntries(names.map((name) => [name, '1.0.0'])),
        },
      },
    });

  it('finds nothing to change in the lock file as it is', () => {
    expect(run(text)).toEqual({ status: 0, said: '', lock: text });
  });

  it('gives a package of another platform an entry', () => {
    const { status, lock } = run(needing('native-darwin-arm64', 'native-linux-x64-musl'));
    expect(status).toBe(0);
    expect(Object.keys((JSON.parse(lock) as Lock).packages)).toEqual([
      '',
      'node_modules/native',
      'node_modules/native-darwin-arm64',
      'node_modules/native-linux-x64-musl',
    ]);
  });

  it.each(['native-linux-x64-gnu', 'native-linux-arm64-gnu', 'native-linux-x64'])(
    'refuses to add %s, which Gate would be installed with, and leaves the file as it was',
    (name) => {
      const before = needing('native-darwin-arm64', name);
      const { status, said, lock } = run(before);
      expect([status, lock]).toEqual([1, before]);
      expect(said).toContain(`node_modules/${name}@1.0.0`);
    },
  );

  it('refuses a lock file whose package for every machine lost its hash', () => {
    const before = JSON.stringify({ packages: { '': {}, 'node_modules/plain': { version: '1.0.0', optional: true } } });
    expect(run(before)).toMatchObject({ status: 1, lock: before });
  });

  it('forgets what has no hash before npm looks again, and nothing else', () => {
    const { lock } = run(text, '--forget');
    const kept = Object.entries((JSON.parse(lock) as Lock).packages);
    const ours = ([where, { link }]: [string, Entry]) => !where.includes('node_modules/') || link;
    expect(kept.filter((entry) => !ours(entry) && !entry[1].integrity)).toEqual([]);
    expect(kept.filter((entry) => !ours(entry)).length).toBe(packages.filter(([, { integrity }]) => integrity).length);
  });
});
