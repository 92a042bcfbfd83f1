import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { PROJECT_ROOT } from '../../config/project-root.js';

/** As much of a Compose service as the tests look at. */
export interface ComposeService {
  readonly image?: string;
  readonly build?: string;
  readonly user?: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly ports?: readonly string[];
  readonly networks?: readonly string[];
  readonly profiles?: readonly string[];
  readonly restart?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly stop_grace_period?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
}

export interface ComposeFile {
  readonly text: string;
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** docker-compose.yml as Compose reads it: merge keys resolved, then variables at their defaults, so that an empty one is an empty text. */
export function readCompose(): ComposeFile {
  const text = readFileSync(join(PROJECT_ROOT, 'docker-compose.yml'), 'utf8');
  const filled = (value: string) =>
    value.replaceAll(VARIABLE, (_whole, _name, fallback: string | undefined) => fallback ?? '');
  const file = parse(text, (_key, value: unknown) => (typeof value === 'string' ? filled(value) : value), {
    merge: true,
  }) as Omit<ComposeFile, 'text'>;
  return { ...file, text };
}

/** `${NAME:-fallback}`, and `${NAME:+value}`, which is empty by itself; outside comments everywhere in the file. */
export const VARIABLE = /\$\{([A-Z_]+)(?::?-([^}]*)|:\+[^}]*)?\}/g;

export const GATE_IMAGE = 'gate:0.1.0';

/** The services that run Gate's own image. */
export const gateServices = (file: ComposeFile): readonly (readonly [string, ComposeService])[] =>
  Object.entries(file.services).filter(([, { image }]) => image === GATE_IMAGE);

/** The container's folder of certificates and secrets: `<name>` of the volume `<name>-files` at /run/gate. */
export const filesOf = ({ volumes = [] }: ComposeService): string | null =>
  volumes.map((volume) => /^(.+)-files:\/run\/gate(:ro)?$/.exec(volume)?.[1]).find((name) => name !== undefined) ??
  null;
