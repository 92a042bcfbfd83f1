import type { Env } from '../config/env.js';
import { READ_ELSEWHERE } from '../config/elsewhere.js';
import { LITE_SETTINGS } from '../config/lite.js';
import { PREPARE_SETTINGS } from '../config/prepare.js';
import { settingLines } from '../config/setting-lines.js';
import { nearestNames } from '../domain/nearest-names.js';
import { APART_SETTINGS, START_SETTINGS } from './process-settings.js';

function knownVariables(): ReadonlySet<string> {
  const groups = [START_SETTINGS, ...Object.values(APART_SETTINGS), PREPARE_SETTINGS, { lite: LITE_SETTINGS }];
  const lines = groups.flatMap((group) => settingLines(group));
  return new Set([
    ...lines.flatMap(({ variable, secret }) => (secret ? [variable, `${variable}_FILE`] : [variable])),
    ...READ_ELSEWHERE.map(({ variable }) => variable),
  ]);
}

/** The variables of an environment that are named like settings but that nothing reads, in words: most are misspelt. */
export function unknownSettings(env: Env): readonly string[] {
  const named = Object.keys(env).filter((name) => name.startsWith('GATE_'));
  if (named.length === 0) return [];
  const known = knownVariables();
  return named
    .filter((name) => !known.has(name))
    .map((name) => {
      const [nearest] = nearestNames(name, known);
      return `${name} is read by nothing${nearest === undefined ? '' : `; did you mean ${nearest}?`}`;
    });
}
