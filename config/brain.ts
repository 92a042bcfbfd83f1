import { z } from 'zod';
import { type Config, type Env, readConfig, setting } from './env.js';
import { listenerSettings } from './listener.js';

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
    '`strict` also decodes one level of base64 before it looks for injected instructions.',
  ),
} as const;
export type BrainConfig = Config<typeof BRAIN_SETTINGS>;

/** The settings of Brain. Throws ConfigError with all faults at once. */
export const readBrainConfig = (env: Env): BrainConfig => readConfig('brain', BRAIN_SETTINGS, env);
