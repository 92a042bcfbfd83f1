import { createMtlsFetch } from '../activities/clients/mtls-fetch.js';
import type {
  Opened,
  Opening,
  Over,
  Reach,
  Remote,
  ServiceDeclaration,
  SharedParts,
} from '../api/plugins/declaration.js';
import type { TlsMaterial } from '../api/plugins/service.js';
import { serviceSpiffe } from '../domain/identity/spiffe.js';
import { workloadOf } from './services.js';
import type { Undo } from './undo.js';

/** How a service reaches the services that it calls: in process if they run in the same process, otherwise over mutual TLS. */
export type Neighbours = Pick<Opening<never>, 'neighbour' | 'over' | 'beside' | 'readinessOf'>;

export interface NeighbourOptions {
  readonly trustDomain: string;
  readonly undo: Undo;
  /** A service of this process, or `null`. */
  opened<Port>(service: ServiceDeclaration<string, Port>): Promise<Opened<Port>> | null;
  /** The addresses of those in other processes, by name. */
  readonly remotes: ReadonlyMap<string, Remote<unknown> | undefined>;
  tlsOf(service: ServiceDeclaration): TlsMaterial;
  addressOf(service: ServiceDeclaration): string;
  /** The address of a service of this process once it listens, or `null`. */
  listening(service: ServiceDeclaration): Promise<string> | null;
  shared(): SharedParts;
}

const SERVICE_LIMIT_MS = 10_000;
/** For who sets a limit with each question: some walk a whole chain, and a decision may wait for its turn. */
const OWN_LIMITS_MS = 660_000;

export function neighboursOf(asking: ServiceDeclaration, options: NeighbourOptions): Neighbours {
  const { trustDomain, undo, opened, remotes } = options;
  const fetches = new Map<string, Over['fetch']>();

  /** Identified by its SPIFFE id. */
  function fetchOf(service: ServiceDeclaration, limitMs = SERVICE_LIMIT_MS): Over['fetch'] {
    const key = `${service.name} ${limitMs}`;
    const known = fetches.get(key);
    if (known) return known;
    const fetch = createMtlsFetch({
      ...options.tlsOf(asking),
      expectedServerSpiffe: serviceSpiffe(trustDomain, workloadOf(service)),
      timeoutMs: limitMs,
    });
    undo.push('neighbours', `the connections to ${service.name}`, () => fetch.close());
    fetches.set(key, fetch);
    return fetch;
  }
  /** A service in another process. */
  const reachOf = (service: ServiceDeclaration, limitMs?: number): Reach => ({
    url: options.addressOf(service),
    fetch: fetchOf(service, limitMs),
    shared: options.shared(),
  });
  function remoteOf<Port>({ name }: ServiceDeclaration<string, Port>): Remote<Port> {
    const remote = remotes.get(name);
    if (!remote)
      throw new Error(`${asking.name} asks ${name}, which it does not declare or which answers nobody apart`);
    return remote as Remote<Port>;
  }
  const beside = <Port>(service: ServiceDeclaration<string, Port>): Promise<Port> | null =>
    opened(service)?.then(({ port }) => port) ?? null;

  return {
    beside,
    over: async (service) => ({
      url: (await options.listening(service)) ?? options.addressOf(service),
      fetch: fetchOf(service, OWN_LIMITS_MS),
    }),
    async neighbour(service) {
      const near = beside(service);
      if (near) return near;
      const remote = remoteOf(service);
      return remote.connect(reachOf(service, remote.limitsItself ? OWN_LIMITS_MS : undefined));
    },
    readinessOf(service) {
      const near = opened(service);
      if (near)
        return async () => {
          await (await near).ready?.();
        };
      const { connect, answers } = remoteOf(service);
      const reach = reachOf(service);
      if (!answers) return () => answersAsItself(reach);
      const port = connect(reach);
      return async () => {
        await answers(port, reach);
      };
    },
  };
}

/** Readiness of another service: it answers over mutual TLS with its own identity. Whether it is itself ready is not checked here. */
async function answersAsItself({ fetch, url }: Reach): Promise<void> {
  const { status } = await fetch(new URL('/health', url).href, { method: 'GET' });
  if (status >= 500) throw new Error(`answers ${status}`);
}
