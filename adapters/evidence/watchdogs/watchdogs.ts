import type { Kysely } from 'kysely';
import type { EventKind } from '../../../contracts/event-kinds.js';
import type { JsonObject } from '../../../contracts/json.js';
import type { Ledger, NewLedgerRow } from '../../../contracts/ledger.js';
import { uuidFromDigest } from '../../../domain/crypto/digest.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import { fittingRow } from '../../../domain/ledger/fitting-row.js';
import type { LedgerReports } from '../reports/reports.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';

/**
 * What the ledger notices by itself and appends to its own chain (docs/architecture/ledger-reads.md#watchdogs). Earlier flags are read from
 * the chain, so a restart, an interrupted pass or a second process never raises a flag twice. Each method returns how many flags it raised.
 * Throws `ledger_store_unavailable`.
 */
export interface Watchdogs {
  /** Raises one `agent_silent` per silence: a flagged agent is flagged again only after it was active or enrolled again. */
  silence(of: { readonly thresholdHours: number }): Promise<number>;
  /** Raises one `behavior_drifted` per agent that drifted and was not flagged within the recent window. */
  drift(of: { readonly recentDays: number; readonly baselineDays: number }): Promise<number>;
}

interface WatchdogOptions {
  readonly db: Kysely<LedgerTables>;
  readonly reports: Pick<LedgerReports, 'silentAgents' | 'driftedAgents'>;
  readonly append: Ledger['append'];
  /** Called with the number of flags raised. */
  readonly onFlags?: ((kind: FlagKind, flags: number) => void) | undefined;
  readonly clock: () => number;
}

export type FlagKind = 'agent_silent' | 'behavior_drifted';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Rows per lookup and per append. */
const STEP = 100;
/** Most tools listed in a row; it also states their number. */
const MAX_TOOLS = 100;

export function createWatchdogs({ db, reports, append, onFlags, clock }: WatchdogOptions): Watchdogs {
  /**
   * Appends the rows that are neither in the chain nor vacuumed. A row's content depends only on its id, so a race appends no duplicates.
   */
  async function raise(kind: FlagKind, rows: readonly (NewLedgerRow & { readonly id: string })[]): Promise<number> {
    let raised = 0;
    for (let at = 0; at < rows.length; at += STEP) {
      const step = rows.slice(at, at + STEP);
      const ids = step.map(({ id }) => id);
      const known = await reading(async () => {
        const inTable = (table: 'ledger_entries' | 'ledger_vacuumed_rows') =>
          db.selectFrom(table).select('id').where('id', 'in', ids).execute();
        const found = [...(await inTable('ledger_entries')), ...(await inTable('ledger_vacuumed_rows'))];
        return new Set(found.map(({ id }) => id));
      });
      const receipts = await Promise.all(step.filter(({ id }) => !known.has(id)).map((row) => append([row])));
      const created = receipts.flat().filter(({ status }) => status === 'created').length;
      if (created > 0) onFlags?.(kind, created);
      raised += created;
    }
    return raised;
  }

  /** Whether the agent was flagged after `since`. Hidden flags count. */
  async function flaggedSince(kind: EventKind, agentId: string, tenant: string, since: string): Promise<boolean> {
    const row = await db
      .selectFrom('ledger_entries')
      .select('seq')
      .where('agent_id', '=', agentId)
      .where('event_kind', '=', kind)
      .where('tenant', '=', tenant)
      .where('timestamp', '>', since)
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }

  return {
    async silence({ thresholdHours }) {
      const { silent_agents: silent } = await reports.silentAgents({ sinceHours: thresholdHours });
      return raise(
        'agent_silent',
        silent.map(({ agent_name: agent, tenant: of, last_activity, enrolled_at, never_active }) => {
          const tenant = of ?? 'default';
          // A silence starts at the agent's last sign of life. The row holds no value that grows with time, so repeats are identical.
          const since =
            [last_activity, enrolled_at]
              .filter((at) => at !== null)
              .sort()
              .at(-1) ?? '';
          return flag('agent_silent', {
            agent,
            tenant,
            since,
            reasoning: `nothing was heard of the agent since ${since}`,
            detail: { agent_name: agent, silent_since: since, never_active },
          });
        }),
      );
    },
    async drift({ recentDays, baselineDays }) {
      // Both windows end at a full hour, so that processes that run in the same hour find and write the same.
      const nowMs = Math.floor(clock() / HOUR_MS) * HOUR_MS;
      const until = new Date(nowMs).toISOString();
      const quiet = new Date(clock() - recentDays * DAY_MS).toISOString();
      const rows = [];
      for (const drifted of await reports.driftedAgents({ recentDays, baselineDays, nowMs })) {
        const { agentId: agent, deviation, diff, baselineTotal, recentTotal } = drifted;
        const tenant = drifted.tenant ?? 'default';
        if (await reading(() => flaggedSince('behavior_drifted', agent, tenant, quiet))) continue;
        rows.push(
          flag('behavior_drifted', {
            agent,
            tenant,
            since: until,
            reasoning: 'the agent behaves otherwise than before',
            detail: {
              until,
              recent_days: recentDays,
              baseline_days: baselineDays,
              overall_bp: basisPoints(deviation.overall),
              tool_mix_bp: basisPoints(deviation.tool_mix),
              hourly_bp: basisPoints(deviation.hourly),
              intent_bp: basisPoints(deviation.intent),
              deny_rate_bp: basisPoints(deviation.deny_rate),
              baseline_total: baselineTotal,
              recent_total: recentTotal,
              new_tools: diff.new_tools.slice(0, MAX_TOOLS),
              new_tool_count: diff.new_tools.length,
              vanished_tools: diff.vanished_tools.slice(0, MAX_TOOLS),
              vanished_tool_count: diff.vanished_tools.length,
            },
          }),
        );
      }
      return raise('behavior_drifted', rows);
    },
  };
}

const basisPoints = (share: number): number => Math.round(share * 10_000);

interface Flag {
  readonly agent: string;
  readonly tenant: string;
  /** Distinguishes this flag from others of the same kind about the same agent. */
  readonly since: string;
  readonly reasoning: string;
  readonly detail: JsonObject;
}

/** A row about an agent, not about a call; `authorized` is true because it refuses nothing. */
const flag = (kind: FlagKind, { agent, tenant, since, reasoning, detail }: Flag) =>
  fittingRow({
    id: uuidFromDigest(kind, tenant, agent, since),
    agent_id: agent,
    method: kind,
    event_kind: kind,
    intent_category: 'TemporalIntelligence',
    authorized: true,
    reasoning,
    policy_decision: detail,
    signal: kind,
    state_namespace: 'operator',
    tenant,
  });
