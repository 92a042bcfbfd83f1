import type { Setting, SettingGroups } from './env.js';

/** A setting as it is in effect, in words that anybody who is signed in may read. */
export interface ToldSetting {
  readonly variable: string;
  readonly meaning: string;
  readonly told: string;
  /** `secret`: only whether it is set is told. */
  readonly from: 'default' | 'set' | 'secret' | 'absent';
}

/**
 * What settings say, each variable once. Of a secret it is told whether it is set, and nothing that follows from its value; of an address not
 * who signs in by it; of a table how many lines it has, because they may be about other tenants.
 */
export function toldSettings(groups: SettingGroups, config: Readonly<Record<string, object>>): readonly ToldSetting[] {
  const told = new Map<string, ToldSetting>();
  for (const [group, settings] of Object.entries(groups))
    for (const [name, setting] of Object.entries(settings))
      told.set(setting.variable, settingTold(setting, (config[group] as Readonly<Record<string, unknown>>)[name]));
  return [...told.values()];
}

function settingTold({ variable, meaning, type, secret }: Setting, value: unknown): ToldSetting {
  const isAbsent = value === undefined || (Array.isArray(value) && value.length === 0);
  if (secret) return { variable, meaning, told: isAbsent ? 'not set' : 'set', from: isAbsent ? 'absent' : 'secret' };
  if (isAbsent) return { variable, meaning, told: 'not set', from: 'absent' };
  const unset = type.safeParse(undefined);
  const isDefault = unset.success && JSON.stringify(unset.data) === JSON.stringify(value);
  return { variable, meaning, told: valueTold(value), from: isDefault ? 'default' : 'set' };
}

function valueTold(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return textTold(value);
  if (Array.isArray(value) && value.every((part) => typeof part === 'string')) return value.map(textTold).join(', ');
  if (value instanceof Map) return `${value.size} ${value.size === 1 ? 'entry' : 'entries'}`;
  return 'set';
}

/** An address may hold a password, or a token in its query. */
function textTold(text: string): string {
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  if (!URL.canParse(text)) return 'set';
  const { protocol, host, pathname } = new URL(text);
  return `${protocol}//${host}${pathname}`;
}
