import type { Json } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { WindowCounts } from '../compliance/counts.js';
import { type Tally, tally } from '../reports/report-rows.js';

/** Names that appear in the rows of a window, with their counts. Beyond a limit they are counted together. */
export interface Inventory {
  readonly agents: Tally;
  readonly tools: Tally;
  readonly policyBundles: Tally;
}
const MAX_NAMES = 1_000;

export const emptyInventory = (): Inventory => ({
  agents: tally(MAX_NAMES),
  tools: tally(MAX_NAMES),
  policyBundles: tally(MAX_NAMES),
});

function seen(names: Tally, name: unknown): void {
  if (typeof name === 'string' && name !== '') names.add(name);
}

export function countNames(inventory: Inventory, row: LedgerEntry): void {
  if (row.event_kind !== 'proxy.verdict') return;
  seen(inventory.agents, row.agent_id);
  seen(inventory.tools, row['tool_name']);
  seen(inventory.policyBundles, bundleName(row.policy_decision?.['policy_bundle']));
}

/** Version and hash, because rules that changed under the same version are another bundle. */
function bundleName(bundle: Json | undefined): unknown {
  if (typeof bundle !== 'object' || bundle === null || Array.isArray(bundle)) return bundle ?? null;
  return [bundle['version'], bundle['hash_sha256']].filter((part) => typeof part === 'string').join(' ');
}

const DISCLAIMER =
  'Made from logged facts alone. It is a part of what a provider documents and no statement that any obligation is met; what Gate ' +
  'does not log, the provider adds.';

interface DocumentInput {
  readonly tenant: string;
  readonly window: { readonly from: string; readonly to: string };
  readonly generatedAt: string;
  readonly counts: WindowCounts;
  readonly inventory: Inventory;
}

const countsOf = (names: Tally) => ({ names: names.byKey(), more: names.others() > 0 });

/** The points of Annex IV (Regulation (EU) 2024/1689) for which the log has facts. */
export const annexIvDocumentation = ({ tenant, window, generatedAt, counts, inventory }: DocumentInput): unknown => ({
  schema_version: '1',
  generated_at: generatedAt,
  tenant,
  window,
  points: [
    {
      point: '1',
      title: 'General description: agents and tools seen',
      agents: countsOf(inventory.agents),
      tools: countsOf(inventory.tools),
    },
    { point: '2(b)', title: 'Design: policy bundles in force', policy_bundles: countsOf(inventory.policyBundles) },
    {
      point: '2(e)',
      title: 'Human oversight measures: decisions taken',
      decisions: counts.humanDecisions.count,
      provenance: counts.provenance.byKey(),
    },
    {
      point: '3',
      title: 'Monitoring and control: verdicts and denials',
      verdicts: counts.verdicts.count,
      denials: counts.denials.count,
    },
    { point: '2(h)', title: 'Cybersecurity: denials with a signal', signals: counts.signals.byKey() },
  ],
  not_in_a_log: ['intended purpose', 'training data', 'validation and testing', 'standards applied', 'EU declaration'],
  disclaimer: DISCLAIMER,
});

/** What is monitored after an agent goes into use, and how many rows the window holds of each (Article 72). */
export const postMarketMonitoringPlan = ({
  tenant,
  window,
  generatedAt,
  counts,
  inventory,
}: DocumentInput): unknown => ({
  schema_version: '1',
  generated_at: generatedAt,
  tenant,
  window,
  collected: [
    { what: 'verdict of every tool call', where: 'proxy.verdict', rows: counts.verdicts.count },
    {
      what: 'denials with the signal that led to them',
      where: 'proxy.verdict, signal',
      rows: counts.denySignals.count,
      signals: counts.signals.byKey(),
    },
    {
      what: 'decisions of people on parked calls',
      where: 'hil.approved, hil.denied',
      rows: counts.humanDecisions.count,
    },
    { what: 'agents in use', where: 'agent_id', names: inventory.agents.size() },
  ],
  reported_by: 'incident cases and their deadlines: GET /cases',
  disclaimer: DISCLAIMER,
});
