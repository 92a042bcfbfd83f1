import { z } from 'zod';
import { port, readConfig, setting, type Config, type Env } from './env.js';

const loopback = z.string().min(1).default('127.0.0.1');

export const POLICY_SETTINGS = {
  host: setting('GATE_POLICY_HOST', loopback, 'Address the policy engine listens on (mutual TLS).'),
  port: setting('GATE_POLICY_PORT', port(8082), 'Port of the policy engine.'),
  healthHost: setting('GATE_POLICY_HEALTH_HOST', loopback, 'Address of its plain health listener.'),
  healthPort: setting('GATE_POLICY_HEALTH_PORT', port(9082), 'Port of /health, /readyz and /metrics.'),
  directory: setting(
    'GATE_POLICY_DIR',
    z.string().min(1).optional(),
    'Folder with gate/, data.json and compiled/; without it the policies that ship with Gate.',
  ),
} as const;
export type PolicyConfig = Config<typeof POLICY_SETTINGS>;

/** The settings of the policy engine. Throws ConfigError with every fault at once. */
export const readPolicyConfig = (env: Env): PolicyConfig => readConfig('policy', POLICY_SETTINGS, env);
