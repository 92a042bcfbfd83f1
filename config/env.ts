import { readFileSync } from 'node:fs';
import { z } from 'zod';

export type Env = Readonly<Record<string, string | undefined>>;

/** One setting: its variable, its meaning, and the zod type that reads it from text. Defaults are in the type. */
export interface Setting<Type extends z.ZodType = z.ZodType> {
  readonly variable: string;
  readonly meaning: string;
  readonly type: Type;
  /** Never printed, refused when it looks like a placeholder, and read from the file that `<variable>_FILE` names, if that is set. */
  readonly secret?: boolean;
}
export type Settings = Readonly<Record<string, Setting>>;
export type Config<S extends Settings> = { readonly [K in keyof S]: z.infer<S[K]['type']> };
/** The settings of one process, grouped by the part of it that reads them. */
export type SettingGroups = Readonly<Record<string, Settings>>;
export type GroupConfig<G extends SettingGroups> = { readonly [K in keyof G]: Config<G[K]> };

export const setting = <Type extends z.ZodType>(
  variable: string,
  type: Type,
  meaning: string,
  options: { secret?: boolean } = {},
): Setting<Type> => ({
  variable,
  meaning,
  type,
  ...options,
});

const PORT_RANGE = 'must be a port from 0 to 65535';
export const port = (defaultPort: number) =>
  z.coerce.number('must be a number').int().min(0, PORT_RANGE).max(65_535, PORT_RANGE).default(defaultPort);
export const seconds = (defaultSeconds: number, min = 1, max = 86_400) =>
  z.coerce
    .number('must be a number of seconds')
    .int()
    .min(min, `must be at least ${min}`)
    .max(max, `must be at most ${max}`)
    .default(defaultSeconds);
/** On for `true`, `1` and `yes`; anything else is off. */
export const onOff = z.preprocess(
  (text) => (typeof text === 'string' ? /^(true|1|yes)$/i.test(text.trim()) : text),
  z.boolean().default(false),
);
export const csv = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );

/** All faults of an environment at once, each naming its variable. Values of secrets are not repeated. */
export class ConfigError extends Error {
  readonly faults: readonly string[];
  constructor(process: string, faults: readonly string[]) {
    super(
      `${process}: ${faults.length === 1 ? 'one setting is' : `${faults.length} settings are`} wrong\n${faults.map((fault) => `  ${fault}`).join('\n')}`,
    );
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

const PLACEHOLDER = /^(change[-_ ]?me|replace[-_ ]?me|your[-_ ].*|secret|password|token|x+|(.)\2*)$/i;

/**
 * Reads the settings of one process from `env`. The result is typed and frozen. A secret may also be in the file that `<variable>_FILE`
 * names, as containers provide them. Throws ConfigError with all faults.
 */
export function readConfig<S extends Settings>(process: string, settings: S, env: Env): Config<S> {
  return readGroups(process, { settings }, env).settings;
}

/** Like `readConfig` for several groups; a variable that two groups share is one fault. */
export function readGroups<G extends SettingGroups>(process: string, groups: G, env: Env): GroupConfig<G> {
  const faults = new Set<string>();
  const config = Object.fromEntries(
    Object.entries(groups).map(([group, settings]) => [group, Object.freeze(readSettings(settings, env, faults))]),
  );
  if (faults.size > 0) throw new ConfigError(process, [...faults]);
  return Object.freeze(config) as GroupConfig<G>;
}

function readSettings(settings: Settings, env: Env, faults: Set<string>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, { variable, type, secret }] of Object.entries(settings)) {
    const read = secret ? secretText(variable, env) : { text: env[variable] || undefined };
    if ('fault' in read) {
      faults.add(read.fault);
      continue;
    }
    const { text } = read;
    const result = type.safeParse(text);
    if (!result.success) {
      const reason = result.error.issues.map((issue) => issue.message).join('; ');
      faults.add(
        `${variable}: ${text === undefined ? 'is not set' : reason}${secret || text === undefined ? '' : ` (it is "${text}")`}`,
      );
    } else if (secret && text !== undefined && PLACEHOLDER.test(text)) {
      faults.add(`${variable}: looks like a placeholder; set a real secret`);
    } else {
      values[name] = result.data;
    }
  }
  return values;
}

function secretText(variable: string, env: Env): { text: string | undefined } | { fault: string } {
  const file = env[`${variable}_FILE`];
  if (!file) return { text: env[variable] || undefined };
  if (env[variable]) return { fault: `${variable}: set it or ${variable}_FILE, not both` };
  try {
    return { text: readFileSync(file, 'utf8').trim() || undefined };
  } catch (error) {
    return { fault: `${variable}_FILE: ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})` };
  }
}
