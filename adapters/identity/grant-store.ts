import type { Kysely, Selectable } from 'kysely';
import type { Recurrence } from '../../contracts/call-grant.js';
import { GRANTS_LISTED, MOST_GRANT_SECONDS, MOST_GRANTS_AT_ONCE } from '../../contracts/grants.js';
import { GateError } from '../../domain/errors.js';
import { humanSubOf } from '../../domain/identity/granting.js';
import { firstUuidV7 } from '../../domain/identity/uuid-v7.js';
import {
  CertificateNotCurrent,
  type GrantStore,
  type KeptGrant,
  type NewGrant,
  thumbprintOf,
  type ToldGrant,
} from '../../domain/identity/grants.js';
import type { GrantEvent, IdentityEvent } from '../../domain/identity/identity-rows.js';
import type { RevokedBy } from '../../domain/identity/revoked-by.js';
import {
  assertNarrower,
  assertWider,
  assertWithin,
  beyond,
  type Envelope,
  NO_ENVELOPE,
} from '../../domain/identity/scopes.js';
import { editedDetail } from './edited-rows.js';
import type { IdentityTables } from './identity-tables.js';
import type { NumberedRows } from './numbered-rows.js';

type Database = Kysely<IdentityTables>;
type Row<Table extends keyof IdentityTables> = Selectable<IdentityTables[Table]>;
type Grant = Row<'identity_grants'>;
type GrantTable = 'identity_grants' | 'identity_envelopes';

/** What the store of identity has for grants. */
export interface GrantParts {
  readonly db: Database;
  readonly rows: Pick<NumberedRows<Row<'identity_revoked_grants'>, ToldGrant>, 'asItIs' | 'changed'>;
  intact<Found extends { readonly mac: string }>(table: GrantTable, row: Found): Found;
  /** What is wrong with a row, or `null`. */
  fault(table: GrantTable, row: { readonly mac: string }): string | null;
  marked<Values extends object>(table: GrantTable, values: Values): Values & { readonly mac: string };
  /** `false` where somebody changed it since. */
  change<Table extends GrantTable>(
    within: Database,
    table: Table,
    was: Row<Table> & { readonly mac: string },
    changes: Partial<Row<Table>>,
  ): Promise<boolean>;
  inTransaction<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  told(within: Database, event: IdentityEvent): Promise<unknown>;
  toldGrant(within: Database, event: GrantEvent): Promise<unknown>;
  agentByName(within: Database, tenant: string, name: string): Promise<Row<'identity_agents'> | undefined>;
  /** Throws `not_found`. */
  agentOf(within: Database, id: string, tenant: string): Promise<Row<'identity_agents'>>;
  /** One after the other of one agent. */
  locked(within: Database, agentId: string): Promise<Row<'identity_agents'>>;
  /** The same, whoever wrote its row. */
  lockedRow(within: Database, agentId: string): Promise<unknown>;
  /** Throws how the agent is stopped. */
  assertActive(within: Database, agent: Row<'identity_agents'>): Promise<void>;
  /** Throws `agent_decommissioned`. */
  assertLives(within: Database, agentId: string): Promise<void>;
  /** Whether this is the agent's certificate that renews. */
  isCurrent(within: Database, agentId: string, fingerprint: string, nowMs: number): Promise<boolean>;
}

export interface Grants extends GrantStore {
  /** What may be delegated to an agent that is being registered. */
  setEnvelope(within: Database, agent: Row<'identity_agents'>, to: Envelope, nowMs: number): Promise<void>;
  /** Takes back all grants of an agent, and what is being made for it. */
  takeBackGrants(within: Database, agentId: string, by: RevokedBy, because: string): Promise<void>;
}

const HOUR_MS = 3_600_000;
/** What was made before that counts no more. */
const COUNTS_MS = MOST_GRANT_SECONDS * 1_000;
/** Proxies forget an entry a while after its end, by the clock of identity; theirs may be behind. */
const KEPT_AFTER_END_MS = 90_000_000;
const SWEEPER = 'system:grant-sweep';
const USED_UP = 'usage_exhausted';
const CHANGED_MEANWHILE = 'the grant changed meanwhile; ask again';
const SWEPT_AT_ONCE = 500;
/** Proxies tell uses a moment later, and one that was cut off tells them when it is back. */
const TOLD_WITHIN_MS = 300_000;
/** What may still let a call run. One that is used up lets no other one in, and what it let in before goes on: proxies count uses themselves. */
const COUNTING = ['issued', 'used_up'];
/** Of which no two have one token, as its index says. */
const HAVING_A_TOKEN = ['pending', ...COUNTING, 'revoked'];
/** For as long as identity may have been away. */
const SWEPT_AFTER_END_MS = 604_800_000;

/** What may be delegated to agents, and what was (docs/architecture/identity.md#grants). */
export async function openGrantStore(parts: GrantParts): Promise<Grants> {
  const { db, rows, intact, fault, marked, change, inTransaction, asked, told, toldGrant } = parts;

  const ofState = (within: Database, state: string) =>
    within.selectFrom('identity_grants').selectAll().where('state', '=', state);
  // What an earlier process was about to sign never left.
  for (const left of await ofState(db, 'pending').execute())
    if (fault('identity_grants', left) === null) await change(db, 'identity_grants', left, { state: 'interrupted' });

  const envelopeRow = (within: Database, agentId: string) =>
    within.selectFrom('identity_envelopes').selectAll().where('id', '=', agentId).executeTakeFirst();
  const envelopeOf = async (within: Database, agentId: string): Promise<Envelope> => {
    const row = await envelopeRow(within, agentId);
    return row ? envelopeIn(intact('identity_envelopes', row)) : NO_ENVELOPE;
  };
  async function setEnvelope(
    within: Database,
    { id, tenant, agent_name }: Row<'identity_agents'>,
    { scope, yellow }: Envelope,
    nowMs: number,
  ): Promise<number> {
    const found = await envelopeRow(within, id);
    const edited = found !== undefined && fault('identity_envelopes', found) !== null;
    const was = edited ? undefined : found;
    const envelope = {
      scope_envelope: JSON.stringify(scope),
      yellow_envelope: JSON.stringify(yellow),
      changed_ms: nowMs,
    };
    if (was) {
      const generation = Number(was.envelope_generation) + 1;
      const isChanged = await change(within, 'identity_envelopes', was, {
        ...envelope,
        envelope_generation: generation,
      });
      if (!isChanged) throw new GateError('store_unavailable', 'the envelope changed meanwhile; ask again');
      return generation;
    }
    // What number an edited one had nobody knows: the time is greater, so that no row of the ledger is told under a number twice.
    const generation = edited ? nowMs : 1;
    const all = { id, tenant, agent_name, ...envelope, envelope_generation: generation };
    const row = marked('identity_envelopes', all);
    if (edited) await within.updateTable('identity_envelopes').set(row).where('id', '=', id).execute();
    else await within.insertInto('identity_envelopes').values(row).execute();
    return generation;
  }

  const changeEnvelope = (
    kind: 'agent.envelope_narrowed' | 'agent.envelope_widened',
    agentId: string,
    tenant: string,
    to: Envelope,
    by: RevokedBy,
  ): Promise<void> =>
    inTransaction(async (within) => {
      await parts.agentOf(within, agentId, tenant);
      const agent = await parts.locked(within, agentId);
      await parts.assertLives(within, agentId);
      const row = await envelopeRow(within, agentId);
      const edited = row ? fault('identity_envelopes', row) : null;
      // One that somebody edited says nothing of what it was; nothing is less than whatever that may have been.
      const isWrittenAnew =
        edited !== null && kind === 'agent.envelope_narrowed' && to.scope.length + to.yellow.length === 0;
      const was = isWrittenAnew ? NO_ENVELOPE : await envelopeOf(within, agentId);
      if (kind === 'agent.envelope_widened') assertWider(was, to);
      else if (!isWrittenAnew) assertNarrower(was, to);
      const generation = await setEnvelope(within, agent, to, by.nowMs);
      await told(within, {
        kind,
        subject: `${agentId}/${generation}`,
        tenant,
        agent: agent.agent_name,
        agentId,
        by: by.by,
        reason: by.reason,
        standing: {
          scopes: to.scope.length,
          yellow_scopes: to.yellow.length,
          ...editedDetail([edited], row ? { row, fault: edited } : null),
        },
        content: {
          scope_envelope_before: [...was.scope],
          scope_envelope_after: [...to.scope],
          yellow_envelope_before: [...was.yellow],
          yellow_envelope_after: [...to.yellow],
        },
      });
      if (kind === 'agent.envelope_narrowed')
        await takeBack(within, agentId, by, 'envelope_narrowed', (grant) => !isWithin(grant, to));
    });

  /** Of an agent, while it is locked: what counts, and what is being made. */
  async function takeBack(
    within: Database,
    agentId: string,
    by: RevokedBy,
    because: string | null,
    isMeant: (grant: Grant) => boolean = () => true,
  ): Promise<void> {
    const candidates = await grantsMadeSince(within, agentId, takenBackSince(by.nowMs))
      .selectAll()
      .orderBy('id')
      .execute();
    for (const one of candidates)
      if (fault('identity_grants', one) !== null) await takeBackEdited(within, one, by, because);
      else if (one.state === 'pending') await change(within, 'identity_grants', one, { state: 'failed' });
      else if (COUNTING.includes(one.state) && Number(one.expires_ms) > by.nowMs && isMeant(one))
        await revoke(within, one, by, 'grant.revoked', because);
  }

  /**
   * It keeps the token that it was given by, which is not good for another one, but where an edit took it out of those that have one each: then another
   * grant may have that token, and this one goes out of its way.
   */
  const closeEdited = (within: Database, { id, state }: Grant) =>
    within
      .updateTable('identity_grants')
      .set({ state: 'revoked', ...(!HAVING_A_TOKEN.includes(state) && { id_token_sha256: id }) })
      .where('id', '=', id)
      .execute();

  /** Whatever it says of itself counts for nothing, its state included; once. Says when that was. */
  async function takeBackEdited(
    within: Database,
    grant: Grant,
    by: RevokedBy,
    because: string | null,
  ): Promise<number> {
    const listed = await rows.asItIs(within, grant.id);
    if (listed?.fault === null) {
      await closeEdited(within, grant);
      return Number(listed.row.changed_ms);
    }
    await revoke(within, grant, by, 'grant.revoked', because);
    return by.nowMs;
  }

  async function revoke(
    within: Database,
    grant: Grant,
    { by, reason, nowMs }: RevokedBy,
    kind: GrantEvent['kind'],
    because: string | null,
  ): Promise<void> {
    const edited = fault('identity_grants', grant);
    const to = because === USED_UP ? { state: 'used_up' } : { state: 'revoked', revoked_ms: nowMs, revoked_by_sub: by };
    if (edited !== null) await closeEdited(within, grant);
    else if (!(await change(within, 'identity_grants', grant, to)))
      throw new GateError('store_unavailable', CHANGED_MEANWHILE);
    const expiresMs = edited === null ? Number(grant.expires_ms) : nowMs + KEPT_AFTER_END_MS;
    // What has ended is refused as that everywhere, and what is used up as that: on the list it would end what was let in before.
    const unlisted = { id: grant.id, expires_ms: expiresMs, changed_ms: 0, listed_generation: 0, mac: '' };
    const listed =
      kind === 'grant.revoked' && expiresMs > nowMs ? await rows.changed(within, unlisted, {}, nowMs) : unlisted;
    await toldGrant(within, {
      kind,
      subject: `${grant.id}/${Number(listed.listed_generation)}`,
      jti: grant.id,
      tenant: grant.tenant,
      agent: grant.agent_name,
      agentId: grant.agent_id,
      by,
      reason,
      detail: {
        ...(because !== null && { [kind === 'grant.revoked' ? 'because' : 'reason']: because }),
        ...(edited !== null && { edited_rows: [edited] }),
      },
    });
  }

  /** What is asked both before it is signed and before it leaves, one after the other of one agent. */
  async function assertGrantable(within: Database, grant: NewGrant, nowMs: number): Promise<Row<'identity_agents'>> {
    const known = await parts.agentByName(within, grant.tenant, grant.agent);
    if (!known) throw new GateError('unregistered_agent');
    const agent = await parts.locked(within, known.id);
    await parts.assertActive(within, agent);
    if (grant.fingerprint !== null && !(await parts.isCurrent(within, agent.id, grant.fingerprint, nowMs)))
      throw new CertificateNotCurrent();
    assertWithin({ scope: grant.scope, yellow: grant.yellowScope }, await envelopeOf(within, agent.id));
    return agent;
  }

  /** Neither a loop of an agent, nor whoever has its certificate, fills the store. */
  async function assertRoom(within: Database, agentId: string, nowMs: number): Promise<void> {
    const held = await grantsMadeSince(within, agentId, firstUuidV7(nowMs - COUNTS_MS))
      .select(['expires_ms', 'issued_ms'])
      .where(({ or, and, eb }) =>
        or([and([eb('state', '=', 'issued'), eb('expires_ms', '>', nowMs)]), eb('issued_ms', '>', nowMs - HOUR_MS)]),
      )
      .execute();
    if (held.length < MOST_GRANTS_AT_ONCE) return;
    const freeMs = Math.min(
      ...held.map(({ expires_ms, issued_ms }) => Math.max(Number(expires_ms), Number(issued_ms) + HOUR_MS)),
    );
    throw new GateError(
      'rate_limited',
      `an agent has ${MOST_GRANTS_AT_ONCE} grants at most that count or are not an hour old`,
      { fields: { retry_after_secs: Math.max(1, Math.ceil((freeMs - nowMs) / 1_000)) } },
    );
  }

  return {
    async setEnvelope(within, agent, to, nowMs) {
      await setEnvelope(within, agent, to, nowMs);
    },
    takeBackGrants: (within, agentId, by, because) => takeBack(within, agentId, by, because),
    envelopes: (ids) =>
      asked(async () => {
        if (ids.length === 0) return new Map();
        const found = await db
          .selectFrom('identity_envelopes')
          .selectAll()
          .where('id', 'in', [...ids])
          .execute();
        // One that somebody edited grants nothing, and keeps nobody from looking at others, or from hearing that a stop came about.
        return new Map(
          found.flatMap((row) => (fault('identity_envelopes', row) === null ? [[row.id, envelopeIn(row)]] : [])),
        );
      }),
    narrowEnvelope: (id, tenant, to, by) => changeEnvelope('agent.envelope_narrowed', id, tenant, to, by),
    widenEnvelope: (id, tenant, to, by) => changeEnvelope('agent.envelope_widened', id, tenant, to, by),

    beginGrant: (grant, nowMs) =>
      inTransaction(async (within) => {
        const agent = await assertGrantable(within, grant, nowMs);
        await assertRoom(within, agent.id, nowMs);
        const { terms, by } = grant;
        const { numInsertedOrUpdatedRows: begun } = await within
          .insertInto('identity_grants')
          .values(
            marked('identity_grants', {
              id: grant.jti,
              agent_id: agent.id,
              tenant: grant.tenant,
              agent_name: grant.agent,
              agent_spiffe: grant.spiffe,
              caller_fingerprint: grant.fingerprint,
              id_token_sha256: grant.idTokenSha256,
              human_sub: humanSubOf(by),
              idp: by.idp,
              amr: JSON.stringify(by.amr),
              scope: JSON.stringify(grant.scope),
              yellow_scope: JSON.stringify(grant.yellowScope),
              recurrence: terms.recurrence && JSON.stringify(terms.recurrence),
              max_count: terms.maxUses,
              used_count: 0,
              issued_ms: terms.iat * 1_000,
              not_before_ms: terms.notBefore === null ? null : terms.notBefore * 1_000,
              not_after_ms: terms.notAfter === null ? null : terms.notAfter * 1_000,
              expires_ms: terms.exp * 1_000,
              state: 'pending',
              revoked_ms: null,
              revoked_by_sub: null,
            }),
          )
          // One for all agents of a tenant, of which only one is locked.
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirstOrThrow();
        if (begun !== 1n)
          throw new GateError(
            'invalid_token',
            'the ID token is refused: it was exchanged for a grant before, and one token is for one grant; sign in again',
          );
      }),
    releaseGrant: (grant, nowMs) =>
      inTransaction(async (within) => {
        const agent = await assertGrantable(within, grant, nowMs);
        const row = await ofState(within, 'pending').where('id', '=', grant.jti).executeTakeFirst();
        // Somebody stopped the agent meanwhile, or another process began and closed what was open.
        if (!row || !(await change(within, 'identity_grants', row, { state: 'issued' })))
          throw new GateError('signing_unavailable', 'the request was closed meanwhile; nothing was granted');
        const { terms, by } = grant;
        await toldGrant(within, {
          kind: 'identity.grant_issued',
          subject: grant.jti,
          jti: grant.jti,
          tenant: grant.tenant,
          agent: grant.agent,
          agentId: agent.id,
          by: humanSubOf(by),
          idp: by.idp,
          spiffe: grant.spiffe,
          fingerprint: grant.fingerprint,
          reason: null,
          detail: {
            act: { sub: humanSubOf(by), idp: by.idp, amr: [...by.amr] },
            scope: [...grant.scope],
            yellow_scope: [...grant.yellowScope],
            exp: terms.exp,
            ...(terms.notBefore !== null && { nbf: terms.notBefore }),
            ...(terms.maxUses !== null && { max_uses: terms.maxUses }),
            ...(terms.recurrence && { recurrence: terms.recurrence }),
            ...(grant.isBound &&
              grant.fingerprint !== null && { cnf: { 'x5t#S256': thumbprintOf(grant.fingerprint) } }),
          },
        });
      }),
    failGrant: (jti) =>
      inTransaction(async (within) => {
        const row = await ofState(within, 'pending').where('id', '=', jti).executeTakeFirst();
        if (row) await change(within, 'identity_grants', row, { state: 'failed' });
      }),

    grants: ({ tenant, agent, active, after }, nowMs) =>
      asked(async () => {
        const found = await db
          .selectFrom('identity_grants')
          .selectAll()
          .where('tenant', '=', tenant)
          .where('id', '>', after ?? '')
          .$if(active, (query) => query.where('id', '>=', firstUuidV7(nowMs - COUNTS_MS)))
          .where('state', 'in', active ? COUNTING : [...COUNTING, 'revoked'])
          .$if(agent !== undefined, (query) => query.where('agent_name', '=', agent ?? ''))
          .$if(active, (query) => query.where('expires_ms', '>', nowMs))
          .orderBy('id')
          .limit(GRANTS_LISTED)
          .execute();
        return found.map((row) => {
          const tampered = fault('identity_grants', row);
          return tampered === null ? keptOf(row) : { jti: row.id, tampered };
        });
      }),
    revokeGrant: (jti, tenant, by) =>
      inTransaction(async (within) => {
        const find = () =>
          within
            .selectFrom('identity_grants')
            .selectAll()
            .where('id', '=', jti)
            .where('tenant', '=', tenant)
            .executeTakeFirst();
        const found = await find();
        if (!found) throw new GateError('not_found');
        await parts.lockedRow(within, found.agent_id);
        const now = (await find()) ?? found;
        if (fault('identity_grants', now) !== null) return takeBackEdited(within, now, by, null);
        if (now.state === 'revoked') return Number(now.revoked_ms);
        if (!COUNTING.includes(now.state)) throw new GateError('not_found');
        await revoke(within, now, by, 'grant.revoked', null);
        return by.nowMs;
      }),
    async tellUses(uses) {
      for (const { jti, uses: count } of uses)
        await inTransaction(async (within) => {
          const find = () => within.selectFrom('identity_grants').selectAll().where('id', '=', jti).executeTakeFirst();
          const found = await find();
          // A row that somebody edited keeps the uses of no other one from being told.
          if (!found || fault('identity_grants', found) !== null) return;
          await parts.lockedRow(within, found.agent_id);
          const now = await find();
          if (now && Number(now.used_count) < count && fault('identity_grants', now) === null)
            await change(within, 'identity_grants', now, { used_count: count });
        });
    },
    async sweepGrants(nowMs) {
      await asked(() =>
        db
          .deleteFrom('identity_revoked_grants')
          .where('expires_ms', '<', nowMs - KEPT_AFTER_END_MS)
          .execute(),
      );
      const due = await asked(() => grantsToEnd(db, nowMs).execute());
      let swept = 0;
      for (const { id, agent_id: agentId, mac } of due)
        await inTransaction(async (within) => {
          await parts.lockedRow(within, agentId);
          const now = await ofState(within, 'issued').where('id', '=', id).executeTakeFirst();
          if (!now || now.mac !== mac || fault('identity_grants', now) !== null) return;
          const isUsedUp = now.max_count !== null && Number(now.used_count) >= Number(now.max_count);
          const because = isUsedUp ? USED_UP : 'unused_by_deadline';
          await revoke(within, now, { by: SWEEPER, reason: null, nowMs }, 'grant.auto_revoked', because);
          swept += 1;
        });
      return swept;
    },
  };
}

/** Sorts before the id of every grant that a stop takes back: what was made before that is over, whatever clocks say. */
export const takenBackSince = (nowMs: number): string => firstUuidV7(nowMs - KEPT_AFTER_END_MS);

/** Of an agent, from this id on. An id says when a grant was made, and no other column says anything of a row that somebody edited. */
export const grantsMadeSince = (within: Database, agentId: string, sinceId: string) =>
  within.selectFrom('identity_grants').where('agent_id', '=', agentId).where('id', '>=', sinceId);

/** Those that are used up, or were not used in time. */
export const grantsToEnd = (db: Database, nowMs: number) =>
  db
    .selectFrom('identity_grants')
    .selectAll()
    .where('state', '=', 'issued')
    // Those that ended long ago, of years, are passed over.
    .where('expires_ms', '>', nowMs - SWEPT_AFTER_END_MS)
    .where(({ or, and, eb, ref }) =>
      or([
        and([eb('max_count', 'is not', null), eb('used_count', '>=', ref('max_count'))]),
        and([
          eb('not_after_ms', 'is not', null),
          eb('not_after_ms', '<=', nowMs - TOLD_WITHIN_MS),
          eb('used_count', '=', 0),
        ]),
      ]),
    )
    .orderBy('id')
    .limit(SWEPT_AT_ONCE);

const scopesIn = (text: string): readonly string[] => JSON.parse(text) as readonly string[];
const envelopeIn = ({ scope_envelope: scope, yellow_envelope: yellow }: Row<'identity_envelopes'>): Envelope => ({
  scope: scopesIn(scope),
  yellow: scopesIn(yellow),
});
const isWithin = ({ scope, yellow_scope: yellow }: Grant, envelope: Envelope): boolean =>
  beyond(scopesIn(scope), envelope.scope).length === 0 && beyond(scopesIn(yellow), envelope.yellow).length === 0;

export const toldGrantOf = ({ id, expires_ms: expiresMs }: Row<'identity_revoked_grants'>): ToldGrant => ({
  jti: id,
  expiresMs: Number(expiresMs),
});

const numberOr = (value: number | string | null): number | null => (value === null ? null : Number(value));
const keptOf = (row: Grant): KeptGrant => ({
  jti: row.id,
  spiffe: row.agent_spiffe,
  humanSub: row.human_sub,
  idp: row.idp,
  scope: scopesIn(row.scope),
  yellowScope: scopesIn(row.yellow_scope),
  issuedMs: Number(row.issued_ms),
  maxUses: numberOr(row.max_count),
  uses: Number(row.used_count),
  notBeforeMs: numberOr(row.not_before_ms),
  notAfterMs: numberOr(row.not_after_ms),
  expiresMs: Number(row.expires_ms),
  recurrence: row.recurrence === null ? null : (JSON.parse(row.recurrence) as Recurrence),
  revokedMs: numberOr(row.revoked_ms),
  revokedBy: row.revoked_by_sub,
});
