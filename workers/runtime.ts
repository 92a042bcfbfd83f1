import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';

let installed: Runtime | null = null;

/**
 * The worker's runtime, once per process. Signals are Gate's business: the worker must finish after the proxy has drained, not when the
 * terminal says Ctrl-C.
 */
export function installEngineRuntime(logger: Logger): void {
  if (installed) return;
  installed = Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      // Each poll of an engine that is away would be a line; the circuit says once that it is away.
      if ((meta as { target?: unknown } | undefined)?.target === 'temporalio_client::retry') return;
      logger[level === 'ERROR' ? 'error' : 'warn']({ engine: meta }, message);
    }),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'WARN' }, forward: {} } },
  });
}

/**
 * Lets go of the runtime. It ends by itself with its last connection; one that never had a connection would keep the process alive, so
 * a start that failed calls this too. May be called again.
 */
export async function closeEngineRuntime(): Promise<void> {
  const runtime = installed;
  installed = null;
  await runtime?.shutdown();
}
