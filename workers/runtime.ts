import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';

let installed: Runtime | null = null;

/**
 * The worker's runtime, once per process. Gate handles signals itself: the worker must finish after the proxy has drained, not when the
 * terminal sends a signal.
 */
export function installEngineRuntime(logger: Logger): void {
  if (installed) return;
  installed = Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      // Each poll of an engine that is down would be a log line; the circuit reports once that it is down.
      if ((meta as { target?: unknown } | undefined)?.target === 'temporalio_client::retry') return;
      logger[level === 'ERROR' ? 'error' : 'warn']({ engine: meta }, message);
    }),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'WARN' }, forward: {} } },
  });
}

/**
 * Releases the runtime. It ends by itself with its last connection. One that never had a connection would keep the process alive, so a
 * failed start calls this too. May be called again.
 */
export async function closeEngineRuntime(): Promise<void> {
  const runtime = installed;
  installed = null;
  await runtime?.shutdown();
}
