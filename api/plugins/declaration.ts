import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { ServiceFetch } from '../../activities/clients/service-client.js';
import type { Config, GroupConfig, SettingGroups } from '../../config/env.js';
import type { ENGINE_SETTINGS } from '../../config/shared.js';
import type { CallStore } from '../../domain/call-record/call-store.js';
import type { Upstream } from '../../domain/pipeline/upstream.js';
import type { StoreTarget } from '../../domain/store/database.js';
import type { BoundClasses } from '../../domain/tool-classes/bound-to-ledger.js';
import type { ToolPinStore } from '../../domain/tool-definitions/pin-store.js';
import type { EngineClient } from '../../workers/client.js';
import type { ReadinessChecks } from './health.js';
import type { Service, TlsMaterial } from './service.js';

/**
 * What a service is to everybody who starts, connects, certifies or documents it: one declaration in `api/<service>/service.ts`, and one line
 * in `stack/services.ts` (docs/how-to/add-a-service.md). It is read by commands that start nothing, so what it imports is light, and how
 * the service opens is loaded when it is opened.
 */
export interface ServiceDeclaration<Name extends string = string, Port = unknown> {
  /** In `gate serve <name>`, logs and probes; also its container, and its workload unless `workload` says otherwise. */
  readonly name: Name;
  /** For people, as a sentence begins with it. */
  readonly title: string;
  /** Whose certificate it carries, where that is not one of its own. */
  readonly workload?: string;
  /** What its own settings begin with: `<prefix>_PORT`, `<prefix>_URL`. */
  readonly prefix: `GATE_${string}`;
  /** Its key in `.gate/dev.json`, where that is not its name. */
  readonly key?: string;
  /** Who calls it. `agents`: it is opened to them last and closed first. `probes`: it has a health listener, and that only as a process apart. */
  readonly calledBy: 'agents' | 'services' | 'probes';
  /** Where its metrics are shown when it has no listener of its own. */
  readonly metricsBeside?: string;
  /** `own`, and groups that others read as well. What every process reads is added, and what follows from the fields below. */
  readonly settings: SettingGroups;
  /** What it reads only as a process apart. */
  readonly apart?: SettingGroups;
  /** What is wrong with settings that belong together. */
  faults?(config: never): readonly (string | null)[];
  /** It talks to the workflow engine. */
  readonly engine?: true;
  /** The stores it opens. A store of two services needs a server when they stand apart. */
  readonly stores: readonly string[];
  /** The services it asks; apart, by their addresses. */
  readonly neighbours: readonly ServiceDeclaration[];
  /** Registers its metrics over nothing: the reference is printed from them. */
  metrics?(registry: Registry): Promise<unknown>;
  /** How neighbours that stand apart use it. Absent: nobody asks it. */
  remote?(): Promise<Remote<Port>>;
  open(): Promise<{ open(opening: Opening<never>): Promise<Opened<Port>> }>;
}

/** A declaration as it is written: what its functions are given is what its settings say. */
interface TypedDeclaration<Name extends string, Port, Groups extends SettingGroups, Apart extends SettingGroups>
  extends Omit<ServiceDeclaration<Name, Port>, 'settings' | 'apart' | 'faults' | 'open'> {
  readonly settings: Groups;
  readonly apart?: Apart;
  faults?(config: GroupConfig<Groups>): readonly (string | null)[];
  open(): Promise<{ open(opening: Opening<GroupConfig<Groups> & Partial<GroupConfig<Apart>>>): Promise<Opened<Port>> }>;
}

export const declareService = <
  const Name extends string,
  Port,
  Groups extends SettingGroups,
  Apart extends SettingGroups = Record<never, never>,
>(
  declaration: TypedDeclaration<Name, Port, Groups, Apart>,
): ServiceDeclaration<Name, Port> => declaration;

/** A service as it is used from another process. */
export interface Remote<Port> {
  connect(reach: Reach): Port;
  /** A harmless question that tells whether it can do its work; without it `GET /health` over mutual TLS. */
  answers?(port: Port, reach: Reach): Promise<unknown>;
}

/** What it takes to reach a neighbour in another process. */
export interface Reach {
  readonly url: string;
  readonly fetch: ServiceFetch;
  readonly shared: SharedParts;
}

/** The engine as this process reaches it: one client, and one native connection for whoever asks. */
export interface EngineParts extends Pick<EngineClient, 'client' | 'circuit'> {
  readonly settings: Config<typeof ENGINE_SETTINGS>;
  native(): Promise<NativeConnection>;
}

/** The store of calls with what stands beside them. */
export interface CallStores {
  readonly calls: CallStore;
  readonly pins: ToolPinStore;
  readonly classes: BoundClasses;
}

/** What several services of one process use. Each is opened when it is first asked for, once per process, and closed by it. */
export interface SharedParts {
  engine(): Promise<EngineParts>;
  callStores(): Promise<CallStores>;
  upstream(): Promise<Upstream>;
  /** The name under which the tools are seen and classed. */
  readonly toolsName: string;
}

/** In this order a process lets go of what it holds; within a phase, what came last goes first. */
export const STOP_PHASES = [
  'entry',
  'listeners',
  'worker',
  'probes',
  'upstream',
  'sweeps',
  'stores',
  'threads',
  'neighbours',
  'connections',
  'engine',
  'runtime',
  'folder',
] as const;
export type StopPhase = (typeof STOP_PHASES)[number];

/** What a service is given to open with. */
export interface Opening<Settings> {
  readonly config: Settings;
  readonly tls: TlsMaterial;
  readonly trustDomain: string;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Every service stands in this process; otherwise this one alone. */
  readonly together: boolean;
  readonly shared: SharedParts;
  /** Where a store that it declares is kept. */
  storeTarget(store: string): StoreTarget;
  /** A neighbour as it is reached from here: in process, or over mutual TLS. */
  neighbour<Port>(service: ServiceDeclaration<string, Port>): Promise<Port>;
  /** A service where it stands in this process, else `null`. */
  beside<Port>(service: ServiceDeclaration<string, Port>): Promise<Port> | null;
  /** The readiness of a neighbour, asked when the check is. */
  readinessOf(service: ServiceDeclaration): ReadinessChecks[string];
  /** Undone when the process stops, and when its start fails. No step holds up the stop for longer than its limit. */
  onStop(phase: StopPhase, what: string, step: () => Promise<unknown>, limitMs?: number): void;
  /** One line for whoever watches. */
  say(line: string): void;
  /** A part that cannot be kept up: the process ends with this reason. */
  failed(error: unknown): void;
}

/** A service that is open. Its steps follow in this order: `start` and `listener`, side by side; then `begin`. */
export interface Opened<Port> {
  /** What its neighbours in this process use it by. */
  readonly port: Port;
  /** Throws what is wrong; for neighbours in this process. */
  ready?(): unknown;
  /** Ends when it can do its work. */
  start?(): Promise<unknown>;
  /** Made when it is its turn to listen. */
  listener?(): Listener;
  /** What nobody waits for. */
  begin?(): void;
}

export interface Ports {
  /** Absent where probes alone are answered. */
  readonly port?: number;
  readonly healthPort: number;
}

export interface Listener {
  readonly service: Pick<Service, 'name' | 'close'>;
  listen(): Promise<Ports>;
  /** How long requests under way may hold up a stop. */
  readonly drainMs?: number;
}

/** A service at its addresses. */
export const listenerOf = (
  service: Service,
  address: Parameters<Service['listen']>[0],
  more: Pick<Listener, 'drainMs'> = {},
): Listener => ({ service, listen: () => service.listen(address), ...more });
