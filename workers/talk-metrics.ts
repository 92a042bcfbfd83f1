import { Counter, type Registry } from 'prom-client';

/** A metric for alerts on what tools say while they work: how much of it a worker of its own could not hand on. */
export function talkMetrics(registry: Registry, dropped: () => number = () => 0): void {
  new Counter({
    name: 'gate_worker_tool_messages_dropped_total',
    help: 'Progress and log messages of tools that did not reach the proxy: too many at a time, too long, too many that wait for a client, taken by nobody in time, or the store failed.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(dropped());
    },
  });
}
