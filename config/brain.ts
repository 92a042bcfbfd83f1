import { z } from 'zod';
import { inspectionTimeoutSetting, modelsSetting, requireQualifiedSetting } from './brain-models.js';
import { type Config, type Env, onOff, readConfig, setting } from './env.js';
import { listenerSettings } from './listener.js';

/** Brain's own, or lite's. */
export const maskedParamsSetting = (prefix: string) =>
  setting(
    `${prefix}_EMIT_MASKED_PARAMS`,
    onOff,
    'Keeps the parameters of a call, with personal data and secrets masked, beside the row of its inspection; they are purged with it.',
  );

export const BRAIN_SETTINGS = {
  ...listenerSettings('GATE_BRAIN', 'Brain', { port: 8081, healthPort: 9081 }),
  personasDir: setting(
    'GATE_BRAIN_PERSONAS_DIR',
    z.string().min(1).optional(),
    'Folder with <tenant>/<agent_id>.md and their vectors; without it the personas that ship with Gate.',
  ),
  injectionLevel: setting(
    'GATE_INJECTION_HEURISTIC_LEVEL',
    z.enum(['standard', 'strict']).default('standard'),
    '`strict` decodes base64, hex and ROT13 twice and up to 1 MiB of a text; `standard` once and up to 64 KiB.',
  ),
  models: modelsSetting,
  requireQualified: requireQualifiedSetting,
  inspectionTimeoutSecs: inspectionTimeoutSetting,
  maskedParams: maskedParamsSetting('GATE_BRAIN'),
} as const;
export type BrainConfig = Config<typeof BRAIN_SETTINGS>;

/** The settings of Brain. Throws ConfigError with all faults at once. */
export const readBrainConfig = (env: Env): BrainConfig => readConfig('brain', BRAIN_SETTINGS, env);
