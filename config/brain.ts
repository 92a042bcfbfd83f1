import { z } from 'zod';
import { type Config, type Env, port, readConfig, setting } from './env.js';

const loopback = z.string().min(1).default('127.0.0.1');

export const BRAIN_SETTINGS = {
  host: setting('GATE_BRAIN_HOST', loopback, 'Address Brain listens on (mutual TLS).'),
  port: setting('GATE_BRAIN_PORT', port(8081), 'Port of Brain.'),
  healthHost: setting('GATE_BRAIN_HEALTH_HOST', loopback, 'Address of its plain health listener.'),
  healthPort: setting('GATE_BRAIN_HEALTH_PORT', port(9081), 'Port of /health, /readyz and /metrics.'),
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

/** The settings of Brain. Throws ConfigError with every fault at once. */
export const readBrainConfig = (env: Env): BrainConfig => readConfig('brain', BRAIN_SETTINGS, env);
