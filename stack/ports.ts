import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Env, Settings } from '../config/env.js';
import { errorText } from '../domain/errors.js';
import { START_SETTINGS } from './process-settings.js';

/** A port that a start opens, where it opens it, and the setting that moves it. */
export interface WantedPort {
  readonly variable: string;
  readonly port: number;
  readonly host: string;
}

/** Every fixed port that `gate start` will listen on. */
export function portsOf(env: Env): readonly WantedPort[] {
  return Object.values(START_SETTINGS as Record<string, Settings>).flatMap((group) =>
    Object.values(group)
      .filter(
        ({ variable }) =>
          variable.endsWith('_PORT') && !(variable.startsWith('GATE_TEMPORAL') && env['GATE_TEMPORAL_ADDRESS']),
      )
      .flatMap(({ variable, type }) => {
        const port = type.safeParse(env[variable] || undefined).data;
        const host = Object.values(group).find((one) => one.variable === variable.replace(/_PORT$/, '_HOST'));
        const address = host?.type.safeParse(env[host.variable] || undefined).data;
        return typeof port === 'number' && port > 0
          ? [{ variable, port, host: typeof address === 'string' ? address : '127.0.0.1' }]
          : [];
      }),
  );
}

/** Why nobody can listen there now; `null` where one can. */
export async function listenFault(host: string, port: number): Promise<string | null> {
  const probe = createServer();
  try {
    probe.listen(port, host);
    await once(probe, 'listening');
    return null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EADDRINUSE'
      ? `another program listens on ${host}`
      : `${host} cannot be listened on (${code ?? errorText(error)})`;
  } finally {
    await new Promise((closed) => probe.close(closed));
  }
}
