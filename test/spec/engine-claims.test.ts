import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { prepareNamespace } from '../../stack/programs/temporal-namespace.js';
import { freePort } from '../../stack/programs/free-port.js';
import { ensureDevelopmentPki } from '../../stack/certificates/dev-pki.js';
import { writeDeploymentFiles } from '../../stack/certificates/deployment-files.js';
import { type ClaimsEngine, ENGINE_BUILD_LIMIT_MS, startClaimsEngine } from '../support/claims-engine.js';
import { readCompose } from '../support/compose.js';
import { hasGo } from '../support/go-program.js';
import { needs } from '../support/needs.js';
import { eventually } from '../support/waiting.js';

const PERMISSION_DENIED = 7;
const HOSTS = ['temporal', 'localhost'];
const OTHER = 'another-namespace';
const able = await hasGo();

let folder: string;
let engine: ClaimsEngine;
/** The files of a container. */
const file = (container: string, name: string) => readFileSync(join(folder, 'out', container, name));
let stranger: { readonly cert: Buffer; readonly key: Buffer };
const opened: Connection[] = [];

interface Shown {
  readonly cert: Buffer;
  readonly key: Buffer;
}
const connectedWith = async ({ cert: crt, key }: Shown): Promise<Connection> => {
  const connection = await Connection.connect({
    address: engine.address,
    connectTimeout: '10s',
    tls: {
      serverNameOverride: 'temporal',
      serverRootCACertificate: file('temporal', 'engine-ca.crt'),
      clientCertPair: { crt, key },
    },
  });
  opened.push(connection);
  return connection;
};
const shownBy = (container: string): Shown => ({
  cert: file(container, 'engine.crt'),
  key: file(container, 'engine.key'),
});
const connected = (container: string): Promise<Connection> => connectedWith(shownBy(container));

/** `done`, or the code with which the engine refused. */
const cameOf = async (asked: Promise<unknown>): Promise<'done' | 'denied' | number | undefined> => {
  try {
    await asked;
    return 'done';
  } catch (error) {
    if (!isGrpcServiceError(error)) throw error;
    return error.code === PERMISSION_DENIED ? 'denied' : error.code;
  }
};

/** What a certificate may do, each on the namespace that is named. */
const ASKED = {
  'look at it': ({ workflowService }: Connection, namespace: string) =>
    workflowService.describeNamespace({ namespace }),
  'list runs': ({ workflowService }: Connection, namespace: string) =>
    workflowService.listWorkflowExecutions({ namespace }),
  'begin a run': ({ workflowService }: Connection, namespace: string) =>
    workflowService.startWorkflowExecution({
      namespace,
      workflowId: randomUUID(),
      requestId: randomUUID(),
      workflowType: { name: 'x' },
      taskQueue: { name: 'nobody' },
    }),
  'take work': ({ workflowService }: Connection, namespace: string) =>
    workflowService.respondActivityTaskCompletedById({ namespace, workflowId: 'none', activityId: 'none' }),
  'end runs': ({ workflowService }: Connection, namespace: string) =>
    workflowService.terminateWorkflowExecution({ namespace, workflowExecution: { workflowId: 'none' } }),
  'change it': ({ workflowService }: Connection, namespace: string) =>
    workflowService.updateNamespace({ namespace, updateInfo: { description: 'x' } }),
  'remove it': ({ operatorService }: Connection, namespace: string) =>
    operatorService.removeSearchAttributes({ namespace, searchAttributes: ['None'] }),
} as const satisfies Record<string, (of: Connection, namespace: string) => Promise<unknown>>;
const NAMES = Object.keys(ASKED) as (keyof typeof ASKED)[];
const allowedOf = async (connection: Connection, namespace: string): Promise<string[]> => {
  const allowed: string[] = [];
  for (const name of NAMES) if ((await cameOf(ASKED[name](connection, namespace))) !== 'denied') allowed.push(name);
  return allowed;
};

(able ? describe : describe.skip)(`the workflow engine of docker-compose.yml${needs('go', able)}`, () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gate-engine-claims-'));
    const trustDomain = 'gate.local';
    await writeDeploymentFiles({
      stateDir: join(folder, 'state'),
      into: join(folder, 'out'),
      trustDomain,
      hosts: HOSTS,
      database: 'postgres:5432/gate',
    });
    // Somebody whom the engine's CA certified, and whom the table of roles does not name.
    const { also } = await ensureDevelopmentPki({
      stateDir: join(folder, 'state', 'engine'),
      trustDomain: `engine.${trustDomain}`,
      hosts: HOSTS,
      also: ['stranger'],
    });
    stranger = {
      cert: Buffer.from(also['stranger']?.cert ?? ''),
      key: Buffer.from(also['stranger']?.key ?? ''),
    };
    engine = await startClaimsEngine({
      folder: join(folder, 'engine'),
      files: join(folder, 'out', 'temporal'),
      port: await freePort(),
    });
    // As `gate prepare engine`, which asks until the engine knows the namespace that it made.
    const prepared = (as: Connection, namespace: string) =>
      eventually('the engine knows the namespace', () =>
        prepareNamespace(as, namespace).then(
          () => true,
          () => false,
        ),
      );
    await prepared(await connected('prepare'), 'gate');
    await prepared(await connected('temporal'), OTHER);
    const worker = await connected('worker');
    await eventually('the namespace is known everywhere', async () => {
      const of = await cameOf(ASKED['begin a run'](worker, 'gate'));
      return of === 'done';
    });
  }, ENGINE_BUILD_LIMIT_MS);
  afterAll(async () => {
    for (const connection of opened) await connection.close();
    await engine?.stop();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });

  it.each([
    ['proxy', ['look at it', 'list runs', 'begin a run', 'take work', 'end runs']],
    ['hil', ['look at it', 'list runs', 'begin a run', 'take work', 'end runs']],
    ['worker', ['look at it', 'list runs', 'begin a run', 'take work', 'end runs']],
    ['temporal-ui', ['look at it', 'list runs']],
    ['prepare', [...NAMES]],
  ])(
    'lets the certificate of %s do in Gate’s namespace what it has to, and nothing in another one',
    async (who, may) => {
      const connection = await connected(who);
      expect(await allowedOf(connection, 'gate')).toEqual(may);
      expect(await allowedOf(connection, OTHER)).toEqual([]);
      // Nor make one.
      const made = connection.workflowService.registerNamespace({ namespace: `${who}-own` });
      expect(await cameOf(made)).toBe('denied');
      // The engine's own services trust their own certificate alone.
      expect(await cameOf(connection.operatorService.listClusters({}))).toBe('denied');
      // What the cluster is, and the names of its namespaces, is no secret of the engine's.
      expect(await cameOf(connection.workflowService.getClusterInfo({}))).toBe('done');
      expect(await cameOf(connection.workflowService.listNamespaces({}))).toBe('done');
    },
  );

  it('lets somebody do nothing whom its CA certified and whom nothing names', async () => {
    const connection = await connectedWith(stranger);
    expect(await allowedOf(connection, 'gate')).toEqual([]);
    expect(await cameOf(connection.workflowService.listNamespaces({}))).toBe('denied');
  });

  it('reads no claims from a token: whoever brings one has those of his certificate', async () => {
    const connection = await connected('temporal-ui');
    const claims = Buffer.from(JSON.stringify({ permissions: ['temporal-system:admin', 'gate:admin'] })).toString(
      'base64url',
    );
    const authorization = `Bearer ${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`;
    const asked = connection.withMetadata({ authorization }, () => ASKED['begin a run'](connection, 'gate'));
    expect(await cameOf(asked)).toBe('denied');
  });

  it('is closed to a certificate of the data plane', async () => {
    const cert = file('worker', 'bootstrap.crt');
    const key = file('worker', 'bootstrap.key');
    await expect(connectedWith({ cert, key })).rejects.toThrow();
  });
});

describe('docker-compose.yml', () => {
  it('builds the engine with claims, of the version whose schema its database has', () => {
    const { services } = readCompose();
    expect(services['temporal']?.build).toBe('./deploy/temporal/server');
    expect(Object.keys(services['temporal']?.environment ?? {})).not.toContain('TEMPORAL_ALLOW_NO_AUTH');
    const [, version] =
      /^require go\.temporal\.io\/server v(\S+)$/m.exec(
        readFileSync(join(PROJECT_ROOT, 'deploy', 'temporal', 'server', 'go.mod'), 'utf8'),
      ) ?? [];
    expect(services['prepare-schema']?.image).toBe(`temporalio/admin-tools:${version}`);
  });
});
