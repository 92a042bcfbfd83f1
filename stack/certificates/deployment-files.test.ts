import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { openKey } from '../../adapters/identity/sealed-key.js';
import { parseDatabaseRoles } from '../../config/prepare.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { pinnedWorkloads } from '../../contracts/identity.js';
import { fingerprintOf, isBootstrapCertificate, spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import type { DevelopmentFile } from '../development-file.js';
import { DEVELOPMENT_AGENTS } from './dev-pki.js';
import { SERVICES } from '../services.js';
import { DEPLOYMENT_FOLDERS, writeDeploymentFiles } from './deployment-files.js';

let folder: string;
const write = () =>
  writeDeploymentFiles({
    stateDir: join(folder, 'state'),
    into: join(folder, 'out'),
    trustDomain: 'gate.local',
    hosts: ['proxy', 'hil'],
    database: 'postgres:5432/gate',
  });
const text = (container: string, file: string) => readFileSync(join(folder, 'out', container, file), 'utf8');
const certificate = (container: string, file: string) => new X509Certificate(text(container, file));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-deployment-'));
  await write();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the files of a deployment', () => {
  it('are one folder per container', () => {
    expect(readdirSync(join(folder, 'out')).sort()).toEqual([...DEPLOYMENT_FOLDERS].sort());
  });

  it('carry each workload’s SPIFFE id and the names it is reached by', () => {
    expect(spiffeOfCertificate(certificate('hil', 'bootstrap.crt'))).toBe('spiffe://gate.local/service/hil');
    expect(spiffeOfCertificate(certificate('worker', 'bootstrap.crt'))).toBe('spiffe://gate.local/service/proxy');
    expect(certificate('hil', 'bootstrap.crt').checkHost('hil')).toBe('hil');
    expect(certificate('operator', 'support-bot.crt').subjectAltName).toContain('/tenant/acme/agent/support-bot/');
  });

  it('have bootstrap certificates that are good for a day: one that nobody used opens nothing later', () => {
    for (const { name } of SERVICES) {
      const leftMs = Date.parse(certificate(name, 'bootstrap.crt').validTo) - Date.now();
      expect([name, leftMs > 0, leftMs <= 86_400_000]).toEqual([name, true, true]);
    }
  });

  it('tell the operator of every development agent, with the certificate that is its own', () => {
    const { agents } = JSON.parse(text('operator', 'dev.json')) as DevelopmentFile;
    expect(Object.keys(agents ?? {})).toEqual([...DEVELOPMENT_AGENTS]);
    for (const [name, { cert, key, spiffe }] of Object.entries(agents ?? {})) {
      expect([cert, key]).toEqual([`/run/gate/${name}.crt`, `/run/gate/${name}.key`]);
      expect(spiffeOfCertificate(certificate('operator', `${name}.crt`))).toBe(spiffe);
    }
  });

  it('separate the engine’s CA from that of the data plane', () => {
    const [engine, plane] = [certificate('temporal', 'engine-ca.crt'), certificate('proxy', 'ca.crt')];
    expect(certificate('proxy', 'engine.crt').verify(engine.publicKey)).toBe(true);
    expect(certificate('proxy', 'bootstrap.crt').verify(engine.publicKey)).toBe(false);
    expect(certificate('operator', 'support-bot.crt').verify(engine.publicKey)).toBe(false);
    expect(certificate('proxy', 'engine.crt').verify(plane.publicKey)).toBe(false);
  });

  it('hold no key in clear text that is another container’s', () => {
    const keys = new Map<string, string>();
    for (const container of DEPLOYMENT_FOLDERS)
      for (const file of readdirSync(join(folder, 'out', container))) {
        const pem = text(container, file);
        if (!pem.includes('PRIVATE KEY')) continue;
        expect([container, keys.get(pem)]).toEqual([container, undefined]);
        keys.set(pem, container);
      }
    expect(keys.size).toBeGreaterThan(10);
  });

  it.each(['state', 'state/engine'])('hold the key of the CA under %s nowhere in clear text', (state) => {
    const keys = parseKeyRing(readFileSync(join(folder, state, 'secrets/identity-keys'), 'utf8').trim());
    const opened = openKey(keys, 'certificates', readFileSync(join(folder, state, 'pki/ca/ca.key.sealed'), 'utf8'));
    expect(opened).toContain('PRIVATE KEY');
    for (const container of DEPLOYMENT_FOLDERS)
      for (const file of readdirSync(join(folder, 'out', container)))
        expect([container, file, text(container, file).includes(opened.trim())]).toEqual([container, file, false]);
  });

  it('hold the key of the data plane’s CA sealed, for identity alone, and that of the engine’s nowhere', () => {
    const holders = (authority: string) => {
      const sealed = readFileSync(join(folder, authority), 'utf8');
      return DEPLOYMENT_FOLDERS.filter((container) =>
        readdirSync(join(folder, 'out', container)).some((file) => text(container, file) === sealed),
      );
    };
    expect(holders('state/pki/ca/ca.key.sealed')).toEqual(['identity']);
    expect(holders('state/engine/pki/ca/ca.key.sealed')).toEqual([]);
    const opening = text('identity', 'identity-keys');
    for (const container of DEPLOYMENT_FOLDERS.filter((name) => name !== 'identity'))
      for (const file of readdirSync(join(folder, 'out', container))) expect(text(container, file)).not.toBe(opening);
  });

  it('give each authority a role of its own', () => {
    const roles = parseDatabaseRoles(text('prepare', 'database-roles').trim());
    const names = roles.map(({ name }) => name);
    const stores = [...new Set(SERVICES.flatMap((service) => service.stores))];
    expect(stores).toEqual(expect.arrayContaining(['calls', 'ledger', 'hil']));
    expect(names).toEqual([...stores.map((store) => `gate_${store}`), 'temporal']);
    expect(new Set(roles.map(({ password }) => password)).size).toBe(names.length);
    const passwordOf = (role: string) => roles.find(({ name }) => name === role)?.password;
    for (const {
      name,
      stores: [store],
    } of SERVICES)
      if (store !== undefined)
        expect([name, text(name, 'database-url').trim()]).toEqual([
          name,
          `postgresql://gate_${store}:${passwordOf(`gate_${store}`)}@postgres:5432/gate`,
        ]);
    expect(text('temporal', 'postgres-password').trim()).toBe(passwordOf('temporal'));
  });

  it('are for their owner alone, except where an image has a user of its own', () => {
    const modes = (container: string) =>
      [
        join(folder, 'out', container),
        join(folder, 'out', container, readdirSync(join(folder, 'out', container))[0] as string),
      ].map((path) => (statSync(path).mode & 0o777).toString(8));
    for (const container of DEPLOYMENT_FOLDERS)
      expect([container, ...modes(container)]).toEqual(
        ['temporal', 'temporal-ui', 'postgres'].includes(container)
          ? [container, '755', '444']
          : [container, '700', '400'],
      );
  });

  it('are the same after a second run, but for the certificates that count once', async () => {
    const all = (isOnce: boolean) =>
      DEPLOYMENT_FOLDERS.flatMap((container) =>
        readdirSync(join(folder, 'out', container))
          .filter((file) => /^(bootstrap\.|workloads\.json)/.test(file) === isOnce)
          .map((file) => [container, file, text(container, file)]),
      );
    const before = [all(false), all(true)];
    await write();
    expect(all(false)).toEqual(before[0]);
    for (const [at, one] of all(true).entries()) expect(one).not.toEqual(before[1]?.[at]);
  });

  it('give each process a certificate for its first one of identity, which knows it, and no other', () => {
    const { workloads } = pinnedWorkloads.parse(JSON.parse(text('identity', 'workloads.json')));
    expect(workloads.map(({ name }) => name).toSorted()).toEqual(SERVICES.map(({ name }) => name).toSorted());
    for (const { name, service, bootstrap_sha256: digest } of workloads) {
      const first = certificate(name, 'bootstrap.crt');
      expect(fingerprintOf(first)).toBe(digest);
      expect(spiffeOfCertificate(first)).toBe(`spiffe://gate.local/service/${service}`);
      expect([isBootstrapCertificate(first), first.keyUsage]).toEqual([true, ['1.3.6.1.5.5.7.3.2']]);
    }
    expect(new Set(workloads.map(({ bootstrap_sha256: digest }) => digest)).size).toBe(workloads.length);
  });
});
