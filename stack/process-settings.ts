import { z } from 'zod';
import type { ServiceDeclaration } from '../api/plugins/declaration.js';
import { DEVELOPMENT_SETTINGS } from '../config/development.js';
import {
  ConfigError,
  type Config,
  type Env,
  type GroupConfig,
  readGroups,
  setting,
  type SettingGroups,
} from '../config/env.js';
import { urlSetting } from '../config/listener.js';
import { ENGINE_SETTINGS, SHARED_SETTINGS, TLS_SETTINGS } from '../config/shared.js';
import { settingLines } from '../config/setting-lines.js';
import { CERTIFIER, commandOf, type ProcessName, serviceNamed, SERVICES } from './services.js';

/** A separate process uses the engine; it never starts one. */
const ENGINE_APART_SETTINGS = {
  ...ENGINE_SETTINGS,
  address: setting('GATE_TEMPORAL_ADDRESS', z.string().min(1), 'host:port of the workflow engine.'),
} as const;

const { trustDomain, logLevel, databaseUrl } = SHARED_SETTINGS;

/** The shared settings that a process reads: without stores it needs no place for one. */
function sharedSettings({ name, stores }: ServiceDeclaration) {
  if (stores.length === 0) return { trustDomain, logLevel };
  const others = SERVICES.filter((other) => other.name !== name).flatMap((other) => other.stores);
  // Only a server can offer one store to processes on different machines.
  return stores.some((store) => others.includes(store))
    ? { ...SHARED_SETTINGS, databaseUrl: { ...databaseUrl, type: databaseUrl.type.unwrap() } }
    : SHARED_SETTINGS;
}

/** The default port of a service; `null` when nothing calls it. */
export function defaultPort({ prefix, settings }: ServiceDeclaration): number | null {
  const found = Object.values(settings)
    .flatMap((group) => Object.values(group))
    .find(({ variable }) => variable === `${prefix}_PORT`);
  return found ? (found.type.parse(undefined) as number) : null;
}

/** The services that it asks: those that it calls, and who issues its certificate. */
export const askedBy = ({ certifies, neighbours }: ServiceDeclaration): readonly ServiceDeclaration[] => [
  ...neighbours,
  ...(certifies || neighbours.some((each) => each.name === CERTIFIER.name) ? [] : [CERTIFIER]),
];

/** Their addresses, by name. */
const addressSettings = (service: ServiceDeclaration) =>
  Object.fromEntries(
    askedBy(service).flatMap((neighbour) => {
      const port = defaultPort(neighbour);
      return port === null ? [] : [[neighbour.name, urlSetting(neighbour.prefix, neighbour.title, port)]];
    }),
  );

/** The settings of a service as a separate process (docs/decisions/processes-apart.md), grouped by the part that reads them. */
function apartSettings(service: ServiceDeclaration): SettingGroups {
  return {
    shared: sharedSettings(service),
    tls: TLS_SETTINGS,
    ...(service.engine && { engine: ENGINE_APART_SETTINGS }),
    addresses: addressSettings(service),
    ...service.settings,
    ...service.apart,
  };
}

export const APART_SETTINGS = Object.fromEntries(
  SERVICES.map((service) => [service.name, apartSettings(service)]),
) as Readonly<Record<ProcessName, SettingGroups>>;

/** `group` of `service`, when the settings of all services are read together. */
const inService = (service: string, group: string): string => `${service}/${group}`;

/** The settings of `gate start`: every service's settings, those of the programs it starts, and no certificate files. */
export const START_SETTINGS = {
  shared: SHARED_SETTINGS,
  development: DEVELOPMENT_SETTINGS,
  engine: ENGINE_SETTINGS,
  ...(Object.fromEntries(
    SERVICES.flatMap(({ name, settings }) =>
      Object.entries(settings).map(([group, each]) => [inService(name, group), each]),
    ),
  ) as SettingGroups),
} as const;

/** Any free port for everything that listens, for a stack that must not conflict with another one. */
export const FREE_PORTS: Readonly<Record<string, string>> = Object.fromEntries(
  settingLines(START_SETTINGS)
    .filter(({ variable }) => variable.endsWith('_PORT'))
    .map(({ variable }) => [variable, '0']),
);

/** A service, reduced to its settings. */
type Settled<Groups extends SettingGroups> = Pick<ServiceDeclaration, 'name'> & { readonly settings: Groups };

/** The settings as read, and those of each service by its name. */
export interface ProcessConfig {
  readonly shared: Config<typeof SHARED_SETTINGS>;
  readonly engine: Config<typeof ENGINE_SETTINGS>;
  of<Groups extends SettingGroups>(service: Settled<Groups>): GroupConfig<Groups>;
}

/** The settings of `gate start`, typed and frozen. Throws ConfigError with every fault of every service at once. */
export function readStartConfig(
  env: Env,
): ProcessConfig & { readonly development: Config<typeof DEVELOPMENT_SETTINGS> } {
  const config = readGroups('gate start', START_SETTINGS, env);
  const of = <Groups extends SettingGroups>({ name }: Settled<Groups>): GroupConfig<Groups> => {
    const mine = inService(name, '');
    return Object.fromEntries(
      Object.entries<unknown>(config).flatMap(([key, group]) =>
        key.startsWith(mine) ? [[key.slice(mine.length), group]] : [],
      ),
    ) as GroupConfig<Groups>;
  };
  const faults = SERVICES.flatMap((service) => faultsOf(service, of(service)));
  if (faults.length > 0) throw new ConfigError('gate start', faults);
  const { shared, engine, development } = config;
  return { shared, engine, development, of };
}

/** The settings of one process that runs apart, typed and frozen. Throws ConfigError with every fault of every group at once. */
export function readApartConfig(name: ProcessName, env: Env): GroupConfig<SettingGroups> {
  return readGroups(`gate ${commandOf(serviceNamed(name))}`, APART_SETTINGS[name], env);
}

/** Faults in settings that belong together. */
export const faultsOf = (service: ServiceDeclaration, config: GroupConfig<SettingGroups>): string[] =>
  (service.faults?.(config as never) ?? []).filter((fault) => fault !== null);
