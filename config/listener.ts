import { z } from 'zod';
import { port, setting } from './env.js';

/** Where a service listens; on loopback unless it is configured otherwise. `who` is used within a sentence. */
export const listenerSettings = (
  prefix: `GATE_${string}`,
  who: string,
  ports: { readonly port: number; readonly healthPort: number },
) => ({
  host: setting(`${prefix}_HOST`, loopback, `Address ${who} listens on (mutual TLS).`),
  port: setting(`${prefix}_PORT`, port(ports.port), `Port of ${who}.`),
  ...healthSettings(prefix, ports.healthPort),
});

/** The plain listener of probes. */
export const healthSettings = (prefix: `GATE_${string}`, healthPort: number) => ({
  healthHost: setting(`${prefix}_HEALTH_HOST`, loopback, 'Address of its plain health listener.'),
  healthPort: setting(`${prefix}_HEALTH_PORT`, port(healthPort), 'Port of /health, /readyz and /metrics.'),
});

const loopback = z.string().min(1).default('127.0.0.1');

/** The address at which other processes reach this service. */
export const urlSetting = (prefix: `GATE_${string}`, title: string, defaultPort: number) =>
  setting(
    `${prefix}_URL`,
    z.url({ protocol: /^https$/, message: 'must be an https:// URL' }).default(`https://127.0.0.1:${defaultPort}`),
    `${title}.`,
  );
