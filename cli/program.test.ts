import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PROJECT_ROOT } from '../config/project-root.js';

/** Prints every loaded file to standard error, one per line. */
const TELL_FILES = `data:text/javascript,${encodeURIComponent(`
  import { register } from 'node:module';
  register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(`
    import { writeSync } from 'node:fs';
    export async function load(url, context, next) { writeSync(2, 'loaded ' + url + '\\n'); return next(url, context); }
  `)}));
`)}`;

/** The compiled command: of the files that the build makes of it, none says which modules it holds. */
function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', TELL_FILES, join(PROJECT_ROOT, 'dist/cli/main.js'), ...args],
    { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '' } },
  );
  const lines = stderr.split('\n');
  return {
    status,
    out: stdout + lines.filter((line) => !line.startsWith('loaded ')).join('\n'),
    loaded: lines.filter((line) => line.startsWith('loaded ')).map((line) => line.slice('loaded '.length)),
  };
}

/** Every file that a module loads. */
function filesOf(module: string): readonly string[] {
  const code = `await import(${JSON.stringify(pathToFileURL(module).href)})`;
  const { stderr } = spawnSync(process.execPath, ['--import', TELL_FILES, '--input-type=module', '-e', code], {
    encoding: 'utf8',
  });
  return stderr
    .split('\n')
    .filter((line) => line.startsWith('loaded '))
    .map((line) => line.slice('loaded '.length));
}

const root = pathToFileURL(PROJECT_ROOT).href;
const packagesOf = (loaded: readonly string[]) =>
  new Set(loaded.map((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]).filter(Boolean));
/** Packages of the services. Commands that only call services must not load them. */
const SERVERS = ['fastify', '@temporalio/client', '@temporalio/worker', 'kysely', 'pg', '@open-policy-agent/opa-wasm'];

describe('a command loads what it needs, and no more', () => {
  it.each(['pending', 'decide', 'audit', 'verify', 'checkpoint', 'prove', 'narrative', 'backup', 'start'])(
    'gate %s --help: its own file, and nothing that services are made of',
    (name) => {
      const { status, out, loaded } = run(name, '--help');
      expect({ status, out: out.split('\n')[0] }).toEqual({
        status: 0,
        out: expect.stringContaining(`Usage: gate ${name}`),
      });
      expect([...packagesOf(loaded)].filter((found) => SERVERS.includes(String(found)))).toEqual([]);
      const others = loaded.filter((url) => url.startsWith(`${root}/dist/cli/`)).map((url) => url.split('/').at(-1));
      expect(others).toContain(`${name}.js`);
      expect(others.length).toBeLessThanOrEqual(15);
    },
  );

  it('gate start --help says on which ports it is reached, and how to move them', () => {
    expect(run('start', '--help').out).toMatch(
      /8443 \(GATE_PROXY_PORT\).* 8085 \(GATE_CONSOLE_PORT\)[^]*0 takes a free port/,
    );
  });

  it('gate --help says what each exit code means', () => {
    const { out } = run('--help');
    for (const code of [
      '0  done',
      '1  failed',
      '2  wrong usage',
      '3  who asks may not',
      '4  there is no such',
      '5  no Gate answers',
    ])
      expect(out).toContain(`\n  ${code}`);
  });

  it.each([
    ['decide x', 'gate decide --help says how it is used; gate --help lists the commands'],
    ['tools set a', 'gate tools set --help says how it is used; gate tools --help lists the commands'],
    // What is no command of a group is taken for an argument of the one that it runs unless told otherwise.
    ['tools nope', 'gate tools list --help says how it is used; gate tools --help lists the commands'],
    ['start --nope', 'gate start --help says how it is used; gate --help lists the commands'],
    ['nope', 'gate --help lists the commands'],
  ])('a wrong use, gate %s, is told whose help says how', (line, hint) => {
    const { status, out } = run(...line.split(' '));
    expect({ status, said: out.trimEnd().split('\n').at(-1) }).toEqual({ status: 2, said: `(${hint})` });
  });

  it('knows every command that a page names', () => {
    const known = new Set([...run('--help').out.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name]) => name));
    const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: PROJECT_ROOT, encoding: 'utf8' }).trim().split('\n');
    const named = pages.flatMap((page) =>
      [...readFileSync(join(PROJECT_ROOT, page), 'utf8').matchAll(/(?:`|npx )gate ([a-z][a-z-]*)/g)].map(
        ([, name]) => `${page}: ${name}`,
      ),
    );
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter((one) => !known.has(one.split(': ')[1]))).toEqual([]);
  });

  it.each(['pending', 'decide', 'approvals'])('gate %s --help has examples of its own flags', (name) => {
    const { out } = run(name, '--help');
    expect(out).not.toContain('(default: [])');
    const examples = out.split('\n').filter((line) => line.startsWith(`  gate ${name}`));
    expect(examples.length).toBeGreaterThanOrEqual(3);
    const flags = examples.flatMap((line) => line.match(/ --[a-z-]+/g) ?? []);
    expect(flags.length).toBeGreaterThan(1);
    // Each stands above, with what it means behind it.
    for (const flag of flags) expect(out).toMatch(new RegExp(`^ {2}${flag.trim()}(?: <[^>]+>)? {2,}\\S`, 'm'));
  });

  it.each([
    ['start', 'gate start'],
    ['serve', 'gate serve <service>'],
    ['worker', 'gate worker'],
  ])('gate %s --help says where its settings stand', (name, heading) => {
    expect(run(name, '--help').out).toContain(
      `docs/reference/settings.md has each, with its meaning and default, under\n"${heading}"`,
    );
    const page = readFileSync(join(PROJECT_ROOT, 'docs/reference/settings.md'), 'utf8');
    expect(page).toContain(`\n## ${heading.replace('<service>', 'hil')}\n`);
  });

  // Run for real, in a folder without a running stack: this measures what a command loads when it acts, not only for its help.
  it.each([
    'doctor',
    'config --check',
    'pins',
    'pins diff acme/support-bot',
    'tools',
    'pending',
    'verify',
    `decide ${randomUUID()} approve`,
    `audit ${randomUUID()}`,
  ])('gate %s, acting: nothing that services are made of, and few files', (line) => {
    const { loaded } = run(...line.split(' '));
    expect([...packagesOf(loaded)].filter((found) => SERVERS.includes(String(found)))).toEqual([]);
    // zod alone is nearly a hundred of them.
    expect(loaded.length).toBeLessThan(260);
  });

  it('what a start loads before the engine’s process begins is little', () => {
    const loaded = filesOf(join(PROJECT_ROOT, 'dist/stack/development.js'));
    expect([...packagesOf(loaded)].filter((found) => [...SERVERS, 'undici', 'yaml'].includes(String(found)))).toEqual(
      [],
    );
    expect(loaded.length).toBeLessThan(260);
  });

  it('gate --help lists every command, and loads nothing that services are made of', () => {
    const { status, out, loaded } = run('--help');
    expect(status).toBe(0);
    const declared = readdirSync(join(PROJECT_ROOT, 'cli'))
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .flatMap((file) => [
        ...readFileSync(join(PROJECT_ROOT, 'cli', file), 'utf8').matchAll(/\n {2}program\n {4}\.command\('([\w-]+)'/g),
      ])
      .map(([, name]) => name);
    expect(declared.length).toBeGreaterThan(15);
    for (const name of declared) expect(out).toMatch(new RegExp(`^  ${name} `, 'm'));
    expect([...packagesOf(loaded)].filter((found) => SERVERS.includes(String(found)))).toEqual([]);
  });

  it('a name that is no command is wrong usage, with the nearest one', () => {
    expect(run('pendin')).toMatchObject({ status: 2, out: expect.stringContaining('Did you mean pending?') });
    expect(run('approve')).toMatchObject({ status: 2, out: expect.stringContaining('gate decide <id> approve') });
    expect(run('reject')).toMatchObject({ status: 2, out: expect.stringContaining('gate decide <id> deny') });
    // Property names of every object are not commands.
    expect(run('constructor')).toMatchObject({ status: 2, out: expect.stringContaining('unknown command') });
  });
});

describe('bin/gate.mjs starts', () => {
  let folder: string;
  const program = (name: string, text: string, minute: number) => {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    utimesSync(file, minute * 60, minute * 60);
  };
  const started = () =>
    spawnSync(process.execPath, [join(folder, 'bin', 'gate.mjs')], { encoding: 'utf8' }).stdout.trim();
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gate-program-'));
    cpSync(join(PROJECT_ROOT, 'bin', 'gate.mjs'), join(folder, 'bin', 'gate.mjs'));
    program('package.json', '{ "type": "module" }', 1);
    program('dist/cli/main.js', "console.log('compiled')", 1);
    program('dist/.tsbuildinfo', '{}', 5);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('the few files that the build made of the command', () => {
    program('dist/program/main.js', "console.log('bundled')", 6);
    expect(started()).toBe('bundled');
  });

  it('the compiled modules where they are newer, or where nothing was made of them yet', () => {
    expect(started()).toBe('compiled');
    program('dist/program/main.js', "console.log('bundled')", 4);
    expect(started()).toBe('compiled');
  });
});
