import { beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readUpstreams } from '../../config/upstreams.js';
import { PREPARE_SETTINGS } from '../../config/prepare.js';
import { settingLines, type SettingLine } from '../../config/setting-lines.js';
import { APART_SETTINGS } from '../../stack/process-settings.js';
import type { ProcessName } from '../../stack/services.js';
import { DEPLOYMENT_FOLDERS, writeDeploymentFiles } from '../../stack/certificates/deployment-files.js';
import { printedCompose } from '../../scripts/compose-file.js';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { OPA_VERSION } from '../../stack/programs/find-program.js';
import { DYNAMIC_CONFIG } from '../../stack/programs/temporal-server.js';
import { type ComposeService, filesOf, gateServices, readCompose, VARIABLE } from '../support/compose.js';

const compose = readCompose();
const service = (name: string): ComposeService => compose.services[name] as ComposeService;
const deploy = (name: string): string => readFileSync(join(PROJECT_ROOT, 'deploy', 'temporal', name), 'utf8');

/** The settings that a service's command reads. */
function settingsOf({ command = [], entrypoint }: ComposeService): readonly SettingLine[] | null {
  if (entrypoint) return null;
  const [verb, what] = command;
  if (verb === 'serve') return settingLines(APART_SETTINGS[what as ProcessName]);
  if (verb === 'worker') return settingLines(APART_SETTINGS.worker);
  if (verb === 'prepare') return settingLines({ [String(what)]: PREPARE_SETTINGS[what as 'database' | 'engine'] });
  return null;
}
const configured = gateServices(compose).flatMap(([name, found]) => {
  const lines = settingsOf(found);
  return lines ? [{ name, service: found, lines, env: found.environment ?? {} }] : [];
});

let files: ReadonlyMap<string, readonly string[]>;
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gate-compose-'));
  try {
    await writeDeploymentFiles({
      stateDir: join(folder, 'state'),
      into: join(folder, 'out'),
      trustDomain: 'gate.local',
      hosts: ['proxy'],
      database: 'postgres:5432/gate',
    });
    files = new Map(DEPLOYMENT_FOLDERS.map((name) => [name, readdirSync(join(folder, 'out', name))]));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

describe('docker-compose.yml', () => {
  it('has of every service what its declaration says (`npm run reference` prints it)', () => {
    expect(printedCompose(compose.text)).toBe(compose.text);
  });

  it('starts every process of Gate', () => {
    expect(configured.map(({ name }) => name)).toEqual(
      expect.arrayContaining([...Object.keys(APART_SETTINGS), 'prepare-database', 'prepare-engine']),
    );
  });

  it.each(configured.map((each) => [each.name, each] as const))(
    'gives %s every required setting, and none it does not read',
    (_name, { lines, env }) => {
      const given = Object.keys(env).filter((variable) => variable !== 'GATE_HEALTHCHECK_URL');
      const known = new Map(
        lines.flatMap((line) => [
          [line.variable, line.variable],
          ...(line.secret ? [[`${line.variable}_FILE`, line.variable] as const] : []),
        ]) as [string, string][],
      );
      expect(given.filter((variable) => !known.has(variable))).toEqual([]);
      const set = new Set(given.map((variable) => known.get(variable)));
      expect(lines.filter((line) => line.default === 'required' && !set.has(line.variable))).toEqual([]);
      // A secret in the environment is seen by whoever may look at the container.
      expect(given.filter((variable) => lines.some((line) => line.secret && line.variable === variable))).toEqual([]);
    },
  );

  it.each(gateServices(compose).map(([name, found]) => [name, found] as const))(
    'mounts into %s its own folder alone, with every file it names',
    (_name, found) => {
      const folder = filesOf(found);
      const named = [...JSON.stringify(found.environment ?? {}).matchAll(/\/run\/gate\/([\w.-]+)/g)].map((m) => m[1]);
      if (folder === null) return expect(named).toEqual([]);
      expect(files.get(folder)).toEqual(expect.arrayContaining(named));
      expect((found.volumes ?? []).filter((volume) => volume.includes('-files'))).toHaveLength(1);
    },
  );

  it('lets the engine and Postgres find the files they name', () => {
    for (const [folder, text] of [
      ['temporal', deploy('config.yaml') + deploy('schema.sh')],
      ['postgres', JSON.stringify(service('postgres').environment)],
      ['temporal-ui', JSON.stringify(service('temporal-ui').environment)],
    ] as const) {
      const named = [...text.matchAll(/\/run\/gate\/([\w.-]+)/g)].map((match) => match[1]);
      expect(named.length).toBeGreaterThan(0);
      expect(files.get(folder)).toEqual(expect.arrayContaining(named));
    }
  });

  it('tells identity all that the console is told of how people sign in, as far as it reads that', () => {
    const of = (name: string) => configured.find((each) => each.name === name);
    const [identity, atConsole] = [of('identity'), of('console')];
    const both = (identity?.lines ?? [])
      .map(({ variable }) => variable)
      .filter(
        (variable) =>
          variable.startsWith('GATE_CONSOLE_') && atConsole?.lines.some((line) => line.variable === variable),
      );
    expect(both).toEqual(expect.arrayContaining(['GATE_CONSOLE_AUTH', 'GATE_CONSOLE_ADMIN_TENANT']));
    for (const variable of both) {
      expect([variable, identity?.env[variable]]).toEqual([variable, expect.any(String)]);
      expect([variable, identity?.env[variable]]).toEqual([variable, atConsole?.env[variable]]);
    }
  });

  it('checks the health of each process where its settings put it', () => {
    for (const { name, lines, env } of configured) {
      const port = lines.find(({ variable }) => variable.endsWith('_HEALTH_PORT'))?.default;
      if (port !== undefined)
        expect([name, env['GATE_HEALTHCHECK_URL']]).toEqual([name, `http://127.0.0.1:${port}/health`]);
    }
  });

  it('calls services on their default ports', () => {
    const ports: Record<string, string | undefined> = Object.fromEntries(
      configured.map(({ name, lines }) => [
        name,
        lines.find(({ variable }) => /^GATE_[A-Z]+_PORT$/.test(variable))?.default,
      ]),
    );
    const urls = configured
      .flatMap(({ env }) =>
        Object.values(env).flatMap((value) => [...String(value).matchAll(/https:\/\/([a-z-]+):(\d+)/g)]),
      )
      .filter(([, host]) => host !== 'localhost');
    expect(urls.length).toBeGreaterThan(4);
    for (const [, host, port] of urls) expect([host, port]).toEqual([host, ports[host as string]]);
  });

  it('publishes the proxy, identity, the console, and the engine’s pages on loopback, and nothing else', () => {
    const published = Object.entries(compose.services).flatMap(([name, { ports = [] }]) =>
      ports.map((port) => [name, port]),
    );
    expect(published).toEqual([
      ['temporal-ui', '127.0.0.1:8233:8080'],
      ['proxy', '127.0.0.1:8443:8443'],
      ['identity', '127.0.0.1:8086:8086'],
      ['console', '127.0.0.1:8085:8085'],
    ]);
  });

  it('keeps services, engine and database on networks without a way out', () => {
    expect(
      Object.entries(compose.networks)
        .filter(([, network]) => network.internal)
        .map(([name]) => name),
    ).toEqual(['services', 'engine', 'data']);
    expect(service('brain').networks).toEqual(['services']);
    expect(
      Object.entries(compose.services)
        .filter(([, { networks }]) => networks?.includes('edge'))
        .map(([name]) => name),
    ).toEqual(['temporal-ui', 'proxy', 'identity', 'console']);
  });

  it('runs Gate without privileges, on a root that is not written, with time to finish what it began', () => {
    for (const [name, found] of gateServices(compose)) {
      expect([name, found.read_only, found.cap_drop]).toEqual([name, true, ['ALL']]);
      if (name !== 'certificates') expect(found.user).toBeUndefined();
      if (found.restart === 'no') continue;
      const upstreamTimeout = Number(
        settingLines(APART_SETTINGS.proxy).find(({ variable }) => variable === 'GATE_UPSTREAM_TIMEOUT_SECS')?.default,
      );
      expect(Number.parseInt(found.stop_grace_period ?? '0', 10)).toBeGreaterThan(upstreamTimeout);
    }
  });

  it('has a default for every variable, and names them all at its head', () => {
    const headline = compose.text.slice(0, compose.text.indexOf('\nname: gate'));
    const used = [...compose.text.matchAll(VARIABLE)].map(([whole, name, fallback]) => ({
      name,
      fallback: whole.includes(':+') ? 'empty' : fallback,
    }));
    expect(used.filter(({ fallback }) => !fallback)).toEqual([]);
    for (const { name } of used) expect(headline).toContain(name);
    expect(headline).toContain('NOT YET RUN ON A CONTAINER ENGINE');
  });

  it('gives proxy and worker several upstreams from one folder of the operator, where one is named', () => {
    const [entry] = readUpstreams(join(PROJECT_ROOT, 'deploy', 'upstreams', 'upstreams.example.json'));
    expect(entry).toMatchObject({ name: 'tracker', prefix: 'tracker' });
    const several = compose.services;
    for (const name of ['proxy', 'worker'] as const) {
      const lines = compose.text.slice(compose.text.indexOf(`\n  ${name}:\n`)).split('\n\n')[0] ?? '';
      expect(lines).toContain('GATE_UPSTREAM_URL: ${GATE_UPSTREAM_URL-http://tools:9000/mcp}');
      expect(lines).toContain('GATE_UPSTREAMS: ${GATE_UPSTREAMS_FOLDER:+/run/upstreams/upstreams.json}');
      expect(several[name]?.volumes).toContain('./deploy/upstreams:/run/upstreams:ro');
    }
    const mounted = Object.entries(several).filter(([, { volumes = [] }]) => volumes.join().includes('/run/upstreams'));
    expect(mounted.map(([name]) => name)).toEqual(['proxy', 'worker']);
  });

  it('declares every volume, network and dependency it uses', () => {
    for (const { volumes = [], networks = [], depends_on = {} } of Object.values(compose.services)) {
      for (const volume of volumes.map((each) => each.split(':')[0] as string))
        expect(volume.startsWith('./') ? existsSync(join(PROJECT_ROOT, volume)) : volume in compose.volumes).toBe(true);
      for (const network of networks) expect(Object.keys(compose.networks)).toContain(network);
      for (const other of Object.keys(depends_on)) expect(Object.keys(compose.services)).toContain(other);
    }
  });
});

describe('deploy/temporal', () => {
  it('tunes the engine as `gate start` does', () => {
    const values = parse(deploy('dynamic-config.yaml')) as Record<string, { value: unknown }[]>;
    expect(Object.fromEntries(Object.entries(values).map(([name, [first]]) => [name, first?.value]))).toEqual(
      DYNAMIC_CONFIG,
    );
  });

  it('asks for a certificate on every listener of the engine', () => {
    const { global } = parse(deploy('config.yaml')) as {
      global: { tls: Record<'internode' | 'frontend', { server: { requireClientAuth: boolean } }> };
    };
    expect(global.tls.internode.server.requireClientAuth).toBe(true);
    expect(global.tls.frontend.server.requireClientAuth).toBe(true);
  });
});

describe('Dockerfile', () => {
  const dockerfile = readFileSync(join(PROJECT_ROOT, 'Dockerfile'), 'utf8');
  it('runs as a user of its own', () => {
    expect(dockerfile).toMatch(/^USER node$/m);
  });
  it('makes the workflow bundle once, and takes with it everything its digest is made of', () => {
    const [build = '', , image = ''] = dockerfile.split(/^FROM node/m).slice(1);
    expect(build).toMatch(/RUN npm run build\n[^]*RUN node bin\/gate\.mjs prepare workflows/);
    // The user below reads it, and the folder is for its owner alone.
    expect(image).toMatch(/^COPY --from=build --chown=node:node \/app\/\.cache\/workflows \.\/\.cache\/workflows$/m);
    expect(image).toMatch(/^COPY package\.json package-lock\.json \.\/$/m);
    expect(image).toMatch(/^COPY --from=build \/app\/dist \.\/dist$/m);
    expect(new Set(dockerfile.match(/^FROM node\S+/gm)).size).toBe(1);
    expect(new Set(dockerfile.match(/^WORKDIR \S+/gm)).size).toBe(1);
  });
  it('has the compiler of policies that Gate builds elsewhere, where the policy engine finds it', () => {
    const [stage = ''] = dockerfile.split(/^FROM /m).slice(1);
    expect(stage).toMatch(/^golang:\S+ AS opa$/m);
    expect(stage).toContain(`ARG OPA_VERSION=${OPA_VERSION}\n`);
    expect(stage).toMatch(
      /^RUN CGO_ENABLED=0 GOBIN=\/out go install .* github\.com\/open-policy-agent\/opa@\$\{OPA_VERSION\}$/m,
    );
    // On the PATH of Node's image; the engine has no folder of its own for it.
    expect(dockerfile).toMatch(/^COPY --from=opa \/out\/opa \/usr\/local\/bin\/opa$/m);
    const policyEngine = service('policy-engine');
    expect(Object.keys(policyEngine.environment ?? {})).not.toContain('PATH');
    // It compiles in a folder of its own.
    expect(policyEngine.tmpfs).toContain('/tmp');
  });
  it('copies what the build context holds', () => {
    const context = new Set(
      readFileSync(join(PROJECT_ROOT, '.dockerignore'), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('!'))
        .map((line) => line.slice(1)),
    );
    const sources = (JSON.parse(readFileSync(join(PROJECT_ROOT, 'tsconfig.json'), 'utf8')) as { include: string[] })
      .include;
    for (const source of [
      ...sources,
      'policies',
      'personas',
      'qualification',
      'bin',
      'package.json',
      'package-lock.json',
    ])
      expect([source, context.has(source)]).toEqual([source, true]);
    expect(context.has('.gate')).toBe(false);
  });
});
