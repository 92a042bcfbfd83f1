import { tmpdir } from 'node:os';
import { createLivePolicies } from '../adapters/policy/live-policies.js';
import { labOver } from '../domain/policy/lab-over.js';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { createStudies } from '../adapters/policy/studies.js';
import type { NewLedgerRow } from '../contracts/ledger.js';
import type { PolicyInput } from '../contracts/policy.js';
import type { LabResult } from '../contracts/policy-studies.js';
import type { ReplaySource } from '../contracts/replay-rows.js';
import { canonicalJson, sha256Hex, uuidFromDigest } from '../domain/crypto/digest.js';
import type { PolicySet } from '../domain/policy/policy-set.js';
import { openLikeProduct } from '../test/support/evidenced-ledger.js';
import { ledgerPlace, type STORES } from '../test/support/ledger.js';
import { watchedBlocks } from './blocks.js';
import { describeMachine, type Machine } from './machine.js';
import { rounded } from './numbers.js';
import { benchCompiler, callsIn, NOTHING_STORED, ORDINARY_CASES, policiesOf, templateCases } from './policy-parts.js';

export interface LabFigure {
  readonly evaluations: number;
  readonly seconds: number;
  readonly per_second: number;
  /** Of the whole process, threads included. */
  readonly peak_resident_mib: number;
  readonly before_mib: number;
  /** Of the thread that calls are judged on beside it: the longest time in which nothing else ran there, and the same by the processor's time alone. */
  readonly longest_block_ms: number;
  readonly longest_work_ms: number;
  /** Calls whose verdict the candidate changes. */
  readonly changed: number;
}

const ROWS_AT_ONCE = 2_000;
const WATCH_MS = 200;

/** A lab over so many recorded evaluations, and over a hundredth of them: memory must not know the difference. */
export async function runPolicyLabBench({
  store,
  rows,
  policies,
  say,
}: {
  readonly store: (typeof STORES)[number];
  readonly rows: number;
  readonly policies: number;
  readonly say: (line: string) => void;
}): Promise<{ readonly machine: Machine; readonly figures: readonly LabFigure[] }> {
  const machine = describeMachine(tmpdir());
  const floor = await loadPolicySet({ directory: shippedPolicyDirectory() });
  const live = createLivePolicies({ floor, store: NOTHING_STORED });
  const files = await policiesOf(policies);
  const compiled = await benchCompiler().compile(files.map(({ facts: { name }, body }) => ({ name, body })));
  if (compiled.fault) throw new Error(compiled.fault.message);
  const candidate = await live.tried(compiled.wasm, {}, []);
  const place = await ledgerPlace(store);
  const { ledger } = await openLikeProduct({ target: place.target, sidecarKeys: place.keys });
  const studies = createStudies(floor);
  try {
    say(`writing ${rows} evaluations`);
    await written(rows, floor, (batch) => ledger.append(batch), say);
    // A server does so by itself within a minute or so of that many rows.
    if (store === 'postgres') await place.sql('analyze');
    const figures: LabFigure[] = [];
    for (const most of [Math.ceil(rows / 100), rows]) {
      const memory = watchedMemory();
      const blocks = watchedBlocks();
      const begun = performance.now();
      let result: LabResult | null = null;
      const known = { policy_bundle: floor.bundle, candidate_bundle: candidate.bundle, warnings: [] };
      const source = firstOf(ledger.reports, most);
      for await (const line of labOver({
        source,
        studies,
        window: {},
        before: null,
        after: candidate,
        known,
        now: Date.now,
      })) {
        if ('progress' in line && line.progress.judged % 50_000 < 600)
          say(`${line.progress.judged} judged, ${residentMib()} MiB resident`);
        if ('result' in line) result = line.result;
      }
      const seconds = (performance.now() - begun) / 1_000;
      const { before, peak } = memory.stop();
      const { longestBlockMs, longestWorkMs } = blocks.stop();
      if (result?.judged !== most) throw new Error(`judged ${result?.judged} of ${most}`);
      figures.push({
        evaluations: most,
        seconds: rounded(seconds),
        per_second: rounded(most / seconds),
        before_mib: before,
        peak_resident_mib: peak,
        longest_block_ms: rounded(longestBlockMs),
        longest_work_ms: rounded(longestWorkMs),
        changed: result.judged - result.counts.unchanged,
      });
      say(JSON.stringify(figures.at(-1)));
    }
    return { machine, figures };
  } finally {
    await studies.close();
    await ledger.close();
    await place.remove();
  }
}

/** Evaluations as the pipeline records them, of calls that templates are about and of ordinary ones. */
async function written(
  rows: number,
  floor: PolicySet,
  append: (batch: readonly NewLedgerRow[]) => Promise<unknown>,
  say: (line: string) => void,
): Promise<void> {
  const kinds = callsIn([...ORDINARY_CASES, ...templateCases()]).map((text) => {
    const input = JSON.parse(text) as PolicyInput;
    return { input, decision: floor.judge(input).decision };
  });
  for (let first = 0; first < rows; first += ROWS_AT_ONCE) {
    const batch = Array.from({ length: Math.min(ROWS_AT_ONCE, rows - first) }, (_, at): NewLedgerRow => {
      const number = first + at;
      const { input, decision } = kinds[number % kinds.length] as (typeof kinds)[number];
      const correlation = uuidFromDigest('bench', String(number));
      const payload = canonicalJson({ ...input, correlation_id: correlation } as never);
      const { allow, reasons, review_reasons, approval_tier, retention_class, policy_bundle } = decision;
      return {
        id: uuidFromDigest('bench row', String(number)),
        agent_id: `agent-${number % 200}`,
        method: 'policy.evaluated',
        event_kind: 'policy.evaluated',
        intent_category: 'Information Retrieval',
        authorized: allow,
        reasoning: 'of a case',
        policy_decision: { allow, reasons, review_reasons, approval_tier, retention_class, policy_bundle },
        state_namespace: 'operator',
        correlation_id: correlation,
        tenant: 'acme',
        tool_name: input.tool_type,
        payload_sha256: sha256Hex(payload),
        payload_canonical_json: payload,
      };
    });
    await append(batch);
    if (first % 100_000 === 0) say(`${first} written`);
  }
}

/** As many rows as wanted, from the first on. */
function firstOf(source: ReplaySource, most: number): ReplaySource {
  let left = most;
  return {
    async replayPage(query) {
      if (left <= 0) return { rows: [], next: null };
      const { rows, next } = await source.replayPage({ ...query, limit: Math.min(query.limit, left) });
      left -= rows.length;
      return { rows, next };
    },
  };
}

const residentMib = (): number => Math.round(process.memoryUsage.rss() / 2 ** 20);
function watchedMemory() {
  const before = residentMib();
  let peak = before;
  const timer = setInterval(() => (peak = Math.max(peak, residentMib())), WATCH_MS);
  return {
    stop() {
      clearInterval(timer);
      return { before, peak };
    },
  };
}
