import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { ConsoleOptions } from '../../api/console/app.js';
import type { Assets } from '../../api/console/assets.js';
import { consoleMetrics } from '../../api/console/metrics.js';
import { SESSION_SECONDS } from '../../contracts/console.js';
import { ABOUT } from './about-console.js';

export const CONSOLE_HOST = 'localhost:8085';
export const CONSOLE_ORIGIN = `http://${CONSOLE_HOST}`;

/** Files that pages name, and nothing is in. */
const asset = (name: string) => ({ path: `/static/0/${name}`, type: 'text/plain', body: Buffer.alloc(0) });
export const NO_ASSETS: Assets = { style: asset('console.css'), script: asset('console.js') };

/** A console on loopback that says nothing and keeps no searches: what `over` does not name. */
export function consoleOptions(
  over: Pick<ConsoleOptions, 'sessions' | 'signIn' | 'neighbours'> & Partial<ConsoleOptions>,
): ConsoleOptions {
  const { registry = new Registry(), metrics = consoleMetrics(registry) } = over;
  return {
    logger: pino({ level: 'silent' }),
    registry,
    trustDomain: 'gate.local',
    tls: null,
    searches: { list: () => Promise.resolve([]), save: () => Promise.resolve(), forget: () => Promise.resolve() },
    assets: NO_ASSETS,
    url: undefined,
    sessionSeconds: SESSION_SECONDS,
    passkeyRequired: 'none',
    about: ABOUT,
    metrics,
    ...over,
  };
}
