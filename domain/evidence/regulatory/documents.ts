import type { Json } from '../../../contracts/json.js';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import type { Facts } from '../compliance/counts.js';
import { type Tally, tally } from '../reports/facts.js';

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
  readonly facts: Facts;
  readonly inventory: Inventory;
}

const counts = (names: Tally) => ({ names: names.byKey(), more: names.others() > 0 });

/** The points of Annex IV (Regulation (EU) 2024/1689) for which the log has facts. */
export const annexIvDocumentation = ({ tenant, window, generatedAt, facts, inventory }: DocumentInput): unknown => ({
  schema_version: '1',
  generated_at: generatedAt,
  tenant,
  window,
  points: [
    {
      point: '1',
      title: 'General description: agents and tools seen',
      agents: counts(inventory.agents),
      tools: counts(inventory.tools),
    },
    { point: '2(b)', title: 'Design: policy bundles in force', policy_bundles: counts(inventory.policyBundles) },
    {
      point: '2(e)',
      title: 'Human oversight measures: decisions taken',
      decisions: facts.humanDecisions.count,
      provenance: facts.provenance.byKey(),
    },
    {
      point: '3',
      title: 'Monitoring and control: verdicts and denials',
      verdicts: facts.verdicts.count,
      denials: facts.denials.count,
    },
    { point: '2(h)', title: 'Cybersecurity: denials with a signal', signals: facts.signals.byKey() },
  ],
  not_in_a_log: ['intended purpose', 'training data', 'validation and testing', 'standards applied', 'EU declaration'],
  disclaimer: DISCLAIMER,
});

/** What is monitored after an agent goes into use, and how many rows the window holds of each (Article 72). */
export const postMarketMonitoringPlan = ({
  tenant,
  window,
  generatedAt,
  facts,
  inventory,
}: DocumentInput): unknown => ({
  schema_version: '1',
  generated_at: generatedAt,
  tenant,
  window,
  collected: [
    { what: 'verdict of every tool call', where: 'proxy.verdict', rows: facts.verdicts.count },
    {
      what: 'denials with the signal that led to them',
      where: 'proxy.verdict, signal',
      rows: facts.denySignals.count,
      signals: facts.signals.byKey(),
    },
    {
      what: 'decisions of people on parked calls',
      where: 'hil.approved, hil.denied',
      rows: facts.humanDecisions.count,
    },
    { what: 'agents in use', where: 'agent_id', names: inventory.agents.size() },
  ],
  reported_by: 'incident cases and their deadlines: GET /cases',
  disclaimer: DISCLAIMER,
});
