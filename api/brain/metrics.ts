import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { eachLane, MASKING } from '../../domain/inspection/lane-table.js';
import type { Inspector } from '../../domain/inspection/port.js';
import type { Attempt } from '../../domain/models/router.js';
import type { RequestScanner, ResponseScanner } from '../../domain/inspection/response-port.js';
import type { DefinitionScanner } from '../../domain/tool-definitions/ports.js';

/** Wraps an inspector with metrics: outcomes, time, cache look-ups, and which detectors answered with a fallback. */
export function observedInspector(inspector: Inspector, registry: Registry): Inspector {
  const registers = [registry];
  const detectors = [MASKING, ...eachLane().flatMap(([name, { fallsBack }]) => (fallsBack ? [name] : []))];
  const inspections = new Counter({
    name: 'gate_brain_inspections_total',
    help: 'Inspections by outcome: authorized, rejected, or unavailable where no verdict could be had.',
    labelNames: ['outcome'],
    registers,
  });
  const lookups = new Counter({
    name: 'gate_brain_cache_lookups_total',
    help: 'Look-ups in the verdict cache by layer and outcome.',
    labelNames: ['layer', 'outcome'],
    registers,
  });
  const degraded = new Gauge({
    name: 'gate_brain_detector_degraded',
    help: '1 while the most recent inspection used a fallback for this detector.',
    labelNames: ['detector'],
    registers,
  });
  const seconds = new Histogram({
    name: 'gate_brain_inspection_seconds',
    help: 'Time of one inspection.',
    buckets: [0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1],
    registers,
  });
  for (const detector of detectors) degraded.set({ detector }, 0);

  return {
    async inspect(request) {
      const stop = seconds.startTimer();
      try {
        const verdict = await inspector.inspect(request);
        inspections.inc({ outcome: verdict.authorized ? 'authorized' : 'rejected' });
        lookups.inc({ layer: 'exact', outcome: verdict.evidence.cache_served ? 'hit' : 'miss' });
        for (const detector of detectors) degraded.set({ detector }, verdict.degraded?.includes(detector) ? 1 : 0);
        return verdict;
      } catch (error) {
        inspections.inc({ outcome: 'unavailable' });
        throw error;
      } finally {
        stop();
      }
    },
  };
}

/** What asking models came to, and what it cost or saved. */
export function modelMetrics(registry: Registry) {
  const registers = [registry];
  const attempts = new Counter({
    name: 'gate_brain_model_attempts_total',
    help: 'Questions to one model (alias:model) by workload and outcome: answered, abandoned where another one was faster, or why there was no answer.',
    labelNames: ['model', 'workload', 'outcome'],
    registers,
  });
  const spent = new Counter({
    name: 'gate_brain_model_spend_usd_micros_total',
    help: 'Estimated cost of these questions in millionths of a dollar, by the prices in the file.',
    labelNames: ['model', 'workload'],
    registers,
  });
  const saved = new Counter({
    name: 'gate_brain_cache_savings_estimated_usd_micros_total',
    help: 'What verdicts from the cache cost when they were made, in millionths of a dollar.',
    registers,
  });
  return {
    attempt({ model, workload, outcome, costMicros }: Attempt): void {
      attempts.inc({ model, workload, outcome });
      if (costMicros > 0) spent.inc({ model, workload }, costMicros);
    },
    saved: (micros: number): void => saved.inc(micros),
  };
}
export type ModelMetrics = ReturnType<typeof modelMetrics>;
/** Wraps the scans with metrics: by kind, what came of each, and how long it took. */
export function observedScanner(
  scanner: ResponseScanner & RequestScanner & DefinitionScanner,
  registry: Registry,
): ResponseScanner & RequestScanner & DefinitionScanner {
  const registers = [registry];
  const scans = new Counter({
    name: 'gate_brain_scans_total',
    help: 'Scans of answers, arguments, definitions and names of tools by outcome: clean, found, degraded, or unavailable where nobody looked.',
    labelNames: ['scan', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'gate_brain_scan_seconds',
    help: 'Time of one scan.',
    labelNames: ['scan'],
    buckets: [0.0005, 0.001, 0.005, 0.01, 0.05, 0.25, 1, 5, 10],
    registers,
  });
  const observed =
    <Question, Answer>(
      scan: string,
      ask: (question: Question) => Promise<Answer>,
      saysOf: (answer: Answer) => { readonly found: boolean; readonly degraded?: boolean },
    ) =>
    async (question: Question): Promise<Answer> => {
      const stop = seconds.startTimer({ scan });
      try {
        const answer = await ask(question);
        const { found, degraded } = saysOf(answer);
        scans.inc({ scan, outcome: degraded ? 'degraded' : found ? 'found' : 'clean' });
        return answer;
      } catch (error) {
        scans.inc({ scan, outcome: 'unavailable' });
        throw error;
      } finally {
        stop();
      }
    };
  return {
    scanResponse: observed(
      'response',
      (asked) => scanner.scanResponse(asked),
      ({ detected_entities: found, unread }) => ({ found: found.length > 0, degraded: unread !== undefined }),
    ),
    scanRequest: observed(
      'request',
      (asked) => scanner.scanRequest(asked),
      ({ detected_entities: found }) => ({ found: found.length > 0 }),
    ),
    scanDefinitions: observed(
      'definitions',
      (asked) => scanner.scanDefinitions(asked),
      ({ flagged, flagged_texts: texts, located, degraded }) => ({
        found: flagged.length + texts.length + located.length > 0,
        degraded,
      }),
    ),
    scanToolName: observed(
      'tool_name',
      (asked) => scanner.scanToolName(asked),
      ({ lookalike: found, degraded }) => ({ found, degraded }),
    ),
  };
}
