import { nearestNames } from '../domain/nearest-names.js';
import type { Env, SettingGroups } from './env.js';
import { settingLines } from './setting-lines.js';
import { READ_ELSEWHERE } from './elsewhere.js';

/** The variables that are read where these settings are, with the files that secrets may come from. */
export function variablesOf(groups: readonly SettingGroups[]): ReadonlySet<string> {
  const lines = groups.flatMap((group) => settingLines(group));
  return new Set([
    ...lines.flatMap(({ variable, secret }) => (secret ? [variable, `${variable}_FILE`] : [variable])),
    ...READ_ELSEWHERE.map(({ variable }) => variable),
  ]);
}

/** The variables of an environment that are named like settings but that nothing reads, in words: most are misspelt. */
export function unknownVariables(env: Env, known: ReadonlySet<string>): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('GATE_') && !known.has(name))
    .map((name) => {
      const [nearest] = nearestNames(name, known);
      return `${name} is read by nothing${nearest === undefined ? '' : `; did you mean ${nearest}?`}`;
    });
}
