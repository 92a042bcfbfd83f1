import type { CanaryWindow, ModelUpgradeCanary } from '../../../contracts/ledger-reports.js';
import { canonicalJson } from '../../crypto/digest.js';
import { type ReportRow, intentBasisPoints, rounded, tally } from './report-rows.js';
import { isDenial, outcomeOf } from './outcome.js';

/** The models that an inspection ran on. */
export interface InspectedBy {
  readonly brain_version: string;
  readonly mock_mode: boolean;
  readonly provider_models: Record<string, string>;
}

export interface CanaryPart {
  readonly since: string;
  readonly until: string;
  /** The rows of the window, in chain order. */
  readonly reportRows: AsyncIterable<readonly ReportRow[]>;
  /** The models of inspection `id`; `null` when its evidence was purged or does not state them. */
  inspectedBy(id: string): Promise<InspectedBy | null>;
}

const MIN_REQUESTS = 50;
/** Evidence is decrypted row by row, so only the newest inspections of a window are sampled. */
const SAMPLED = 200;

/** Compares two windows of the same length, before and after the cutover. */
export async function modelUpgradeCanary(
  cutover: string,
  windowHours: number,
  parts: { readonly before: CanaryPart; readonly after: CanaryPart },
): Promise<ModelUpgradeCanary> {
  const before = await canaryWindow(parts.before);
  const after = await canaryWindow(parts.after);
  const signals = (window: CanaryWindow) => window.signal_mix.map(({ signal }) => signal).toSorted();
  const models = (window: CanaryWindow) =>
    window.models
      .map((model) => canonicalJson({ ...model, observed: 0 }))
      .toSorted()
      .join();
  const [had, has] = [signals(before), signals(after)];
  return {
    cutover,
    window_hours: windowHours,
    before,
    after,
    deltas: {
      deny_rate_delta: rounded(after.deny_rate - before.deny_rate),
      intent_mean_delta: rounded((after.intent_mean ?? 0) - (before.intent_mean ?? 0)),
      total_delta: after.total - before.total,
      new_signals: has.filter((signal) => !had.includes(signal)),
      vanished_signals: had.filter((signal) => !has.includes(signal)),
    },
    model_changed: before.models_sampled > 0 && after.models_sampled > 0 && models(before) !== models(after),
    insufficient: before.total < MIN_REQUESTS || after.total < MIN_REQUESTS,
  };
}

async function canaryWindow({ since, until, reportRows, inspectedBy }: CanaryPart): Promise<CanaryWindow> {
  const signals = tally();
  const inspections: string[] = [];
  let [total, authorized, denied, intentSum, intents] = [0, 0, 0, 0, 0];
  for await (const page of reportRows) {
    for (const reportRow of page) {
      if (reportRow.signal !== null) signals.add(reportRow.signal);
      const outcome = outcomeOf(reportRow);
      if (outcome !== null) total += 1;
      if (outcome === 'allowed' || reportRow.kind === 'hil.approved') authorized += 1;
      if (isDenial(reportRow)) denied += 1;
      const intent = intentBasisPoints(reportRow);
      if (intent !== null) {
        intentSum += intent;
        intents += 1;
      }
      if (reportRow.kind === 'brain.inspection' && reportRow.decision?.['available'] !== false) {
        inspections.push(reportRow.id);
        if (inspections.length > SAMPLED) inspections.shift();
      }
    }
  }
  const models = new Map<string, CanaryWindow['models'][number]>();
  let sampled = 0;
  for (const id of inspections) {
    const model = await inspectedBy(id);
    if (!model) continue;
    sampled += 1;
    const key = canonicalJson({ ...model });
    const known = models.get(key);
    if (known) known.observed += 1;
    else models.set(key, { ...model, observed: 1 });
  }
  return {
    since,
    until,
    total,
    authorized,
    denied,
    deny_rate: total === 0 ? 0 : rounded(Math.min(1, denied / total)),
    intent_mean: intents === 0 ? null : rounded(intentSum / intents / 10_000),
    signal_mix: signals.top().map(({ key, count }) => ({ signal: key, count })),
    models: [...models.values()].toSorted(
      (a, b) => b.observed - a.observed || (canonicalJson({ ...a }) < canonicalJson({ ...b }) ? -1 : 1),
    ),
    models_sampled: sampled,
  };
}
