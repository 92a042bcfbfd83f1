import { z } from 'zod';
import type { SettingGroups, Settings } from './env.js';

/** One line of a reference: what is read, and what applies when nothing is set. */
export interface SettingLine {
  readonly variable: string;
  /** `required`, `none`, `empty`, or the value. */
  readonly default: string;
  readonly secret: boolean;
  readonly meaning: string;
}

/** Every setting of the groups once, in their order; one that any group requires is required. */
export function settingLines(groups: SettingGroups): readonly SettingLine[] {
  const lines = new Map<string, SettingLine>();
  for (const settings of Object.values<Settings>(groups))
    for (const { variable, meaning, type, secret = false } of Object.values(settings)) {
      const line = { variable, default: defaultText(type), secret, meaning };
      if (!lines.has(variable) || (line.default === 'required' && lines.get(variable)?.default !== 'required'))
        lines.set(variable, line);
    }
  return [...lines.values()];
}

function defaultText(type: z.ZodType): string {
  const result = type.safeParse(undefined);
  if (!result.success) return 'required';
  if (result.data === undefined) return 'none';
  return Array.isArray(result.data) ? result.data.join(',') || 'empty' : z.coerce.string().parse(result.data);
}
