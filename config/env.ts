import { z } from 'zod';

export type Env = Readonly<Record<string, string | undefined>>;

/** One setting: its variable, what it means, and the zod type that reads it from text. Defaults live in the type. */
export interface Setting<Type extends z.ZodType = z.ZodType> {
  readonly variable: string;
  readonly meaning: string;
  readonly type: Type;
  /** Never printed, and refused when it looks like a placeholder. */
  readonly secret?: boolean;
}
export type Settings = Readonly<Record<string, Setting>>;
export type Config<S extends Settings> = { readonly [K in keyof S]: z.infer<S[K]['type']> };

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

export const port = (defaultPort: number) => z.coerce.number().int().min(0).max(65_535).default(defaultPort);
export const seconds = (defaultSeconds: number, min = 1, max = 86_400) =>
  z.coerce.number().int().min(min).max(max).default(defaultSeconds);
export const flag = (defaultValue: boolean) => z.stringbool().default(defaultValue);
export const csv = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  );

/** Every fault of an environment at once, each naming its variable. Values of secrets are not repeated. */
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

/** Reads the settings of one process from `env`, once. The result is typed and frozen. Throws ConfigError with all faults. */
export function readConfig<S extends Settings>(process: string, settings: S, env: Env): Config<S> {
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, { variable, type, secret }] of Object.entries(settings)) {
    const text = env[variable] === '' ? undefined : env[variable];
    const result = type.safeParse(text);
    if (!result.success) {
      const reason = result.error.issues.map((issue) => issue.message).join('; ');
      faults.push(
        `${variable}: ${text === undefined ? 'is not set' : reason}${secret || text === undefined ? '' : ` (it is "${text}")`}`,
      );
    } else if (secret && typeof text === 'string' && PLACEHOLDER.test(text)) {
      faults.push(`${variable}: looks like a placeholder; set a real secret`);
    } else {
      values[name] = result.data;
    }
  }
  if (faults.length > 0) throw new ConfigError(process, faults);
  return Object.freeze(values) as Config<S>;
}
