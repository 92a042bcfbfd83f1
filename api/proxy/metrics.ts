import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { CallDecoy } from '../../contracts/call.js';
import type { Taint } from '../../contracts/policy.js';
import type { NamedStanding } from '../../domain/upstream/upstream.js';
import type { CallRecord } from '../../domain/call/record.js';

/** Tool names come from outside, so only this many get a label of their own. */
const MAX_TOOL_LABELS = 200;

/**
 * Metrics for alerts on the proxy: verdicts, refusals by limit and by outage, what observe mode let through, durations, calls in progress.
 */
export function proxyMetrics(registry: Registry) {
  const registers = [registry];
  const verdicts = new Counter({
    name: 'gate_proxy_verdicts_total',
    help: 'Tool calls by what Gate answered first.',
    labelNames: ['state'],
    registers,
  });
  const wouldDeny = new Counter({
    name: 'gate_proxy_would_deny_total',
    help: 'Calls let through in observe mode that enforce would deny.',
    labelNames: ['tool', 'intent'],
    registers,
  });
  const wouldPend = new Counter({
    name: 'gate_proxy_would_pend_total',
    help: 'Calls let through in observe mode that enforce would park.',
    labelNames: ['tool', 'intent'],
    registers,
  });
  const limited = new Counter({
    name: 'gate_proxy_rate_limited_total',
    help: 'Calls refused by the velocity limit.',
    registers,
  });
  const overBudget = new Counter({
    name: 'gate_proxy_over_budget_total',
    help: 'Calls that the budget of their tenant or agent did not bear, by whose it is.',
    labelNames: ['scope'],
    registers,
  });
  const unavailable = new Counter({
    name: 'gate_proxy_pipeline_unavailable_total',
    help: 'Calls that a layer did not answer for: 503, or let through in observe mode.',
    labelNames: ['layer'],
    registers,
  });
  const certificates = new Counter({
    name: 'gate_proxy_certificates_refused_total',
    help: 'Requests with a certificate that was taken back, or of which nobody knows whether it was, by error code.',
    labelNames: ['code'],
    registers,
  });
  const lost = new Counter({
    name: 'gate_proxy_taint_lost_total',
    help: 'Calls with a value that may be from an answer which was not kept whole, by why it was not.',
    labelNames: ['why'],
    registers,
  });
  const seconds = new Histogram({
    name: 'gate_proxy_request_seconds',
    help: 'Time from request to answer.',
    labelNames: ['route', 'status'],
    buckets: [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const decoyTrips = new Counter({
    name: 'gate_proxy_decoy_trips_total',
    help: 'Calls that touched a decoy, by what it does to their agents.',
    labelNames: ['action'],
    registers,
  });
  const decoyTouched = ({ action }: Pick<CallDecoy, 'action'>): void => decoyTrips.inc({ action });
  const tools = new Set<string>();
  const toolLabel = (tool: string) => {
    if (!tools.has(tool) && tools.size >= MAX_TOOL_LABELS) return 'other';
    tools.add(tool);
    return tool;
  };
  return {
    answered: ({ state, evidence }: CallRecord) => {
      verdicts.inc({ state });
      const { verdict, call } = evidence;
      if (call.decoy) decoyTouched(call.decoy);
      // Only observe mode lets a call continue without both answers.
      if (evidence.inspection_failure !== null && call.mode === 'observe') unavailable.inc({ layer: 'brain' });
      if (evidence.policy_failure) unavailable.inc({ layer: 'policy' });
      const unknown = ((evidence.facts?.taint ?? []) as readonly Taint[]).find(({ tool }) => tool === '');
      if (unknown) lost.inc({ why: unknown.lost ?? 'unknown' });
      if (!verdict?.would) return;
      (verdict.would === 'deny' ? wouldDeny : wouldPend).inc({
        tool: toolLabel(call.tool),
        intent: verdict.intent_category,
      });
    },
    limited: () => limited.inc(),
    overBudget: (scope: 'tenant' | 'agent') => overBudget.inc({ scope }),
    unavailable: (layer: string) => unavailable.inc({ layer }),
    responded: (route: string, status: number, took: number) =>
      seconds.observe({ route, status: String(status) }, took),
    watchStuck(read: () => Promise<number>) {
      new Gauge({
        name: 'gate_proxy_stuck_calls',
        help: 'Calls that reconciliation cannot help at present; each has an alarm row.',
        registers,
        async collect() {
          this.set(await read().catch(() => Number.NaN));
        },
      });
    },
    watchRows(read: () => Promise<number>) {
      new Gauge({
        name: 'gate_proxy_oldest_row_seconds',
        help: 'How long the oldest row waits that the ledger does not have; 0 where it has all.',
        registers,
        async collect() {
          this.set(await read().catch(() => Number.NaN));
        },
      });
    },
    watchRevocations(read: () => number | null) {
      new Gauge({
        name: 'gate_proxy_revocations_age_seconds',
        help: 'Since when the list of revoked certificates was not heard again; NaN where none counts, and no certificate of an agent does.',
        registers,
        collect() {
          this.set((read() ?? Number.NaN) / 1000);
        },
      });
    },
    decoyTouched,
    certificateRefused: (code: string) => certificates.inc({ code }),
    /** `read` says how many until now. */
    watchDropped(read: () => number) {
      new Counter({
        name: 'gate_proxy_tool_messages_dropped_total',
        help: 'Progress and log messages of tools that no client heard: more than it took, too long, or, where the worker is another process, left behind.',
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    },
    watchStreams(read: () => number) {
      new Gauge({
        name: 'gate_proxy_mcp_streams',
        help: 'Open event streams of MCP clients.',
        registers,
        collect() {
          this.set(read());
        },
      });
    },
    watchUpstreams(read: () => readonly NamedStanding[]) {
      new Gauge({
        name: 'gate_proxy_upstream_answers',
        help: 'Of several upstreams: 1 for each that answered last, 0 for each that failed.',
        labelNames: ['upstream'],
        registers,
        collect() {
          this.reset();
          for (const { name, state } of read())
            if (state !== 'unknown') this.set({ upstream: name }, Number(state === 'answers'));
        },
      });
    },
    watchWaiting(read: () => number) {
      new Gauge({
        name: 'gate_proxy_calls_waiting',
        help: 'Calls under way that wait for their turn to be judged.',
        registers,
        collect() {
          this.set(read());
        },
      });
    },
    watchInFlight(read: () => number) {
      new Gauge({
        name: 'gate_proxy_calls_in_flight',
        help: 'Calls under way.',
        registers,
        collect() {
          this.set(read());
        },
      });
    },
  };
}
