import { readModels } from '../config/brain-models.js';
import type { Env } from '../config/env.js';
import { LITE_SETTINGS } from '../config/lite.js';
import { PREPARE_SETTINGS } from '../config/prepare.js';
import { unknownVariables, variablesOf } from '../config/unknown-settings.js';
import { APART_SETTINGS, START_SETTINGS } from './process-settings.js';

const groups = () => [START_SETTINGS, ...Object.values(APART_SETTINGS), PREPARE_SETTINGS, { lite: LITE_SETTINGS }];

/** The variables of an environment that are named like settings but that nothing in either edition reads, in words. */
export const unknownSettings = (env: Env): readonly string[] =>
  Object.keys(env).some((name) => name.startsWith('GATE_'))
    ? unknownVariables(env, new Set([...variablesOf(groups()), ...keyVariables(env)]))
    : [];

/** The variables that the file of models names. A file that cannot be read is told of where it is read. */
function keyVariables({ GATE_BRAIN_MODELS_FILE: file }: Env): readonly string[] {
  if (!file) return [];
  try {
    return Object.values(readModels(file).keyVariables).flatMap((name) => [name, `${name}_FILE`]);
  } catch {
    return [];
  }
}
