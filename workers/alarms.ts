import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { OnAlarm } from '../activities/ledger.js';

/** Reports alarms to people: a log line each, and a counter for alerts. The row in the ledger is the record of it. */
export function alarmsTold(logger: Pick<Logger, 'warn'>, registry: Registry): OnAlarm {
  const alarms = new Counter({
    name: 'gate_worker_alarms_total',
    help: 'Alarms of the pipeline by the kind of their ledger row: rows the ledger refused, calls that were closed or are stuck, forged decisions.',
    labelNames: ['kind'],
    registers: [registry],
  });
  return (correlationId, reason, kind) => {
    alarms.inc({ kind });
    logger.warn({ correlation_id: correlationId, reason, kind }, 'alarm');
  };
}
