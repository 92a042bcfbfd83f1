import type { Log } from '../log.js';
import type { UpstreamFault } from './upstream-circuit.js';

/** Logs how several upstreams stand, with the same messages in every edition. */
export const upstreamsLog = (logger: Pick<Log, 'warn'>) => ({
  onChange: (upstream: string, fault: UpstreamFault | null) =>
    fault === null
      ? logger.warn({ upstream }, 'an upstream answers again')
      : logger.warn({ upstream, fault }, 'an upstream fails; the others are served'),
  onChild: (upstream: string, what: string) => logger.warn({ upstream, what }, 'the command of an upstream'),
});
