import type { Kysely } from 'kysely';
import { EVENT_KINDS } from '../../../contracts/event-kinds.js';
import type { Json, JsonObject } from '../../../contracts/json.js';
import type {
  AgentActivity,
  BehavioralBaseline,
  EnvelopeRecommendations,
  FleetBehavioralDiff,
  Hunt,
  ModelUpgradeCanary,
  Narrative,
  NarrativeWindow,
  SilentAgents,
  Spend,
} from '../../../contracts/ledger-reports.js';
import type { DecisionSource } from '../../../contracts/decided-calls.js';
import type { ReplaySource } from '../../../contracts/replay-rows.js';
import { sha256Hex } from '../../../domain/crypto/digest.js';
import { asUnavailable, reading } from '../../../domain/ledger/chain-store.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import {
  BEHAVIOR_KINDS,
  behavioralBaseline,
  behaviorSpan,
  type BehaviorWindows,
  type DriftedAgent,
  driftedAgents,
  envelopeRecommendations,
  fleetBehavioralDiff,
  USE_KINDS,
} from '../../../domain/evidence/reports/behavior.js';
import { ACTIVITY_KINDS, activitySpan, agentActivity } from '../../../domain/evidence/reports/activity.js';
import { isObject, jsonOf } from '../../../domain/evidence/reports/call-rows.js';
import { type CanaryPart, type InspectedBy, modelUpgradeCanary } from '../../../domain/evidence/reports/canary.js';
import { chooseCorpus, type ChosenCorpus, type CorpusQuery } from '../../../domain/evidence/reports/corpus.js';
import type { ReportRow } from '../../../domain/evidence/reports/report-rows.js';
import { huntAgents } from '../../../domain/evidence/reports/hunt.js';
import { narrativeSpan, tellNarrative } from '../../../domain/evidence/reports/narrative.js';
import { silentAgents } from '../../../domain/evidence/reports/silence.js';
import { SPEND_KINDS, spendOf } from '../../../domain/evidence/reports/spend.js';
import type { RowFilter } from '../../../domain/ledger/row-filter.js';
import type { LedgerReader } from '../../../domain/ledger/ports.js';
import { readDecidedPage } from './decided-page.js';
import { huntsOver } from './hunt-sums.js';
import { reportPages, reportRowsAt } from './read-report-rows.js';
import { readReplayPage } from './replay-page.js';
import { rostersOver } from './rosters.js';
import { createStretchSums, type SumScope } from './stretch-sums.js';

type Scope = Pick<RowFilter, 'tenant' | 'demoPrefix'>;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Reports over rows (docs/architecture/ledger-reads.md#hunt-and-corpus). Each is a pure function of rows read page by page, so that both
 * stores give the same answer and memory stays bounded. They are annotations for people, never evidence. Throws `ledger_store_unavailable`.
 */
export interface LedgerReports extends ReplaySource, Pick<DecisionSource, 'decidedPage'> {
  narrative(query: { readonly agentId: string; readonly window: NarrativeWindow } & Scope): Promise<Narrative>;
  hunt(filter: HuntFilter, limit: number): Promise<Hunt>;
  replayCorpus(filter: RowFilter, query: CorpusQuery): Promise<ChosenCorpus>;
  behavioralBaseline(
    query: { readonly agentId: string; readonly baselineDays: number; readonly recentDays: number } & Scope,
  ): Promise<BehavioralBaseline>;
  fleetBehavioralDiff(query: {
    readonly baselineDays: number;
    readonly recentDays: number;
    readonly limit: number;
    readonly tenant?: string | undefined;
  }): Promise<FleetBehavioralDiff>;
  /** Of one agent, where it is named, by tier over time too. */
  agentActivity(query: {
    readonly sinceHours: number;
    readonly limit: number;
    readonly tenant?: string | undefined;
    readonly agentId?: string | undefined;
  }): Promise<AgentActivity>;
  /** Agents whose behaviour drifted, per tenant; for the watchdog. */
  driftedAgents(windows: BehaviorWindows): Promise<DriftedAgent[]>;
  envelopeRecommendations(
    query: { readonly agentId: string; readonly windowDays: number } & Scope,
  ): Promise<EnvelopeRecommendations>;
  modelUpgradeCanary(query: {
    readonly windowHours: number;
    readonly cutover?: string | undefined;
  }): Promise<ModelUpgradeCanary>;
  silentAgents(query: { readonly sinceHours: number; readonly tenant?: string | undefined }): Promise<SilentAgents>;
  /** `month` is `YYYY-MM` in UTC; without it, all time. */
  spend(query: {
    readonly month?: string | undefined;
    readonly tenant?: string | undefined;
    readonly limit: number;
  }): Promise<Spend>;
}

interface ReportOptions {
  readonly db: Kysely<LedgerTables>;
  readonly reader: Pick<LedgerReader, 'sidecar'>;
  /** Agents whose silence is expected. */
  readonly allowedSilence: () => Promise<ReadonlySet<string>>;
  readonly clock: () => number;
}

/** What a hunt may ask for. */
type HuntFilter = SumScope & Pick<RowFilter, 'methods' | 'signal' | 'authorized'>;

const ALARM_KINDS = EVENT_KINDS.filter((kind) => kind.startsWith('alarm.'));

/** The narrative alone, over the rows of an open ledger. */
export const narrativeOver =
  (db: Kysely<LedgerTables>, clock: () => number): LedgerReports['narrative'] =>
  ({ agentId, window, ...scope }) =>
    reading(() => {
      const request = { agentId, window, nowMs: clock() };
      const sevenDays = narrativeSpan({ window: '7d', nowMs: request.nowMs });
      return tellNarrative(
        request,
        reportPages(db, { ...scope, agentId, ...narrativeSpan(request) }),
        reportPages(db, { ...scope, agentId, ...sevenDays, methods: ['deep_review_finding'] }),
        reportPages(db, { ...scope, ...narrativeSpan(request), eventKinds: ALARM_KINDS }),
      );
    });

export function createLedgerReports({ db, reader, allowedSilence, clock }: ReportOptions): LedgerReports {
  const reportRows = (filter: RowFilter) => reportPages(db, filter);
  const huntSums = createStretchSums(db, clock, huntsOver(db));
  const rosters = createStretchSums(db, clock, rostersOver(db));
  const counts = (filter: RowFilter) => reportPages(db, filter, { light: true });

  const openedInput = async (reportRow: ReportRow): Promise<JsonObject | null> => {
    const replay = reportRow.decision?.['input_replay'];
    if (isObject(replay)) return replay;
    const sidecar = await reader.sidecar(reportRow.id);
    const input = sidecar?.kind === 'payload' ? jsonOf(sidecar.text) : null;
    return isObject(input) ? input : null;
  };

  const inspectedBy = async (id: string): Promise<InspectedBy | null> => {
    const sidecar = await reader.sidecar(id);
    const evidence = sidecar?.kind === 'brain_evidence' ? jsonOf(sidecar.text) : null;
    if (!isObject(evidence)) return null;
    const { brain_version, mock_mode, provider_models = {} } = evidence;
    if (!isText(brain_version) || !areTexts(provider_models)) return null;
    return { brain_version, mock_mode: mock_mode === true, provider_models };
  };

  /** From each page, the rows whose policy input is still stored. */
  async function* withInput(pages: AsyncIterable<readonly ReportRow[]>): AsyncGenerator<ReportRow[]> {
    for await (const page of pages) {
      const kept = await db
        .selectFrom('entry_payloads')
        .select('entry_seq')
        .where('entry_seq', '>=', (page[0] as ReportRow).seq)
        .where('entry_seq', '<=', (page.at(-1) as ReportRow).seq)
        .where('kind', '=', 'payload')
        .where('sealed', 'is not', null)
        .execute();
      const seqs = new Set(kept.map((row) => Number(row.entry_seq)));
      yield page.filter((reportRow) => seqs.has(reportRow.seq) || isObject(reportRow.decision?.['input_replay']));
    }
  }

  return {
    narrative: narrativeOver(db, clock),
    // Of all rows of the window: those that do not fit tell too who is behind a name.
    hunt: ({ tenant, demoPrefix, from, to, ...wanted }, limit) =>
      reading(async () => huntAgents(await huntSums({ tenant, demoPrefix, from, to }), { ...wanted, from, to, limit })),
    replayCorpus: (filter, query) =>
      reading(async () => {
        const chosen = await chooseCorpus(
          withInput(reportRows({ ...filter, eventKinds: ['policy.evaluated'] })),
          query,
          {
            rank: sha256Hex,
            read: (seqs) => reportRowsAt(db, seqs),
            input: openedInput,
          },
        );
        return { ...chosen, entries: unavailableOnError(chosen.entries) };
      }),
    replayPage: (query) => reading(() => readReplayPage({ db, reader }, query)),
    decidedPage: (query) => reading(() => readDecidedPage({ db, reader }, query)),
    behavioralBaseline: ({ agentId, baselineDays, recentDays, ...scope }) =>
      reading(() => {
        const windows = { baselineDays, recentDays, nowMs: clock() };
        const { sinceBaseline: from, now: to } = behaviorSpan(windows);
        return behavioralBaseline(
          agentId,
          windows,
          reportRows({ ...scope, agentId, from, to, eventKinds: BEHAVIOR_KINDS }),
        );
      }),
    fleetBehavioralDiff: ({ baselineDays, recentDays, limit, tenant }) =>
      reading(() => {
        const windows = { baselineDays, recentDays, nowMs: clock() };
        const { sinceBaseline: from, now: to } = behaviorSpan(windows);
        return fleetBehavioralDiff(windows, limit, reportRows({ from, to, tenant, eventKinds: BEHAVIOR_KINDS }));
      }),
    agentActivity: ({ sinceHours, limit, tenant, agentId }) =>
      reading(() => {
        const window = { sinceHours, nowMs: clock(), isOfOne: agentId !== undefined };
        const rows = reportRows({ ...activitySpan(window), tenant, agentId, eventKinds: ACTIVITY_KINDS });
        return agentActivity(window, limit, rows);
      }),
    driftedAgents: (windows) =>
      reading(() => {
        const { sinceBaseline: from, now: to } = behaviorSpan(windows);
        return driftedAgents(windows, reportRows({ from, to, eventKinds: BEHAVIOR_KINDS }));
      }),
    envelopeRecommendations: ({ agentId, windowDays, ...scope }) =>
      reading(() => {
        const nowMs = clock();
        const from = new Date(nowMs - windowDays * DAY_MS).toISOString();
        const to = new Date(nowMs).toISOString();
        return envelopeRecommendations(
          { agentId, windowDays, nowMs },
          reportRows({ ...scope, agentId, from, to, eventKinds: USE_KINDS }),
        );
      }),
    modelUpgradeCanary: ({ windowHours, cutover }) =>
      reading(() => {
        const length = windowHours * HOUR_MS;
        const at = cutover === undefined ? clock() - length : Date.parse(cutover);
        const part = (sinceMs: number): CanaryPart => {
          const [since, until] = [new Date(sinceMs).toISOString(), new Date(sinceMs + length).toISOString()];
          return { since, until, reportRows: reportRows({ from: since, to: until }), inspectedBy };
        };
        const parts = { before: part(at - length), after: part(at) };
        return modelUpgradeCanary(new Date(at).toISOString(), windowHours, parts);
      }),
    silentAgents: ({ sinceHours, tenant }) =>
      reading(async () =>
        silentAgents(await rosters({ tenant }), {
          sinceHours,
          nowMs: clock(),
          // An entry names an agent without its tenant: for one tenant it could hide another one's agent of that name.
          allowed: tenant === undefined ? await allowedSilence() : new Set(),
        }),
      ),
    spend: ({ month, tenant, limit }) =>
      reading(() =>
        spendOf(counts({ ...(month !== undefined && monthSpan(month)), tenant, eventKinds: SPEND_KINDS }), {
          window: month ?? null,
          limit,
        }),
      ),
  };
}

function monthSpan(month: string): { readonly from: string; readonly to: string } {
  const [year, number] = month.split('-').map(Number) as [number, number];
  return {
    from: new Date(Date.UTC(year, number - 1)).toISOString(),
    to: new Date(Date.UTC(year, number)).toISOString(),
  };
}

async function* unavailableOnError<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
  try {
    yield* items;
  } catch (error) {
    throw asUnavailable(error);
  }
}

/** JSON may hold lone surrogates, but canonical JSON may not; such text cannot be written again. */
const isText = (value: Json | undefined): value is string => typeof value === 'string' && value.isWellFormed();
const areTexts = (value: Json): value is Record<string, string> =>
  isObject(value) && Object.entries(value).every((pair) => pair.every(isText));
