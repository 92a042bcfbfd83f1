import type { NativeConnection } from '@temporalio/worker';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { MtlsStream } from '../../activities/clients/mtls-fetch.js';
import type { ServiceFetch } from '../../activities/clients/service-client.js';
import type { Config, GroupConfig, SettingGroups } from '../../config/env.js';
import type { ENGINE_SETTINGS } from '../../config/shared.js';
import type { RevocationMirror } from '../../domain/identity/revocation-mirror.js';
import type { CallTalks } from '../../domain/upstream/call-talks.js';
import type { NoteStore } from '../../domain/upstream/notes-apart.js';
import type { QuestionStore } from '../../domain/upstream/talks-apart.js';
import type { Introductions } from '../../domain/identity/vouched-upstreams.js';
import type { Upstream } from '../../domain/upstream/upstream.js';
import type { StoreTarget } from '../../adapters/store/database.js';
import type { BoundClasses } from '../../domain/tool-classes/bound-to-ledger.js';
import type { EngineClient } from '../../workers/client.js';
import type { ReadinessChecks } from './health.js';
import type { Service, TlsMaterial } from './service.js';
import type { CallStore } from '../../domain/call/ports.js';
import type { ListCursors } from '../../domain/mcp/list-cursors.js';
import type { RequestStates } from '../../domain/mcp/request-state.js';
import type { McpSessions } from '../../domain/mcp/session.js';
import type { SubscriptionStore } from '../../domain/mcp/held-subscriptions.js';
import type { TaskStore } from '../../domain/mcp/tasks.js';
import type { ToolPinStore } from '../../domain/tool-definitions/ports.js';

/**
 * Describes a service to all code that starts, connects, certifies or documents it: one declaration in `api/<service>/service.ts` and one
 * line in `stack/services.ts` (docs/how-to/add-a-service.md). Commands that start nothing read it too. So it must import little, and loads
 * the code that opens the service only when the service opens.
 */
export interface ServiceDeclaration<Name extends string = string, Port = unknown> {
  /** The name in `gate serve <name>`, logs and probes. Also names the container, and the workload unless `workload` says otherwise. */
  readonly name: Name;
  /** The name for people, as at the start of a sentence. */
  readonly title: string;
  /** The workload whose certificate the service uses, when it has none of its own. */
  readonly workload?: string;
  /** The prefix of its own settings: `<prefix>_PORT`, `<prefix>_URL`. */
  readonly prefix: `GATE_${string}`;
  /** Its key in `.gate/dev.json`, when that differs from its name. */
  readonly key?: string;
  /**
   * Who calls it. `agents`: it starts to listen after all others and stops before them. `people`: browsers, which stop before the services
   * that it asks. `probes`: it has only a health listener, and only as a separate process.
   */
  readonly calledBy: 'agents' | 'people' | 'services' | 'probes';
  /** The service whose /metrics also shows its metrics when it has no listener of its own. */
  readonly metricsBeside?: string;
  /**
   * Its settings: `own`, and groups that other services read too. Settings that every process reads, and settings that follow from the
   * fields below, are added.
   */
  readonly settings: SettingGroups;
  /** Settings that it reads only as a separate process. */
  readonly apart?: SettingGroups;
  /** Reports faults in settings that must fit together; null for each check that passes. */
  faults?(config: never): readonly (string | null)[];
  /** The service uses the workflow engine. */
  readonly engine?: true;
  /** The stores it opens. A store of two services needs a database server when they run as separate processes. */
  readonly stores: readonly string[];
  /** The services it calls; as a separate process, over their addresses. */
  readonly neighbours: readonly ServiceDeclaration[];
  /** Its page of health tells how every service is: each that others can reach is its neighbour (`stack/services.ts`). */
  readonly tellsOfAll?: true;
  /** It issues the certificates of services, its own among them; whoever shows one asks it. */
  readonly certifies?: true;
  /** Where it closes in the order of a stop, when that does not follow from who calls it. */
  readonly stopsIn?: StopPhase;
  /** Who calls it goes on without its answer: a container that calls it starts without waiting for it. */
  readonly dispensable?: true;
  /** Who is no service asks it too, so a deployment publishes its port: on its own machine alone, unless it is told otherwise. */
  readonly published?: true;
  /** Registers its metrics without running anything; the reference is printed from them. */
  metrics?(registry: Registry): Promise<unknown>;
  /** How services in other processes use it. Absent when no service calls it. */
  remote?(): Promise<Remote<Port>>;
  open(): Promise<{ open(opening: Opening<never>): Promise<Opened<Port>> }>;
}

/** A declaration as a service writes it: its functions get exactly the configuration that its settings define. */
interface TypedDeclaration<
  Name extends string,
  Port,
  Groups extends SettingGroups,
  Apart extends SettingGroups,
  Key extends string,
  CalledBy extends ServiceDeclaration['calledBy'],
> extends Omit<ServiceDeclaration<Name, Port>, 'settings' | 'apart' | 'faults' | 'open' | 'key' | 'calledBy'> {
  readonly key?: Key;
  readonly calledBy: CalledBy;
  readonly settings: Groups;
  readonly apart?: Apart;
  faults?(config: GroupConfig<Groups>): readonly (string | null)[];
  open(): Promise<{ open(opening: Opening<GroupConfig<Groups> & Partial<GroupConfig<Apart>>>): Promise<Opened<Port>> }>;
}

/** A declaration as the list of services has it: with its settings and how it is called, so that what names a service is derived from it. */
export interface DeclaredService<
  Name extends string,
  Port,
  Groups extends SettingGroups,
  Key extends string,
  CalledBy extends ServiceDeclaration['calledBy'],
> extends ServiceDeclaration<Name, Port> {
  readonly settings: Groups;
  readonly key?: Key;
  readonly calledBy: CalledBy;
}

export const declareService = <
  const Name extends string,
  Port,
  Groups extends SettingGroups,
  const CalledBy extends ServiceDeclaration['calledBy'],
  Apart extends SettingGroups = Record<never, never>,
  const Key extends string = Name,
>(
  declaration: TypedDeclaration<Name, Port, Groups, Apart, Key, CalledBy>,
): DeclaredService<Name, Port, Groups, Key, CalledBy> => declaration;

/** A service as used from another process. */
export interface Remote<Port> {
  /** Each of its questions has a time limit of its own, which may be longer than that of a service's. */
  readonly limitsItself?: boolean;
  connect(reach: Reach): Port;
  /** A harmless question that shows whether the service works. Without it, `GET /health` over mutual TLS. */
  answers?(port: Port, reach: Reach): Promise<unknown>;
}

/** A service at its address. */
export interface Over {
  readonly url: string;
  readonly fetch: ServiceFetch & { readonly stream: MtlsStream };
}

/** What is needed to reach a service in another process. */
export interface Reach extends Over {
  readonly shared: SharedParts;
}

/** This process' connection to the engine: one client and one shared native connection. */
export interface EngineParts extends Pick<EngineClient, 'client' | 'circuit'> {
  readonly settings: Config<typeof ENGINE_SETTINGS>;
  native(): Promise<NativeConnection>;
}

/** The store of calls, and the stores kept with it. */
export interface CallStores {
  readonly calls: CallStore;
  readonly pins: ToolPinStore;
  readonly classes: BoundClasses;
  readonly mcpSessions: McpSessions;
  readonly mcpStates: RequestStates;
  readonly mcpCursors: ListCursors;
  readonly mcpTasks: TaskStore;
  readonly mcpSubscriptions: SubscriptionStore;
  readonly mcpQuestions: QuestionStore;
  readonly mcpNotes: NoteStore;
}

/** What a process knows of what identity took back and whom it stopped. */
export interface KnownStanding {
  readonly mirror: RevocationMirror;
  /** Asks the first time; resolves whatever came of it, and goes on asking. */
  start(): Promise<void>;
}

/** Parts shared by the services of one process. Each is opened at its first use, once per process, and closed by the process. */
export interface SharedParts {
  engine(): Promise<EngineParts>;
  callStores(): Promise<CallStores>;
  /** Identity is asked where an upstream is another Gate that wants to know which agent asks. */
  upstream(over: () => Promise<Over>): Promise<Upstream>;
  /** The address of the tools, where there is one of all; `null` where there are several, or none. */
  toolsAt(): string | null;
  /** What servers of tools call themselves, as this process heard it. */
  readonly introductions: Introductions;
  /** What tools ask and tell while their calls are under way, between those who send calls and those who hold the requests for them. */
  talks(): Promise<CallTalks>;
  /** What identity took back and whom it stopped, as this process knows it: asked by whoever of the process comes first. */
  standing(
    over: () => Promise<Over>,
    parts: Pick<Opening<unknown>, 'trustDomain' | 'tls' | 'logger' | 'onStop'>,
  ): KnownStanding;
  /** The upstream's name for tool pins and tool classes. */
  readonly toolsName: string;
}

/** The order in which a process closes things. Within a phase, the last opened closes first. */
export const STOP_PHASES = [
  'entry',
  'listeners',
  'worker',
  'probes',
  'upstream',
  'sweeps',
  // Identity, which workers and proxies ask whom an operator stopped until their own calls have ended.
  'identity',
  'stores',
  'threads',
  'neighbours',
  'connections',
  'engine',
  'runtime',
  'folder',
] as const;
export type StopPhase = (typeof STOP_PHASES)[number];

/** Gives identity a certificate of its own, for a request, under the names of the certificate that it was started with. */
export type OwnCertificate = (
  asked: { readonly requestId: string; readonly csr: string },
  shown: { readonly cert: string },
) => Promise<{ readonly cert: string }>;

/** What a service gets when it opens. */
export interface Opening<Settings> {
  readonly config: Settings;
  readonly tls: TlsMaterial;
  /**
   * For identity alone, where services have certificates of it: it gets its own by what it is given here, before anybody is answered. Absent
   * where its certificate comes from elsewhere.
   */
  certified?(issueOwn: OwnCertificate): Promise<void>;
  readonly trustDomain: string;
  /** The services that it calls, as the list of services has them. */
  readonly neighbours: readonly ServiceDeclaration[];
  readonly logger: Logger;
  readonly registry: Registry;
  /** All services run in this process; otherwise only this one. */
  readonly together: boolean;
  readonly shared: SharedParts;
  /** Where the OPA program is on this machine; null for nowhere. Rejects for one that is named and does not work. */
  opa(): Promise<string | null>;
  /** Where one of its declared stores is kept. */
  storeTarget(store: string): StoreTarget;
  /** A service that it calls: in this process, or over mutual TLS. */
  neighbour<Port>(service: ServiceDeclaration<string, Port>): Promise<Port>;
  /**
   * A service that it calls over HTTP with its own certificate, also one of this process, so that the table of callers holds for it. Resolves
   * when that service listens.
   */
  over(service: ServiceDeclaration): Promise<Over>;
  /** A service that runs in this process; null when it does not. */
  beside<Port>(service: ServiceDeclaration<string, Port>): Promise<Port> | null;
  /** A readiness check that asks the service each time it runs. */
  readinessOf(service: ServiceDeclaration): ReadinessChecks[string];
  /** Registers a step to run when the process stops or its start fails. A step delays the stop by at most its limit. */
  onStop(phase: StopPhase, what: string, step: () => Promise<unknown>, limitMs?: number): void;
  /** Prints one line for operators. */
  say(line: string): void;
  /** Reports a part that cannot be kept running: the process ends with this reason. */
  failed(error: unknown): void;
}

/** An open service. `start` and `listener` run concurrently, then `begin`. */
export interface Opened<Port> {
  /** What services in this process call it through. */
  readonly port: Port;
  /** Throws when the service is not ready; for services in this process. */
  ready?(): unknown;
  /** Resolves when the service can do its work. */
  start?(): Promise<unknown>;
  /** Called when the service may start to listen. */
  listener?(): Listener;
  /** Starts work that nothing waits for. */
  begin?(): void;
}

export interface Ports {
  /** Absent when the service answers only probes. */
  readonly port?: number;
  readonly healthPort: number;
}

export interface Listener {
  readonly service: Pick<Service, 'name' | 'close'>;
  listen(): Promise<Ports>;
  /** How long open requests may delay a stop. */
  readonly drainMs?: number;
}

/** A listener for a service at its address. */
export const listenerOf = (
  service: Service,
  address: Parameters<Service['listen']>[0],
  more: Pick<Listener, 'drainMs'> = {},
): Listener => ({ service, listen: () => service.listen(address), ...more });
