import { rmSync } from 'node:fs';
import { DatabaseSync } from '@photostructure/sqlite';
import type { LedgerEntry, VerifyResult } from '../contracts/ledger.js';
import { GateError } from '../domain/errors.js';
import { openLedgerReadOnly } from '../domain/ledger/read-only.js';
import { wordsOf } from '../domain/store/words.js';
import { keysBeside } from './keys.js';

/** Verifies a ledger file without touching it; with the keys of `keysOf` beside it, the seal and the sidecars too. */
export async function verifyFile(file: string, keysOf = file): Promise<VerifyResult> {
  const ledger = openLedgerReadOnly(file, { sidecarKeys: keysBeside(keysOf) });
  try {
    return await ledger.verify();
  } finally {
    await ledger.close();
  }
}

/** Copies the file as it stands at one moment, also while it is written; returns the pages. An existing copy is overwritten. */
export async function backupLedger(file: string, output: string): Promise<number> {
  const connection = new DatabaseSync(file, { readOnly: true });
  try {
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${output}${suffix}`, { force: true });
    connection.prepare('vacuum into ?').run(output);
    const { page_count: pages } = connection.prepare('pragma page_count').get() as { page_count: number };
    return pages;
  } catch (error) {
    throw new GateError('store_unavailable', `${file}: ${wordsOf(error)}`, { cause: error });
  } finally {
    connection.close();
  }
}

export interface GraduationReport {
  readonly schema_version: '1';
  readonly generated_at: string;
  readonly window_start: string | null;
  readonly window_end: string | null;
  readonly ledger_entries_checked: number;
  readonly ledger_chain_valid: boolean;
  /** Calls, not rows. */
  readonly total_requests: number;
  readonly would_deny: number;
  readonly would_pend: number;
  readonly allowed: number;
  readonly by_intent_category: readonly { readonly intent_category: string; readonly count: number }[];
  readonly top_agents: readonly { readonly agent_id: string; readonly count: number }[];
  readonly by_tool: readonly {
    readonly tool: string;
    readonly would_deny: number;
    readonly would_pend: number;
    readonly reasons: readonly string[];
  }[];
  readonly recommend_enforce: boolean;
  readonly recommendation: string;
}

/** What enforce would have done with the calls of the window (lite sheet 16). One verdict row per call, so rows of its execution do not count. */
export async function graduationReport(file: string, since: string | null): Promise<GraduationReport> {
  const chain = await verifyFile(file);
  const ledger = openLedgerReadOnly(file);
  try {
    const verdicts: LedgerEntry[] = [];
    for (const agent of await ledger.agents())
      verdicts.push(
        ...(await ledger.byAgent(agent, { methods: ['proxy.verdict'], ...(since !== null && { from: since }) })),
      );
    verdicts.sort((a, b) => a.seq - b.seq);
    const denied = verdicts.filter((row) => wouldOf(row) === 'deny');
    const parked = verdicts.filter((row) => wouldOf(row) === 'pend');
    const tools = new Map<string, { would_deny: number; would_pend: number; reasons: Set<string> }>();
    for (const row of [...denied, ...parked]) {
      const tool = tools.get(row.tool_type ?? '') ?? { would_deny: 0, would_pend: 0, reasons: new Set<string>() };
      tool[wouldOf(row) === 'deny' ? 'would_deny' : 'would_pend'] += 1;
      tool.reasons.add(row.reasoning);
      tools.set(row.tool_type ?? '', tool);
    }
    const clean = chain.valid && verdicts.length > 0 && denied.length + parked.length === 0;
    return {
      schema_version: '1',
      generated_at: new Date().toISOString(),
      window_start: since ?? verdicts[0]?.timestamp ?? null,
      window_end: verdicts.at(-1)?.timestamp ?? null,
      ledger_entries_checked: chain.entries_checked,
      ledger_chain_valid: chain.valid,
      total_requests: verdicts.length,
      would_deny: denied.length,
      would_pend: parked.length,
      allowed: verdicts.length - denied.length - parked.length,
      by_intent_category: counted(verdicts.map((row) => row.intent_category))
        .map(([intent_category, count]) => ({ intent_category, count }))
        .toSorted((a, b) => (a.intent_category < b.intent_category ? -1 : 1)),
      top_agents: counted(verdicts.map((row) => row.agent_id))
        .map(([agent_id, count]) => ({ agent_id, count }))
        .toSorted((a, b) => b.count - a.count || (a.agent_id < b.agent_id ? -1 : 1))
        .slice(0, 10),
      by_tool: [...tools]
        .map(([tool, { reasons, ...counts }]) => ({ tool, ...counts, reasons: [...reasons].slice(0, 3) }))
        .toSorted((a, b) => b.would_deny - a.would_deny || b.would_pend - a.would_pend),
      recommend_enforce: clean,
      recommendation: !chain.valid
        ? 'DO NOT ENFORCE: the ledger does not verify; find out why first'
        : verdicts.length === 0
          ? 'NO DATA: no call was judged in this window'
          : clean
            ? 'SAFE TO ENFORCE: no call of this window would have been denied or parked'
            : 'REVIEW FIRST: look at the calls above; some would have been denied or parked',
    };
  } finally {
    await ledger.close();
  }
}

/** What enforce did or would have done with the call. */
function wouldOf({ policy_decision: decision }: LedgerEntry): 'deny' | 'pend' | null {
  if (decision?.['would'] === 'deny' || decision?.['outcome'] === 'deny' || decision?.['outcome'] === 'rate_limited')
    return 'deny';
  return decision?.['would'] === 'pend' || decision?.['outcome'] === 'park' ? 'pend' : null;
}

function counted(values: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts];
}

const UNIT_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** RFC 3339 or `<n>m|h|d` back from now, as the ledger writes times; `null` when it is neither. */
export function sinceOf(text: string, nowMs = Date.now()): string | null {
  const [, amount, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (amount !== undefined && unit !== undefined)
    return new Date(nowMs - Number(amount) * (UNIT_MS[unit] as number)).toISOString();
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/.test(text)) return null;
  const time = Date.parse(text);
  return Number.isNaN(time) ? null : new Date(time).toISOString();
}
