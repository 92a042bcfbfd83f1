import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Logger } from 'pino';
import type { Opened, Opening, Ports, ServiceDeclaration, SharedParts } from '../api/plugins/declaration.js';
import type { TlsMaterial } from '../api/plugins/service.js';
import type { GroupConfig, SettingGroups } from '../config/env.js';
import type { StoreTarget } from '../adapters/store/database.js';
import type { Workload } from './certificates/workload.js';
import { addressName } from './address-name.js';
import { type Neighbours, neighboursOf } from './neighbours.js';
import { portTaken } from './port-taken.js';
import type { Undo } from './undo.js';

/** What a process gives the services that it opens. */
export interface ServiceProcess {
  readonly services: readonly ServiceDeclaration[];
  /** All services run in this process; otherwise only one. */
  readonly together: boolean;
  readonly trustDomain: string;
  readonly logger: Logger;
  readonly undo: Undo;
  configOf(service: ServiceDeclaration): GroupConfig<SettingGroups>;
  tlsOf(service: ServiceDeclaration): TlsMaterial;
  /** The address of a service in another process. */
  addressOf(service: ServiceDeclaration): string;
  opa(): Promise<string | null>;
  storeTarget(store: string): StoreTarget;
  shared(neighbour: <Port>(service: ServiceDeclaration<string, Port>) => Promise<Port>): SharedParts;
  say(line: string): void;
  failed(error: unknown): void;
  /** Called when a service cannot be opened, before the others are waited for. */
  givingUp?(error: unknown): void;
  readonly signal?: AbortSignal | undefined;
  /** Of a service whose certificate comes of identity; `null` for one whose certificate is fixed. */
  workloadOf?(service: ServiceDeclaration): Workload | null;
}

export interface OpenServices {
  /** By the names of services. */
  readonly ports: ReadonlyMap<string, Ports>;
  /** Starts the work that nothing waits for. */
  begin(): void;
}

const SERVICE_LIMIT_MS = 10_000;

interface Deferred<Value> {
  readonly promise: Promise<Value>;
  resolve(value: Value): void;
  reject(error: unknown): void;
}

function deferred<Value>(): Deferred<Value> {
  let settle: Pick<Deferred<Value>, 'resolve' | 'reject'> | undefined;
  const promise = new Promise<Value>((resolve, reject) => (settle = { resolve, reject }));
  // Nobody may be waiting.
  promise.catch(() => undefined);
  return { promise, resolve: (value) => settle?.resolve(value), reject: (error) => settle?.reject(error) };
}

/**
 * Opens the services of a process, each with the services that it calls: all at once, so that a slow one delays only those that need it.
 * Then they listen while the long part of their start continues, and agents are let in last. Whatever is open is on `undo`, also when this
 * throws: StartError in one line for what an operator can fix.
 */
export async function openServices(owner: ServiceProcess): Promise<OpenServices> {
  const { services, undo, logger, trustDomain, together } = owner;
  const openings = new Map<string, Promise<Opened<unknown>>>();
  const registries = new Map<string, Registry>();

  // Everything needed is loaded before any of it runs: Node 20 cannot `require` a module, as the engine's client does, while an import of
  // the same module is in progress.
  const here = new Map(
    await Promise.all(
      services.map(async (service) => [service.name, { service, module: await service.open() }] as const),
    ),
  );
  const remotes = new Map(
    await Promise.all(
      services
        .flatMap(({ neighbours }) => neighbours)
        .filter(({ name }) => !here.has(name))
        .map(async (each) => [each.name, await each.remote?.()] as const),
    ),
  );
  const opened = <Port>({ name }: ServiceDeclaration<string, Port>): Promise<Opened<Port>> | null => {
    const known = openings.get(name);
    if (known) return known as Promise<Opened<Port>>;
    const found = here.get(name);
    if (!found) return null;
    const opening = found.module.open(openingOf(found.service) as Opening<never>);
    openings.set(name, opening);
    return opening as Promise<Opened<Port>>;
  };
  let parts: SharedParts | undefined;
  const addresses = new Map(services.map(({ name }) => [name, deferred<string>()] as const));
  const listening = ({ name }: ServiceDeclaration) => addresses.get(name)?.promise ?? null;

  function openingOf(service: ServiceDeclaration): Opening<GroupConfig<SettingGroups>> {
    const shared = (): SharedParts => (parts ??= owner.shared(neighbours.neighbour));
    const neighbours: Neighbours = neighboursOf(service, { ...owner, opened, remotes, listening, shared });
    return {
      ...neighbours,
      config: owner.configOf(service),
      tls: owner.tlsOf(service),
      ...certifying(service),
      trustDomain,
      neighbours: service.neighbours,
      logger,
      registry: registryOf(service),
      together,
      shared: shared(),
      opa: owner.opa,
      storeTarget(store) {
        if (!service.stores.includes(store)) throw new Error(`${service.name} does not declare the store ${store}`);
        return owner.storeTarget(store);
      },
      onStop: (phase, what, step, limitMs) => undo.push(phase, what, step, limitMs),
      say: owner.say,
      failed: owner.failed,
    };
  }

  /** Who issues them gives itself a certificate; whoever else is in this process asks it as soon as it listens. */
  function certifying(service: ServiceDeclaration): Pick<Opening<never>, 'certified'> {
    const workload = owner.workloadOf?.(service);
    if (!workload) return {};
    // Two services may be one workload, which its own shows.
    if (service.workload === undefined || !here.has(service.workload)) workload.observe(registryOf(service));
    return service.certifies ? { certified: (issueOwn) => workload.startBy(issueOwn) } : {};
  }
  const certifier = services.find(({ certifies }) => certifies);
  async function certified(service: ServiceDeclaration): Promise<void> {
    const url = !certifier || service === certifier ? null : listening(certifier);
    const workload = owner.workloadOf?.(service);
    if (url && workload) await workload.startAt(await url);
  }

  /** Its /metrics shows its own metrics, and those of services without a listener. */
  function registryOf(service: ServiceDeclaration): Registry {
    const name = together ? (service.metricsBeside ?? service.name) : service.name;
    const known = registries.get(name);
    if (known) return known;
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    registries.set(name, registry);
    return registry;
  }

  const hostOf = (service: ServiceDeclaration): string => {
    const { own } = owner.configOf(service) as { readonly own?: { readonly host?: string } };
    return own?.host ?? 'localhost';
  };
  const ports = new Map<string, Ports>();
  async function listen(service: ServiceDeclaration): Promise<void> {
    try {
      await listenAs(service);
    } catch (error) {
      // Whoever waits for its address waits no longer.
      addresses.get(service.name)?.reject(error);
      throw error;
    }
  }
  async function listenAs(service: ServiceDeclaration): Promise<void> {
    const open = await opened(service);
    await certified(service);
    const listener = open?.listener?.();
    if (!listener) return;
    const phase =
      service.stopsIn ??
      ({ agents: 'entry', people: 'entry', services: 'listeners', probes: 'probes' } as const)[service.calledBy];
    undo.push(phase, `the ${service.name}`, () => listener.service.close(), listener.drainMs ?? SERVICE_LIMIT_MS);
    try {
      const listens = await listener.listen();
      ports.set(service.name, listens);
      addresses.get(service.name)?.resolve(`https://${addressName(hostOf(service))}:${listens.port}`);
    } catch (error) {
      throw portTaken(error, `the ${service.name}`, `${service.prefix}_PORT / ${service.prefix}_HEALTH_PORT`) ?? error;
    }
  }

  let all: readonly Opened<unknown>[];
  try {
    all = await Promise.all(services.map(opened).filter((each) => each !== null));
  } catch (error) {
    owner.givingUp?.(error);
    // A service that is still opening puts itself on `undo`, and what it needs must exist until then.
    await Promise.allSettled(openings.values());
    throw error;
  }
  owner.signal?.throwIfAborted();
  const starting = [...all.map((each) => each.start?.()), ...services.map(certified)];
  const opening = services.filter(({ calledBy }) => calledBy !== 'agents').map(listen);
  try {
    await Promise.all([...starting, ...opening]);
  } catch (error) {
    // Requests that a start has sent to the engine must return before its connection is closed.
    await Promise.allSettled([...starting, ...opening]);
    throw error;
  }
  owner.signal?.throwIfAborted();
  await Promise.all(services.filter(({ calledBy }) => calledBy === 'agents').map(listen));
  return {
    ports,
    begin() {
      for (const each of all) each.begin?.();
    },
  };
}
