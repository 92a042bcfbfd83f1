import { randomBytes } from 'node:crypto';
import type { Kysely, Selectable } from 'kysely';
import { CHALLENGE_LIFE_MS, type Measurement, MEASUREMENTS_LISTED } from '../../contracts/attestation.js';
import {
  type AttestationBindings,
  attestationBindings,
  type EvidenceKind,
  evidenceKind,
  type VerifiedAttestation,
  verifiedAttestation,
} from '../../contracts/verified-attestation.js';
import { GateError } from '../../domain/errors.js';
import type {
  AttestationChallenge,
  AttestationStore,
  ChallengePurpose,
  ChallengeTerms,
  KeptAttestation,
  RenewalEvidence,
  RenewalsAttested,
  SeenLeaf,
} from '../../domain/identity/attestation.js';
import type { AttestationEvent, IdentityEvent } from '../../domain/identity/identity-rows.js';
import { agentSpiffe } from '../../domain/identity/spiffe.js';
import { uuidV7 } from '../../domain/identity/uuid-v7.js';
import type { IdentityTables } from './identity-tables.js';

type Database = Kysely<IdentityTables>;
type Row<Table extends keyof IdentityTables> = Selectable<IdentityTables[Table]>;
type Table = 'identity_challenges' | 'identity_attestations' | 'identity_measurements' | 'identity_attestation_kinds';

/** What the store of identity has for attestation. */
export interface AttestationParts {
  readonly renewalsAttested: RenewalsAttested;
  readonly db: Database;
  intact<Found extends { readonly mac: string }>(table: Table, row: Found): Found;
  fault(table: Table, row: { readonly mac: string }): string | null;
  marked<Values extends object>(table: Table, values: Values): Values & { readonly mac: string };
  change<One extends Table>(
    within: Database,
    table: One,
    was: Row<One> & { readonly mac: string },
    changes: Partial<Row<One>>,
  ): Promise<boolean>;
  inTransaction<Value>(work: (within: Database) => Promise<Value>): Promise<Value>;
  asked<Value>(work: () => Promise<Value>): Promise<Value>;
  told(within: Database, event: IdentityEvent): Promise<unknown>;
  toldAttestation(within: Database, event: AttestationEvent): Promise<unknown>;
  agentByName(within: Database, tenant: string, agent: string): Promise<Row<'identity_agents'> | undefined>;
  /** Throws `not_found`. */
  agentOf(within: Database, id: string, tenant: string): Promise<Row<'identity_agents'>>;
  /** One after the other of one agent. */
  locked(within: Database, agentId: string): Promise<Row<'identity_agents'>>;
  /** Throws how the agent is stopped. */
  assertActive(within: Database, agent: Row<'identity_agents'>): Promise<void>;
  /** Throws `agent_decommissioned`. */
  assertLives(within: Database, agentId: string): Promise<void>;
  /** Throws `tenant_offboarded`. */
  assertNotOffboarded(within: Database, tenant: string): Promise<void>;
  /** The agent's certificate that renews, where it has this fingerprint. */
  currentSvid(
    within: Database,
    agentId: string,
    fingerprint: string,
    nowMs: number,
  ): Promise<Row<'identity_svids'> | null>;
}

/** What a first certificate takes of a challenge. */
export interface AnsweredChallenge {
  readonly agent: Row<'identity_agents'>;
  readonly spiffe: string;
  readonly by: string;
}

export interface Attestations extends AttestationStore {
  /** Uses up the challenge of a first certificate by its intent. Throws `attestation_challenge_invalid`, or why the evidence does not count. */
  useChallenge(
    within: Database,
    id: string,
    attested: KeptAttestation,
    intentId: string,
    nowMs: number,
  ): Promise<AnsweredChallenge>;
  /**
   * What evidence says of the platform of an agent that renews, with the SPIFFE id to which that is bound; `null` where there is none. Uses up its
   * challenge by the intent. Throws why it does not count, or that it is needed.
   */
  renewing(
    within: Database,
    agent: Row<'identity_agents'>,
    evidence: RenewalEvidence | undefined,
    intentId: string,
    nowMs: number,
  ): Promise<(KeptAttestation & { readonly spiffe: string }) | null>;
  /** Keeps what was verified of an agent in the place of what was before. */
  keep(within: Database, agent: { readonly id: string }, attested: KeptAttestation): Promise<void>;
}

const isUsed = (why: string) => new GateError('attestation_challenge_invalid', why);
const fingerprintIn = ({ svidSha256 }: Pick<AttestationBindings, 'svidSha256'>) => svidSha256.slice('sha256:'.length);

/** What was asked of platforms, what they measured, and what of that may be so (docs/architecture/attestation.md). */
export function openAttestationStore(parts: AttestationParts): Attestations {
  const { db, renewalsAttested, intact, fault, marked, change, inTransaction, asked } = parts;

  /** Another challenge of the same agent counts no more. */
  async function opened(
    within: Database,
    agent: Row<'identity_agents'>,
    purpose: ChallengePurpose,
    expected: AttestationBindings,
    { by, nowMs, csrSha256 }: { readonly by: string; readonly nowMs: number; readonly csrSha256: string | null },
  ): Promise<AttestationChallenge> {
    await within
      .deleteFrom('identity_challenges')
      .where('agent_id', '=', agent.id)
      .where('purpose', '=', purpose)
      .execute();
    const row = marked('identity_challenges', {
      id: uuidV7(nowMs),
      agent_id: agent.id,
      purpose,
      request_id: uuidV7(nowMs),
      nonce: randomBytes(32).toString('base64url'),
      expected: JSON.stringify(expected),
      csr_sha256: csrSha256,
      recovery_generation: agent.recovery_generation,
      opened_ms: nowMs,
      expires_ms: nowMs + CHALLENGE_LIFE_MS,
      opened_by_sub: by,
      used_by: null,
    });
    await within.insertInto('identity_challenges').values(row).execute();
    return challengeOf(row);
  }

  async function agentAndSvid(within: Database, leaf: SeenLeaf, nowMs: number) {
    const found = await parts.agentByName(within, leaf.tenant, leaf.agent);
    if (!found) throw new GateError('attestation_svid_mismatch', 'identity issued no such certificate');
    const agent = await parts.locked(within, found.id);
    await parts.assertActive(within, agent);
    return { agent, svid: await svidOf(within, agent.id, leaf, nowMs) };
  }
  async function svidOf(
    within: Database,
    agentId: string,
    leaf: Pick<SeenLeaf, 'fingerprint' | 'spiffe' | 'publicKeySha256'>,
    nowMs: number,
  ): Promise<Row<'identity_svids'>> {
    const svid = await parts.currentSvid(within, agentId, leaf.fingerprint, nowMs);
    if (svid?.spiffe_id !== leaf.spiffe) throw new GateError('attestation_svid_mismatch');
    if (leaf.publicKeySha256 !== undefined && svid.public_key_sha256 !== leaf.publicKeySha256)
      throw new GateError('attestation_key_mismatch');
    return svid;
  }

  const kindsRow = (within: Database, agentId: string) =>
    within.selectFrom('identity_attestation_kinds').selectAll().where('id', '=', agentId).executeTakeFirst();
  /** The kinds that an administrator named, if any. */
  async function namedKinds(within: Database, agentId: string): Promise<readonly EvidenceKind[]> {
    const row = await kindsRow(within, agentId);
    return row ? kindsIn(intact('identity_attestation_kinds', row)) : [];
  }
  /** Throws where the agent takes no such evidence, or nobody approved what was measured. */
  async function assertApproved(within: Database, agentId: string, verified: VerifiedAttestation): Promise<void> {
    const kinds = await namedKinds(within, agentId);
    if (kinds.length > 0 && !kinds.includes(verified.evidenceKind))
      throw new GateError('attestation_kind_not_accepted');
    const approved = await within
      .selectFrom('identity_measurements')
      .selectAll()
      .where('tenant', '=', verified.tenant)
      .where('workload', '=', verified.workload)
      .where('evidence_kind', '=', verified.evidenceKind)
      .where('measurement_sha256', '=', verified.measurementSha256)
      .where('measurement_policy_version', '=', verified.measurementPolicyVersion)
      .executeTakeFirst();
    const refused = (why: string) => new GateError('attestation_measurement_unapproved', why);
    if (!approved) throw refused('nobody approved this measurement for this agent under this version');
    const {
      state,
      platform_issuer: issuer,
      trust_anchor_id: anchor,
      verifier_policy_version: version,
    } = intact('identity_measurements', approved);
    if (state !== 'approved') throw refused('the approval was withdrawn');
    if (issuer !== verified.platformIssuer || anchor !== verified.trustAnchorId)
      throw refused('the measurement was approved for another issuer or anchor');
    if (version !== verified.verifierPolicyVersion) throw refused('the measurement was approved under other rules');
  }

  const unusedOf = async (
    within: Database,
    by: { readonly nonce: string } | { readonly id: string },
    purpose: ChallengePurpose,
  ): Promise<Row<'identity_challenges'>> => {
    const query = within.selectFrom('identity_challenges').selectAll().where('purpose', '=', purpose);
    const row = await ('nonce' in by
      ? query.where('nonce', '=', by.nonce)
      : query.where('id', '=', by.id)
    ).executeTakeFirst();
    if (!row) throw isUsed('identity gave no such challenge, or another one since');
    if (intact('identity_challenges', row).used_by !== null) throw isUsed('the challenge was answered before');
    return row;
  };
  const use = async (within: Database, row: Row<'identity_challenges'>, by: string, nowMs: number): Promise<void> => {
    if (Number(row.expires_ms) <= nowMs) throw isUsed('the challenge is over');
    if (!(await change(within, 'identity_challenges', row, { used_by: by })))
      throw isUsed('the challenge was answered before');
  };

  async function keep(
    within: Database,
    agent: { readonly id: string },
    { id, verified }: KeptAttestation,
  ): Promise<void> {
    await within.deleteFrom('identity_attestations').where('agent_id', '=', agent.id).execute();
    await within
      .insertInto('identity_attestations')
      .values(
        marked('identity_attestations', {
          id,
          agent_id: agent.id,
          credential_fingerprint: fingerprintIn(verified),
          content: JSON.stringify(verified),
        }),
      )
      .execute();
  }

  return {
    keep,
    openChallenge: (leaf, terms, nowMs) =>
      inTransaction(async (within) => {
        const { agent, svid } = await agentAndSvid(within, leaf, nowMs);
        const expected = bindingsOf(agent, svid.spiffe_id, terms, {
          publicKeySha256: svid.public_key_sha256,
          svidSha256: svid.credential_fingerprint,
        });
        return opened(within, agent, 'runtime', expected, { by: leaf.spiffe, nowMs, csrSha256: null });
      }),
    openRenewalChallenge: (leaf, { request, trustDomain }, terms, nowMs) =>
      inTransaction(async (within) => {
        const { agent } = await agentAndSvid(within, leaf, nowMs);
        const { csrSha256, publicKeySha256 } = request;
        const spiffe = agentSpiffe(trustDomain, agent.tenant, agent.agent_name, uuidV7(nowMs));
        const expected = bindingsOf(agent, spiffe, terms, { publicKeySha256, svidSha256: csrSha256 });
        return opened(within, agent, 'renewal', expected, { by: leaf.spiffe, nowMs, csrSha256 });
      }),
    openEnrollmentChallenge: ({ agentId, tenant, trustDomain }, request, terms, { by, reason, nowMs }) =>
      inTransaction(async (within) => {
        await parts.agentOf(within, agentId, tenant);
        const agent = await parts.locked(within, agentId);
        await parts.assertActive(within, agent);
        if (agent.svid_bootstrap_state === 'retired') throw new GateError('bootstrap_not_available');
        const spiffe = agentSpiffe(trustDomain, agent.tenant, agent.agent_name, uuidV7(nowMs));
        const expected = bindingsOf(agent, spiffe, terms, {
          publicKeySha256: request.publicKeySha256,
          svidSha256: request.csrSha256,
        });
        const { csrSha256 } = request;
        const challenge = await opened(within, agent, 'enrollment', expected, { by, nowMs, csrSha256 });
        await parts.told(within, {
          kind: 'attestation.enrollment_challenge_opened',
          subject: challenge.id,
          tenant,
          agent: agent.agent_name,
          agentId,
          by,
          reason,
          standing: {
            challenge_id: challenge.id,
            spiffe_id: spiffe,
            csr_sha256: csrSha256,
            trust_anchor_id: terms.trustAnchorId,
            measurement_policy_version: terms.measurementPolicyVersion,
          },
        });
        return challenge;
      }),
    challenge: (by, purpose) => asked(async () => challengeOf(await unusedOf(db, by, purpose))),
    keepVerified: ({ id, agentId }, attested, nowMs) =>
      inTransaction(async (within) => {
        const agent = await parts.locked(within, agentId);
        await parts.assertActive(within, agent);
        const row = await unusedOf(within, { id }, 'runtime');
        const { spiffeId, publicKeySha256 } = challengeOf(row).expected;
        const leaf = {
          fingerprint: fingerprintIn(attested.verified),
          spiffe: spiffeId,
          publicKeySha256: publicKeySha256.slice('sha256:'.length),
        };
        const svid = await svidOf(within, agentId, leaf, nowMs);
        await assertApproved(within, agentId, attested.verified);
        await use(within, row, attested.id, nowMs);
        // It ends with its certificate at the latest.
        const endsMs = Math.min(Date.parse(attested.verified.expiresAt), Number(svid.not_after_ms));
        const verified = { ...attested.verified, expiresAt: new Date(endsMs).toISOString() };
        await keep(within, agent, { ...attested, verified });
        return verified;
      }),
    useChallenge: async (within, id, attested, intentId, nowMs) => {
      const found = await unusedOf(within, { id }, 'enrollment');
      const agent = await parts.locked(within, found.agent_id);
      await parts.assertActive(within, agent);
      const row = await unusedOf(within, { id }, 'enrollment');
      if (
        agent.svid_bootstrap_state === 'retired' ||
        Number(agent.recovery_generation) !== Number(row.recovery_generation)
      )
        throw isUsed('the agent got its certificate by another way');
      await assertApproved(within, agent.id, attested.verified);
      await use(within, row, intentId, nowMs);
      return { agent, spiffe: challengeOf(row).expected.spiffeId, by: row.opened_by_sub };
    },
    renewing: async (within, agent, evidence, intentId, nowMs) => {
      if (!evidence) {
        const isNeeded =
          renewalsAttested === 'all' ||
          (renewalsAttested === 'named' && (await namedKinds(within, agent.id)).length > 0);
        if (isNeeded)
          throw new GateError('attestation_evidence_stale', 'a certificate of this agent is renewed with evidence');
        return null;
      }
      const row = await unusedOf(within, { nonce: evidence.nonce }, 'renewal');
      if (row.agent_id !== agent.id) throw isUsed('the challenge is that of another agent');
      const challenge = challengeOf(row);
      const attested = await evidence.judged(challenge);
      await assertApproved(within, agent.id, attested.verified);
      await use(within, row, intentId, nowMs);
      return { ...attested, spiffe: challenge.expected.spiffeId };
    },
    attestationOf: (leaf, nowMs) =>
      asked(async () => {
        const agent = await parts.agentByName(db, leaf.tenant, leaf.agent);
        if (!agent) throw new GateError('attestation_svid_mismatch', 'identity issued no such certificate');
        await parts.assertActive(db, agent);
        await svidOf(db, agent.id, leaf, nowMs);
        const row = await db
          .selectFrom('identity_attestations')
          .selectAll()
          .where('agent_id', '=', agent.id)
          .where('credential_fingerprint', '=', leaf.fingerprint)
          .executeTakeFirst();
        const stale = (why: string) => new GateError('attestation_evidence_stale', why);
        if (!row) throw stale('nothing was verified of this certificate');
        const verified = verifiedAttestation.parse(JSON.parse(intact('identity_attestations', row).content));
        if (Date.parse(verified.expiresAt) <= nowMs) throw stale('what was verified is over');
        await assertApproved(db, agent.id, verified);
        return verified;
      }),

    measurements: ({ tenant, workload, state, after }) =>
      asked(async () => {
        let query = db.selectFrom('identity_measurements').selectAll().where('tenant', '=', tenant);
        if (workload !== undefined) query = query.where('workload', '=', workload);
        if (state !== undefined) query = query.where('state', '=', state);
        if (after !== undefined) query = query.where('id', '>', after);
        const rows = await query.orderBy('id').limit(MEASUREMENTS_LISTED).execute();
        return rows.map((row) => measurementOf(intact('identity_measurements', row)));
      }),
    approveMeasurement: (approval, { key_id, value }, { by, reason, nowMs }) =>
      inTransaction(async (within) => {
        await parts.assertNotOffboarded(within, approval.tenant);
        const row = marked('identity_measurements', {
          id: uuidV7(nowMs),
          ...approval,
          state: 'approved',
          reason: reason ?? '',
          approved_by_sub: by,
          approved_ms: nowMs,
          retired_ms: null,
          retired_by_sub: null,
          signature: value,
          signing_key_id: key_id,
        });
        const { numInsertedOrUpdatedRows } = await within
          .insertInto('identity_measurements')
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst();
        if (numInsertedOrUpdatedRows !== 1n) throw new GateError('measurement_exists');
        const measurement = measurementOf(row);
        await parts.toldAttestation(within, { kind: 'attestation.measurement_approved', measurement, by, reason });
        return measurement;
      }),
    retireMeasurement: (id, tenant, { by, reason, nowMs }) =>
      inTransaction(async (within) => {
        const row = await within
          .selectFrom('identity_measurements')
          .selectAll()
          .where('id', '=', id)
          .where('tenant', '=', tenant)
          .executeTakeFirst();
        if (!row) throw new GateError('not_found');
        if (intact('identity_measurements', row).state === 'retired') return measurementOf(row);
        const to = { state: 'retired', retired_ms: nowMs, retired_by_sub: by };
        if (!(await change(within, 'identity_measurements', row, to)))
          throw new GateError('store_unavailable', 'the measurement changed meanwhile; ask again');
        const measurement = measurementOf({ ...row, ...to });
        await parts.toldAttestation(within, { kind: 'attestation.measurement_retired', measurement, by, reason });
        return measurement;
      }),

    attestationKinds: (agentIds) =>
      asked(async () => {
        if (agentIds.length === 0) return new Map();
        const rows = await db
          .selectFrom('identity_attestation_kinds')
          .selectAll()
          .where('id', 'in', agentIds)
          .execute();
        // One that somebody edited keeps no agent from being seen; nothing is verified by it.
        const whole = rows.filter((row) => fault('identity_attestation_kinds', row) === null);
        return new Map(whole.map((row) => [row.id, kindsIn(row)]));
      }),
    setAttestationKinds: (agentId, tenant, to, { by, reason, nowMs }) =>
      inTransaction(async (within) => {
        await parts.agentOf(within, agentId, tenant);
        const agent = await parts.locked(within, agentId);
        await parts.assertLives(within, agentId);
        const found = await kindsRow(within, agentId);
        const isWhole = found !== undefined && fault('identity_attestation_kinds', found) === null;
        const before = isWhole ? kindsIn(found) : [];
        const kinds = [...new Set(to)].toSorted();
        if (kinds.join() === before.join() && (isWhole || found === undefined)) return;
        const row = marked('identity_attestation_kinds', {
          id: agentId,
          kinds: JSON.stringify(kinds),
          changed_ms: Math.max(nowMs, isWhole ? Number(found.changed_ms) + 1 : 0),
        });
        const { id: _id, ...values } = row;
        await within
          .insertInto('identity_attestation_kinds')
          .values(row)
          .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
          .execute();
        await parts.told(within, {
          kind: 'agent.attestation_kinds_changed',
          subject: `${agentId}/${row.changed_ms}`,
          tenant,
          agent: agent.agent_name,
          agentId,
          by,
          reason,
          standing: {
            attestation_kinds_before: [...before],
            attestation_kinds_after: kinds,
            ...(found && !isWhole && { edited_rows: [fault('identity_attestation_kinds', found) ?? ''] }),
          },
        });
      }),
  };
}

const bindingsOf = (
  agent: Row<'identity_agents'>,
  spiffe: string,
  terms: ChallengeTerms,
  { publicKeySha256, svidSha256 }: Pick<AttestationBindings, 'publicKeySha256' | 'svidSha256'>,
): AttestationBindings => ({
  publicKeySha256: `sha256:${publicKeySha256}`,
  svidSha256: `sha256:${svidSha256}`,
  spiffeId: spiffe,
  tenant: agent.tenant,
  workload: agent.agent_name,
  instance: spiffe.slice(spiffe.lastIndexOf('/') + 1),
  ...terms,
});

const challengeOf = (row: Row<'identity_challenges'>): AttestationChallenge => ({
  id: row.id,
  agentId: row.agent_id,
  requestId: row.request_id,
  nonce: row.nonce,
  expected: attestationBindings.parse(JSON.parse(row.expected)),
  openedMs: Number(row.opened_ms),
  expiresMs: Number(row.expires_ms),
  csrSha256: row.csr_sha256,
});

const kindsIn = ({ kinds }: Row<'identity_attestation_kinds'>): EvidenceKind[] =>
  evidenceKind.array().parse(JSON.parse(kinds));

const instant = (ms: number | string): string => new Date(Number(ms)).toISOString();
const measurementOf = (row: Row<'identity_measurements'>): Measurement => ({
  id: row.id,
  tenant: row.tenant,
  workload: row.workload,
  evidence_kind: row.evidence_kind as EvidenceKind,
  measurement_sha256: row.measurement_sha256,
  platform_issuer: row.platform_issuer,
  trust_anchor_id: row.trust_anchor_id,
  measurement_policy_version: row.measurement_policy_version,
  verifier_policy_version: row.verifier_policy_version,
  state: row.state as Measurement['state'],
  reason: row.reason,
  approved_by_sub: row.approved_by_sub,
  approved_at: instant(row.approved_ms),
  retired_at: row.retired_ms === null ? null : instant(row.retired_ms),
  retired_by: row.retired_by_sub,
  signature: row.signature,
  key_id: row.signing_key_id,
});
