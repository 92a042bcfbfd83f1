import { BRAIN } from '../api/brain/service.js';
import { CONSOLE } from '../api/console/service.js';
import { HIL } from '../api/hil/service.js';
import { IDENTITY } from '../api/identity/service.js';
import { LEDGER } from '../api/ledger/service.js';
import type { ServiceDeclaration } from '../api/plugins/declaration.js';
import { POLICY_ENGINE } from '../api/policy/service.js';
import { PROXY } from '../api/proxy/service.js';
import { SANDBOX } from '../api/sandbox/service.js';
import { WORKER } from '../api/worker/service.js';
import type { listenerSettings } from '../config/listener.js';

/**
 * Every service of Gate. Processes, settings, certificates, the files and the compose file of a deployment, the reference and the command
 * line are derived from this list; a new service is one line here (docs/how-to/add-a-service.md).
 */
const LIST = [PROXY, BRAIN, POLICY_ENGINE, LEDGER, HIL, IDENTITY, SANDBOX, CONSOLE, WORKER] as const;

export type ProcessName = (typeof LIST)[number]['name'];
type Listening = Exclude<(typeof LIST)[number], { readonly calledBy: 'probes' }>;
interface ListeningService extends ServiceDeclaration {
  readonly settings: { readonly own: ReturnType<typeof listenerSettings> };
}
/** Its key in `.gate/dev.json`, for services that listen. */
export type ServiceKey = NonNullable<Listening['key']>;

type Service = ServiceDeclaration & { readonly name: ProcessName };
/** A service with its neighbours: whoever tells how all services are has every one of the list that listens for services. */
export function withNeighbours<One extends ServiceDeclaration>(service: One, list: readonly ServiceDeclaration[]): One {
  const { name, neighbours, tellsOfAll } = service;
  if (!tellsOfAll) return service;
  const known = [name, ...neighbours.map((each) => each.name)];
  const others = list.filter((each) => each.calledBy === 'services' && !known.includes(each.name));
  return { ...service, neighbours: [...neighbours, ...others] };
}

export const SERVICES: readonly Service[] = LIST.map((service) => withNeighbours<Service>(service, LIST));
/** The services with a listener of their own, whose `own` settings say where: all but those that answer only probes. */
export const LISTENING_SERVICES: readonly ListeningService[] = LIST.filter((service) => service.calledBy !== 'probes');
export const PROCESS_NAMES: readonly ProcessName[] = LIST.map(({ name }) => name);

/** Who issues the certificates of services. */
export const CERTIFIER = SERVICES.find(({ certifies }) => certifies) as Service;

export const serviceNamed = (name: ProcessName): ServiceDeclaration =>
  SERVICES.find((service) => service.name === name) as ServiceDeclaration;

/** The workload name of a service, which its peers see. */
export const workloadOf = ({ workload, name }: ServiceDeclaration): string => workload ?? name;

/** The command that runs it as a separate process. */
export const commandOf = ({ name, calledBy }: ServiceDeclaration): string =>
  calledBy === 'probes' ? name : `serve ${name}`;

/** Its key in `.gate/dev.json`. */
export const keyOf = ({ key, name }: ServiceDeclaration): string => key ?? name;
