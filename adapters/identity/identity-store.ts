import { hash, randomBytes } from 'node:crypto';
import { type Kysely, sql, type Selectable } from 'kysely';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { type IdentityEvent, identityRow } from '../../domain/identity/identity-rows.js';
import type { KeyRing } from '../../domain/crypto/key-ring.js';
import { GateError } from '../../domain/errors.js';
import type {
  CertificateRequest,
  Intent,
  IssuanceAuthority,
  IssuanceStore,
  Svid,
} from '../../domain/identity/issuing.js';
import type { Revocations, RevocationStore, RevokedBy } from '../../domain/identity/revocation.js';
import { uuidV7 } from '../../domain/identity/uuid-v7.js';
import { identityMigrations } from '../../migrations/identity.js';
import { openStore, type StoreTarget } from '../store/database.js';
import type { IdentityTables } from './identity-tables.js';

/** What identity keeps: agents, tokens for first certificates, requests, certificates (docs/architecture/identity.md). */
export interface IdentityStore extends IssuanceStore, RevocationStore {
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
  /** The entries of one list, about. */
  readonly mostListed?: number;
  /** Certificates that an agent may ask for in an hour with the one before. */
  readonly renewalsPerHour?: number;
  /** The same in all, since a person let it in. */
  readonly mostRenewals?: number;
}

const SUPERSEDED_MS = 60_000;
const MOST_LISTED = 5_000;
const RENEWALS_PER_HOUR = 60;
const MOST_RENEWALS = 10_000;
const HOUR_MS = 3_600_000;

const MAC_USE = 'gate.identity-enrollment/1';

/** Opens the store. Requests that an earlier process left open are closed: nothing is signed for them any more. */
export async function openIdentityStore(
  target: StoreTarget,
  keys: KeyRing,
  {
    supersededMs = SUPERSEDED_MS,
    mostListed = MOST_LISTED,
    renewalsPerHour = RENEWALS_PER_HOUR,
    mostRenewals = MOST_RENEWALS,
  }: IdentityStoreOptions = {},
): Promise<IdentityStore> {
  const store = await openStore<IdentityTables>(target, identityMigrations);
  const { db } = store;
  await db.updateTable('identity_intents').set({ state: 'interrupted' }).where('state', '=', 'pending').execute();

  type Named = Pick<Row<'identity_agents'>, 'id' | 'tenant' | 'agent_name'>;
  const macOf = (
    { token_sha256, recovery_generation, expires_ms }: Omit<Row<'identity_enrollments'>, 'mac'>,
    { id, tenant, agent_name }: Named,
  ): string => JSON.stringify([token_sha256, id, tenant, agent_name, Number(recovery_generation), Number(expires_ms)]);
  /** Somebody who writes to the store has no token whose row has this mark, nor one for another agent than it was made for. */
  const isGates = (row: Row<'identity_enrollments'>, agent: Named): boolean => {
    try {
      return keys.authentic(row.mac, macOf(row, agent), MAC_USE);
    } catch {
      return false;
    }
  };

  const agentById = (within: Database, id: string) =>
    within.selectFrom('identity_agents').selectAll().where('id', '=', id).executeTakeFirst();
  const agentByName = (within: Database, tenant: string, name: string) =>
    within
      .selectFrom('identity_agents')
      .selectAll()
      .where('tenant', '=', tenant)
      .where('agent_name', '=', name)
      .executeTakeFirst();
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
    if (!isGates(row, agent)) throw new GateError('invalid_token');
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
    const row = await within
      .selectFrom('identity_svids')
      .innerJoin('identity_intents', 'identity_intents.id', 'identity_svids.issuance_intent_id')
      .selectAll('identity_svids')
      .where('identity_intents.id', '=', intentId)
      .where('identity_intents.csr_sha256', '=', csrSha256)
      .where('identity_svids.revoked_ms', 'is', null)
      .where('identity_svids.superseded_ms', 'is', null)
      .executeTakeFirst();
    if (!row) throw new GateError('issuance_replay');
    return svidOf(row);
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
    const prior = await within
      .selectFrom('identity_svids')
      .selectAll()
      .where('agent_id', '=', agent.id)
      .where('credential_fingerprint', '=', shown.fingerprint)
      .where('spiffe_id', '=', shown.spiffe)
      .executeTakeFirst();
    const denied = (why: string) => new GateError('issuance_authority_denied', why);
    if (!prior) throw denied('the certificate is not one that identity issued to this agent');
    if (shown.publicKeySha256 !== undefined && prior.public_key_sha256 !== shown.publicKeySha256)
      throw denied('the certificate is of another key');
    if (prior.revoked_ms !== null) throw denied('the certificate was revoked');
    if (Number(prior.not_after_ms) <= nowMs) throw denied('the certificate has ended');
    if (prior.superseded_by === null) return { agent, priorSvidId: prior.id };
    const next = await within
      .selectFrom('identity_svids')
      .innerJoin('identity_intents', 'identity_intents.id', 'identity_svids.issuance_intent_id')
      .selectAll('identity_svids')
      .where('identity_svids.id', '=', prior.superseded_by)
      .where('identity_intents.csr_sha256', '=', csrSha256)
      .where('identity_svids.revoked_ms', 'is', null)
      .where('identity_svids.superseded_ms', 'is', null)
      .executeTakeFirst();
    if (next && Number(prior.refused_from_ms) > nowMs) return { issued: svidOf(next) };
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

  const told = (within: Database, event: IdentityEvent) =>
    within
      .insertInto('identity_outbox')
      .values({ id: uuidV7(), content: JSON.stringify(identityRow(event)) })
      .execute();

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
      .values({
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
      })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst();
    // Somebody else asked with the same request, or the same key, a moment ago.
    if (numInsertedOrUpdatedRows !== 1n) throw new GateError('issuance_replay');
  }

  /** One after the other of one agent: whoever takes certificates back sees the one that is being stored, or that one is not stored. */
  const locked = (within: Database, agentId: string) =>
    within
      .updateTable('identity_agents')
      .set({ recovery_generation: sql`recovery_generation` })
      .where('id', '=', agentId)
      .execute();
  /** What is being made of an agent is not given out. */
  const withoutOpenIntents = (within: Database, agentId: string) =>
    within
      .updateTable('identity_intents')
      .set({ state: 'failed' })
      .where('agent_id', '=', agentId)
      .where('state', '=', 'pending')
      .execute();
  const withoutUnusedTokens = (within: Database, agentId: string) =>
    within.deleteFrom('identity_enrollments').where('agent_id', '=', agentId).where('intent_id', 'is', null).execute();

  /** Puts certificates onto the list under the next number. Who holds a number back until its end keeps all greater ones back. */
  async function list(within: Database, ids: readonly string[], refusedFromMs: number): Promise<void> {
    const { revocation_generation: generation } = await within
      .updateTable('identity_state')
      .set({ revocation_generation: sql`revocation_generation + 1` })
      .where('id', '=', 1)
      .returning('revocation_generation')
      .executeTakeFirstOrThrow();
    await within
      .updateTable('identity_svids')
      .set({ listed_generation: Number(generation), refused_from_ms: refusedFromMs })
      .where('id', 'in', ids)
      .execute();
  }

  const issuance: IssuanceStore = {
    enroll: ({ tenant, agent: name, by, nowMs, expiresMs }) =>
      inTransaction(async (within) => {
        await within
          .insertInto('identity_agents')
          .values({
            id: uuidV7(),
            tenant,
            agent_name: name,
            svid_bootstrap_state: 'available',
            recovery_generation: 0,
            created_by_sub: by,
            created_ms: nowMs,
            renewals: 0,
          })
          .onConflict((conflict) => conflict.columns(['tenant', 'agent_name']).doNothing())
          .execute();
        const agent = await agentByName(within, tenant, name);
        if (!agent || agent.svid_bootstrap_state === 'retired') throw new GateError('bootstrap_not_available');
        await locked(within, agent.id);
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
        await within
          .insertInto('identity_enrollments')
          .values({ ...row, mac: keys.authenticate(macOf(row, agent), MAC_USE) })
          .execute();
        return { agentId: agent.id, token };
      }),

    assertKnown: (authority, nowMs) =>
      inTransaction(async (within) => {
        if (authority.kind !== 'token') return;
        // For no request: one that gave its certificate is known too.
        await byToken(within, authority.token, null, nowMs);
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
          await assertMayRenew(within, agent, nowMs);
          if (await isUsed(within, request)) throw new GateError('issuance_replay');
          const intent = { ...intentOf(id, agent), authority: 'current' as const, priorSvidId, by: authority.spiffe };
          await storeIntent(within, request, intent, authority, nowMs);
          return intent;
        }
        const found = await byToken(within, authority.token, request.csrSha256, nowMs);
        if ('issued' in found) {
          if (found.issued === null) throw new GateError('issuance_replay');
          return { issued: found.issued };
        }
        if (await isUsed(within, request)) throw new GateError('issuance_replay');
        const { agent, row } = found;
        const isFirst = agent.svid_bootstrap_state === 'available';
        const intent = {
          ...intentOf(id, agent),
          authority: isFirst ? ('bootstrap' as const) : ('recovery' as const),
          priorSvidId: null,
          by: row.created_by_sub,
        };
        await storeIntent(within, request, intent, null, nowMs);
        const { numUpdatedRows } = await within
          .updateTable('identity_enrollments')
          .set({ intent_id: id })
          .where('token_sha256', '=', row.token_sha256)
          .where('intent_id', 'is', null)
          .executeTakeFirst();
        if (numUpdatedRows !== 1n) throw new GateError('issuance_replay');
        return intent;
      }),

    release: (intent, svid, nowMs) =>
      inTransaction(async (within) => {
        await locked(within, intent.agentId);
        const exactlyOne = ({ numUpdatedRows }: { readonly numUpdatedRows: bigint }, why: string): void => {
          if (numUpdatedRows !== 1n) throw new GateError('issuance_authority_denied', why);
        };
        exactlyOne(
          await within
            .updateTable('identity_intents')
            .set({ state: 'issued' })
            .where('id', '=', intent.id)
            .where('state', '=', 'pending')
            .executeTakeFirst(),
          'the request was closed meanwhile',
        );
        if (intent.priorSvidId === null)
          exactlyOne(
            await within
              .updateTable('identity_agents')
              .set({ svid_bootstrap_state: 'retired' })
              .where('id', '=', intent.agentId)
              .where('svid_bootstrap_state', '!=', 'retired')
              .where('recovery_generation', '=', intent.recoveryGeneration)
              .executeTakeFirst(),
            'the agent got its certificate by another request',
          );
        else
          exactlyOne(
            await within
              .updateTable('identity_svids')
              .set({ superseded_ms: nowMs, superseded_by: svid.id })
              .where('id', '=', intent.priorSvidId)
              .where('revoked_ms', 'is', null)
              .where('superseded_ms', 'is', null)
              .executeTakeFirst(),
            'the certificate was revoked or superseded meanwhile',
          );
        if (intent.priorSvidId !== null) {
          await list(within, [intent.priorSvidId], nowMs + supersededMs);
          await within
            .updateTable('identity_agents')
            .set({ renewals: sql`renewals + 1` })
            .where('id', '=', intent.agentId)
            .execute();
        }
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
        });
        await within
          .insertInto('identity_svids')
          .values({
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
          })
          .execute();
      }),

    fail: async ({ id }) => {
      await asked(() =>
        db
          .updateTable('identity_intents')
          .set({ state: 'failed' })
          .where('id', '=', id)
          .where('state', '=', 'pending')
          .execute(),
      );
    },
  };

  /** Revokes what still counts of these, and says how many that were. */
  async function revokeRows(
    within: Database,
    of: { readonly column: 'id' | 'agent_id'; readonly value: string },
    { by, reason, nowMs }: RevokedBy,
  ): Promise<number> {
    const revoked = await within
      .updateTable('identity_svids')
      .set({ revoked_ms: nowMs, revoked_by_sub: by, revoked_reason: reason })
      .where(of.column, '=', of.value)
      .where('revoked_ms', 'is', null)
      .where('not_after_ms', '>', nowMs)
      .returningAll()
      .execute();
    if (revoked.length > 0)
      await list(
        within,
        revoked.map(({ id }) => id),
        nowMs,
      );
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

  const revocation: RevocationStore = {
    revokeSvid: (svidId, tenant, by) =>
      inTransaction(async (within) => {
        // As OpenSSL and Node write it.
        const serial = svidId.replaceAll(':', '').toLowerCase();
        const find = () =>
          within
            .selectFrom('identity_svids')
            .select(['id', 'revoked_ms'])
            .where((where) => where.or([where('id', '=', svidId), where('serial', '=', serial)]))
            .where('tenant', '=', tenant)
            .executeTakeFirst();
        const found = await find();
        if (!found) throw new GateError('not_found');
        await revokeRows(within, { column: 'id', value: found.id }, by);
        const { id, revoked_ms: revokedMs } = (await find()) ?? found;
        return { id, revokedMs: revokedMs === null ? null : Number(revokedMs) };
      }),
    revokeAgent: (agentId, tenant, by) =>
      inTransaction(async (within) => {
        const agent = await agentById(within, agentId);
        if (agent?.tenant !== tenant) throw new GateError('not_found');
        await locked(within, agentId);
        await withoutUnusedTokens(within, agentId);
        await withoutOpenIntents(within, agentId);
        return revokeRows(within, { column: 'agent_id', value: agentId }, by);
      }),
    openRecovery: (agentId, tenant, by) =>
      inTransaction(async (within) => {
        const agent = await agentById(within, agentId);
        if (agent?.tenant !== tenant) throw new GateError('not_found');
        await locked(within, agentId);
        await withoutOpenIntents(within, agentId);
        if (agent.svid_bootstrap_state === 'recovery') throw new GateError('recovery_pending');
        if (agent.svid_bootstrap_state !== 'retired') throw new GateError('bootstrap_not_retired');
        const { numUpdatedRows } = await within
          .updateTable('identity_agents')
          .set({ svid_bootstrap_state: 'recovery', recovery_generation: sql`recovery_generation + 1`, renewals: 0 })
          .where('id', '=', agentId)
          .where('svid_bootstrap_state', '=', 'retired')
          .executeTakeFirst();
        if (numUpdatedRows !== 1n) throw new GateError('recovery_pending');
        const revokedSvids = await revokeRows(within, { column: 'agent_id', value: agentId }, by);
        const recoveryGeneration = Number(agent.recovery_generation) + 1;
        await told(within, {
          kind: 'agent.svid_recovery_opened',
          subject: `${agentId}/${recoveryGeneration}`,
          tenant,
          agent: agent.agent_name,
          agentId,
          by: by.by,
          reason: by.reason,
          recoveryGeneration,
        });
        return { recoveryGeneration, revokedSvids };
      }),
    revocations: (nowMs, after) =>
      inTransaction(async (within): Promise<Revocations> => {
        // The number first: what is revoked meanwhile is in the list at the latest with the next number.
        const state = await within
          .selectFrom('identity_state')
          .select('revocation_generation')
          .where('id', '=', 1)
          .executeTakeFirstOrThrow();
        const latest = Number(state.revocation_generation);
        const listed = within
          .selectFrom('identity_svids')
          .select(['id', 'serial', 'spiffe_id', 'credential_fingerprint', 'not_after_ms', 'revoked_ms'])
          .select(['listed_generation', 'refused_from_ms'])
          .where('not_after_ms', '>', nowMs)
          .orderBy('listed_generation')
          .orderBy('id');
        const within_ = listed.where('listed_generation', '>', after).where('listed_generation', '<=', latest);
        const rows = await within_.limit(mostListed + 1).execute();
        const beyond = rows[mostListed];
        if (!beyond) return { generation: latest, latest, svids: rows.map(listedOf) };
        // Each number whole, or not at all.
        const next = Number(beyond.listed_generation);
        const whole = rows.filter((row) => Number(row.listed_generation) < next);
        if (whole.length > 0) return { generation: next - 1, latest, svids: whole.map(listedOf) };
        const all = await listed.where('listed_generation', '=', next).execute();
        return { generation: next, latest, svids: all.map(listedOf) };
      }),
  };

  return {
    ...issuance,
    ...revocation,
    undelivered: (most) =>
      asked(async () => {
        const rows = await db.selectFrom('identity_outbox').selectAll().orderBy('id').limit(most).execute();
        return {
          waiting: rows.map(({ id, content }) => ({ id, row: JSON.parse(content) as NewLedgerRow })),
          tampered: [],
        };
      }),
    delivered: ({ id }) =>
      asked(async () => void (await db.deleteFrom('identity_outbox').where('id', '=', id).execute())),
    bundleSequence: (bundleSha256) =>
      inTransaction(async (within) => {
        await within
          .updateTable('identity_state')
          .set({ bundle_sequence: sql`bundle_sequence + 1`, bundle_sha256: bundleSha256 })
          .where('id', '=', 1)
          .where('bundle_sha256', '!=', bundleSha256)
          .execute();
        const state = await within
          .selectFrom('identity_state')
          .select('bundle_sequence')
          .where('id', '=', 1)
          .executeTakeFirstOrThrow();
        return Number(state.bundle_sequence);
      }),
    ready: () =>
      asked(async () => {
        await db.selectFrom('identity_state').select('id').where('id', '=', 1).executeTakeFirstOrThrow();
      }),
    close: () => store.close(),
  };
}

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
