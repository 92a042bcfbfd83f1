import { z } from 'zod';
import { type Config, type Env, port, readConfig, setting } from './env.js';
import { keyRingText } from './shared.js';

const loopback = z.string().min(1).default('127.0.0.1');

export const LEDGER_SETTINGS = {
  host: setting('GATE_LEDGER_HOST', loopback, 'Address the ledger listens on (mutual TLS).'),
  port: setting('GATE_LEDGER_PORT', port(8083), 'Port of the ledger.'),
  healthHost: setting('GATE_LEDGER_HEALTH_HOST', loopback, 'Address of its plain health listener.'),
  healthPort: setting('GATE_LEDGER_HEALTH_PORT', port(9083), 'Port of /health, /readyz and /metrics.'),
  sidecarKeys: setting(
    'GATE_LEDGER_SIDECAR_KEYS',
    keyRingText,
    'Keys that encrypt what entries commit to and seal the head of the chain: id:64hex[,id:64hex…]; the first seals, all open.',
    { secret: true },
  ),
} as const;
export type LedgerConfig = Config<typeof LEDGER_SETTINGS>;

/** The settings of the ledger. Throws ConfigError with every fault at once. */
export const readLedgerConfig = (env: Env): LedgerConfig => readConfig('ledger', LEDGER_SETTINGS, env);
