import { hash, randomBytes } from 'node:crypto';
import { type Kysely, sql, type Selectable } from 'kysely';
import { SVID_TTL_SECONDS } from '../../contracts/identity.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import type { ActorTokenStore } from '../../domain/identity/actor-tokens.js';
import type { BudgetStore, ToldBudget } from '../../domain/identity/budgets.js';
import type { DecoyStore, ToldDecoy } from '../../domain/identity/decoys.js';
import type { AttestationStore, RenewalsAttested } from '../../domain/identity/attestation.js';
import {
  attestationRow,
  budgetRow,
  decoyRow,
  grantRow,
  keyRow,
  type IdentityEvent,
  identityRow,
  stopReportRow,
  toolPinRow,
  stopRow,
  tenantRow,
  upstreamRow,
} from '../../domain/identity/identity-rows.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type { GrantStore, ToldGrant } from '../../domain/identity/grants.js';
import type { PeerBundleStore } from '../../domain/identity/peer-bundles.js';
import type { CertificationMode, RegistryStore } from '../../domain/identity/registry.js';
import type { KeyStore } from '../../domain/identity/key-rotation.js';
import type { Intent, IssuanceAuthority, IssuanceStore } from '../../domain/identity/issuing.js';
import type { CertificateRequest, Svid } from '../../domain/identity/signed-once.js';
import {
  historyWith,
  NO_HISTORY,
  type Revocations,
  type RevocationStore,
  type ToldStanding,
} from '../../domain/identity/revocation.js';
import type { RevokedBy } from '../../domain/identity/revoked-by.js';
import { stateFault, type StandingStore } from '../../domain/identity/standing.js';
import type { StopReportStore } from '../../domain/identity/stop-reports.js';
import { type ListedStop, stopFault, stopIdOf, type StopStore, type ToldStop } from '../../domain/identity/stops.js';
import type { ToolDefinitionStore } from '../../domain/identity/tool-definition-pins.js';
import type { ToldUpstream, UpstreamStore } from '../../domain/identity/upstreams.js';
import type { TenantStore } from '../../domain/identity/tenant-store.js';
import { uuidV7 } from '../../domain/identity/uuid-v7.js';
import type { WorkloadStore } from '../../domain/identity/workload-issuing.js';
import { identityMigrations } from '../../migrations/identity.js';
import { openStore, type StoreTarget } from '../store/database.js';
import { emptyLog, overwriteDeleted } from '../store/overwriting.js';
import { pagesOf } from '../store/pages.js';
import { openActorTokenStore } from './actor-token-store.js';
import { openAttestationStore } from './attestation-store.js';
import { openBudgetStore, toldBudgetOf } from './budget-store.js';
import { openDecoyStore, toldDecoyOf } from './decoy-store.js';
import { assertNamed, type StoppedAgent, stoppedAgentOf } from './edited-rows.js';
import { openRegistryStore } from './registry-store.js';
import { openKeyStore } from './key-store.js';
import { openPeerBundleStore } from './peer-bundle-store.js';
import { openGrantStore, takenBackSince, toldGrantOf } from './grant-store.js';
import { AT_ONCE, identityMarks, type MarkedTable } from './identity-marks.js';
import type { IdentityTables } from './identity-tables.js';
import { numberedRows } from './numbered-rows.js';
import { type NewAgent, openStandingStore, toldStandingOf } from './standing-store.js';
import { type LeftBehind, leftFault, openStopReportStore, type TakenBack } from './stop-report-store.js';
import { openStopStore, toldStopOf } from './stop-store.js';
import { openToolDefinitionStore } from './tool-definition-store.js';
import { openTenantStore } from './tenant-store.js';
import { openUpstreamStore, toldUpstreamOf } from './upstream-store.js';
import { openWorkloadStore } from './workload-store.js';

/** What identity keeps: agents, tokens for first certificates, requests, certificates (docs/architecture/identity.md). */
export interface IdentityStore
  extends IssuanceStore,
    RevocationStore,
    StandingStore,
    RegistryStore,
    StopStore,
    StopReportStore,
    BudgetStore,
    DecoyStore,
    UpstreamStore,
    TenantStore,
    GrantStore,
    ActorTokenStore,
    PeerBundleStore,
    ToolDefinitionStore,
    KeyStore,
    AttestationStore,
    WorkloadStore {
  /** The rows that the ledger does not have yet, in the order in which they came. */
  undelivered(
    most: number,
  ): Promise<{ readonly waiting: readonly Undelivered[]; readonly tampered: readonly string[] }>;
  delivered(one: Undelivered): Promise<void>;
  /** The number of the bundle with this digest: one more than that of the bundle before, whenever it is another. */
  bundleSequence(bundleSha256: string): Promise<number>;
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface Undelivered {
  readonly id: string;
  readonly row: NewLedgerRow;
}

type Row<Table extends keyof IdentityTables> = Selectable<IdentityTables[Table]>;
type Database = Kysely<IdentityTables>;

export interface IdentityStoreOptions {
  /** How long a certificate counts beside the one that took its place. */
  readonly supersededMs?: number;
  /** The entries of one list, and of one number. */
  readonly mostListed?: number;
  /** Certificates that an agent may ask for in an hour with the one before. */
  readonly renewalsPerHour?: number;
  /** The same in all, since a person let it in. */
  readonly mostRenewals?: number;
  /** Whether an agent needs to be certified for a certificate; `off` by default. */
  readonly certification?: CertificationMode;
  /** Which renewals need evidence of the platform; none by default. */
  readonly renewalsAttested?: RenewalsAttested;
  /** Told what a stop could not take back, since somebody edited it in the store. */
  readonly onLeft?: (left: LeftBehind) => void;
}

const SUPERSEDED_MS = 60_000;
/** Under a megabyte, which a proxy has in well under the two seconds that it waits. */
const MOST_LISTED = 2_000;
/** A proxy whose clock is behind takes a superseded certificate for longer: a revocation of its agent reaches it for so long. */
const SKEW_MS = 300_000;
const RENEWALS_PER_HOUR = 60;
const MOST_RENEWALS = 10_000;
const HOUR_MS = 3_600_000;
/** Of a certificate of an agent. */
const LONGEST_LIFE_MS = SVID_TTL_SECONDS.max * 1_000;
/** For so long who asks for all is told of decoys and upstreams that were retired. */
const RETIRED_TOLD_MS = 7 * 24 * HOUR_MS;
const TAMPERED_NAMED = 3;

/** Opens the store. Requests that an earlier process left open are closed: nothing is signed for them any more. */
export async function openIdentityStore(
  target: StoreTarget,
  keys: KeyRing,
  {
    supersededMs = SUPERSEDED_MS,
    mostListed = MOST_LISTED,
    renewalsPerHour = RENEWALS_PER_HOUR,
    mostRenewals = MOST_RENEWALS,
    certification = 'off',
    renewalsAttested = 'none',
    onLeft = () => undefined,
  }: IdentityStoreOptions = {},
): Promise<IdentityStore> {
  const store = await openStore<IdentityTables>(target, identityMigrations);
  const { db } = store;
  if (store.sqlite) overwriteDeleted(store.sqlite);
  const marks = identityMarks(keys);
  const { intact } = marks;

  /** Changes a row that was just read, and marks it anew. `false` where somebody changed it since. */
  async function change<
    Table extends Exclude<
      MarkedTable,
      | 'identity_outbox'
      | 'identity_listings'
      | 'identity_revoked_grants'
      | 'identity_actor_uses'
      | 'identity_peer_bundles'
    >,
  >(
    within: Database,
    table: Table,
    was: Row<Table> & { readonly mac: string },
    changes: Partial<Row<Table>>,
  ): Promise<boolean> {
    const mac = marks.markOf(table, { ...intact(table, was), ...changes });
    // Each of these tables has these columns, which no type of the library can say of all at once.
    const { numUpdatedRows } = await (within as unknown as Kysely<{ any: Record<string, unknown> }>)
      .updateTable(table as 'any')
      .set({ ...changes, mac })
      .where(table === 'identity_enrollments' ? 'token_sha256' : 'id', '=', keyOf(table, was))
      .where('mac', '=', was.mac)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  }
  const marked = <Values extends object>(table: MarkedTable, values: Values): Values & { readonly mac: string } => ({
    ...values,
    mac: marks.markOf(table, values),
  });
  const pendingOf = (within: Database, agentId?: string) => {
    const pending = within.selectFrom('identity_intents').selectAll().where('state', '=', 'pending');
    return (agentId === undefined ? pending : pending.where('agent_id', '=', agentId)).execute();
  };

  // One that somebody edited is given nothing either.
  for (const left of await pendingOf(db))
    if (marks.fault('identity_intents', left) === null)
      await change(db, 'identity_intents', left, { state: 'interrupted' });

  const agentById = async (within: Database, id: string) => {
    const agent = await within.selectFrom('identity_agents').selectAll().where('id', '=', id).executeTakeFirst();
    return agent && intact('identity_agents', agent);
  };
  const agentByName = async (within: Database, tenant: string, name: string) => {
    const agent = await within
      .selectFrom('identity_agents')
      .selectAll()
      .where('tenant', '=', tenant)
      .where('agent_name', '=', name)
      .executeTakeFirst();
    return agent && intact('identity_agents', agent);
  };
  /** What is another tenant's is not there. */
  const agentOf = async (within: Database, id: string, tenant: string): Promise<Row<'identity_agents'>> => {
    const agent = await agentById(within, id);
    if (agent?.tenant !== tenant) throw new GateError('not_found');
    return agent;
  };
  /** Makes an agent that has had no certificate; `null` where there is one of that name. */
  async function newAgent(within: Database, { tenant, agent, by, nowMs }: NewAgent) {
    await tenants.assertNotOffboarded(within, tenant);
    const row = marked('identity_agents', {
      id: uuidV7(),
      tenant,
      agent_name: agent,
      svid_bootstrap_state: 'available',
      recovery_generation: 0,
      created_by_sub: by,
      created_ms: nowMs,
      renewals: 0,
    });
    const { numInsertedOrUpdatedRows } = await within
      .insertInto('identity_agents')
      .values(row)
      .onConflict((conflict) => conflict.columns(['tenant', 'agent_name']).doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n ? row : null;
  }
  const inTransaction = <Value>(work: (within: Database) => Promise<Value>): Promise<Value> =>
    asked(() => db.transaction().execute(work));

  /** The token's agent, or the certificate that the token gave for this very request. */
  async function byToken(
    within: Database,
    token: string,
    csrSha256: string | null,
    nowMs: number,
  ): Promise<
    | { readonly issued: Svid | null }
    | { readonly agent: Row<'identity_agents'>; readonly row: Row<'identity_enrollments'> }
  > {
    const row = await within
      .selectFrom('identity_enrollments')
      .selectAll()
      .where('token_sha256', '=', hash('sha256', token))
      .executeTakeFirst();
    if (!row) throw new GateError('invalid_token');
    const agent = await agentById(within, row.agent_id);
    if (!agent) throw new GateError('unregistered_agent');
    await standings.assertActive(within, agent);
    // Somebody who writes to the store has no token whose row has a mark.
    if (marks.fault('identity_enrollments', row) !== null) throw new GateError('invalid_token');
    if (row.intent_id !== null)
      return { issued: csrSha256 === null ? null : await givenBefore(within, row.intent_id, csrSha256) };
    if (Number(row.expires_ms) <= nowMs) throw new GateError('invalid_token');
    if (
      agent.svid_bootstrap_state === 'retired' ||
      Number(agent.recovery_generation) !== Number(row.recovery_generation)
    )
      throw new GateError('invalid_token');
    return { agent, row };
  }

  /** A lost answer is given again, as long as nothing took the certificate back. */
  async function givenBefore(within: Database, intentId: string, csrSha256: string): Promise<Svid> {
    const svid = await givenFor(within, 'issuance_intent_id', intentId, csrSha256);
    if (!svid) throw new GateError('issuance_replay');
    return svid;
  }

  /** The certificate that is found so, where it came of this very request and counts. */
  async function givenFor(
    within: Database,
    column: 'id' | 'issuance_intent_id',
    value: string,
    csrSha256: string,
  ): Promise<Svid | null> {
    const row = await within.selectFrom('identity_svids').selectAll().where(column, '=', value).executeTakeFirst();
    if (!row) return null;
    const intent = await within
      .selectFrom('identity_intents')
      .selectAll()
      .where('id', '=', row.issuance_intent_id)
      .executeTakeFirst();
    if (!intent || intact('identity_intents', intent).csr_sha256 !== csrSha256) return null;
    const { revoked_ms: revokedMs, superseded_ms: supersededMs } = intact('identity_svids', row);
    return revokedMs === null && supersededMs === null ? svidOf(row) : null;
  }

  /** The certificate that an agent showed, where it is the one that counts; or the one that it gave for this very request. */
  async function byLeaf(
    within: Database,
    shown: Extract<IssuanceAuthority, { kind: 'leaf' }>,
    csrSha256: string,
    nowMs: number,
  ): Promise<{ readonly issued: Svid } | { readonly agent: Row<'identity_agents'>; readonly priorSvidId: string }> {
    const agent = await agentByName(within, shown.tenant, shown.agent);
    if (!agent) throw new GateError('unregistered_agent');
    await standings.assertActive(within, agent);
    const prior = await within
      .selectFrom('identity_svids')
      .selectAll()
      .where('agent_id', '=', agent.id)
      .where('credential_fingerprint', '=', shown.fingerprint)
      .where('spiffe_id', '=', shown.spiffe)
      .executeTakeFirst();
    const denied = (why: string) => new GateError('issuance_authority_denied', why);
    if (!prior) throw denied('the certificate is not one that identity issued to this agent');
    intact('identity_svids', prior);
    if (shown.publicKeySha256 !== undefined && prior.public_key_sha256 !== shown.publicKeySha256)
      throw denied('the certificate is of another key');
    if (prior.revoked_ms !== null) throw denied('the certificate was revoked');
    if (Number(prior.not_after_ms) <= nowMs) throw denied('the certificate has ended');
    if (prior.superseded_by === null) return { agent, priorSvidId: prior.id };
    const next = await givenFor(within, 'id', prior.superseded_by, csrSha256);
    if (next && Number(prior.refused_from_ms) > nowMs) return { issued: next };
    throw denied('the certificate is superseded: another one of this agent took its place');
  }

  /** How often an agent may renew: a stolen key is no certificate for ever, and a loop of an agent fills no store. */
  async function assertMayRenew(within: Database, agent: Row<'identity_agents'>, nowMs: number): Promise<void> {
    if (Number(agent.renewals) >= mostRenewals) throw new GateError('renewals_exhausted');
    const asked = await within
      .selectFrom('identity_intents')
      .select('requested_ms')
      .where('agent_id', '=', agent.id)
      .where('authority_kind', '=', 'current')
      .where('requested_ms', '>', nowMs - HOUR_MS)
      .orderBy('requested_ms', 'desc')
      .limit(renewalsPerHour)
      .execute();
    const oldest = asked[renewalsPerHour - 1];
    if (!oldest) return;
    const secs = Math.max(1, Math.ceil((Number(oldest.requested_ms) + HOUR_MS - nowMs) / 1_000));
    throw new GateError('rate_limited', `an agent asks for ${renewalsPerHour} certificates in an hour at most`, {
      fields: { retry_after_secs: secs },
    });
  }

  const toldRow = (within: Database, row: NewLedgerRow) =>
    within
      .insertInto('identity_outbox')
      .values(marked('identity_outbox', { id: uuidV7(), content: JSON.stringify(row) }))
      .execute();
  const told = (within: Database, event: IdentityEvent) => toldRow(within, identityRow(event));
  const workloads = await openWorkloadStore({
    db,
    intact,
    fault: marks.fault,
    marked,
    change,
    inTransaction,
    told: toldRow,
  });

  async function isUsed(within: Database, { csrSha256, publicKeySha256 }: CertificateRequest): Promise<boolean> {
    const used = await within
      .selectFrom('identity_intents')
      .select('id')
      .where((where) =>
        where.or([where('csr_sha256', '=', csrSha256), where('public_key_sha256', '=', publicKeySha256)]),
      )
      .executeTakeFirst();
    return used !== undefined;
  }

  async function storeIntent(
    within: Database,
    request: CertificateRequest,
    intent: Intent,
    caller: { readonly spiffe: string; readonly fingerprint: string } | null,
    nowMs: number,
  ): Promise<void> {
    const { numInsertedOrUpdatedRows } = await within
      .insertInto('identity_intents')
      .values(
        marked('identity_intents', {
          id: intent.id,
          agent_id: intent.agentId,
          tenant: intent.tenant,
          agent_name: intent.agent,
          csr_sha256: request.csrSha256,
          public_key_sha256: request.publicKeySha256,
          authority_kind: intent.authority,
          recovery_generation: intent.recoveryGeneration,
          prior_svid_id: intent.priorSvidId,
          caller_spiffe: caller?.spiffe ?? null,
          caller_fingerprint: caller?.fingerprint ?? null,
          state: 'pending',
          requested_ms: nowMs,
        }),
      )
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    // Somebody else asked with the same request, or the same key, a moment ago.
    if (numInsertedOrUpdatedRows !== 1n) throw new GateError('issuance_replay');
  }

  /** One after the other of one agent: whoever takes certificates back sees the one that is being stored, or that one is not stored. */
  const locked = async (within: Database, agentId: string) =>
    intact('identity_agents', await lockedRow(within, agentId));
  /** The same, whoever wrote it. */
  const lockedRow = (within: Database, agentId: string): Promise<Row<'identity_agents'>> =>
    within
      .updateTable('identity_agents')
      .set({ recovery_generation: sql`recovery_generation` })
      .where('id', '=', agentId)
      .returningAll()
      .executeTakeFirstOrThrow();
  /** For who stops an agent, or takes what it has back. What is another tenant's is not there. */
  const lockedAsItIs = async (within: Database, id: string, tenant: string): Promise<StoppedAgent> => {
    const there = await within.selectFrom('identity_agents').select('id').where('id', '=', id).executeTakeFirst();
    if (!there) throw new GateError('not_found');
    const agent = await stoppedAgentOf(within, await lockedRow(within, id), marks.fault);
    if (agent.known.tenant !== tenant) throw new GateError('not_found');
    assertNamed(agent);
    return agent;
  };
  /** What is being made of an agent is not given out. */
  const withoutOpenIntents = async (within: Database, agentId: string): Promise<void> => {
    for (const intent of await pendingOf(within, agentId))
      await change(within, 'identity_intents', intent, { state: 'failed' });
  };
  /** The same also where somebody edited one: that keeps its mark, which does not hold, and is given nothing either way. */
  const closeOpenIntents = async (within: Database, agentId: string): Promise<void> => {
    for (const intent of await pendingOf(within, agentId))
      if (marks.fault('identity_intents', intent) === null)
        await change(within, 'identity_intents', intent, { state: 'failed' });
      else await within.updateTable('identity_intents').set({ state: 'failed' }).where('id', '=', intent.id).execute();
  };
  const withoutUnusedTokens = (within: Database, agentId: string) =>
    within.deleteFrom('identity_enrollments').where('agent_id', '=', agentId).where('intent_id', 'is', null).execute();

  /** The one row of numbers, for who changes one: the next one waits until this is over. */
  const lockedState = async (within: Database) => {
    const state = await within
      .updateTable('identity_state')
      .set({ id: 1 })
      .where('id', '=', 1)
      .returningAll()
      .executeTakeFirstOrThrow();
    return state;
  };
  /** As the migration makes it, it has no mark, no number, and no agent beside it. The first start marks it, before anybody is answered. */
  const isNew = async (within: Database, state: Row<'identity_state'>): Promise<boolean> =>
    state.mac === '' &&
    Number(state.revocation_generation) === 0 &&
    Number(state.bundle_sequence) === 0 &&
    (await within.selectFrom('identity_agents').select('id').limit(1).executeTakeFirst()) === undefined;
  async function changeState(
    within: Database,
    was: Row<'identity_state'>,
    changes: Partial<Row<'identity_state'>>,
  ): Promise<void> {
    await within
      .updateTable('identity_state')
      .set(marked('identity_state', { ...was, ...changes }))
      .where('id', '=', 1)
      .execute();
  }

  /** The digest of the list up to a number. Numbers of before there were digests count as a list that nothing came onto. */
  async function historyUpTo(within: Database, generation: number): Promise<string> {
    const row = await within
      .selectFrom('identity_listings')
      .selectAll()
      .where('listed_generation', '=', generation)
      .executeTakeFirst();
    return row ? intact('identity_listings', row).history : NO_HISTORY;
  }

  /**
   * Puts certificates onto the list under the next number, or the next ones where they are more than one answer has. Who holds a number back until
   * its end keeps all greater ones back. An agent that is taken back whole stands there also where none of its certificates counts: a connection may
   * be open that one was shown on.
   */
  async function list(
    within: Database,
    rows: readonly Row<'identity_svids'>[],
    nowMs: number,
    changes: Partial<Row<'identity_svids'>>,
    agent: Row<'identity_agents'> | null = null,
  ): Promise<boolean> {
    const state = intact('identity_state', await lockedState(within));
    let generation = Number(state.revocation_generation);
    let history = await historyUpTo(within, generation);
    const why = changes.revoked_ms === undefined ? 'superseded' : 'revoked';
    for (let from = 0; from < Math.max(rows.length, agent ? 1 : 0); from += mostListed) {
      const whole = from === 0 ? agent : null;
      const part = rows.slice(from, from + mostListed);
      generation += 1;
      history = historyWith(
        history,
        generation,
        part.map(({ credential_fingerprint: fingerprint }) => ({ fingerprint, why })),
        whole && { tenant: whole.tenant, agent: whole.agent_name },
      );
      await within
        .insertInto('identity_listings')
        .values(
          marked('identity_listings', {
            listed_generation: generation,
            history,
            tenant: whole?.tenant ?? null,
            agent_name: whole?.agent_name ?? null,
            listed_ms: nowMs,
          }),
        )
        .execute();
      for (const row of part)
        if (!(await change(within, 'identity_svids', row, { ...changes, listed_generation: generation }))) return false;
    }
    await changeState(within, state, { revocation_generation: generation });
    return true;
  }

  /** The next number, under which an agent's standing changed, a tool or tenant was stopped or let go, or a budget, a decoy or an upstream was set. */
  async function numberOf(
    within: Database,
    what:
      | { readonly standing: ToldStanding }
      | { readonly stop: ToldStop }
      | { readonly budget: ToldBudget }
      | { readonly decoy: ToldDecoy }
      | { readonly upstream: ToldUpstream }
      | { readonly grant: ToldGrant },
    nowMs: number,
  ): Promise<number> {
    const state = intact('identity_state', await lockedState(within));
    const before = Number(state.revocation_generation);
    const generation = before + 1;
    await within
      .insertInto('identity_listings')
      .values(
        marked('identity_listings', {
          listed_generation: generation,
          history: historyWith(await historyUpTo(within, before), generation, [], null, what),
          tenant: null,
          agent_name: null,
          listed_ms: nowMs,
        }),
      )
      .execute();
    await changeState(within, state, { revocation_generation: generation });
    return generation;
  }

  /** One after the other of all that is stopped, let go, or done with a tenant. */
  const inStateTurn = <Value>(work: (within: Database) => Promise<Value>): Promise<Value> =>
    inTransaction(async (within) => {
      await lockedState(within);
      return work(within);
    });
  const numbered = { db, intact, fault: marks.fault, marked, latest: () => latestNow() };
  const standingRows = numberedRows({
    ...numbered,
    table: 'identity_standings',
    toldOf: toldStandingOf,
    number: (within, standing: ToldStanding, nowMs) => numberOf(within, { standing }, nowMs),
  });
  const stopRows = numberedRows({
    ...numbered,
    table: 'identity_stops',
    toldOf: toldStopOf,
    number: (within, stop: ToldStop, nowMs) => numberOf(within, { stop }, nowMs),
  });
  const budgetRows = numberedRows({
    ...numbered,
    table: 'identity_budgets',
    toldOf: toldBudgetOf,
    number: (within, budget: ToldBudget, nowMs) => numberOf(within, { budget }, nowMs),
  });
  const budgets = openBudgetStore({
    db,
    rows: budgetRows,
    intact,
    asked,
    inTurn: inStateTurn,
    told: (within, event) => toldRow(within, budgetRow(event)),
    assertNotOffboarded: (within, tenant) => tenants.assertNotOffboarded(within, tenant),
  });
  const decoyRows = numberedRows({
    ...numbered,
    table: 'identity_decoys',
    toldOf: toldDecoyOf,
    number: (within, decoy: ToldDecoy, nowMs) => numberOf(within, { decoy }, nowMs),
  });
  const decoys = openDecoyStore({
    db,
    rows: decoyRows,
    intact,
    marked,
    asked,
    inTurn: inStateTurn,
    told: (within, event) => toldRow(within, decoyRow(event)),
    assertNotOffboarded: (within, tenant) => tenants.assertNotOffboarded(within, tenant),
    isOffboarded: (within, tenant) => tenants.isOffboarded(within, tenant),
    async emptied() {
      const { sqlite } = store;
      if (sqlite && !(await asked(() => emptyLog(sqlite)))) throw new GateError('operation_unfinished');
    },
  });
  const upstreamRows = numberedRows({
    ...numbered,
    table: 'identity_upstreams',
    toldOf: toldUpstreamOf,
    number: (within, upstream: ToldUpstream, nowMs) => numberOf(within, { upstream }, nowMs),
  });
  const upstreams = openUpstreamStore({
    db,
    rows: upstreamRows,
    intact,
    asked,
    inTurn: inStateTurn,
    told: (within, event) => toldRow(within, upstreamRow(event)),
    assertNotOffboarded: (within, tenant) => tenants.assertNotOffboarded(within, tenant),
  });
  const signingKeys = openKeyStore({
    db,
    intact,
    marked,
    change,
    asked,
    inTurn: inStateTurn,
    told: (within, event) => toldRow(within, keyRow(event)),
  });
  const grantRows = numberedRows({
    ...numbered,
    table: 'identity_revoked_grants',
    toldOf: toldGrantOf,
    number: (within, grant: ToldGrant, nowMs) => numberOf(within, { grant }, nowMs),
  });
  async function assertLives(within: Database, agentId: string): Promise<void> {
    const standing = await standingRows.find(within, agentId);
    if (standing?.state === 'decommissioned') throw stateFault('decommissioned') as GateError;
  }
  /** The certificate of an agent that renews, where it is this one. */
  async function currentSvid(
    within: Database,
    agentId: string,
    fingerprint: string,
    nowMs: number,
  ): Promise<Row<'identity_svids'> | null> {
    const svid = await within
      .selectFrom('identity_svids')
      .selectAll()
      .where('agent_id', '=', agentId)
      .where('credential_fingerprint', '=', fingerprint)
      .executeTakeFirst();
    if (!svid) return null;
    const { revoked_ms: revokedMs, superseded_ms: supersededMs, not_after_ms: endsMs } = intact('identity_svids', svid);
    return revokedMs === null && supersededMs === null && Number(endsMs) > nowMs ? svid : null;
  }
  const grants = await openGrantStore({
    db,
    rows: grantRows,
    intact,
    fault: marks.fault,
    marked,
    change,
    inTransaction,
    asked,
    told,
    toldGrant: (within, event) => toldRow(within, grantRow(event)),
    agentByName,
    agentOf,
    locked,
    lockedRow,
    assertActive: (within, agent) => standings.assertActive(within, agent),
    assertLives: (within, agentId) => assertLives(within, agentId),
    isCurrent: async (within, agentId, fingerprint, nowMs) =>
      (await currentSvid(within, agentId, fingerprint, nowMs)) !== null,
  });
  const attestations = openAttestationStore({
    db,
    renewalsAttested,
    intact,
    fault: marks.fault,
    marked,
    change,
    inTransaction,
    asked,
    told,
    toldAttestation: (within, event) => toldRow(within, attestationRow(event)),
    agentByName,
    agentOf,
    locked,
    assertActive: (within, agent) => standings.assertActive(within, agent),
    assertLives,
    assertNotOffboarded: (within, tenant) => tenants.assertNotOffboarded(within, tenant),
    currentSvid,
  });
  const registry = openRegistryStore({
    db,
    fault: marks.fault,
    marked,
    inTransaction,
    asked,
    told,
    agentOf,
    locked,
    assertLives,
  });
  /** Whether nobody certified an agent that should be. */
  const lacksCertification = async (within: Database, agentId: string): Promise<boolean> =>
    certification !== 'off' && !(await registry.isCertified(within, agentId));
  async function assertCertified(within: Database, agentId: string): Promise<void> {
    if (certification === 'enforce' && (await lacksCertification(within, agentId)))
      throw new GateError('uncertified_agent');
  }
  const standings = openStandingStore({
    db,
    rows: standingRows,
    intact,
    inTransaction,
    asked,
    told,
    agentOf,
    newAgent,
    locked,
    setEnvelope: (within, agent, to, nowMs) => grants.setEnvelope(within, agent, to, nowMs),
    setEntry: (...of) => registry.setEntry(...of),
    lockedAsItIs,
    takeBack: (within, agent, by) => takenBack(within, agent, by),
    takeBackWhileStopped: (within, agent, by) => takenBackWhileStopped(within, agent, by),
    onLeft,
    reported: (within, stopped, by) => reports.beginReport(within, stopped, by),
    async assertTenantActive(within, tenant) {
      await tenants.assertNotOffboarded(within, tenant);
      const what = { tenant, tool: null };
      if ((await stopRows.find(within, stopIdOf(what)))?.state === 'suspended') throw stopFault(what);
    },
  });
  const actorTokens = await openActorTokenStore({
    db,
    fault: marks.fault,
    marked,
    change,
    inTransaction,
    asked,
    agentByName,
    locked,
    assertActive: (within, agent) => standings.assertActive(within, agent),
  });
  const toolDefinitions = openToolDefinitionStore({
    fault: marks.fault,
    marked,
    inTransaction,
    told: (within, event) => toldRow(within, toolPinRow(event)),
  });
  const peerBundles = openPeerBundleStore({ db, fault: marks.fault, marked, inTransaction, asked });
  const stops = openStopStore({
    db,
    rows: stopRows,
    intact,
    asked,
    inTurn: inStateTurn,
    told: (within, event) => toldRow(within, stopRow(event)),
    reported: (within, stopped, by) => reports.beginReport(within, stopped, by),
    takeBackLeft,
    assertMayBeStopped: (within, tenant) => tenants.assertMayBeStopped(within, tenant),
    assertNotOffboarded: (within, tenant) => tenants.assertNotOffboarded(within, tenant),
    async assertTakenBack(within, tenant, nowMs) {
      if (await reports.isTakingBack(within, tenant))
        throw new GateError(
          'store_unavailable',
          'the certificates of its agents are still being taken back; ask again in a moment',
        );
      const left = await leftOf(within, tenant, nowMs);
      if (left) throw leftFault(left);
    },
  });
  const reports = openStopReportStore({
    db,
    intact,
    marked,
    change,
    inTransaction,
    asked,
    told: (within, event) => toldRow(within, stopReportRow(event)),
    fault: (row) => marks.fault('identity_stop_reports', row),
    onLeft,
    async agentToTakeBack(within, tenant, nowMs, after) {
      const [having] = await agentsToTakeBack(within, tenant, nowMs, after, 1);
      return having?.id ?? null;
    },
    takeBack: async (within, agentId, by) => takenBackWhileStopped(within, await lockedRow(within, agentId), by),
  });

  const tenants = openTenantStore({
    db,
    intact,
    fault: marks.fault,
    marked,
    change,
    asked,
    inTurn: inStateTurn,
    told: (within, event) => toldRow(within, tenantRow(event)),
    stopTenant: (within, tenant, by, edited) => stops.stopWithin(within, { tenant, tool: null }, by, edited),
    async stopNumber(within, tenant, by) {
      const what = { tenant, tool: null };
      await stops.stopWithin(within, what, by);
      return Number((await stopRows.find(within, stopIdOf(what)))?.listed_generation);
    },
    decommission: (id, tenant, by) => standings.decommission(id, tenant, by),
    clearBudget: (of, by) => budgets.setBudget(of, null, by),
    async forgetKept(tenant, by) {
      await inTransaction((within) => registry.forgetEntries(within, tenant));
      await upstreams.forgetUpstreams(tenant, by);
      // It empties the log beside the file too.
      await decoys.forgetDecoys(tenant, by);
    },
    leftOf: (within, tenant, nowMs) => leftOf(within, tenant, nowMs),
    async numbers() {
      const state = await db.selectFrom('identity_state').selectAll().where('id', '=', 1).executeTakeFirstOrThrow();
      const { revocation_generation: feed, bundle_sequence: bundle } = intact('identity_state', state);
      return { feedGeneration: Number(feed), bundleSequence: Number(bundle) };
    },
  });

  /**
   * Agents of the tenant with a certificate that counts, a token that they have not used, or a request that is open, and those that had a first
   * certificate and whose recovery is not open, whatever became of it; by their ids.
   */
  function agentsToTakeBack(within: Database, tenant: string, nowMs: number, after: string, most: number) {
    return within
      .selectFrom('identity_agents as agent')
      .selectAll()
      .where('agent.tenant', '=', tenant)
      .where('agent.id', '>', after)
      .where(({ or, and, not, eb, exists, selectFrom }) =>
        or([
          and([
            eb('agent.svid_bootstrap_state', '=', 'retired'),
            not(
              exists(
                selectFrom('identity_standings as standing')
                  .select('standing.id')
                  .whereRef('standing.id', '=', 'agent.id')
                  .where('standing.state', '=', 'decommissioned'),
              ),
            ),
          ]),
          exists(
            selectFrom('identity_svids as svid')
              .select('svid.id')
              .whereRef('svid.agent_id', '=', 'agent.id')
              .where('svid.revoked_ms', 'is', null)
              .where('svid.not_after_ms', '>', nowMs)
              .where((still) =>
                still.or([
                  still('svid.refused_from_ms', 'is', null),
                  still('svid.refused_from_ms', '>', nowMs - SKEW_MS),
                ]),
              ),
          ),
          exists(
            selectFrom('identity_enrollments as token')
              .select('token.agent_id')
              .whereRef('token.agent_id', '=', 'agent.id')
              .where('token.intent_id', 'is', null),
          ),
          exists(
            selectFrom('identity_grants as granted')
              .select('granted.id')
              .whereRef('granted.agent_id', '=', 'agent.id')
              .where('granted.id', '>=', takenBackSince(nowMs))
              .where('granted.state', 'in', ['pending', 'issued', 'used_up'])
              .where('granted.expires_ms', '>', nowMs),
          ),
          exists(
            selectFrom('identity_intents as intent')
              .select('intent.id')
              .whereRef('intent.agent_id', '=', 'agent.id')
              .where('intent.state', '=', 'pending'),
          ),
        ]),
      )
      .orderBy('agent.id')
      .limit(most)
      .execute();
  }
  async function listedStops(within: Database, stopped: readonly ToldStop[]): Promise<readonly ListedStop[]> {
    const listed: ListedStop[] = [];
    for (const one of stopped) {
      // The same transaction stopped the tenant and wrote that it has gone.
      const isTenant = one.tool === null && one.state === 'suspended';
      listed.push({ ...one, isOffboarded: isTenant && (await tenants.isOffboarded(within, one.tenant)) });
    }
    return listed;
  }
  /** What is still to be taken back of one agent of a tenant that is stopped. */
  async function leftOf(within: Database, tenant: string, nowMs: number): Promise<LeftBehind | null> {
    const [agent] = await agentsToTakeBack(within, tenant, nowMs, '', 1);
    if (!agent) return null;
    const fault = marks.fault('identity_agents', agent);
    const svids = (await countingOf(within, agent.id, nowMs)).slice(0, TAMPERED_NAMED);
    const rows = svids.map((svid) => marks.fault('identity_svids', svid) ?? `identity_svids ${svid.id}`);
    const all = fault === null ? rows : [fault, ...rows];
    return { tenant, agent: agent.agent_name, rows: all.length > 0 ? all : [`identity_agents ${agent.id}`] };
  }
  /** Once more, before a tenant is let go: what was left, and has been put back in the store since. */
  async function takeBackLeft(tenant: string, by: RevokedBy): Promise<void> {
    const one = async (within: Database): Promise<boolean> => {
      if (await reports.isTakingBack(within, tenant)) return false;
      const [agent] = await agentsToTakeBack(within, tenant, by.nowMs, '', 1);
      if (!agent) return false;
      const row = await lockedRow(within, agent.id);
      // Behind its lock: nobody let the tenant go, and nothing was issued, meanwhile.
      const stop = await stopRows.find(within, stopIdOf({ tenant, tool: null }));
      return stop?.state === 'suspended' && (await takenBackWhileStopped(within, row, by)).left.length === 0;
    };
    while (await inTransaction(one));
  }

  const issuance: IssuanceStore = {
    enroll: ({ tenant, agent: name, by, nowMs, expiresMs }) =>
      inTransaction(async (within) => {
        await newAgent(within, { tenant, agent: name, by, nowMs });
        const agent = await agentByName(within, tenant, name);
        if (agent) await standings.assertActive(within, agent);
        if (!agent || agent.svid_bootstrap_state === 'retired') throw new GateError('bootstrap_not_available');
        if ((await locked(within, agent.id)).svid_bootstrap_state === 'retired')
          throw new GateError('bootstrap_not_available');
        await withoutUnusedTokens(within, agent.id);
        const token = randomBytes(32).toString('base64url');
        const row = {
          token_sha256: hash('sha256', token),
          agent_id: agent.id,
          recovery_generation: agent.recovery_generation,
          expires_ms: expiresMs,
          created_by_sub: by,
          intent_id: null,
        };
        await within.insertInto('identity_enrollments').values(marked('identity_enrollments', row)).execute();
        return { agentId: agent.id, token };
      }),

    assertKnown: (authority, nowMs) =>
      authority.kind !== 'token'
        ? Promise.resolve()
        : asked(async () => {
            // For no request: one that gave its certificate is known too.
            await byToken(db, authority.token, null, nowMs);
          }),

    begin: (request, authority, nowMs) =>
      inTransaction(async (within) => {
        const id = uuidV7();
        if (authority.kind === 'leaf') {
          const shown = await agentByName(within, authority.tenant, authority.agent);
          // Two that ask at once are counted one after the other.
          if (shown) await locked(within, shown.id);
          const found = await byLeaf(within, authority, request.csrSha256, nowMs);
          if ('issued' in found) return found;
          const { agent, priorSvidId } = found;
          await assertCertified(within, agent.id);
          await assertMayRenew(within, agent, nowMs);
          if (await isUsed(within, request)) throw new GateError('issuance_replay');
          const attested = await attestations.renewing(within, agent, authority.evidence, id, nowMs);
          const intent = {
            ...intentOf(id, agent),
            authority: 'current' as const,
            priorSvidId,
            by: authority.spiffe,
            ...(attested && { attested }),
          };
          await storeIntent(within, request, intent, authority, nowMs);
          return intent;
        }
        if (authority.kind === 'quote') {
          const { challengeId, attested } = authority;
          if (await isUsed(within, request)) throw new GateError('issuance_replay');
          const { agent, spiffe, by } = await attestations.useChallenge(within, challengeId, attested, id, nowMs);
          await assertCertified(within, agent.id);
          const intent = {
            ...intentOf(id, agent),
            authority: agent.svid_bootstrap_state === 'available' ? ('bootstrap' as const) : ('recovery' as const),
            priorSvidId: null,
            by,
            attested: { ...attested, spiffe },
          };
          await storeIntent(within, request, intent, null, nowMs);
          return intent;
        }
        const found = await byToken(within, authority.token, request.csrSha256, nowMs);
        if ('issued' in found) {
          if (found.issued === null) throw new GateError('issuance_replay');
          return { issued: found.issued };
        }
        if (await isUsed(within, request)) throw new GateError('issuance_replay');
        const { agent, row } = found;
        await assertCertified(within, agent.id);
        const isFirst = agent.svid_bootstrap_state === 'available';
        const intent = {
          ...intentOf(id, agent),
          authority: isFirst ? ('bootstrap' as const) : ('recovery' as const),
          priorSvidId: null,
          by: row.created_by_sub,
        };
        await storeIntent(within, request, intent, null, nowMs);
        if (!(await change(within, 'identity_enrollments', row, { intent_id: id })))
          throw new GateError('issuance_replay');
        return intent;
      }),

    release: (intent, svid, nowMs) =>
      inTransaction(async (within) => {
        const agent = await locked(within, intent.agentId);
        await standings.assertActive(within, agent);
        const assert = (holds: boolean, why: string): void => {
          if (!holds) throw new GateError('issuance_authority_denied', why);
        };
        const asked = await within
          .selectFrom('identity_intents')
          .selectAll()
          .where('id', '=', intent.id)
          .executeTakeFirstOrThrow();
        assert(
          asked.state === 'pending' && (await change(within, 'identity_intents', asked, { state: 'issued' })),
          'the request was closed meanwhile',
        );
        if (intent.priorSvidId === null) {
          assert(
            agent.svid_bootstrap_state !== 'retired' &&
              Number(agent.recovery_generation) === intent.recoveryGeneration &&
              (await change(within, 'identity_agents', agent, { svid_bootstrap_state: 'retired' })),
            'the agent got its certificate by another request',
          );
        } else {
          const prior = await within
            .selectFrom('identity_svids')
            .selectAll()
            .where('id', '=', intent.priorSvidId)
            .executeTakeFirstOrThrow();
          const superseded = { superseded_ms: nowMs, superseded_by: svid.id, refused_from_ms: nowMs + supersededMs };
          assert(
            prior.revoked_ms === null &&
              prior.superseded_ms === null &&
              (await list(within, [prior], nowMs, superseded)) &&
              (await change(within, 'identity_agents', agent, { renewals: Number(agent.renewals) + 1 })),
            'the certificate was revoked or superseded meanwhile',
          );
        }
        await within
          .insertInto('identity_svids')
          .values(
            marked('identity_svids', {
              id: svid.id,
              agent_id: intent.agentId,
              tenant: intent.tenant,
              agent_name: intent.agent,
              spiffe_id: svid.spiffe,
              serial: svid.serial,
              credential_fingerprint: svid.fingerprint,
              public_key_sha256: svid.publicKeySha256,
              cert_pem: svid.certPem,
              not_before_ms: svid.notBeforeMs,
              not_after_ms: svid.notAfterMs,
              issuance_intent_id: intent.id,
              superseded_ms: null,
              superseded_by: null,
              revoked_ms: null,
              revoked_by_sub: null,
              revoked_reason: null,
              listed_generation: null,
              refused_from_ms: null,
            }),
          )
          .execute();
        if (intent.attested) await attestations.keep(within, agent, intent.attested);
        // With the certificate, or not at all: whoever has one is in the ledger.
        await told(within, {
          kind: intent.priorSvidId === null ? 'identity.svid_issued' : 'identity.svid_renewed',
          subject: svid.id,
          tenant: intent.tenant,
          agent: intent.agent,
          agentId: intent.agentId,
          by: intent.by,
          reason: null,
          svid,
          ...(intent.priorSvidId !== null && { priorSvidId: intent.priorSvidId }),
          recoveryGeneration: intent.recoveryGeneration,
          ...((await lacksCertification(within, intent.agentId)) && { signal: 'uncertified_agent' as const }),
          ...(intent.attested && {
            standing: {
              attestation_id: intent.attested.id,
              measurement_sha256: intent.attested.verified.measurementSha256,
            },
          }),
        });
      }),

    fail: ({ id }) =>
      inTransaction(async (within) => {
        const intent = await within
          .selectFrom('identity_intents')
          .selectAll()
          .where('id', '=', id)
          .where('state', '=', 'pending')
          .executeTakeFirst();
        if (intent) await change(within, 'identity_intents', intent, { state: 'failed' });
      }),
  };

  const stillGood = (within: Database, nowMs: number) =>
    within.selectFrom('identity_svids').selectAll().where('revoked_ms', 'is', null).where('not_after_ms', '>', nowMs);
  /** The certificates of an agent that count, and not what a newer one took the place of long ago. */
  function countingOf(within: Database, agentId: string, nowMs: number): Promise<readonly Row<'identity_svids'>[]> {
    return stillGood(within, nowMs)
      .where('agent_id', '=', agentId)
      .where((where) =>
        where.or([where('refused_from_ms', 'is', null), where('refused_from_ms', '>', nowMs - SKEW_MS)]),
      )
      .execute();
  }
  /** Revokes these, and says how many that were. */
  async function revokeRows(
    within: Database,
    revoked: readonly Row<'identity_svids'>[],
    { by, reason, nowMs }: RevokedBy,
    /** Named beside them, also where there are none. */
    agent: Row<'identity_agents'> | null,
  ): Promise<number> {
    if (revoked.length > 0 || agent) {
      const changes = { revoked_ms: nowMs, revoked_by_sub: by, revoked_reason: reason, refused_from_ms: nowMs };
      if (!(await list(within, revoked, nowMs, changes, agent)))
        throw new GateError('store_unavailable', 'a certificate of this agent changed meanwhile; ask again');
    }
    for (const one of revoked)
      await told(within, {
        kind: 'svid.revoked',
        subject: one.id,
        tenant: one.tenant,
        agent: one.agent_name,
        agentId: one.agent_id,
        by,
        reason,
        svid: {
          id: one.id,
          spiffe: one.spiffe_id,
          serial: one.serial,
          fingerprint: one.credential_fingerprint,
          notAfterMs: Number(one.not_after_ms),
        },
      });
    return revoked.length;
  }

  /**
   * Takes back every certificate of an agent that counts, the tokens that it has not used, and what is being made of it. A certificate that somebody edited
   * is left: its list would name another one.
   */
  async function takenBack(
    within: Database,
    { known }: StoppedAgent,
    by: RevokedBy,
    /** It is named on the list beside its certificates, where nothing else ends its connections. */
    isNamed = true,
  ): Promise<TakenBack> {
    await withoutUnusedTokens(within, known.id);
    await closeOpenIntents(within, known.id);
    await grants.takeBackGrants(within, known.id, by, 'certificates_taken_back');
    const edited: string[] = [];
    const whole = (await countingOf(within, known.id, by.nowMs)).filter((svid) => {
      const fault = marks.fault('identity_svids', svid);
      if (fault !== null) edited.push(fault);
      return fault === null;
    });
    const revoked = await revokeRows(within, whole, by, isNamed ? known : null);
    return {
      revoked,
      left: edited.length > 0 ? [{ tenant: known.tenant, agent: known.agent_name, rows: edited }] : [],
    };
  }
  /**
   * Of an agent that is stopped, or whose tenant is: takes everything back, and opens the recovery by which it has a first certificate again once it is
   * let go (docs/decisions/a-stop-takes-certificates-back.md). A row that somebody edited keeps nobody from being stopped: it is left, the recovery is
   * not opened, and whoever lets the agent go is told. Its stop ends its connections: it need not be named on the list beside its certificates.
   */
  async function takenBackWhileStopped(
    within: Database,
    row: Row<'identity_agents'>,
    by: RevokedBy,
  ): Promise<TakenBack> {
    const agent = await stoppedAgentOf(within, row, marks.fault);
    const { revoked, left } = await takenBack(within, agent, by, false);
    const rows = [...(agent.fault === null ? [] : [agent.fault]), ...left.flatMap((one) => one.rows)];
    const { tenant, agent_name: name } = agent.known;
    if (rows.length > 0) return { revoked, left: [{ tenant, agent: name, rows }] };
    if (row.svid_bootstrap_state === 'retired') await recoveryOf(within, row, by);
    return { revoked, left: [] };
  }
  /** Lets an agent have a first certificate again, once, by a new token; says the number of the recovery. */
  async function recoveryOf(within: Database, agent: Row<'identity_agents'>, by: RevokedBy): Promise<number> {
    const recoveryGeneration = Number(agent.recovery_generation) + 1;
    const opened = { svid_bootstrap_state: 'recovery', recovery_generation: recoveryGeneration, renewals: 0 };
    if (!(await change(within, 'identity_agents', agent, opened))) throw new GateError('recovery_pending');
    await told(within, {
      kind: 'agent.svid_recovery_opened',
      subject: `${agent.id}/${recoveryGeneration}`,
      tenant: agent.tenant,
      agent: agent.agent_name,
      agentId: agent.id,
      by: by.by,
      reason: by.reason,
      recoveryGeneration,
    });
    return recoveryGeneration;
  }

  /**
   * Throws where a certificate that has not ended, or what an agent may do, is not as Gate wrote it. In no transaction: of a hundred thousand that
   * takes seconds, in which agents renew. Proxies that ask meanwhile get the same answer.
   */
  const assertAllOnce = (nowMs: number): Promise<void> =>
    (asserting ??= asked(async () => {
      await assertAll(nowMs);
      await assertAllNumbered();
    }).finally(() => (asserting = null)));
  let asserting: Promise<void> | null = null;
  async function assertAllNumbered(): Promise<void> {
    await standingRows.assertAll();
    await stopRows.assertAll();
    await budgetRows.assertAll();
    await decoyRows.assertAll();
    await upstreamRows.assertAll();
    await grantRows.assertAll();
  }

  /** By their ends, of which there is an index: those that have ended, of years, are passed over. */
  async function assertAll(nowMs: number): Promise<void> {
    const pages = pagesOf(AT_ONCE, (last: Row<'identity_svids'> | undefined) =>
      db
        .selectFrom('identity_svids')
        .selectAll()
        .where(({ eb, refTuple, tuple }) =>
          eb(refTuple('not_after_ms', 'id'), '>', tuple(Number(last?.not_after_ms ?? nowMs + 1), last?.id ?? '')),
        )
        .orderBy('not_after_ms')
        .orderBy('id')
        .limit(AT_ONCE)
        .execute(),
    );
    for await (const rows of pages) for (const row of rows) intact('identity_svids', row);
  }

  const latestNow = (): Promise<number> =>
    asked(async () => {
      const state = await db.selectFrom('identity_state').selectAll().where('id', '=', 1).executeTakeFirstOrThrow();
      return Number(intact('identity_state', state).revocation_generation);
    });
  /** The number of the list. Throws where something stands under a greater one: the row of numbers is one of before, also where its mark holds. */
  async function assertNoneBeyond(): Promise<number> {
    const most = async (table: 'identity_listings' | 'identity_svids') => {
      const row = await db
        .selectFrom(table)
        .select('listed_generation')
        .where('listed_generation', 'is not', null)
        .orderBy('listed_generation', 'desc')
        .limit(1)
        .executeTakeFirst();
      return Number(row?.listed_generation ?? 0);
    };
    // Behind the rows: each got its number in the transaction that stored it.
    const listed = await asked(async () => Math.max(await most('identity_listings'), await most('identity_svids')));
    const latest = await latestNow();
    if (listed > latest)
      throw new GateError(
        'identity_tampered',
        `edited in the store: identity_state 1: number ${listed} was given, and the list is at ${latest}`,
      );
    return latest;
  }
  /** The number before the first that tells of a certificate which has not ended: what came before that tells nobody anything. */
  async function beforeFirstLive(within: Database, nowMs: number): Promise<number> {
    const { first } = await within
      .selectFrom('identity_svids')
      .select(({ fn }) => fn.min('listed_generation').as('first'))
      .where('not_after_ms', '>', nowMs)
      .executeTakeFirstOrThrow();
    return first === null ? 0 : Number(first) - 1;
  }

  const revocation: RevocationStore = {
    revokeSvid: (svidId, tenant, by) =>
      inTransaction(async (within) => {
        // As OpenSSL and Node write it.
        const serial = svidId.replaceAll(':', '').toLowerCase();
        const find = () =>
          within
            .selectFrom('identity_svids')
            .selectAll()
            .where((where) => where.or([where('id', '=', svidId), where('serial', '=', serial)]))
            .where('tenant', '=', tenant)
            .executeTakeFirst();
        const found = await find();
        if (!found) throw new GateError('not_found');
        intact('identity_svids', found);
        // Also where somebody edited the row of its agent.
        await lockedRow(within, found.agent_id);
        const counting = await stillGood(within, by.nowMs).where('id', '=', found.id).execute();
        await revokeRows(within, counting, by, null);
        const { id, revoked_ms: revokedMs } = (await find()) ?? found;
        return { id, revokedMs: revokedMs === null ? null : Number(revokedMs) };
      }),
    async revokeAgent(agentId, tenant, by) {
      const { revoked, left } = await inTransaction(async (within) =>
        takenBack(within, await lockedAsItIs(within, agentId, tenant), by),
      );
      // Behind the end of what takes back all the others.
      left.forEach(onLeft);
      if (left[0]) throw leftFault(left[0]);
      return revoked;
    },
    openRecovery: (agentId, tenant, by) =>
      inTransaction(async (within) => {
        await agentOf(within, agentId, tenant);
        const agent = await locked(within, agentId);
        await standings.assertActive(within, agent);
        await withoutOpenIntents(within, agentId);
        if (agent.svid_bootstrap_state === 'recovery') throw new GateError('recovery_pending');
        if (agent.svid_bootstrap_state !== 'retired') throw new GateError('bootstrap_not_retired');
        const revokedSvids = await revokeRows(within, await countingOf(within, agentId, by.nowMs), by, agent);
        const recoveryGeneration = await recoveryOf(within, agent, by);
        return { recoveryGeneration, revokedSvids };
      }),
    async revocations(nowMs, after) {
      // Whoever knows nothing yet is told of each that somebody took off the list too. Proxies ask from 0 for as long as nothing came onto it: then it
      // costs little, and nothing may say that it stands there.
      if (after === 0) await ((await assertNoneBeyond()) > 0 ? assertAllOnce(nowMs) : asked(assertAllNumbered));
      return inTransaction(async (within): Promise<Revocations> => {
        // The number first: what is revoked meanwhile is in the list at the latest with the next number.
        const state = await within
          .selectFrom('identity_state')
          .selectAll()
          .where('id', '=', 1)
          .executeTakeFirstOrThrow();
        const latest = Number(intact('identity_state', state).revocation_generation);
        const afterHistory = after > latest ? null : await historyUpTo(within, after);
        // What most questions bring: nothing.
        if (after === latest && afterHistory !== null)
          return {
            generation: latest,
            latest,
            history: afterHistory,
            afterHistory,
            agents: [],
            standings: [],
            stops: [],
            budgets: [],
            decoys: [],
            upstreams: [],
            grants: [],
            svids: [],
          };
        const whole = await within
          .selectFrom('identity_listings')
          .selectAll()
          .where('agent_name', 'is not', null)
          .where('listed_generation', '>', after)
          .where('listed_generation', '<=', latest)
          .where('listed_ms', '>', nowMs - LONGEST_LIFE_MS - SKEW_MS)
          .orderBy('listed_generation')
          .limit(mostListed + 1)
          .execute();
        for (const row of whole) intact('identity_listings', row);
        const beyondWhole = whole[mostListed];
        const stands = await standingRows.between(within, after, latest, mostListed + 1);
        const stopped = await stopRows.between(within, after, latest, mostListed + 1);
        const limited = await budgetRows.between(within, after, latest, mostListed + 1);
        // Who knows nothing yet needs not hear of what was retired long ago. Whoever does was told of it, or lets nobody in for as long.
        const gone = after === 0 ? nowMs - RETIRED_TOLD_MS : undefined;
        const set = await decoyRows.between(within, after, latest, mostListed + 1, gone);
        const vouchedFor = await upstreamRows.between(within, after, latest, mostListed + 1, gone);
        const revokedGrants = await grantRows.between(within, after, latest, mostListed + 1);
        const end = Math.min(
          beyondWhole ? Number(beyondWhole.listed_generation) - 1 : latest,
          // Each has a number of its own.
          stands[mostListed] ? stands[mostListed].generation - 1 : latest,
          stopped[mostListed] ? stopped[mostListed].generation - 1 : latest,
          limited[mostListed] ? limited[mostListed].generation - 1 : latest,
          set[mostListed] ? set[mostListed].generation - 1 : latest,
          vouchedFor[mostListed] ? vouchedFor[mostListed].generation - 1 : latest,
          revokedGrants[mostListed] ? revokedGrants[mostListed].generation - 1 : latest,
        );
        const upTo = async (generation: number, svids: readonly Listed[]): Promise<Revocations> => ({
          generation,
          latest,
          history: await historyUpTo(within, generation),
          afterHistory,
          agents: whole
            .filter(({ listed_generation: listed }) => Number(listed) <= generation)
            .map(({ tenant, agent_name: agent, listed_ms: listedMs }) => ({
              tenant: tenant ?? '',
              agent: agent ?? '',
              revokedMs: Number(listedMs),
            })),
          standings: stands.filter(({ generation: listed }) => listed <= generation).map(({ told: one }) => one),
          stops: await listedStops(
            within,
            stopped.filter(({ generation: listed }) => listed <= generation).map(({ told: one }) => one),
          ),
          budgets: limited.filter(({ generation: listed }) => listed <= generation).map(({ told: one }) => one),
          decoys: set.filter(({ generation: listed }) => listed <= generation).map(({ told: one }) => one),
          upstreams: vouchedFor.filter(({ generation: listed }) => listed <= generation).map(({ told: one }) => one),
          grants: revokedGrants
            .filter(
              ({ generation: listed, told: { expiresMs } }) => listed <= generation && expiresMs > nowMs - SKEW_MS,
            )
            .map(({ told: one }) => one),
          svids: svids.map(listedOf),
        });
        const rows = await within
          .selectFrom('identity_svids')
          .selectAll()
          .where('not_after_ms', '>', nowMs)
          .where('listed_generation', '>', after > 0 ? after : await beforeFirstLive(within, nowMs))
          .where('listed_generation', '<=', end)
          .orderBy('listed_generation')
          .orderBy('id')
          .limit(mostListed + 1)
          .execute();
        for (const row of rows) intact('identity_svids', row);
        const beyond = rows[mostListed];
        if (!beyond) return upTo(end, rows);
        // Each number whole, or not at all.
        const next = Number(beyond.listed_generation);
        return upTo(
          next - 1,
          rows.filter((row) => Number(row.listed_generation) < next),
        );
      });
    },
  };

  return {
    ...issuance,
    ...revocation,
    ...standings,
    ...registry,
    ...stops,
    ...reports,
    ...budgets,
    ...decoys,
    ...upstreams,
    ...tenants,
    ...grants,
    ...actorTokens,
    ...peerBundles,
    ...toolDefinitions,
    ...workloads,
    ...signingKeys,
    ...attestations,
    undelivered: (most) =>
      asked(async () => {
        const waiting: Undelivered[] = [];
        const tampered: string[] = [];
        const pages = pagesOf(most, (last: Row<'identity_outbox'> | undefined) =>
          db
            .selectFrom('identity_outbox')
            .selectAll()
            .where('id', '>', last?.id ?? '')
            .orderBy('id')
            .limit(most)
            .execute(),
        );
        for await (const rows of pages)
          for (const row of rows) {
            const fault = marks.fault('identity_outbox', row);
            if (fault === null) waiting.push({ id: row.id, row: JSON.parse(row.content) as NewLedgerRow });
            else if (tampered.length < TAMPERED_NAMED) tampered.push(`edited in the store: ${fault}`);
            if (waiting.length === most) return { waiting, tampered };
          }
        return { waiting, tampered };
      }),
    delivered: ({ id }) =>
      asked(async () => void (await db.deleteFrom('identity_outbox').where('id', '=', id).execute())),
    bundleSequence: (bundleSha256) =>
      inTransaction(async (within) => {
        const state = await lockedState(within);
        if (!(await isNew(within, state))) intact('identity_state', state);
        if (state.bundle_sha256 === bundleSha256) return Number(state.bundle_sequence);
        const sequence = Number(state.bundle_sequence) + 1;
        await changeState(within, state, { bundle_sequence: sequence, bundle_sha256: bundleSha256 });
        return sequence;
      }),
    ready: () =>
      asked(async () => {
        await db.selectFrom('identity_state').select('id').where('id', '=', 1).executeTakeFirstOrThrow();
      }),
    close: () => store.close(),
  };
}

const keyOf = (table: MarkedTable, row: object): string | number =>
  table === 'identity_enrollments'
    ? (row as Row<'identity_enrollments'>).token_sha256
    : (row as { readonly id: string | number }).id;

const intentOf = (id: string, agent: Row<'identity_agents'>) => ({
  id,
  agentId: agent.id,
  tenant: agent.tenant,
  agent: agent.agent_name,
  recoveryGeneration: Number(agent.recovery_generation),
});

const svidOf = (row: Row<'identity_svids'>): Svid => ({
  id: row.id,
  spiffe: row.spiffe_id,
  certPem: row.cert_pem,
  notBeforeMs: Number(row.not_before_ms),
  notAfterMs: Number(row.not_after_ms),
});

type Listed = Pick<
  Row<'identity_svids'>,
  'id' | 'serial' | 'spiffe_id' | 'credential_fingerprint' | 'not_after_ms' | 'revoked_ms' | 'refused_from_ms'
>;
const listedOf = (row: Listed): Revocations['svids'][number] => ({
  id: row.id,
  serial: row.serial,
  spiffe: row.spiffe_id,
  fingerprint: row.credential_fingerprint,
  notAfterMs: Number(row.not_after_ms),
  why: row.revoked_ms === null ? 'superseded' : 'revoked',
  refusedFromMs: Number(row.refused_from_ms),
});

/** What Gate itself refuses stays as it is; anything else is a fault of the store. */
async function asked<Value>(ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof GateError) throw error;
    // Whoever asks may be anybody.
    throw new GateError('store_unavailable', 'the store of identity does not answer', { cause: error });
  }
}
