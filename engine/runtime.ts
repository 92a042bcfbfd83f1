import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Logger } from 'pino';

let installed = false;

/**
 * The worker's runtime, once per process. Signals are Gate's business: the worker must finish after the proxy has drained, not when the
 * terminal says Ctrl-C.
 */
export function installEngineRuntime(logger: Logger): void {
  if (installed) return;
  installed = true;
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('WARN', ({ level, message, meta }) =>
      logger[level === 'ERROR' ? 'error' : 'warn']({ engine: meta }, message),
    ),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'WARN' }, forward: {} } },
  });
}
