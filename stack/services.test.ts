import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { ServiceDeclaration } from '../api/plugins/declaration.js';
import { SANDBOX } from '../api/sandbox/service.js';
import { PROJECT_ROOT } from '../config/project-root.js';
import { settingLines } from '../config/setting-lines.js';
import { GATE_OWN_ROUTES, ROUTE_AUTHORITY, routeName } from '../contracts/route-authority.js';
import { APART_SETTINGS, defaultPort, START_SETTINGS } from './process-settings.js';
import { commandOf, keyOf, SERVICES, withNeighbours, workloadOf } from './services.js';

const distinct = (values: readonly unknown[]) => expect(new Set(values).size).toBe(values.length);

describe('the list of services', () => {
  it('gives each a name, a key, a prefix and a command of its own', () => {
    distinct(SERVICES.map(({ name }) => name));
    distinct(SERVICES.map(keyOf));
    distinct(SERVICES.map(({ prefix }) => prefix));
    distinct(SERVICES.map(commandOf));
  });

  it('has every service that the authority table governs and that is built', () => {
    const workloads = SERVICES.map(workloadOf);
    const governed = [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES].filter(({ built }) => built);
    expect(governed.length).toBeGreaterThan(50);
    expect(governed.filter(({ service }) => !workloads.includes(service)).map(routeName)).toEqual([]);
  });

  it('lets the workload of each ask identity for its certificate', () => {
    const asking = ROUTE_AUTHORITY.find((row) => routeName(row) === 'POST /workload-svid')?.callers;
    expect(asking).toEqual(expect.arrayContaining(SERVICES.map((service) => `service-${workloadOf(service)}`)));
  });

  it('puts no two listeners on one port', () => {
    distinct(
      settingLines(START_SETTINGS)
        .filter(({ variable }) => variable.endsWith('_PORT'))
        .map((line) => line.default),
    );
    const health = SERVICES.map(
      ({ name, prefix }) =>
        settingLines(APART_SETTINGS[name]).find(({ variable }) => variable === `${prefix}_HEALTH_PORT`)?.default,
    );
    distinct(health);
    expect(health).not.toContain(undefined);
  });

  it('has one entry for agents, and a port for whoever is called', () => {
    expect(SERVICES.filter(({ calledBy }) => calledBy === 'agents').map(({ name }) => name)).toEqual(['proxy']);
    for (const service of SERVICES)
      expect([service.name, defaultPort(service) === null]).toEqual([service.name, service.calledBy === 'probes']);
  });

  it('asks nobody in a circle, and names as neighbours only services that are on it and can be reached', () => {
    const asks = (service: ServiceDeclaration, above: readonly string[]): void => {
      expect(above).not.toContain(service.name);
      for (const neighbour of service.neighbours) {
        expect(SERVICES).toContain(neighbour);
        expect([neighbour.name, typeof neighbour.remote]).toEqual([neighbour.name, 'function']);
        asks(neighbour, [...above, service.name]);
      }
    };
    for (const service of SERVICES) asks(service, []);
  });

  it('has the console ask each that is added whether it answers, and nobody else', () => {
    const added = { ...SANDBOX, name: 'added', title: 'Added' };
    const asking = SERVICES.filter((service) =>
      withNeighbours(service, [...SERVICES, added]).neighbours.includes(added),
    );
    expect(asking.map(({ name }) => name as string)).toEqual(['console']);
  });

  it('lets a process that listens nowhere together show its metrics at one that does', () => {
    for (const { calledBy, metricsBeside } of SERVICES) {
      const shown = SERVICES.find(({ name }) => name === metricsBeside);
      expect(shown?.calledBy === 'services').toBe(calledBy === 'probes');
    }
  });

  it('carries certificates of workloads that are services', () => {
    for (const service of SERVICES) expect(SERVICES.map(({ name }) => name as string)).toContain(workloadOf(service));
  });

  it.each(SERVICES.map((service) => [service.name, service] as const))(
    'loads how %s opens, and how it is reached, from its own folder',
    async (name, service) => {
      expect(typeof (await service.open()).open).toBe('function');
      if (service.remote) expect(typeof (await service.remote()).connect).toBe('function');
      const folder = { 'policy-engine': 'policy' }[name as string] ?? name;
      for (const file of ['service.ts', 'open.ts'])
        expect(existsSync(join(PROJECT_ROOT, 'api', folder, file))).toBe(true);
    },
  );

  it('gives a store that two of them share to processes apart only on a server', () => {
    const required = SERVICES.filter(({ name }) =>
      settingLines(APART_SETTINGS[name]).some(
        (line) => line.variable === 'GATE_DATABASE_URL' && line.default === 'required',
      ),
    );
    expect(required.map(({ name }) => name as string)).toEqual(['proxy', 'worker']);
  });
});
