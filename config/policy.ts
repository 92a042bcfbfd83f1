import { z } from 'zod';
import { onOff, readConfig, setting, type Config, type Env } from './env.js';
import { listenerSettings } from './listener.js';
import { keyRingText } from './shared.js';

export const POLICY_SETTINGS = {
  ...listenerSettings('GATE_POLICY', 'the policy engine', { port: 8082, healthPort: 9082 }),
  directory: setting(
    'GATE_POLICY_DIR',
    z.string().min(1).optional(),
    'Folder with gate/, data.json and compiled/; without it the policies that ship with Gate.',
  ),
  storeKeys: setting(
    'GATE_POLICY_STORE_KEYS',
    keyRingText,
    'Keys by which the policies in the store are told from what somebody else wrote there: id:64hex[,id:64hex…]; the first makes MACs, all check.',
    { secret: true },
  ),
  seedTemplates: setting(
    'GATE_POLICY_SEED_TEMPLATES',
    onOff,
    'Whether a store of policies that never held one begins with every template of the catalogue.',
  ),
  seedTemplateState: setting(
    'GATE_POLICY_SEED_TEMPLATE_STATE',
    z.enum(['active', 'inactive']).default('active'),
    'Whether the templates of `GATE_POLICY_SEED_TEMPLATES` are in force at once; that takes OPA at the first start.',
  ),
} as const;
export type PolicyConfig = Config<typeof POLICY_SETTINGS>;

/** The settings of the policy engine. Throws ConfigError with every fault at once. */
export const readPolicyConfig = (env: Env): PolicyConfig => readConfig('policy', POLICY_SETTINGS, env);
